"""
The Pod that is asked about: one that is there, or the next replica of a workload; and what else is to be said of it.

    Pod ────────────────────────────────────────────┐
    workload ── its template, its controller's labels ┴──> Subject ──with the cluster──> Cycle
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from webhook.objects.fields import FieldError, FieldPath, as_list, as_mapping, mappings_at, texts_at, value_at
from webhook.objects.kinds import CONSTRAINTS_PATH, KINDS, Kinds
from webhook.objects.labels import Labels, labels_of
from webhook.objects.names import DEFAULT_SCHEDULER, MIRROR_ANNOTATION, REVISION_ANNOTATION
from webhook.objects.reading import Reader
from webhook.objects.references import ObjectKey, ObjectRef, Owner, controller_of
from webhook.objects.workload import parse_workloads
from webhook.placement.pods import without_pod
from webhook.scheduler.constraint import read_constraints
from webhook.scheduler.counts import FINISHED, BoundPod
from webhook.scheduler.default_constraints import SYSTEM_DEFAULTS, constraints_in_force, default_selector
from webhook.scheduler.features import Features
from webhook.scheduler.incoming import read_incoming_pod
from webhook.scheduler.profile import USUAL_PROFILE, Cycle, Profile, Profiles
from webhook.scheduler.resources import with_default_requests
from webhook.scheduler.snapshot import Snapshot, read_object
from webhook.scheduler.validation import in_one_line, validate

UNSCHEDULABLE_REASON = "Unschedulable"  # The reason of a Pod for which kube-scheduler has found no node.
FROM_POD, POLICY, FROM_SCHEDULER = "pod", "policy", "scheduler"  # Where the constraints in force come from.
HASH = "pod-template-hash"
REVISION_HASH = "controller-revision-hash"  # of the Pods of a StatefulSet
MADE_UP_LABEL = "new"  # Stands for the value of a label that a controller is yet to make up.
# The volumes that bind a Pod to nodes, or of which a node takes only so many.
VOLUME_KINDS = frozenset(
    {
        *("awsElasticBlockStore", "azureDisk", "cinder", "csi", "ephemeral", "gcePersistentDisk", "iscsi"),
        *("persistentVolumeClaim", "rbd"),
    }
)
# What the DaemonSet controller has each of its Pods tolerate; the last is only of those on the host's network.
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
CLAIMS = ("spec", "volumeClaimTemplates")  # of a StatefulSet

DAEMON = "A DaemonSet has one Pod for each node that it may use, tied to it by affinity: each node is judged by itself."

Raw = Mapping[str, object]


class ScheduledCondition(NamedTuple):
    """What kube-scheduler last said of a Pod: the reason and message of its condition PodScheduled, and when."""

    reason: str = ""
    message: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class PlacementSubject:
    """
    A Pod as it would be placed: `raw` is it in JSON, or the next replica of a workload, which has no name yet.

    `made_by` is what made it, as far up as it is known, or the workload itself.  `phase` and `node` are empty for a
    Pod that is not there yet.  `remarks` are what keeps the scheduler from looking at it, and what else it heeds.
    `path` is where the Pod stands in its object: () for a Pod, and that of the template for what makes Pods.
    """

    raw: Raw
    ref: ObjectRef
    made_by: ObjectRef | None
    phase: str
    node: str
    verdict: ScheduledCondition
    remarks: tuple[str, ...]
    not_judged: tuple[str, ...]
    path: FieldPath = ()

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
        return texts_at(self.raw, "spec.schedulerName")[0] or DEFAULT_SCHEDULER

    @property
    def exists(self) -> bool:
        """Whether it is a Pod that is in the cluster."""
        return self.phase != ""


def of_pod(raw: Raw, others: Mapping[ObjectKey, Raw]) -> PlacementSubject:
    """A Pod of the cluster; `others` holds what may own it."""
    ref = ObjectRef.of(raw)
    spec, status = mappings_at(raw, ("spec",), ("status",))
    (node,) = texts_at(spec, "nodeName")
    (phase,) = texts_at(status, "phase")
    workload = _top(as_mapping(raw.get("metadata")), ref.namespace, others)
    return PlacementSubject(
        raw, ref, workload, phase or "Pending", node, _verdict(status), tuple(_remarks(raw)), tuple(_not_judged(spec))
    )


def of_new_pod(raw: Raw, others: Mapping[ObjectKey, Raw]) -> PlacementSubject:
    """A Pod that is not in the cluster yet."""
    spec = raw.get("spec")
    made = {**raw, "spec": with_default_requests(spec)} if isinstance(spec, dict) else raw
    return replace(of_pod(made, others), phase="", node="", verdict=ScheduledCondition())


def foreign(subject: PlacementSubject, profiles: Profiles) -> tuple[str, ...]:
    """What is to be said of a Pod that none of the profiles places."""
    if subject.scheduler in profiles:
        return ()
    return (f'The scheduler "{subject.scheduler}" places it; what follows is what kube-scheduler would do.',)


def alone(subject: PlacementSubject, snapshot: Snapshot, features: Features) -> Snapshot:
    """The snapshot in which the subject, if it is bound, is not counted itself."""
    if not subject.node:
        return snapshot
    namespace, _, kept = read_object(subject.raw, "v1", "Pod", features)
    return without_pod(snapshot, namespace, kept) if isinstance(kept, BoundPod) else snapshot


def next_replica(raw: Raw, others: Mapping[ObjectKey, Raw], kinds: Kinds = KINDS) -> tuple[PlacementSubject, ...]:
    """Return the next Pod of each template of a workload; none if its kind is not known or has no Pod template."""
    ref, found = ObjectRef.of(raw), []
    for workload in parse_workloads(raw, kinds):
        kind = workload.kind
        template = as_mapping(value_at(raw, workload.path[:-2])) if kind.template else {}
        if not template:
            continue
        metadata, spec = mappings_at(template, ("metadata",), ("spec",))
        daemon = kind.kind == "DaemonSet"
        owner = _replica_set(raw, ref, template, others) if kind.kind == "Deployment" else raw
        made = labels_of(value_at(owner, ("spec", "template", "metadata", "labels"))) if owner is not None else {}
        known = {**made, **workload.job_labels, **labels_of(metadata.get("labels"))}
        labels = {**dict.fromkeys(kind.added_labels, MADE_UP_LABEL), **known}
        if kind.kind == "StatefulSet" and (revision := texts_at(raw, "status.updateRevision")[0]):
            labels[REVISION_HASH] = revision
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "namespace": ref.namespace, "labels": labels, **_owned_by(owner)},
            "spec": with_default_requests(_tolerating(spec) if daemon else spec),
        }
        found.append(
            PlacementSubject(
                pod,
                ref,
                _top(as_mapping(raw.get("metadata")), ref.namespace, others) or ref,
                "",
                "",
                ScheduledCondition(),
                (*_remarks(pod), *((DAEMON,) if daemon else ())),
                tuple(_not_judged(spec, as_list(value_at(raw, CLAIMS)))),
                workload.path[:-2],
            )
        )
    return tuple(found)


def _tolerating(spec: Raw) -> Raw:
    """The spec of a DaemonSet's Pod."""
    given = DAEMON_TOLERATIONS if spec.get("hostNetwork") is True else DAEMON_TOLERATIONS[:-1]
    return {**spec, "tolerations": [*as_list(spec.get("tolerations")), *given]}


def _owned_by(owner: Raw | None) -> dict[str, object]:
    if owner is None:
        return {}
    ref = ObjectRef.of(owner)
    named = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name, "controller": True}
    return {"ownerReferences": [named]}


def _replica_set(raw: Raw, ref: ObjectRef, template: Raw, others: Mapping[ObjectKey, Raw]) -> Raw | None:
    """
    The ReplicaSet of a Deployment that has its template as it is now, or None.

    Of those whose templates differ only in what is not read, such as images, it is that of the Deployment's revision.
    """
    owned = [
        other
        for (group, kind, namespace, _), other in others.items()
        if (group, kind, namespace) == (ref.group, "ReplicaSet", ref.namespace)
        and _owns(ref, other)
        and same_template(other, template)
    ]
    current = revision_of(raw)
    return max(owned, key=lambda other: (revision_of(other) == current, revision_of(other)), default=None)


def _owns(ref: ObjectRef, obj: Raw) -> bool:
    owner = controller_of(as_mapping(obj.get("metadata")))
    return owner is not None and owner.key(ref.namespace) == ref.key


def revision_of(obj: Raw) -> int:
    """The number that the Deployment controller gives each revision, 0 if there is none."""
    written = value_at(obj, ("metadata", "annotations", REVISION_ANNOTATION))
    return int(written) if isinstance(written, str) and written.isdecimal() and len(written) < 20 else 0


def same_template(replica_set: Raw, template: Raw) -> bool:
    """Whether a ReplicaSet was made from this template, as far as it is read."""
    made = as_mapping(value_at(replica_set, ("spec", "template")))
    labels = [labels_of(value_at(one, ("metadata", "labels"))) for one in (made, template)]
    without = {key: value for key, value in labels[0].items() if key != HASH}
    return without == {**labels[1]} and made.get("spec") == template.get("spec")


def maker_of(raw: Raw, others: Mapping[ObjectKey, Raw]) -> ObjectRef | None:
    """What made an object, as far up as it is known; None if nothing did."""
    return _top(as_mapping(raw.get("metadata")), texts_at(raw, "metadata.namespace")[0], others)


def _top(metadata: Raw, namespace: str, others: Mapping[ObjectKey, Raw]) -> ObjectRef | None:
    """The controller of an object, and of that, as far as they are known; None if it has none."""
    owner: Owner | None = controller_of(metadata)
    found = None
    for _ in range(3):
        if owner is None:
            break
        found = ObjectRef(owner.api_version, owner.kind, namespace, owner.name)
        above = others.get(found.key)
        owner = controller_of(as_mapping(above.get("metadata"))) if above is not None else None
    return found


def _verdict(status: Raw) -> ScheduledCondition:
    for condition in map(as_mapping, as_list(status.get("conditions"))):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return ScheduledCondition(*texts_at(condition, "reason", "message", "lastTransitionTime"))
    return ScheduledCondition()


def _remarks(raw: Raw) -> Iterator[str]:
    """What keeps kube-scheduler from placing the Pod, or is about to."""
    metadata, spec, status = mappings_at(raw, ("metadata",), ("spec",), ("status",))
    (policy,) = texts_at(spec, "preemptionPolicy")
    phase, nominated = texts_at(status, "phase", "nominatedNodeName")
    if MIRROR_ANNOTATION in as_mapping(metadata.get("annotations")):
        yield "It is a static Pod: the kubelet of its node runs it from a file, and no scheduler places it."
    if phase in FINISHED:
        yield f"It has finished ({phase}): it is not placed again, and counts no more."
    if metadata.get("deletionTimestamp") is not None:
        yield "It is being deleted: it counts no more, and is not placed."
    gates = [texts_at(as_mapping(gate), "name")[0] for gate in as_list(spec.get("schedulingGates"))]
    if gates:
        yield f"The scheduler does not look at it before its scheduling gates are taken off: {', '.join(gates)}."
    if nominated:
        yield f"Node {nominated} is nominated for it: Pods of lower priority are being removed there."
    priority = spec.get("priority")
    if type(priority) is int and priority > 0 and not texts_at(spec, "nodeName")[0]:  # and no boolean
        may = "does not preempt" if policy == "Never" else "may preempt Pods of lower priority"
        yield f"It has priority {priority} and {may}; preemption is not judged."


def _not_judged(spec: Raw, claims: Sequence[object] = ()) -> Iterator[str]:
    """
    What the Pod uses that may refuse further nodes, and so change the reasons and numbers of those listed.

    `claims` are templates of volumes that its controller adds.  On the host's network each port is one of the host,
    which the API server writes into Pods, and not into templates.
    """
    containers = [as_mapping(one) for one in as_list(spec.get("containers"))]
    inits = [as_mapping(one) for one in as_list(spec.get("initContainers"))]
    containers += [one for one in inits if one.get("restartPolicy") == "Always"]
    ports = [as_mapping(port) for one in containers for port in as_list(one.get("ports"))]
    if any(port.get("hostPort") or spec.get("hostNetwork") is True for port in ports):
        yield "host ports"
    if claims or any(as_mapping(volume).keys() & VOLUME_KINDS for volume in as_list(spec.get("volumes"))):
        yield "volumes"
    affinity = as_mapping(spec.get("affinity"))
    if affinity.get("podAffinity") or affinity.get("podAntiAffinity"):
        yield "affinity between Pods"
    if spec.get("resourceClaims"):
        yield "dynamic resources"


class Attempt(NamedTuple):
    """
    The attempt to place a Pod, and where the constraints in force come from: OWN, POLICY or SYSTEM.

    `errors` are fields that cannot be read, and what keeps kube-apiserver from creating the Pod.
    """

    cycle: Cycle
    source: str
    errors: tuple[str, ...]


def attempt(
    subject: PlacementSubject,
    snapshot: Snapshot,
    features: Features,
    defaults: Sequence[dict[str, object]] | None = None,
    profile: Profile = USUAL_PROFILE,
) -> Attempt:
    """
    How kube-scheduler would try to place the subject in `snapshot`; one that is bound, as if it were not.

    `defaults` are the constraints that evenkeel's policy gives a new Pod that has none; None if there is no policy, and
    those of the scheduler's `profile` hold.
    """
    raw = subject.raw
    reader = Reader()
    pod = read_incoming_pod(reader, raw, features)
    if subject.node:
        pod = replace(pod, node_name="")
    written = value_at(raw, CONSTRAINTS_PATH)
    owner = controller_of(as_mapping(raw.get("metadata")))
    selector = default_selector(pod.namespace, pod.labels, owner, snapshot).selector
    of_policy = defaults if not subject.exists else None
    of_scheduler = SYSTEM_DEFAULTS if profile.defaults is None else [dict(one) for one in profile.defaults]
    given = of_scheduler if of_policy is None else of_policy
    constraints = constraints_in_force(written, pod.labels, given, selector, features)
    source = FROM_POD if written else FROM_SCHEDULER if of_policy is None else POLICY
    heeded = tuple([one for one in constraints if profile.heeds(one)])
    cycle = Cycle(pod, heeded, snapshot, features, source == FROM_SCHEDULER and profile.defaults is None, profile)
    errors = [*reader.errors, *_errors(subject, pod.labels, features)]
    located = (error._replace(path=(*subject.path, *error.path)) for error in errors)
    return Attempt(cycle, source, tuple(dict.fromkeys(map(in_one_line, located))))


def _errors(subject: PlacementSubject, labels: Labels, features: Features) -> Iterator[FieldError]:
    """Why kube-apiserver refuses the constraints of a new Pod; of one that is there only what cannot be read."""
    written = value_at(subject.raw, CONSTRAINTS_PATH)
    if not subject.exists:
        stored = bool(value_at(subject.raw, ("metadata", "uid")))  # Then matchLabelKeys are merged already.
        yield from validate(written, labels, CONSTRAINTS_PATH, merged=stored, features=features)
    else:
        for type_, at, value, detail in read_constraints(written, features).mistyped:
            yield FieldError(type_, (*CONSTRAINTS_PATH, *at), value, detail)
