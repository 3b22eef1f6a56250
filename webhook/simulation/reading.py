"""
Reads what a simulation begins with: the workload and what makes its Pods, and the Pods that the steps may move.

    raw workload, ReplicaSets ──next replica──> classes of Pods     raw Pods ──> Found     raw budgets ──> Budget
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.fields import as_list, as_mapping, mappings_at, texts_at, value_at
from webhook.objects.kinds import APPS, CORE, KINDS, Kinds
from webhook.objects.labels import labels_of
from webhook.objects.names import DEFAULT_SCHEDULER, DELETION_COST_ANNOTATION, MIRROR_ANNOTATION
from webhook.objects.reading import Reader
from webhook.objects.references import ObjectRef, Owner, controller_of
from webhook.objects.times import seconds_at
from webhook.placement.subject import (
    HASH,
    REVISION_HASH,
    Place,
    Raw,
    Subject,
    attempt,
    next_replica,
    of_pod,
    revision_of,
    same_template,
)
from webhook.scheduler.constraint import read_selector
from webhook.scheduler.counts import FINISHED, NOTHING, BoundPod, label_set
from webhook.scheduler.features import Features
from webhook.scheduler.nodes import NO_EXECUTE, Taint, Toleration
from webhook.scheduler.selectors import as_selector
from webhook.scheduler.snapshot import Controller, Snapshot, read_object
from webhook.simulation import ties
from webhook.simulation.changes import after, first_ground
from webhook.simulation.deployment import Strategy
from webhook.simulation.disruption import Budget
from webhook.simulation.pod import Found, Maker
from webhook.simulation.run import Named, Plan, SetFound
from webhook.simulation.state import Start
from webhook.simulation.stateful import Update
from webhook.simulation.step import APPLY, OF_NODES, ROLLOUT, SCALE, Step, StepError
from webhook.simulation.tolerated import Tolerated, Tolerations
from webhook.simulation.view import PodClass

DEPLOYMENT, STATEFUL, SET, CONTROLLER = "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"
SIMULATED = ((APPS, DEPLOYMENT), (APPS, STATEFUL), (APPS, SET), (CORE, CONTROLLER))
_PERCENT = re.compile("[0-9]{1,9}%")
GRACE_SECONDS = 300  # For which a Pod tolerates a lost node, unless it says otherwise.
GRACES = tuple(
    Tolerated(Toleration(f"node.kubernetes.io/{key}", "Exists", "", NO_EXECUTE), GRACE_SECONDS)
    for key in ("not-ready", "unreachable")
)


class Cluster(NamedTuple):
    """What was read of a cluster; `pods` are those that the simulation may move, and those that wait."""

    snapshot: Snapshot
    features: Features
    pods: Sequence[Raw]
    others: Mapping[Place, Raw]
    time: float | None = None


class Planned(NamedTuple):
    """A plan, and what is to be said with it."""

    plan: Plan
    not_judged: tuple[str, ...]
    notes: tuple[str, ...]


def is_simulated(raw: Raw) -> bool:
    """Whether it is a workload whose controller is simulated."""
    return tuple(texts_at(raw, "apiVersion", "kind")) in SIMULATED


def wanted(ref: ObjectRef, steps: Iterable[Step]) -> Callable[[Raw], bool]:
    """Which Pods a simulation of these steps needs one by one: all where it moves those of any workload."""
    moves = any(step.action in OF_NODES or step.action == "add" for step in steps)

    def asks(pod: Raw) -> bool:
        namespace, node = texts_at(pod, "metadata.namespace", "spec.nodeName")
        return moves or not node or namespace == ref.namespace

    return asks


class _Reader:
    """Reads one cluster; classes of Pods are read once for each owner."""

    def __init__(self, raw: Raw, cluster: Cluster, kinds: Kinds, defaults: Sequence[dict[str, object]] | None) -> None:
        self.raw, self.cluster, self.kinds, self.defaults = raw, cluster, kinds, defaults
        self.ref = ObjectRef.of(raw)
        self.snapshot = cluster.snapshot
        self._makers: dict[tuple[str, str, str], Maker | None] = {}
        self.errors: dict[str, None] = {}
        self.sets = list(self._sets()) if self.ref.kind == DEPLOYMENT else [raw]
        self.revisions = {self._key(one): i for i, one in enumerate(self.sets)}

    def _key(self, raw: Raw) -> tuple[str, str, str]:
        ref = ObjectRef.of(raw)
        return ref.kind, ref.namespace, ref.name

    def _sets(self) -> Iterator[Raw]:
        """The ReplicaSets of the Deployment that has Pods or its template, which comes last."""
        owned = [
            other
            for (kind, namespace, _), other in self.cluster.others.items()
            if kind == SET and namespace == self.ref.namespace and self._owns(other)
        ]
        template = as_mapping(value_at(self.raw, ("spec", "template")))
        current = max(
            (one for one in owned if same_template(one, template)),
            key=lambda one: (revision_of(one) == revision_of(self.raw), revision_of(one)),
            default=None,
        )
        live = [one for one in owned if one is not current and replicas_of(one, 0)]
        yield from sorted(live, key=lambda one: (revision_of(one), ObjectRef.of(one).name))
        yield current if current is not None else self.next_set("new")

    def _owns(self, obj: Raw) -> bool:
        owner = controller_of(as_mapping(obj.get("metadata")))
        return owner is not None and (owner.kind, owner.name) == (self.ref.kind, self.ref.name)

    def next_set(self, revision: str) -> Raw:
        """The ReplicaSet that the Deployment controller would make now."""
        spec = as_mapping(self.raw.get("spec"))
        template = as_mapping(spec.get("template"))
        metadata = as_mapping(template.get("metadata"))
        labels = {**labels_of(metadata.get("labels")), HASH: revision}
        selector = as_mapping(spec.get("selector"))
        made = {
            "apiVersion": APPS,
            "kind": SET,
            "metadata": {"namespace": self.ref.namespace, "name": f"{self.ref.name}-{revision}"},
            "spec": {
                "replicas": 0,
                "selector": {**selector, "matchLabels": {**labels_of(selector.get("matchLabels")), HASH: revision}},
                "template": {**template, "metadata": {**metadata, "labels": labels}},
            },
        }
        reader = Reader()
        found = as_selector(read_selector(reader, value_at(made, ("spec", "selector")), ("spec", "selector")))
        controller = Controller(APPS, SET, f"{self.ref.name}-{revision}", "", found)
        self.snapshot = self.snapshot.with_controller(self.ref.namespace, controller)
        return made

    def next_maker(self, number: int) -> Maker:
        """What makes the Pods of the workload after a rollout has begun."""
        revision = f"rollout-{number}"
        if self.ref.kind == DEPLOYMENT:
            return self._required(self.next_set(revision))
        return self._required(self.raw, revision)

    def makers(self) -> Iterator[Maker]:
        """What makes the Pods of each set."""
        for one in self.sets:
            yield self._required(one)

    def _required(self, raw: Raw, revision: str = "") -> Maker:
        subject = next(iter(next_replica(raw, self.cluster.others, self.kinds)), None)
        if subject is None:
            raise StepError(f"{self.ref}: has no Pod template")
        if revision:
            labels = {**labels_of(value_at(subject.raw, ("metadata", "labels"))), REVISION_HASH: revision}
            metadata = {**as_mapping(subject.raw.get("metadata")), "labels": labels}
            subject = replace(subject, raw={**subject.raw, "metadata": metadata})
        found, errors = self._class(subject)
        self.errors.update(dict.fromkeys(f"{self.ref}: {error}" for error in errors))
        return Maker(found, self.ref.kind == STATEFUL)

    def _class(self, subject: Subject) -> tuple[PodClass, tuple[str, ...]]:
        tried = attempt(subject, self.snapshot, self.cluster.features, self.defaults)
        spec = as_mapping(subject.raw.get("spec"))
        priority = spec.get("priority")
        return (
            PodClass(
                tried.cycle.pod,
                tuple(tried.cycle.constraints),
                tried.cycle.system_defaults,
                priority if isinstance(priority, int) else 0,
                _waits(spec),
                tolerations_of(spec),
                subject.not_judged,
            ),
            tried.errors,
        )

    def maker(self, owner: Owner, namespace: str, pod: Raw) -> Maker:
        """What makes a Pod anew: its owner's template, or one like it where that is not known."""
        key = (owner.kind, namespace, owner.name)
        if key not in self._makers:
            raw = self.cluster.others.get(key)
            subject = next(iter(next_replica(raw, self.cluster.others, self.kinds)), None) if raw is not None else None
            self._makers[key] = Maker(self._class(subject)[0], owner.kind == STATEFUL) if subject is not None else None
        found = self._makers[key]
        return found if found is not None else Maker(self.as_it_is(pod), owner.kind == STATEFUL)

    def as_it_is(self, pod: Raw) -> PodClass:
        """The class of a Pod as the cluster has it."""
        return self._class(of_pod(pod, self.cluster.others))[0]

    def found(self, raw: Raw, makers: Sequence[Maker]) -> Found | None:
        """A Pod as the cluster has it; None for one that has finished."""
        metadata, spec, status = mappings_at(raw, ("metadata",), ("spec",), ("status",))
        (phase,) = texts_at(status, "phase")
        if phase in FINISHED:
            return None
        owner = controller_of(metadata)
        namespace, name = texts_at(metadata, "namespace", "name")
        key = (owner.kind, namespace, owner.name) if owner is not None else ("", "", "")
        revision = self.revisions.get(key, -1)
        _, _, kept = read_object(raw, CORE, "Pod", self.cluster.features)
        bound = kept if isinstance(kept, BoundPod) else None
        annotations = as_mapping(metadata.get("annotations"))
        maker = makers[revision] if revision >= 0 else None
        fixed = MIRROR_ANNOTATION in annotations or key[0] == "DaemonSet"
        if maker is None and owner is not None and not fixed:
            maker = self.maker(owner, namespace, raw)
        if maker is None and bound is None:
            maker = Maker(self.as_it_is(raw))
        ready, since = _readiness(status, phase)
        return Found(
            namespace,
            label_set(labels_of(metadata.get("labels"))) if bound is None or bound.spreads else (),
            bound.node if bound is not None else "",
            (bound.requests if bound is not None else None) or (maker.of_class.pod.requests if maker else NOTHING),
            metadata.get("deletionTimestamp") is None,
            ready and bound is not None,
            since,
            seconds_at(metadata.get("creationTimestamp")),
            _cost(annotations),
            _restarts(status),
            tolerations_of(spec),
            fixed,
            maker,
            0 if revision >= 0 and self.ref.kind == STATEFUL else revision,
            _ordinal(name),
        )

    def budgets(self, found: Iterable[tuple[Found, Owner | None]]) -> Iterator[Budget]:
        """The PodDisruptionBudgets, with what the workloads of their Pods want."""
        those = list(found)
        for (kind, namespace, name), raw in sorted(self.cluster.others.items()):
            if kind != "PodDisruptionBudget":
                continue
            selector = as_selector(read_selector(Reader(), value_at(raw, ("spec", "selector")), ("spec", "selector")))
            selected = [
                (one, owner)
                for one, owner in those
                if one.namespace == namespace and selector.matches(dict(one.labels))
            ]
            owners = dict.fromkeys(
                (owner.kind, namespace, owner.name) for one, owner in selected if owner is not None and one.revision < 0
            )
            expected = sum(replicas_of(self.cluster.others.get(owner, {}), 0) for owner in owners)
            spec = as_mapping(raw.get("spec"))
            yield Budget(
                namespace,
                name,
                selector,
                _int_or_percent(spec.get("minAvailable")),
                _int_or_percent(spec.get("maxUnavailable")),
                expected,
                any(one.revision >= 0 for one, _ in selected),
                sum(one.node != "" and not one.ready and one.spreads for one, _ in selected),
            )


def planned(
    raw: Raw,
    cluster: Cluster,
    steps: Sequence[Step],
    kinds: Kinds = KINDS,
    *,
    applied: bool = False,
    how_ties: str = "",
    defaults: Sequence[dict[str, object]] | None = None,
) -> Planned:
    """
    All that runs need of a cluster, to simulate steps of the workload `raw`; StepError for a step that does nothing.

    With `applied`, the workload comes from a file, and replaces the one of its name or is new.  `defaults` are the
    constraints that a policy gives Pods without any.
    """
    reader = _Reader(raw, cluster, kinds, defaults)
    makers = list(reader.makers())
    owned: list[tuple[Found, Owner | None]] = []
    waiting: list[tuple[float, str, Found]] = []
    by_node: dict[str, list[Found]] = {}
    for pod in cluster.pods:
        found = reader.found(pod, makers)
        if found is None:
            continue
        owned.append((found, controller_of(as_mapping(pod.get("metadata")))))
        if found.node:
            by_node.setdefault(found.node, []).append(found)
        elif found.spreads:
            waiting.append((found.created or 0.0, texts_at(pod, "metadata.name")[0], found))
    waiting.sort(key=lambda one: one[:2])
    named = reader_named(reader, makers, [one for one, _ in owned])
    grounds, rollouts = [], dict[int, Maker]()
    ground = first = first_ground(cluster.snapshot.nodes)
    taken = [Step(APPLY, APPLY, replicas_of(raw, 1)), *steps] if applied else list(steps)
    replicas = named.replicas
    for i, step in enumerate(taken):
        ground = after(ground, step)
        grounds.append(ground)
        if step.action == SCALE and step.number == replicas:
            there = f"{reader.ref} has {replicas} replicas already"
            raise StepError(f"{step.text}: does nothing: {there}; leave the step out")
        if step.action in (SCALE, APPLY):
            replicas = step.number
        if step.action == ROLLOUT:
            _check_rollout(reader.ref, named)
            rollouts[i] = reader.next_maker(len(rollouts) + 1)
    if applied and reader.ref.kind == STATEFUL and any(one.revision >= 0 for one, _ in owned):
        rollouts[0] = reader.next_maker(len(rollouts) + 1)  # What the template was is not known.
    if reader.errors:
        raise StepError("\n".join(reader.errors))
    how = how_ties or ties.usual(cluster.features)
    now = cluster.time if cluster.time is not None else _latest(one for one, _ in owned)
    start = Start(
        reader.snapshot,
        first,
        {name: tuple(those) for name, those in by_node.items()},
        tuple(one for _, _, one in waiting),
        cluster.features,
        how,
        now,
        {},
    )
    plan = Plan(start, named, tuple(taken), tuple(grounds), rollouts, tuple(reader.budgets(owned)))
    classes = [*makers, *rollouts.values()]
    not_judged = dict.fromkeys(what for maker in classes for what in maker.of_class.not_judged)
    return Planned(plan, tuple(not_judged), tuple(_notes(reader.ref, cluster, taken)))


def reader_named(reader: _Reader, makers: Sequence[Maker], found: Sequence[Found]) -> Named:
    """The workload as its controller has it now."""
    spec = as_mapping(reader.raw.get("spec"))
    replicas = replicas_of(reader.raw, 1)
    if reader.ref.kind == STATEFUL:
        update = _update(spec)
        return Named(replicas, (SetFound(makers[-1], replicas),), update=update)
    if reader.ref.kind != DEPLOYMENT:
        controlled = controller_of(as_mapping(reader.raw.get("metadata"))) is not None
        return Named(replicas, (SetFound(makers[-1], replicas),), controlled=controlled)
    desired = [replicas_of(one, 0) for one in reader.sets]
    return Named(
        replicas,
        tuple(SetFound(maker, number) for maker, number in zip(makers, desired, strict=True)),
        _strategy(as_mapping(spec.get("strategy"))),
    )


def _check_rollout(ref: ObjectRef, named: Named) -> None:
    if ref.kind not in (DEPLOYMENT, STATEFUL):
        raise StepError(f"{ROLLOUT}: does nothing: a {ref.kind} replaces no Pods; wanted a {DEPLOYMENT} or {STATEFUL}")
    if named.update is not None and named.update.on_delete:
        why = f"updateStrategy of {ref} is OnDelete"
        raise StepError(f"{ROLLOUT}: does nothing: {why}; drain or delete its nodes instead")


def _notes(ref: ObjectRef, cluster: Cluster, steps: Sequence[Step]) -> Iterator[str]:
    for (kind, namespace, name), raw in sorted(cluster.others.items()):
        target = as_mapping(value_at(raw, ("spec", "scaleTargetRef")))
        scales = tuple(texts_at(target, "kind", "name")) == (ref.kind, ref.name)
        if kind == "HorizontalPodAutoscaler" and namespace == ref.namespace and scales:
            yield f"HorizontalPodAutoscaler {name} scales it, too; what it does is not simulated."


def replicas_of(raw: Raw, absent: int) -> int:
    """The replicas that a workload wants."""
    found = value_at(raw, ("spec", "replicas"))
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else absent


def _strategy(raw: Raw) -> Strategy:
    rolling = as_mapping(raw.get("rollingUpdate"))
    usual = Strategy()
    surge, unavailable = _int_or_percent(rolling.get("maxSurge")), _int_or_percent(rolling.get("maxUnavailable"))
    return Strategy(
        raw.get("type") == "Recreate",
        usual.max_surge if surge is None else surge,
        usual.max_unavailable if unavailable is None else unavailable,
    )


def _update(spec: Raw) -> Update:
    strategy = as_mapping(spec.get("updateStrategy"))
    rolling = as_mapping(strategy.get("rollingUpdate"))
    partition, start = rolling.get("partition"), value_at(spec, ("ordinals", "start"))
    unavailable = _int_or_percent(rolling.get("maxUnavailable"))
    return Update(
        spec.get("podManagementPolicy") != "Parallel",
        strategy.get("type") == "OnDelete",
        partition if isinstance(partition, int) else 0,
        1 if unavailable is None else unavailable,
        start if isinstance(start, int) else 0,
    )


def _int_or_percent(value: object) -> int | str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value if isinstance(value, str) and _PERCENT.fullmatch(value) else None


def tolerations_of(spec: Raw) -> Tolerations:
    """
    upstream: defaulttolerationseconds/admission.go:Plugin.Admit (v1.37)

    The tolerations of a Pod, with those that the API server adds to one that says nothing of lost nodes.
    """
    found = []
    for one in map(as_mapping, as_list(spec.get("tolerations"))):
        seconds = one.get("tolerationSeconds")
        toleration = Toleration(*texts_at(one, *Toleration._fields))
        found.append(Tolerated(toleration, seconds if isinstance(seconds, int) else None))
    for grace in GRACES:
        taint = Taint(grace.toleration.key, "", NO_EXECUTE)
        if not any(one.toleration.tolerates(taint) for one in found):
            found.append(grace)
    return tuple(found)


def _waits(spec: Raw) -> str:
    """Why kube-scheduler does not look at a Pod; "" if it does."""
    (scheduler,) = texts_at(spec, "schedulerName")
    if scheduler not in ("", DEFAULT_SCHEDULER):
        return f'the scheduler "{scheduler}" places it, which is not simulated'
    return "it has scheduling gates" if as_list(spec.get("schedulingGates")) else ""


def _readiness(status: Raw, phase: str) -> tuple[bool, float | None]:
    for condition in map(as_mapping, as_list(status.get("conditions"))):
        if condition.get("type") == "Ready":
            since = seconds_at(condition.get("lastTransitionTime"))
            return condition.get("status") == "True" or phase == "Pending", since
    return True, None


def _cost(annotations: Raw) -> int:
    written = annotations.get(DELETION_COST_ANNOTATION)
    try:
        return int(written) if isinstance(written, str) and len(written) < 12 else 0
    except ValueError:
        return 0


def _restarts(status: Raw) -> int:
    counts = [as_mapping(one).get("restartCount") for one in as_list(status.get("containerStatuses"))]
    return max((one for one in counts if isinstance(one, int)), default=0)


def _ordinal(name: str) -> int:
    written = name.rpartition("-")[2]
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 10 else -1


def _latest(found: Iterable[Found]) -> float:
    """The latest of all times, where that of the dump is not known."""
    return max((time for one in found for time in (one.ready_at, one.created) if time is not None), default=0.0)
