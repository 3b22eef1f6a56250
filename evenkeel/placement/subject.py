"""
The Pod that is asked about: one that exists, or the next replica of a workload; and remarks on it.

    Pod ────────────────────────────────────────────┐
    workload ── its template, its controller's labels ┴──> Subject ──with the cluster──> Cycle
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evenkeel.objects.claim_templates import claims_of_set, ephemeral_claims
from evenkeel.objects.pod_object import PodObject, ScheduledCondition, read_pod
from evenkeel.objects.pod_templates import (
    find_new_replica_set,
    pod_from_template,
    replica_sets,
    template_of,
    with_revision,
)
from evenkeel.objects.workload_object import WorkloadObject, read_workload_object
from evenkeel.placement.created_pods import BARE_CREATION, CreatedPod, PodCreation, created
from evenkeel.placement.gaps import used_by
from evenkeel.scheduler.incoming import read_incoming_pod
from evenkeel.scheduler.pod_counts import FINISHED, BoundPod
from evenkeel.scheduler.profile import USUAL_PROFILE, Cycle, Profile, Profiles
from evenkeel.scheduler.scheduler_nodes import SchedulerNodes
from evenkeel.scheduler.snapshot import Snapshot, read_object
from evenkeel.scheduler.snapshot_changes import without_pod
from evenkeel.scheduler.storage import NO_STORAGE, Claim, Storage
from evenkeel.scheduler.storage_objects import names_class, read_claim
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldError, FieldPath, Raw, as_list, as_mapping
from webhook.kubernetes.kinds import CONSTRAINTS_PATH, KINDS, Kinds
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import FARGATE_SCHEDULER
from webhook.kubernetes.reader import Reader
from webhook.kubernetes.references import ObjectKey, ObjectRef, Owner, owner_of
from webhook.kubernetes.workload import BY_FARGATE, Workload, ignoring, parse_workloads
from webhook.spread.constraint import read_constraints
from webhook.spread.default_constraints import SYSTEM_DEFAULTS, constraints_in_force
from webhook.spread.default_selector import default_selector
from webhook.spread.known_taints import FARGATE
from webhook.spread.validation import in_one_line, validate

UNSCHEDULABLE_REASON = "Unschedulable"  # The reason of a Pod for which kube-scheduler has found no node.
FROM_POD, POLICY, FROM_SCHEDULER = "pod", "policy", "scheduler"  # Where the constraints in force come from.

DAEMON = "A DaemonSet ties one Pod to each node that it may use, by node affinity: each node is judged alone."


@dataclass(frozen=True, slots=True)
class PlacementSubject:
    """A Pod as it would be placed: of the cluster, of a file, or the next replica of a workload, which has no name."""

    pod: PodObject
    ref: ObjectRef  # The Pod, or the workload whose next replica it is.
    made_by: ObjectRef | None  # The topmost known owner, or the workload itself.
    phase: str  # "" for a Pod that does not exist yet.
    node: str  # "" for a Pod that has none.
    verdict: ScheduledCondition
    remarks: tuple[str, ...]  # Sentences: what keeps the scheduler from placing it, and what was added to it.
    unmodelled: tuple[str, ...]  # Features that it uses and that are not computed.
    path: FieldPath = ()  # Where the Pod is in its object: the path of the template, () in a Pod.
    refusals: tuple[FieldError, ...] = ()  # Why kube-apiserver would not create it.
    claims: tuple[Raw, ...] = ()  # Those that controllers make for it, if they do not exist.
    ignored_by: str = ""  # What places it and ignores its constraints, as far as it says so itself; else "".

    @property
    def raw(self) -> Raw:
        return self.pod.raw

    @property
    def workload(self) -> str:
        """What made it, e.g. `Deployment/web`; "" if nothing did."""
        return f"{self.made_by.kind}/{self.made_by.name}" if self.made_by is not None else ""

    @property
    def api_group(self) -> str:
        """The API group of what made it; "", that of Pods, if nothing did."""
        return self.made_by.group if self.made_by is not None else ""

    @property
    def is_pod(self) -> bool:
        """Whether it is a Pod, and not what makes Pods."""
        return self.ref.kind == "Pod"

    @property
    def scheduler(self) -> str:
        """The name of the scheduler that places it."""
        return self.pod.scheduler_name

    @property
    def exists(self) -> bool:
        """Whether it is a Pod that is in the cluster."""
        return self.phase != ""


def of_pod(raw: Raw, others: Mapping[ObjectKey, Raw]) -> PlacementSubject:
    """Ask about a Pod of the cluster; `others` holds what may own it."""
    pod = read_pod(raw)
    return PlacementSubject(
        pod,
        ref=ObjectRef.of(raw),
        made_by=maker_of(pod, others),
        phase=pod.phase or "Pending",
        node=pod.node,
        verdict=pod.scheduled_condition,
        remarks=tuple(_remarks(pod)),
        unmodelled=tuple(used_by(pod.spec)),
        ignored_by=ignoring(pod.spec),
    )


def of_new_pod(raw: Raw, others: Mapping[ObjectKey, Raw], creation: PodCreation = BARE_CREATION) -> PlacementSubject:
    """Ask about a Pod that does not exist yet, completed as kube-apiserver would when it creates it."""
    created_pod = created(raw, creation)
    subject = of_pod(created_pod.raw, others)
    return replace(
        subject,
        phase="",
        node="",
        verdict=ScheduledCondition(),
        remarks=(*subject.remarks, *_additions(created_pod)),
        refusals=created_pod.errors,
        claims=tuple(ephemeral_claims(created_pod.raw)),
    )


def _additions(created_pod: CreatedPod) -> Iterator[str]:
    if created_pod.added:
        yield f"Added as kube-apiserver would: {', '.join(created_pod.added)}."


def foreign(subject: PlacementSubject, profiles: Profiles) -> tuple[str, ...]:
    """Return a remark if none of the profiles places the Pod."""
    if subject.scheduler in profiles:
        return ()
    return (f'The scheduler "{subject.scheduler}" places it. This answer is what kube-scheduler would do.',)


def ignoring_placer(subject: PlacementSubject, newest: Mapping[ObjectKey, PodObject], nodes: SchedulerNodes) -> str:
    """
    Return what places a Pod and ignores its constraints; "" if they count, as far as is known.

    EKS sends Pods to Fargate that their template does not send there: the newest Pod of the workload tells.
    """
    of_workload = newest.get(subject.made_by.key) if subject.made_by is not None else None
    telling = subject.pod if subject.exists else of_workload
    return subject.ignored_by or (BY_FARGATE if runs_on_fargate(telling, nodes) else "")


def runs_on_fargate(pod: PodObject | None, nodes: SchedulerNodes) -> bool:
    """Return whether a Pod of the cluster is for Fargate, or on one of its nodes."""
    if pod is None or pod.scheduler_name == FARGATE_SCHEDULER:
        return pod is not None
    key, value = FARGATE
    return bool(pod.node and nodes.named((pod.node,)) & nodes.domains(key).get(value, 0))


def alone(subject: PlacementSubject, snapshot: Snapshot, features: Features) -> Snapshot:
    """Return the snapshot without the subject itself, if it is bound."""
    if not subject.node:
        return snapshot
    namespace, _, pod = read_object(subject.raw, "v1", "Pod", features)
    return without_pod(snapshot, namespace, subject.ref.name, pod) if isinstance(pod, BoundPod) else snapshot


def next_replica(
    raw: Raw,
    others: Mapping[ObjectKey, Raw],
    kinds: Kinds = KINDS,
    creation: PodCreation = BARE_CREATION,
    revision: str = "",
) -> tuple[PlacementSubject, ...]:
    """
    Return the next Pod of each known template of a workload, completed as kube-apiserver would.

    With a `revision` a Pod of a StatefulSet is of this one.
    """
    workload_object, subjects = read_workload_object(raw), []
    made_by = _top(workload_object.owner, workload_object.ref.namespace, others) or workload_object.ref
    for workload, uncreated in uncreated_pods(workload_object, others, kinds):
        created_pod = created(with_revision(uncreated, revision) if revision else uncreated, creation)
        pod = read_pod(created_pod.raw)
        daemon = (DAEMON,) if workload.kind.kind == "DaemonSet" else ()
        subjects.append(
            PlacementSubject(
                pod,
                ref=workload_object.ref,
                made_by=made_by,
                phase="",
                node="",
                verdict=ScheduledCondition(),
                remarks=(*_remarks(pod), *daemon, *_additions(created_pod)),
                unmodelled=tuple(used_by(pod.spec, by_kueue=workload.by_kueue)),
                path=workload.path[:-2],
                refusals=created_pod.errors,
                claims=(*_claims_of(workload_object), *ephemeral_claims(created_pod.raw)),
                ignored_by=ignoring(pod.spec),
            )
        )
    return tuple(subjects)


def _claims_of(owner: WorkloadObject) -> Iterator[Raw]:
    ref = owner.ref
    return claims_of_set(owner.volume_claim_templates, ref.name, ref.namespace, owner.next_ordinal)


def uncreated_pods(
    workload_object: WorkloadObject, others: Mapping[ObjectKey, Raw], kinds: Kinds
) -> Iterator[tuple[Workload, Raw]]:
    """Yield the next Pod of each template of a workload as its controller sends it to kube-apiserver."""
    for workload in parse_workloads(workload_object.raw, kinds):
        template = template_of(workload_object.raw, workload)
        if not template:
            continue
        owner: WorkloadObject | None = workload_object
        if workload.kind.kind == "Deployment":
            owner = find_new_replica_set(workload_object, template, replica_sets(workload_object.ref, others))
        yield workload, pod_from_template(template, workload, owner)


def maker_of(pod: PodObject, others: Mapping[ObjectKey, Raw]) -> ObjectRef | None:
    """Return the topmost known owner of a Pod; None if no controller owns it."""
    return _top(pod.owner, pod.namespace, others)


def _top(owner: Owner | None, namespace: str, others: Mapping[ObjectKey, Raw]) -> ObjectRef | None:
    """Follow at most three owner references, and return the last owner that they name; None without any."""
    top = None
    for _ in range(3):
        if owner is None:
            break
        top = ObjectRef(owner.api_version, owner.kind, namespace, owner.name)
        above = others.get(top.key)
        owner = owner_of(above) if above is not None else None
    return top


def _remarks(pod: PodObject) -> Iterator[str]:
    """Yield what keeps kube-scheduler from placing the Pod, or is about to."""
    if pod.static:
        yield "It is a static Pod: the kubelet of its node runs it from a file, and no scheduler places it."
    if pod.phase in FINISHED:
        yield f"It has finished ({pod.phase}): it is not placed again, and no longer counts."
    if pod.terminating:
        yield "It is being deleted: it is not placed, and no longer counts."
    if pod.scheduling_gates:
        gates = ", ".join(pod.scheduling_gates)
        yield f"The scheduler ignores it until its scheduling gates are removed: {gates}."
    if pod.spec.get("schedulingGroup"):
        yield "It waits until there is room for all Pods of its scheduling group."
    if pod.priority > 0 and not pod.node and not pod.preempts:
        yield f"It has priority {pod.priority}, and preempts no other Pods."


def attempt_likeness(subject: PlacementSubject) -> tuple[str, str]:
    """
    Return a key that is equal for Pods whose attempts have the same result.

    It has the Pod's name only if that matters: claims of ephemeral volumes are named by it, and so is the Pod for which
    a node is nominated.
    """
    volumes = map(as_mapping, as_list(subject.pod.spec.get("volumes")))
    name_matters = subject.pod.nominated_node or any(volume.get("ephemeral") for volume in volumes)
    return likeness(subject), subject.ref.name if name_matters else ""


def likeness(subject: PlacementSubject) -> str:
    """Return a key that is equal for Pods that are alike."""
    pod = subject.pod
    return json.dumps([pod.namespace, pod.owner, pod.labels, pod.spec], sort_keys=True, default=str)


class Attempt(NamedTuple):
    """The attempt to place a Pod."""

    cycle: Cycle
    source: str  # Where the constraints in force come from: FROM_POD, POLICY or FROM_SCHEDULER.
    errors: tuple[str, ...]  # Fields that cannot be read, and what keeps kube-apiserver from creating the Pod.

    @property
    def assumed(self) -> str:
        """Why default constraints in force are taken for the cluster's; "" if nothing is assumed of any in force."""
        return self.cycle.profile.assumed if self.source == FROM_SCHEDULER and self.cycle.constraints else ""


def attempt(
    subject: PlacementSubject,
    snapshot: Snapshot,
    features: Features,
    defaults: Sequence[dict[str, object]] | None = None,
    profile: Profile = USUAL_PROFILE,
) -> Attempt:
    """
    Return how kube-scheduler would try to place the subject in the snapshot; a bound Pod, as if it were not bound.

    `defaults` are the constraints that evenkeel's policy gives a new Pod without any; None for those of the profile.
    """
    reader = Reader()
    pod = read_incoming_pod(reader, subject.raw, features)
    if subject.node:
        pod = replace(pod, node_name="", name="", nominated_node="")
    written = subject.pod.constraints
    selector = default_selector(pod.namespace, pod.labels, subject.pod.owner, snapshot).selector
    policy_defaults = defaults if not subject.exists else None
    scheduler_defaults = (
        SYSTEM_DEFAULTS if profile.defaults is None else [dict(constraint) for constraint in profile.defaults]
    )
    defaults_in_force = scheduler_defaults if policy_defaults is None else policy_defaults
    constraints = constraints_in_force(written, pod.labels, defaults_in_force, selector, features)
    source = FROM_SCHEDULER if policy_defaults is None else POLICY
    if written:
        source = FROM_POD
    heeded = tuple([constraint for constraint in constraints if profile.heeds(constraint)])
    if subject.claims:
        snapshot = replace(snapshot, storage=with_expected(snapshot.storage or NO_STORAGE, subject.claims))
    by_system = source == FROM_SCHEDULER and (profile.defaults is None or profile.assumed != "")
    cycle = Cycle(pod, heeded, snapshot, features, by_system, profile)
    errors = [*reader.errors, *_errors(subject, pod.labels, features)]
    located = (error._replace(path=(*subject.path, *error.path)) for error in errors)
    return Attempt(cycle, source, tuple(dict.fromkeys(map(in_one_line, located))))


def with_expected(storage: Storage, claims: Iterable[Raw]) -> Storage:
    """Add claims that are about to be made, unless they exist."""
    expected = (expected_claim(storage, raw) for raw in claims)
    return storage.with_claims([claim for claim in expected if (claim.namespace, claim.name) not in storage.claims])


def expected_claim(storage: Storage, raw: Raw) -> Claim:
    """
    Read a claim that is about to be made; it has the default class if it names none.

    upstream: admission.go:claimDefaulterPlugin.Admit (v1.37)
    """
    claim = replace(read_claim(Reader(), raw), expected=True)
    return claim if names_class(raw) else replace(claim, class_name=storage.default_class)


def _errors(subject: PlacementSubject, labels: Labels, features: Features) -> Iterator[FieldError]:
    """Yield why kube-apiserver refuses the constraints of a new Pod; of an existing one only what cannot be read."""
    written = subject.pod.constraints
    yield from subject.refusals
    if not subject.exists:
        merged = subject.pod.stored  # The API server merges matchLabelKeys when it accepts a Pod.
        yield from validate(written, labels, CONSTRAINTS_PATH, merged=merged, features=features)
    else:
        for type_, path, value, detail in read_constraints(written, features).mistyped:
            yield FieldError(type_, (*CONSTRAINTS_PATH, *path), value, detail)
