"""
All Pods that kube-scheduler could not place, grouped by what made them and by cause, each group with what helps most.

    subjects ──each attempted──> groups by (workload, cause) ──remedies, all Pods placed after each──> PendingList
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import inf
from typing import NamedTuple

from evenkeel.objects.workload_object import IF_DELETED, ROLLS_OUT, reach_of_template, read_workload_object
from evenkeel.placement.closed_nodes import ClosedNodes, closed_nodes
from evenkeel.placement.explanation import agrees
from evenkeel.placement.gaps import gaps
from evenkeel.placement.inferred_defaults import DefaultsOf, given_defaults
from evenkeel.placement.kubectl_commands import Command, commands
from evenkeel.placement.remedies import NOW, Remedy, asking_as, misspelt_keys, pods_by_name, remedies
from evenkeel.placement.subject import UNSCHEDULABLE_REASON, PlacementSubject, attempt, attempt_likeness
from evenkeel.placement.successors import changed_since, keeps_waiting_pods, made_again, with_successors
from evenkeel.placement.variants import MOST_REMEDIES, NEW_NODE
from evenkeel.scheduler.framework import Feasibility, Framework, feasible_nodes, find_feasible, message
from evenkeel.scheduler.preemption import Preemption, messages, preempt
from evenkeel.scheduler.profile import USUAL_PROFILE, USUAL_PROFILES, Cycle, Profiles
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.simulate.waiting import NONE_RUNS, Runs, placed, placed_in
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.references import ObjectKey, ObjectRef, Owner

PASSES = "a node passes now"
# Groups for which changes are tried, the largest first: each takes a third of a second at 5,000 nodes.
LEAST_TRIED, NODES_TRIED_FOR_ALL = 10, 50_000
ATTEMPTS_FOR_ALL = 10_000  # A change of a group is tried on every Pod that waits and is unlike the others.
# Over all changes that are tried: Pods that are placed, attempts to place them, and nodes seen by unlike Pods.
PLACED_FOR_ALL, PLACEMENTS_FOR_ALL, NODES_SEEN_FOR_ALL = 10_000, 40_000, 4_000_000
LEAST_PLACEMENTS = 500  # in one cluster after one change; Pods that are not reached count as if they waited


class Group(NamedTuple):
    """Pods of one namespace and workload that wait for the same cause."""

    namespace: str
    api_group: str  # of the workload
    workload: str
    cause: str  # kube-scheduler's message, as it would be now
    pods: tuple[str, ...]  # names
    remedy: Remedy | None  # the change after which the most of all waiting Pods run
    frees: Runs = NONE_RUNS  # of the `stuck` Pods, those that run after the remedy
    # Where `remedy` adds a node: the change in a template after which the most of them run, and how many do.
    in_template: Remedy | None = None
    in_template_frees: Runs = NONE_RUNS
    tried: bool = True  # False for the smallest groups of a large cluster: no change was tried
    gaps: tuple[str, ...] = ()  # what is not computed for some of the Pods
    preemption: Preemption | None = None  # of the first Pod, done or to come; None where it does not help
    run_now: int = 0  # Pods of the group that run without any change
    stuck: int = 0  # waiting Pods of all groups that do not run without a change
    commands: tuple[Command, ...] = ()  # for a remedy in the cluster; a rollout is not simulated here
    closed: tuple[ClosedNodes, ...] = ()  # what is known of taints and cordons that refuse the first Pod
    misspelt: Mapping[str, str] = {}  # topology keys that no node has, with the key that was probably meant


class PendingList(NamedTuple):
    """All groups of Pods that wait."""

    groups: tuple[Group, ...]  # the largest first
    agree: int  # of the compared Pods, those for which the same message is computed here
    compared: int  # Pods for which kube-scheduler has stated a cause
    together: bool = True  # changes were tried on all Pods; False: too many, so on those of each group alone


class WaitingPod(NamedTuple):
    """A Pod that waits, with the attempt to place it, which Pods that are alike share."""

    subject: PlacementSubject
    cycle: Cycle
    feasibility: Feasibility
    preemption: Preemption | None
    cause: str  # what the filters say, without preemption
    gaps: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether kube-scheduler has said what is computed here."""
        computed = messages(self.cycle, self.feasibility, self.preemption)
        return agrees(self.subject.verdict.message, computed, self.cause, self.gaps)

    @property
    def preempts(self) -> bool:
        """Whether kube-scheduler makes room for it, or has made it."""
        return self.preemption is not None and (self.preemption.helps or bool(self.preemption.ending))


def pending(
    subjects: Sequence[PlacementSubject],
    snapshot: Snapshot,
    features: Features,
    profiles: Profiles = USUAL_PROFILES,
    others: Mapping[ObjectKey, Raw] | None = None,
    competing: Sequence[PlacementSubject] = (),
) -> PendingList:
    """
    Return what each of the Pods waits for; Pods that are alike are attempted once.

    `others`: the objects that make Pods.
    `competing`: further Pods that wait.  They are placed with the others, but neither listed nor counted.
    """
    waiting = list(_attempted(subjects, snapshot, features, profiles))
    grouped: dict[tuple[str, str, str, str, bool], list[WaitingPod]] = {}
    for waiting_pod in waiting:
        subject = waiting_pod.subject
        workload = subject.workload or str(subject.ref)
        key = subject.ref.namespace, subject.api_group, workload, waiting_pod.cause, waiting_pod.preempts
        grouped.setdefault(key, []).append(waiting_pod)
    largest_first = sorted(grouped.items(), key=lambda group: (-len(group[1]), group[0]))
    waiters = [_waiter(waiting_pod) for waiting_pod in waiting]
    waiters += [
        Waiter(subject.ref, cycle, False) for subject, cycle in _cycles(competing, snapshot, features, profiles)
    ]
    attempts = len({id(waiter.cycle) for waiter in waiters})
    # Each change is tried on every attempt: this bounds the groups, and decides whether all Pods are placed together.
    groups_tried = max(LEAST_TRIED, min(most_tried(snapshot), ATTEMPTS_FOR_ALL // max(1, attempts)))
    tries = MOST_REMEDIES * min(groups_tried, len(grouped))
    nodes_seen = attempts * len(snapshot.nodes) * tries
    together = len(waiters) * tries <= PLACED_FOR_ALL and nodes_seen <= NODES_SEEN_FOR_ALL
    by_ref = {waiter.ref: waiter for waiter in waiters}
    all_together = Crowd([by_ref[subject.ref] for subject in _oldest_first([*subjects, *competing])], snapshot, tries)
    others = others or {}
    defaults = given_defaults([subject.raw for subject in subjects], others)
    groups = list[Group]()
    for i, (key, alike) in enumerate(largest_first):
        crowd = all_together if together else Crowd([_waiter(pod) for pod in alike], snapshot, tries)
        groups.append(_group(*key[:4], alike, crowd, i < groups_tried, others, defaults, profiles))
    compared = [waiting_pod for waiting_pod in waiting if waiting_pod.subject.verdict.states_cause]
    return PendingList(
        tuple(groups),
        sum(pod.agrees for pod in compared),
        len(compared),
        together,
    )


def _attempted(
    subjects: Iterable[PlacementSubject], snapshot: Snapshot, features: Features, profiles: Profiles
) -> Iterator[WaitingPod]:
    alike: dict[tuple[str, str], WaitingPod] = {}
    for subject in _oldest_first(subjects):
        key = attempt_likeness(subject)
        if key not in alike:
            cycle = _cycle_of(subject, snapshot, features, profiles)
            framework = Framework(cycle)
            feasibility = framework.feasibility()
            preemption = preempt(framework, feasibility, snapshot.pods_of, snapshot.budgets)
            unknown = gaps(cycle, feasibility, preemption, subject.unmodelled)
            cause = message(cycle, feasibility)
            alike[key] = WaitingPod(subject, cycle, feasibility, preemption, cause, unknown)
        yield alike[key]._replace(subject=subject)


def _oldest_first(subjects: Iterable[PlacementSubject]) -> list[PlacementSubject]:
    return sorted(
        subjects, key=lambda subject: (subject.pod.created_at or inf, subject.ref.namespace, subject.ref.name)
    )


def is_stuck(subject: PlacementSubject, profiles: Profiles) -> bool:
    """Return whether kube-scheduler has tried to place the Pod, and found no node."""
    refused = subject.verdict.reason == UNSCHEDULABLE_REASON and subject.scheduler in profiles
    return refused and not subject.node and not subject.pod.terminating


def most_tried(snapshot: Snapshot) -> int:
    """Return for how many groups changes are tried: fewer in a large cluster."""
    return max(LEAST_TRIED, NODES_TRIED_FOR_ALL // max(1, len(snapshot.nodes)))


def _group(
    namespace: str,
    api_group: str,
    workload: str,
    cause: str,
    alike: Sequence[WaitingPod],
    crowd: Crowd,
    tries: bool,
    others: Mapping[ObjectKey, Raw],
    defaults: DefaultsOf,
    profiles: Profiles,
) -> Group:
    names = tuple(sorted(pod.subject.ref.name for pod in alike))
    unknown = tuple(dict.fromkeys(gap for pod in alike for gap in pod.gaps))
    group = Group(namespace, api_group, workload, cause, names, remedy=None, gaps=unknown)
    if not cause:
        cause = f"{PASSES}, but not judged: {', '.join(unknown)}" if unknown else PASSES
        return group._replace(cause=cause, run_now=crowd.runs_now(alike))
    if alike[0].preempts:
        return group._replace(preemption=alike[0].preemption)
    # Changes are tried on a Pod of the current template, if there is one: an outdated Pod is replaced anyway.
    current = _current(alike, others) if tries else None
    if current is not None:
        alike = [current, *[pod for pod in alike if pod is not current]]
    cycle, made_by = alike[0].cycle, alike[0].subject.made_by
    raw = others.get(made_by.key) if made_by is not None else None
    reaches = _reaches(raw)
    fixes: tuple[Remedy, ...] = ()
    if tries:
        remake = made_again([pod.subject for pod in alike], cycle, others, defaults, profiles)
        fixes = with_successors(remedies(cycle, alike[0].feasibility), remake, outdated=current is None)
        if remake is not None and reaches and crowd.running(remake, alike).least < len(remake.remade):
            fixes += tuple(_with_new_template(remake, crowd))
    # Left out: a change of a template that reaches no waiting Pod, and the deletion of Pods that run.
    candidates = [
        remedy
        for remedy in sorted(fixes, key=lambda remedy: remedy.last_resort)
        if (remedy.where == NOW or reaches) and remedy.cycle.snapshot.pods_on is cycle.snapshot.pods_on
    ]
    best, best_runs = _best(candidates, crowd, alike, raw)
    in_template, in_template_runs = None, NONE_RUNS
    if best is not None and best.where == NOW and any(name.startswith(NEW_NODE) for name in best.nodes):
        of_template = [remedy for remedy in candidates if remedy.where != NOW and not remedy.last_resort]
        in_template, in_template_runs = _best(of_template, crowd, alike, raw)
    return group._replace(
        remedy=best,
        frees=best_runs,
        in_template=in_template,
        in_template_frees=in_template_runs,
        tried=tries,
        stuck=crowd.stuck if best is not None else 0,
        commands=_commands(best) if best is not None else (),
        closed=closed_nodes(cycle, alike[0].feasibility),
        misspelt=misspelt_keys(cycle),
    )


def _best(
    candidates: Sequence[Remedy], crowd: Crowd, alike: Sequence[WaitingPod], raw: Raw | None
) -> tuple[Remedy | None, Runs]:
    """Return the change after which the most Pods run, and how many do; a last resort only if nothing else helps."""
    best, best_runs, goes_on = None, NONE_RUNS, True
    for remedy in candidates:
        if remedy.last_resort and best is not None:
            break
        if best_runs.least < crowd.stuck or not goes_on:
            runs = crowd.running(remedy, alike)
            does_go_on = partial(_goes_on, remedy, raw, crowd, alike)
            if runs > best_runs or (runs == best_runs and best is not None and not goes_on and does_go_on()):
                best, best_runs, goes_on = remedy, runs, does_go_on()
    if best is not None and best.where != NOW and not best.remade and raw is not None and keeps_waiting_pods(raw):
        names = sorted(pod.subject.ref.name for pod in alike)
        pods = pods_by_name(names) if len(names) == 1 else "the Pods that wait"
        best = best._replace(change=f"{best.change}, then delete {pods}")
    return best, best_runs


def _goes_on(remedy: Remedy, raw: Raw | None, crowd: Crowd, alike: Sequence[WaitingPod]) -> bool:
    """
    Return whether the rollout that a change starts goes on beyond the Pods that wait.

    A Deployment none of whose Pods may be unavailable first runs one Pod more, while all old Pods still count: by
    matchLabelKeys they do not, so it may go on.
    """
    if remedy.where == NOW or raw is None or ObjectRef.of(raw).kind != "Deployment":
        return True
    if any(constraint.match_label_keys for constraint in remedy.cycle.constraints):
        return True
    workload = read_workload_object(raw)
    strategy, replicas = workload.deployment_strategy, workload.replicas or 0
    if strategy.recreate or strategy.fenceposts(replicas)[1]:
        return True
    return bool(feasible_nodes(replace(remedy.cycle, snapshot=crowd.after(remedy, alike))))


def _commands(remedy: Remedy) -> tuple[Command, ...]:
    """Return the commands of a change in the cluster; none of a last resort."""
    return commands(remedy.edits, None) if remedy.where == NOW and not remedy.last_resort else ()


def _current(alike: Iterable[WaitingPod], others: Mapping[ObjectKey, Raw]) -> WaitingPod | None:
    """Return the first Pod that was made of the current template; None if all are outdated."""
    by_revision: dict[tuple[Owner | None, str], WaitingPod] = {}
    for pod in alike:
        by_revision.setdefault((pod.subject.pod.owner, pod.subject.pod.revision_hash), pod)
    return next((pod for pod in by_revision.values() if not changed_since(pod.subject, others)), None)


def _with_new_template(remake: Remedy, crowd: Crowd) -> Iterator[Remedy]:
    """Yield changes of the new template, for Pods made again from it that still do not run."""
    cycle = replace(remake.cycle, snapshot=crowd.after(remake))
    feasibility = find_feasible(cycle)
    for fix in remedies(cycle, feasibility) if not feasibility.feasible else ():
        if fix.where != NOW and not fix.also_now:
            changed_now = replace(fix.cycle, snapshot=remake.cycle.snapshot)
            words = f"{fix.change}, and {remake.change}"
            yield remake._replace(change=words, where=fix.where, nodes=fix.nodes, cycle=changed_now, edits=None)


def _waiter(pod: WaitingPod) -> Waiter:
    return Waiter(pod.subject.ref, pod.cycle, not pod.preempts)


def helped(
    fixes: Sequence[Remedy],
    subjects: Sequence[PlacementSubject],
    namespace: str,
    snapshot: Snapshot,
    features: Features,
    profiles: Profiles = USUAL_PROFILES,
) -> tuple[int, list[Runs | None]]:
    """
    Return how many Pods of a namespace do not run without a change, and how many of these run after each remedy.

    The latter is None for a change in the template, whose rollout is simulated elsewhere, and for every remedy where
    too many Pods wait.
    """
    if not fixes or not subjects or len(subjects) * len(snapshot.nodes) > NODES_TRIED_FOR_ALL:
        return 0, [None] * len(fixes)
    cycles = _cycles(_oldest_first(subjects), snapshot, features, profiles)
    waiting = [Waiter(subject.ref, cycle, subject.ref.namespace == namespace) for subject, cycle in cycles]
    crowd = Crowd(waiting, snapshot, MOST_REMEDIES)
    return crowd.stuck, [crowd.running(fix) if fix.where == NOW else None for fix in fixes]


def _cycles(
    subjects: Iterable[PlacementSubject], snapshot: Snapshot, features: Features, profiles: Profiles
) -> Iterator[tuple[PlacementSubject, Cycle]]:
    """Yield the Pods with their attempts; Pods that are alike share one."""
    cycles: dict[tuple[str, str], Cycle] = {}
    for subject in subjects:
        if (key := attempt_likeness(subject)) not in cycles:
            cycles[key] = _cycle_of(subject, snapshot, features, profiles)
        yield subject, cycles[key]


def _cycle_of(subject: PlacementSubject, snapshot: Snapshot, features: Features, profiles: Profiles) -> Cycle:
    profile = profiles.get(subject.scheduler, USUAL_PROFILE)
    return attempt(subject, snapshot, features, profile=profile).cycle


def _reaches(raw: Raw | None) -> bool:
    """Return whether a change of the template reaches the Pods that wait."""
    return raw is None or reach_of_template(raw) in (ROLLS_OUT, IF_DELETED)


class Waiter(NamedTuple):
    """A Pod of a crowd."""

    ref: ObjectRef
    cycle: Cycle
    counted: bool = True  # False for a Pod that preempts others, or was not asked about: it is only placed


class Crowd:
    """
    All Pods that wait, and which of them run in the end, without and after a change.

    The Pods are placed once for each of `tries` changes.
    """

    def __init__(self, waiting: Sequence[Waiter], snapshot: Snapshot, tries: int) -> None:
        self._waiting, self._most_placements = waiting, max(LEAST_PLACEMENTS, PLACEMENTS_FOR_ALL // max(1, tries))
        self._snapshot = snapshot

    @cached_property
    def _run_now(self) -> list[list[bool]]:
        return self._placed([waiter.cycle for waiter in self._waiting], self._snapshot)

    def _placed(self, attempts: Sequence[Cycle], snapshot: Snapshot) -> list[list[bool]]:
        """Return which of the Pods run if they are placed in their order, and which if in the opposite order."""
        in_order = placed(attempts, snapshot, self._most_placements)
        # Pods that share one attempt are alike: their order does not matter.
        if len(set(map(id, attempts))) < 2:
            return [in_order, in_order]
        return [in_order, placed(attempts[::-1], snapshot, self._most_placements)[::-1]]

    @property
    def stuck(self) -> int:
        """The number of Pods that do not run without a change."""
        return sum(waiter.counted and not run for run, waiter in zip(self._run_now[0], self._waiting, strict=True))

    def runs_now(self, alike: Sequence[WaitingPod]) -> int:
        """Return how many of these Pods run in the end without any change."""
        refs = {pod.subject.ref for pod in alike}
        return sum(run for run, waiter in zip(self._run_now[0], self._waiting, strict=True) if waiter.ref in refs)

    def running(self, remedy: Remedy, alike: Sequence[WaitingPod] = ()) -> Runs:
        """
        Return how many Pods run in the end only because of a change.

        `alike`: the Pods of the workload that the remedy is for.  If none of them gains, the change counts as useless.
        """
        attempts, refs_alike = self._attempts(remedy, alike), {pod.subject.ref for pod in alike}
        gained = [
            {
                waiter.ref
                for now, then, waiter in zip(run_now, run_then, self._waiting, strict=True)
                if waiter.counted and then and not now
            }
            for run_now, run_then in zip(self._run_now, self._placed(attempts, remedy.cycle.snapshot), strict=True)
        ]
        if refs_alike and all(map(refs_alike.isdisjoint, gained)):
            return NONE_RUNS
        numbers = sorted(min(len(refs), self.stuck) for refs in gained)
        return Runs(*numbers)

    def after(self, remedy: Remedy, alike: Sequence[WaitingPod] = ()) -> Snapshot:
        """Return the cluster with all Pods that run after a change, in the template of `alike` if in one."""
        return placed_in(self._attempts(remedy, alike), remedy.cycle.snapshot, self._most_placements)[1]

    def _attempts(self, remedy: Remedy, alike: Sequence[WaitingPod] = ()) -> list[Cycle]:
        """
        Return the attempts to place the Pods after a change.

        A change in the template is for the Pods `alike` that ask for the same as the first of them, and for all Pods
        that the remedy makes again.
        """
        attempts = [waiter.cycle for waiter in self._waiting]
        refs_alike = {pod.subject.ref for pod in alike}
        template_asks = _asked(alike[0].cycle) if remedy.where != NOW else None
        namespace, changed = remedy.cycle.pod.namespace, dict[int, Cycle]()  # by the id of the attempt before
        for i, (ref, cycle, _) in enumerate(self._waiting):
            remade = ref.namespace == namespace and ref.name in remedy.remade
            if remade or (template_asks is not None and ref in refs_alike and _asked(cycle) == template_asks):
                attempts[i] = changed.setdefault(id(cycle), _changed(cycle, remedy.cycle))
        return attempts


def _changed(cycle: Cycle, remedied: Cycle) -> Cycle:
    """Return the attempt for a Pod of the template that a remedy changes; the Pod keeps its own labels and claims."""
    return replace(cycle, pod=asking_as(cycle.pod, remedied.pod), constraints=remedied.constraints)


def _asked(cycle: Cycle) -> tuple[object, ...]:
    """Return what the template asks of a node, so without labels, names and claims, which each Pod has of its own."""
    pod = cycle.pod
    constraints = [
        (constraint.topology_key, constraint.max_skew, constraint.hard, constraint.min_domains)
        for constraint in cycle.constraints
    ]
    return pod.requests, pod.affinity, pod.tolerations, pod.pod_affinity, pod.ports, constraints
