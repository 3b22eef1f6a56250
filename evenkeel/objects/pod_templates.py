"""
What controllers make of Pod templates: Pods, and the ReplicaSets of a Deployment.

    Deployment ──> its ReplicaSets, or the one to come ──template──> Pod
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from evenkeel.objects.claim_templates import with_claims
from evenkeel.objects.workload_object import WorkloadObject, read_workload_object
from webhook.kubernetes.fields import Raw, as_list, as_mapping, value_at
from webhook.kubernetes.kinds import APPS
from webhook.kubernetes.labels import labels_in, labels_of
from webhook.kubernetes.names import REVISION_HASH, TEMPLATE_HASH
from webhook.kubernetes.references import ObjectKey, ObjectRef, owner_of
from webhook.kubernetes.workload import Workload

REPLICA_SET = "ReplicaSet"
MADE_UP_LABEL = "new"  # Stands for the value of a label that a controller will make up.
# Tolerations that the DaemonSet controller adds to its Pods; the last one only to those on the host's network.
DAEMON_TOLERATIONS = tuple(
    [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
        for key, effect in (
            ("not-ready", "NoExecute"),
            ("unreachable", "NoExecute"),
            ("disk-pressure", "NoSchedule"),
            ("memory-pressure", "NoSchedule"),
            ("pid-pressure", "NoSchedule"),
            ("unschedulable", "NoSchedule"),
            ("network-unavailable", "NoSchedule"),
        )
    ]
)


def replica_sets(deployment: ObjectRef, others: Mapping[ObjectKey, Raw]) -> Iterator[WorkloadObject]:
    """Yield the ReplicaSets that a Deployment owns."""
    for (group, kind, namespace, _), raw in others.items():
        if (group, kind, namespace) == (deployment.group, REPLICA_SET, deployment.namespace):
            owner = owner_of(raw)
            if owner is not None and owner.key(namespace) == deployment.key:
                yield read_workload_object(raw)


def find_new_replica_set(
    deployment: WorkloadObject, template: Raw, owned: Iterable[WorkloadObject]
) -> WorkloadObject | None:
    """
    Return the ReplicaSet with the Deployment's template of now; None if there is none.

    Several may have templates that differ only in what is not read, such as arguments: then it is that of the
    Deployment's revision.

    upstream: deployment_util.go:FindNewReplicaSet (v1.37)
    """
    return max(
        (replica_set for replica_set in owned if _has_template(replica_set, template)),
        key=lambda replica_set: (replica_set.revision == deployment.revision, replica_set.revision),
        default=None,
    )


def _has_template(replica_set: WorkloadObject, template: Raw) -> bool:
    """Whether a ReplicaSet was made of this template, as far as templates are read."""
    own_template = replica_set.template
    labels = dict(labels_in(own_template))
    labels.pop(TEMPLATE_HASH, None)
    return labels == labels_in(template) and own_template.get("spec") == template.get("spec")


def new_replica_set(deployment: WorkloadObject, revision: str) -> Raw:
    """
    Return the ReplicaSet that the Deployment controller would make now, with `revision` as its pod-template-hash.

    upstream: sync.go:DeploymentController.getNewReplicaSet (v1.37)
    """
    ref, template, selector = deployment.ref, deployment.template, deployment.selector
    metadata = {**as_mapping(template.get("metadata")), "labels": {**labels_in(template), TEMPLATE_HASH: revision}}
    return {
        "apiVersion": APPS,
        "kind": REPLICA_SET,
        "metadata": {"namespace": ref.namespace, "name": f"{ref.name}-{revision}", **_owned_by(deployment)},
        "spec": {
            "replicas": 0,
            "selector": {
                **selector,
                "matchLabels": {**labels_of(selector.get("matchLabels")), TEMPLATE_HASH: revision},
            },
            "template": {**template, "metadata": metadata},
        },
    }


def template_of(raw: Raw, workload: Workload) -> Raw:
    """Return the Pod template that has a workload's constraints; an empty one for a kind without a template."""
    return as_mapping(value_at(raw, workload.path[:-2])) if workload.kind.template else {}


def pod_from_template(
    template: Raw, workload: Workload, owner: WorkloadObject | None, ordinal: int | None = None
) -> Raw:
    """
    Return the next Pod of a template.

    `owner` is what makes it, such as a ReplicaSet; None if that does not exist yet.  `ordinal` is that of a
    StatefulSet's Pod, by default the next.  Labels whose values only the controller knows are MADE_UP_LABEL.

    upstream: controller_utils.go:GetPodFromTemplate (v1.37)
    """
    kind, metadata, spec = workload.kind, as_mapping(template.get("metadata")), as_mapping(template.get("spec"))
    labels_of_owner = labels_in(owner.template) if owner is not None else {}
    labels = {
        **dict.fromkeys(kind.added_labels, MADE_UP_LABEL),
        **labels_of_owner,
        **workload.given_labels,
        **labels_of(metadata.get("labels")),
    }
    if kind.kind == "StatefulSet" and owner is not None and owner.update_revision:
        labels[REVISION_HASH] = owner.update_revision
    if kind.kind == "DaemonSet":
        spec = _tolerating(spec)
    elif owner is not None:
        number = owner.next_ordinal if ordinal is None else ordinal
        spec = with_claims(spec, owner.volume_claim_templates, owner.ref.name, number)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "namespace": workload.namespace, "labels": labels, **_owned_by(owner)},
        "spec": spec,
    }


def _tolerating(spec: Raw) -> Raw:
    """Add the tolerations of a DaemonSet's Pod."""
    added = DAEMON_TOLERATIONS if spec.get("hostNetwork") is True else DAEMON_TOLERATIONS[:-1]
    return {**spec, "tolerations": [*as_list(spec.get("tolerations")), *added]}


def _owned_by(owner: WorkloadObject | None) -> dict[str, object]:
    if owner is None:
        return {}
    ref = owner.ref
    owner_reference = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name, "controller": True}
    return {"ownerReferences": [owner_reference]}


def with_revision(pod: Raw, revision: str) -> Raw:
    """Make a Pod one of another revision of its StatefulSet."""
    metadata = as_mapping(pod.get("metadata"))
    labels = {**labels_in(pod), REVISION_HASH: revision}
    return {**pod, "metadata": {**metadata, "labels": labels}}


def with_new_template(stateful_set: Raw) -> Raw:
    """Return a StatefulSet as if its template was changed just now, and its controller had made a revision of it."""
    return {**stateful_set, "status": {"updateRevision": MADE_UP_LABEL}}
