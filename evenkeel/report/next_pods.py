"""
The Pods that a workload's controller would make next, as they would be sent to the API server.

    object with a Pod template ──labels and owner that its controller gives──> Pod
    a Pod that is there ───────without what was added since it was created───> Pod
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from evenkeel.objects.pod_object import read_pod
from evenkeel.objects.pod_templates import MADE_UP_LABEL
from evenkeel.objects.workload_object import read_workload_object
from evenkeel.placement.subject import uncreated_pods
from evenkeel.report.inventory import POD, LiveWorkload
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath, Raw, as_list, as_mapping, value_at, with_value
from webhook.kubernetes.kinds import APPS, BATCH, CONSTRAINTS_PATH, FIELD, Kinds
from webhook.kubernetes.labels import labels_in
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION, REQUIRED_TERMS, TOPOLOGY_LABELS
from webhook.kubernetes.references import ObjectKey, ObjectRef
from webhook.spread.selectors import IN

OWNERS_PATH: FieldPath = ("metadata", "ownerReferences")
LABELS_PATH: FieldPath = ("metadata", "labels")
ANNOTATIONS_PATH: FieldPath = ("metadata", "annotations")
REQUIRED_AFFINITY_PATH: FieldPath = ("spec", "affinity", "nodeAffinity", REQUIRED_TERMS)
# Fields of metadata that only stored objects have.
OF_STORED = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generation", "managedFields", "selfLink"}
)
# For kinds that do not make Pods themselves, the kind that they make, which does.
BETWEEN = {(APPS, "Deployment"): (APPS, "ReplicaSet"), (BATCH, "CronJob"): (BATCH, "Job")}
A_NODE = "a-node"  # stands for the node for which the Pod of a DaemonSet is made


class MadePod(NamedTuple):
    """A Pod that is yet to be created."""

    raw: Raw  # as its template describes it
    sent: Raw  # as its controller makes it: that of a DaemonSet ties each Pod to a node


def made_pods(workload: LiveWorkload, kinds: Kinds, features: Features) -> tuple[MadePod, ...]:
    """Return a Pod for each template of a workload; without a template, its newest Pod as it was first created."""
    raw, newest = workload.raw, workload.newest
    templates = (
        ()
        if raw is None or workload.is_pod
        else tuple(uncreated_pods(read_workload_object(raw), _owned_by_key(workload), kinds))
    )
    if templates:
        pods = [_as_made(pod, workload) for _, pod in templates]
        return tuple([MadePod(pod, _pinned(pod) if workload.ref.kind == "DaemonSet" else pod) for pod in pods])
    if newest is None:
        return ()
    created_again = anew(newest.raw, features)
    return (MadePod(created_again, created_again),)


def _owned_by_key(workload: LiveWorkload) -> Mapping[ObjectKey, Raw]:
    return {ObjectRef.of(raw).key: raw for raw in workload.owned}


def _as_made(pod: Raw, workload: LiveWorkload) -> Raw:
    """Return the next replica, with what only its newest Pod tells: values of generated labels, and its owner."""
    newest = workload.newest
    newest_labels = newest.labels if newest is not None else {}
    labels = {
        key: newest_labels.get(key, MADE_UP_LABEL) if value == MADE_UP_LABEL else value
        for key, value in labels_in(pod).items()
    }
    pod = as_mapping(with_value(pod, LABELS_PATH, labels))
    owners = _owners(pod, workload)
    return as_mapping(with_value(pod, OWNERS_PATH, owners)) if owners else pod


def _owners(pod: Raw, workload: LiveWorkload) -> object:
    """Return the owner references: to the ReplicaSet of the template, or those of the newest Pod, or made up."""
    ref, from_template = workload.ref, value_at(pod, OWNERS_PATH)
    between = BETWEEN.get((ref.api_version, ref.kind))
    if from_template and ref.kind == "Deployment":
        return from_template
    newest = workload.newest
    of_newest = value_at(newest.raw, OWNERS_PATH) if newest is not None else None
    if between is None or of_newest:
        return of_newest or from_template
    return [{"apiVersion": between[0], "kind": between[1], "name": f"{ref.name}-{MADE_UP_LABEL}", "controller": True}]


def _pinned(pod: Raw) -> Raw:
    """
    Return the Pod tied to a node, as the DaemonSet controller makes it.

    upstream: daemonset_util.go:ReplaceDaemonSetPodNodeNameNodeAffinity (v1.37)
    """
    on_node = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [A_NODE]}]}
    return as_mapping(with_value(pod, REQUIRED_AFFINITY_PATH, {"nodeSelectorTerms": [on_node]}))


def anew(pod: Raw, features: Features) -> Raw:
    """
    Return a Pod of the cluster as it would be created again.

    It loses its node, its status, the constraints that evenkeel gave it, and what the API server added: labels for zone
    and region, and matchLabelKeys merged into selectors.
    """
    metadata, spec = as_mapping(pod.get("metadata")), as_mapping(pod.get("spec"))
    kept_metadata = {name: value for name, value in metadata.items() if name not in OF_STORED}
    labels: Mapping[str, str] = labels_in(pod)
    if features.topology_labels and spec.get("nodeName"):
        labels = {key: value for key, value in labels.items() if key not in TOPOLOGY_LABELS}
    created: dict[str, object] = {
        "apiVersion": pod.get("apiVersion"),
        "kind": POD,
        "metadata": {**kept_metadata, "labels": labels},
        "spec": {name: value for name, value in spec.items() if name != "nodeName"},
    }
    if read_pod(pod).defaulted:
        return _undefaulted(created)
    constraints = spec.get(FIELD)
    if not constraints or not features.selector_merge:
        return created
    return as_mapping(
        with_value(created, CONSTRAINTS_PATH, [_unmerged(constraint, labels) for constraint in as_list(constraints)])
    )


def _undefaulted(pod: Raw) -> Raw:
    """Return a Pod without the constraints that evenkeel gave it, and without the annotation that says so."""
    spec, annotations = as_mapping(pod["spec"]), as_mapping(value_at(pod, ANNOTATIONS_PATH))
    other_annotations = {name: value for name, value in annotations.items() if name != DEFAULTED_BY_ANNOTATION}
    without = {**pod, "spec": {name: value for name, value in spec.items() if name != FIELD}}
    return as_mapping(with_value(without, ANNOTATIONS_PATH, other_annotations))


def _unmerged(constraint: object, labels: Mapping[str, str]) -> object:
    """
    Return a constraint as it was before its matchLabelKeys were merged into its selector.

    They are its last expressions; if these differ, nothing was merged.

    upstream: strategy.go:applyMatchLabelKeys (v1.37)
    """
    path: FieldPath = ("labelSelector", "matchExpressions")
    expressions = list(as_list(value_at(constraint, path)))
    keys = [key for key in as_list(value_at(constraint, ("matchLabelKeys",))) if isinstance(key, str) and key in labels]
    merged = [{"key": key, "operator": IN, "values": [labels[key]]} for key in keys]
    if not merged or expressions[-len(merged) :] != merged:
        return constraint
    own_expressions = expressions[: -len(merged)]
    if own_expressions:
        return with_value(constraint, path, own_expressions)
    selector = as_mapping(as_mapping(constraint).get("labelSelector"))
    return {**as_mapping(constraint), "labelSelector": {**selector, "matchExpressions": []}}
