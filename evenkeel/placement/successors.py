"""
What if a Pod that waits is deleted: its controller makes another of the template as it is now, which may fit.

    Pods that wait, their StatefulSet or ReplicaSet ──its template has changed──> their successors ──tried──> Remedy
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evenkeel.objects.claim_templates import claims_of_set
from evenkeel.objects.pod_object import PodObject
from evenkeel.objects.pod_templates import (
    find_new_replica_set,
    pod_from_template,
    replica_sets,
    template_of,
)
from evenkeel.objects.workload_object import IF_DELETED, WorkloadObject, reach_of_template, read_workload_object
from evenkeel.placement.claims import claims_of
from evenkeel.placement.created_pods import PodCreation, read_creation
from evenkeel.placement.inferred_defaults import DefaultsOf, none_given
from evenkeel.placement.kubectl_commands import ClusterEdit, deleting, read_template
from evenkeel.placement.remedies import NOW, Remedy
from evenkeel.placement.subject import PlacementSubject, attempt, expected_claim, of_new_pod
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.scheduler.profile import USUAL_PROFILES, Cycle, Profiles
from evenkeel.scheduler.storage import ClaimRef
from webhook.kubernetes.fields import Raw, as_mapping, texts_at
from webhook.kubernetes.kinds import APPS, KINDS
from webhook.kubernetes.labels import labels_in
from webhook.kubernetes.names import REVISION_HASH
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.references import ObjectKey, ObjectRef
from webhook.kubernetes.workload import parse_workloads
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import as_selector

WITH_REVISIONS = (APPS, "StatefulSet")


def keeps_waiting_pods(raw: Raw) -> bool:
    """Whether a workload makes new Pods of a changed template only for those that are deleted."""
    ref = ObjectRef.of(raw)
    if (ref.api_version, ref.kind) == WITH_REVISIONS and read_workload_object(raw).stateful_set_update.ordered:
        return True
    # A DaemonSet's Pods are each tied to a node: a new one would go to the same.
    return ref.kind != "DaemonSet" and reach_of_template(raw) == IF_DELETED


def made_again(
    subjects: Sequence[PlacementSubject],
    cycle: Cycle,
    others: Mapping[ObjectKey, Raw],
    defaults: DefaultsOf = none_given,
    profiles: Profiles = USUAL_PROFILES,
) -> Remedy | None:
    """
    Return the deletion of waiting Pods of one workload, if a node takes those that are made in their place.

    `cycle` is the attempt to place any of them.  None if no template has changed since they were made, their controller
    replaces them itself or makes none again, or none of the profiles places what it makes.
    """
    outdated = [(subject, owner) for subject in subjects if (owner := _changed_owner(subject, others)) is not None]
    if not outdated:
        return None
    subject = _successor(*outdated[0], others, read_creation(others, cycle.features))
    profile = profiles.get(subject.scheduler)
    if profile is None or subject.pod.scheduling_gates or subject.pod.node:  # kube-scheduler does not place it.
        return None
    tried = attempt(subject, cycle.snapshot, cycle.features, defaults(subject), profile)
    nodes = 0 if tried.errors else feasible_nodes(tried.cycle)
    if not nodes:
        return None
    names = tuple([old_subject.ref.name for old_subject, _ in outdated])
    return deletion(subject.ref.namespace, names, tuple(cycle.snapshot.nodes.names(nodes)), tried.cycle)


def deletion(namespace: str, names: tuple[str, ...], nodes: tuple[str, ...], cycle: Cycle) -> Remedy:
    """Return the deletion of waiting Pods, whose successors these nodes take."""
    single = len(names) == 1
    pods = f"Pod {names[0]}: its" if single else f"the {len(names):,} Pods that wait: their"
    words = f"delete {pods} controller creates {'it' if single else 'them'} again from the new template"
    return Remedy(words, NOW, nodes, cycle, edits=(deleting(namespace, *names),), remade=names)


def with_new_claims(subject: PlacementSubject, cycle: Cycle, others: Mapping[ObjectKey, Raw]) -> Remedy | None:
    """
    Return the deletion of a StatefulSet's waiting Pod with claims that keep it off nodes, if a node takes the new one.

    None if the StatefulSet does not make these claims, or nobody knows where the volumes of new ones would be: those of
    a class that does not wait for the Pod.  Neither is data given up that no other Pod has, or while a node that is
    out of service may yet come back and take the Pod.
    """
    pod, storage = subject.pod, cycle.storage
    raw = others.get(pod.owner.key(pod.namespace)) if pod.owner is not None and subject.exists else None
    if raw is None or ObjectRef.of(raw)[:2] != WITH_REVISIONS:
        return None
    owner = read_workload_object(raw)
    if pod.terminating or owner.terminating or not _is_of(pod, owner) or not _has_ordinal(pod, owner):
        return None
    if not _has_other_pods(owner, cycle):
        return None
    in_service = cycle.with_nodes_in_service
    if in_service is not cycle and feasible_nodes(in_service):
        return None
    made = claims_of_set(owner.volume_claim_templates, owner.ref.name, pod.namespace, pod.ordinal)
    new = {claim.name: claim for claim in (expected_claim(storage, raw_claim) for raw_claim in made)}
    pinning = [
        reach
        for reach in claims_of(cycle)
        if reach.name in new and reach.volume is not None and reach.nodes != cycle.snapshot.nodes.all
    ]
    if any(in_service.reach.usable & reach.nodes and not cycle.reach.usable & reach.nodes for reach in pinning):
        return None
    for deleted in (*[[reach] for reach in pinning], pinning):  # One may be enough.
        names = [reach.name for reach in deleted]
        # Nobody else gets the old volumes.
        old = [
            replace(reach.volume, claim=ClaimRef(pod.namespace, reach.name, "gone"), available=False)
            for reach in deleted
            if reach.volume is not None
        ]
        changed = storage.with_claims([new[name] for name in names]).with_volumes(old)
        tried = replace(cycle, snapshot=replace(cycle.snapshot, storage=changed))
        waits = all(changed.waits(new[name]) for name in names)
        if names and waits and (nodes := feasible_nodes(tried)):
            claims = f"claim{'s' if len(names) > 1 else ''} {' and '.join(names)}"
            edits = (
                # A claim goes only once no Pod uses it.
                ClusterEdit(("delete", "pvc", *names, "-n", pod.namespace, "--wait=false"), (pod.namespace, *names)),
                deleting(pod.namespace, pod.name),
            )
            return Remedy(
                f"delete {claims} and Pod {pod.name}, if the application rebuilds its data from others",
                NOW,
                tuple(cycle.snapshot.nodes.names(nodes)),
                tried,
                edits=edits,
                remade=(pod.name,),
                loses_data=True,
            )
    return None


def with_successors(fixes: Sequence[Remedy], again: Remedy | None, *, outdated: bool = False) -> tuple[Remedy, ...]:
    """
    Put the deletion of Pods, if it helps, before other remedies; without those that change the template.

    Of an `outdated` Pod these are left out in any case: the template is no longer that of the Pod.
    """
    remaining = fixes if again is None and not outdated else [fix for fix in fixes if fix.where == NOW]
    return tuple(remaining) if again is None else (again, *remaining)


def changed_since(subject: PlacementSubject, others: Mapping[ObjectKey, Raw]) -> str:
    """
    Return the workload whose template has changed since it made a Pod, e.g. `StatefulSet/db`; "" if none is known.

    Only a StatefulSet, which has revisions, and a Deployment, whose newest ReplicaSet has its template, show this.
    """
    pod = subject.pod
    raw = others.get(pod.owner.key(pod.namespace)) if pod.owner is not None and subject.exists else None
    if raw is None:
        return ""
    owner = read_workload_object(raw)
    if (owner.ref.api_version, owner.ref.kind) == WITH_REVISIONS:
        revisions = {pod.revision_hash, owner.update_revision}
        return f"{owner.ref.kind}/{owner.ref.name}" if "" not in revisions and len(revisions) == 2 else ""
    above = others.get(owner.owner.key(pod.namespace)) if owner.owner is not None else None
    if above is None or ObjectRef.of(above).key[:2] != ("apps", "Deployment"):
        return ""
    deployment = read_workload_object(above)
    newest = find_new_replica_set(deployment, deployment.template, replica_sets(deployment.ref, others))
    is_newest = newest is not None and newest.ref == owner.ref
    return "" if is_newest else f"{deployment.ref.kind}/{deployment.ref.name}"


def _changed_owner(subject: PlacementSubject, others: Mapping[ObjectKey, Raw]) -> WorkloadObject | None:
    """
    Return the owner of a Pod that does not replace it, but would make its successor of another template; else None.

    Only a StatefulSet has revisions; for other owners the attempt shows whether the template differs.
    """
    pod = subject.pod
    raw = others.get(pod.owner.key(pod.namespace)) if pod.owner is not None and subject.exists else None
    if raw is None or pod.terminating or not keeps_waiting_pods(raw) or read_template(raw, pod.spec) is None:
        return None
    owner = read_workload_object(raw)
    if owner.terminating or owner.replicas == 0 or not _is_of(pod, owner):
        return None
    if (owner.ref.api_version, owner.ref.kind) != WITH_REVISIONS:
        return owner if owner.owner is None else None  # What owns a ReplicaSet makes another for a new template.
    if not _has_ordinal(pod, owner) or not owner.stateful_set_update.is_updated(pod.ordinal):
        return None
    is_current = pod.revision_hash and pod.revision_hash == owner.update_revision
    return None if is_current else owner


def _has_other_pods(owner: WorkloadObject, cycle: Cycle) -> bool:
    """Whether a StatefulSet of several replicas has Pods on nodes, from which a new one may rebuild its data."""
    if owner.replicas is None or owner.replicas < 2:
        return False
    own = as_selector(read_selector(Reader(), owner.selector or None, ()))
    groups = cycle.snapshot.pods.get(cycle.pod.namespace, {}).values()
    return any(sum(group.nodes.values()) and own.matches(group.labels) for group in groups)


def _has_ordinal(pod: PodObject, owner: WorkloadObject) -> bool:
    """Whether a StatefulSet has a Pod of this name, so that it makes one again."""
    ordinals = range(owner.stateful_set_update.first, owner.next_ordinal)
    return pod.name == f"{owner.ref.name}-{pod.ordinal}" and pod.ordinal in ordinals


def _is_of(pod: PodObject, owner: WorkloadObject) -> bool:
    """Whether a Pod is of this very owner, and not of one that had its name before."""
    uid, uid_in_pod = texts_at(owner.raw, "metadata.uid")[0], pod.owner.uid if pod.owner is not None else ""
    return uid == uid_in_pod or not (uid and uid_in_pod)


def _successor(
    subject: PlacementSubject, owner: WorkloadObject, others: Mapping[ObjectKey, Raw], creation: PodCreation
) -> PlacementSubject:
    """Return the Pod that the owner of this one makes of its template, with the same name."""
    pod, ref = subject.pod, owner.ref
    workload = next(iter(parse_workloads(owner.raw, KINDS)))
    new_pod = pod_from_template(template_of(owner.raw, workload), workload, owner, pod.ordinal)
    # Labels that the controller adds have the same values again, but for the revision.
    added = {key: pod.labels[key] for key in workload.kind.addable & pod.labels.keys() if key != REVISION_HASH}
    metadata = {**as_mapping(new_pod.get("metadata")), "name": pod.name, "labels": {**labels_in(new_pod), **added}}
    successor = of_new_pod({**new_pod, "metadata": metadata}, others, creation)
    claims = claims_of_set(owner.volume_claim_templates, ref.name, ref.namespace, pod.ordinal)
    return replace(successor, claims=(*claims, *successor.claims))
