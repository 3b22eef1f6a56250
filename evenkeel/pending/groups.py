"""
All Pods that kube-scheduler could not place, grouped by what made them and by cause, each group with what helps most.

    subjects ──each attempted──> groups by (workload, cause) ──remedies, all Pods placed after each──> PendingList
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import NamedTuple

from evenkeel.objects.workload_object import IF_DELETED, ROLLS_OUT, reach_of_template
from evenkeel.placement.explanation import agrees
from evenkeel.placement.gaps import gaps
from evenkeel.placement.inferred_defaults import DefaultsOf, given_defaults
from evenkeel.placement.kubectl_commands import Command, commands
from evenkeel.placement.remedies import NOW, Remedy, asking_as, misspelt_keys, pods_by_name, remedies
from evenkeel.placement.subject import UNSCHEDULABLE_REASON, PlacementSubject, attempt, attempt_likeness
from evenkeel.placement.successors import changed_since, keeps_waiting_pods, made_again, with_successors
from evenkeel.placement.variants import MOST_REMEDIES
from evenkeel.scheduler.framework import Feasibility, Framework, find_feasible, message
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
    """
    Pods of one namespace and workload that wait for the same cause: what kube-scheduler would say now.

    `api_group` is that of the workload.  `remedy` is the change after which the most run of all Pods that wait, placed
    one after the other: `frees` of the `stuck` ones, which do not run without a change.  `commands` make one in the
    cluster, and none one in the template, whose rollout is not simulated here.  None is `tried` for the smallest groups
    of a large cluster.  So many of its Pods `run_now`, without a change.  `gaps` are what is not computed of some of
    the Pods.  `preemption` is what kube-scheduler does for the first of them, or what it has done and waits for; None
    where preemption does not help.  `misspelt` are topology keys that no node has, with those that were meant.
    """

    namespace: str
    api_group: str
    workload: str
    cause: str
    pods: tuple[str, ...]
    remedy: Remedy | None
    frees: Runs = NONE_RUNS
    tried: bool = True
    gaps: tuple[str, ...] = ()
    preemption: Preemption | None = None
    run_now: int = 0
    stuck: int = 0
    commands: tuple[Command, ...] = ()
    misspelt: Mapping[str, str] = {}


class PendingList(NamedTuple):
    """
    The groups, the largest first; of `compared` Pods kube-scheduler has told `agree` what is computed here.

    Changes were tried on all Pods `together`, or, where that were too much, on those of each group alone.
    """

    groups: tuple[Group, ...]
    agree: int
    compared: int
    together: bool = True


class WaitingPod(NamedTuple):
    """A Pod that waits with its attempt, which Pods that are alike share; `cause` is what the filters say."""

    subject: PlacementSubject
    cycle: Cycle
    feasibility: Feasibility
    preemption: Preemption | None
    cause: str
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
    Return what each of the Pods waits for, which `profiles` place; Pods that are alike are attempted once.

    `others` holds what makes them.  Pods that are `competing` wait, too: they are placed with these, and neither listed
    nor counted.
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
    waiters += [Waiter(of.ref, cycle, False) for of, cycle in _cycles(competing, snapshot, features, profiles)]
    attempts = len({id(waiter.cycle) for waiter in waiters})
    tried = max(LEAST_TRIED, min(most_tried(snapshot), ATTEMPTS_FOR_ALL // max(1, attempts)))
    tries = MOST_REMEDIES * min(tried, len(grouped))
    seen = attempts * len(snapshot.nodes) * tries
    together = len(waiters) * tries <= PLACED_FOR_ALL and seen <= NODES_SEEN_FOR_ALL
    by_ref = {waiter.ref: waiter for waiter in waiters}
    everybody = Crowd([by_ref[of.ref] for of in _oldest_first([*subjects, *competing])], snapshot, tries)
    others = others or {}
    defaults = given_defaults([subject.raw for subject in subjects], others)
    groups = list[Group]()
    for i, (key, alike) in enumerate(largest_first):
        crowd = everybody if together else Crowd([_waiter(pod) for pod in alike], snapshot, tries)
        groups.append(_group(*key[:4], alike, crowd, i < tried, others, defaults, profiles))
    said = [waiting_pod for waiting_pod in waiting if waiting_pod.subject.verdict.states_cause]
    return PendingList(
        tuple(groups),
        sum(pod.agrees for pod in said),
        len(said),
        together,
    )


def _attempted(
    subjects: Iterable[PlacementSubject], snapshot: Snapshot, features: Features, profiles: Profiles
) -> Iterator[WaitingPod]:
    """Yield the Pods, each with its attempt."""
    alike: dict[tuple[str, str], WaitingPod] = {}
    for subject in _oldest_first(subjects):
        key = attempt_likeness(subject)
        if key not in alike:
            cycle = _cycle_of(subject, snapshot, features, profiles)
            framework = Framework(cycle)
            feasibility = framework.feasibility()
            preemption = preempt(framework, feasibility, snapshot.pods_of, snapshot.budgets)
            unknown = gaps(cycle, feasibility, preemption, subject.unmodelled)
            of_filters = message(cycle, feasibility)
            alike[key] = WaitingPod(subject, cycle, feasibility, preemption, of_filters, unknown)
        yield alike[key]._replace(subject=subject)


def _oldest_first(subjects: Iterable[PlacementSubject]) -> list[PlacementSubject]:
    return sorted(
        subjects, key=lambda subject: (subject.pod.created_at or inf, subject.ref.namespace, subject.ref.name)
    )


def is_stuck(subject: PlacementSubject, profiles: Profiles) -> bool:
    """Return whether kube-scheduler, with these profiles, has tried to place the Pod, and found no node."""
    refused = subject.verdict.reason == UNSCHEDULABLE_REASON and subject.scheduler in profiles
    return refused and not subject.node and not subject.pod.terminating


def most_tried(snapshot: Snapshot) -> int:
    """Return the number of groups for which changes are tried."""
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
    if not cause:
        cause = f"{PASSES}, but not judged: {', '.join(unknown)}" if unknown else PASSES
        now = crowd.runs_now(alike)
        return Group(namespace, api_group, workload, cause, names, None, gaps=unknown, run_now=now)
    if alike[0].preempts:
        made = alike[0].preemption
        return Group(namespace, api_group, workload, cause, names, None, gaps=unknown, preemption=made)
    current = _current(alike, others) if tries else None
    if current is not None:
        alike = [current, *[pod for pod in alike if pod is not current]]
    best, most, cycle, made_by = None, NONE_RUNS, alike[0].cycle, alike[0].subject.made_by
    raw = others.get(made_by.key) if made_by is not None else None
    reaches = _reaches(raw)
    fixes: tuple[Remedy, ...] = ()
    if tries:
        again = made_again([pod.subject for pod in alike], cycle, others, defaults, profiles)
        fixes = with_successors(remedies(cycle, alike[0].feasibility), again, outdated=current is None)
        if again is not None and reaches and crowd.running(again, alike).least < len(again.remade):
            fixes += tuple(_with_new_template(again, crowd))
    for remedy in fixes:
        if (remedy.where != NOW and not reaches) or remedy.cycle.snapshot.pods_on is not cycle.snapshot.pods_on:
            continue  # A Pod that runs is not deleted for one that waits.
        if most.least < crowd.stuck and (number := crowd.running(remedy, alike)) > most:
            best, most = remedy, number
    if best is not None and best.where != NOW and not best.remade and raw is not None and keeps_waiting_pods(raw):
        pods = pods_by_name(names) if len(names) == 1 else "the Pods that wait"
        best = best._replace(change=f"{best.change}, then delete {pods}")
    stuck = crowd.stuck if best is not None else 0
    return Group(
        namespace,
        api_group,
        workload,
        cause,
        names,
        best,
        most,
        tries,
        unknown,
        stuck=stuck,
        commands=commands(best.edits, None) if best is not None and best.where == NOW else (),
        misspelt=misspelt_keys(cycle),
    )


def _current(alike: Iterable[WaitingPod], others: Mapping[ObjectKey, Raw]) -> WaitingPod | None:
    """Return the first of the Pods whose template has not changed since it was made; None if that of all has."""
    by_revision: dict[tuple[Owner | None, str], WaitingPod] = {}
    for pod in alike:
        by_revision.setdefault((pod.subject.pod.owner, pod.subject.pod.revision_hash), pod)
    return next((pod for pod in by_revision.values() if not changed_since(pod.subject, others)), None)


def _with_new_template(again: Remedy, crowd: Crowd) -> Iterator[Remedy]:
    """Yield changes of the new template for those that do not run of Pods which are made again of it."""
    cycle = replace(again.cycle, snapshot=crowd.after(again))
    feasibility = find_feasible(cycle)
    for fix in remedies(cycle, feasibility) if not feasibility.feasible else ():
        if fix.where != NOW and not fix.also_now:
            changed_now = replace(fix.cycle, snapshot=again.cycle.snapshot)
            words = f"{fix.change}, and {again.change}"
            yield again._replace(change=words, where=fix.where, nodes=fix.nodes, cycle=changed_now, edits=None)


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
    Return how many Pods of a namespace do not run without a change, and how many of these run after each, if all Pods
    that wait are placed.

    It is None for a change in the template, whose rollout is simulated, and for all where too many Pods wait.
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
    """Yield the Pods with their attempts, which Pods that are alike share."""
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
    """A Pod of a crowd; one that preempts others, or was not asked about, is placed, and not `counted`."""

    ref: ObjectRef
    cycle: Cycle
    counted: bool = True


class Crowd:
    """
    All Pods that wait, and which of them run in the end without any change.

    Each time that they are placed in one cluster after a change, PLACEMENTS_FOR_ALL are shared by `tries` such times.
    """

    def __init__(self, waiting: Sequence[Waiter], snapshot: Snapshot, tries: int) -> None:
        self._waiting, self._most = waiting, max(LEAST_PLACEMENTS, PLACEMENTS_FOR_ALL // max(1, tries))
        self._snapshot = snapshot

    @cached_property
    def _run_now(self) -> list[list[bool]]:
        return self._placed([waiter.cycle for waiter in self._waiting], self._snapshot)

    def _placed(self, attempts: Sequence[Cycle], snapshot: Snapshot) -> list[list[bool]]:
        """Return which of the Pods run, if they are taken in their order, and if in the opposite one."""
        in_order = placed(attempts, snapshot, self._most)
        if len(set(map(id, attempts))) < 2:
            return [in_order, in_order]
        return [in_order, placed(attempts[::-1], snapshot, self._most)[::-1]]

    @property
    def stuck(self) -> int:
        """The number of Pods that do not run without a change."""
        return sum(waiter.counted and not run for run, waiter in zip(self._run_now[0], self._waiting, strict=True))

    def runs_now(self, alike: Sequence[WaitingPod]) -> int:
        """Return how many of the Pods run in the end without any change."""
        names = {pod.subject.ref for pod in alike}
        return sum(run for run, waiter in zip(self._run_now[0], self._waiting, strict=True) if waiter.ref in names)

    def running(self, remedy: Remedy, alike: Sequence[WaitingPod] = ()) -> Runs:
        """
        Return how many of those that do not run without a change run in the end after this one.

        It is none if none of those that are `alike` does.  A change in the template changes those of these, the Pods of
        its workload, that ask for the same; Pods that are made again are all of the new template.
        """
        attempts, names = self._attempts(remedy, alike), {pod.subject.ref for pod in alike}
        gained = [
            {
                waiter.ref
                for now, then, waiter in zip(run_now, run_then, self._waiting, strict=True)
                if waiter.counted and then and not now
            }
            for run_now, run_then in zip(self._run_now, self._placed(attempts, remedy.cycle.snapshot), strict=True)
        ]
        if names and all(map(names.isdisjoint, gained)):
            return NONE_RUNS
        numbers = sorted(min(len(refs), self.stuck) for refs in gained)
        return Runs(*numbers)

    def after(self, remedy: Remedy) -> Snapshot:
        """Return the cluster with all Pods that run after a change."""
        return placed_in(self._attempts(remedy), remedy.cycle.snapshot, self._most)[1]

    def _attempts(self, remedy: Remedy, alike: Sequence[WaitingPod] = ()) -> list[Cycle]:
        """Return the attempts to place the Pods after a change."""
        attempts = [waiter.cycle for waiter in self._waiting]
        names = {pod.subject.ref for pod in alike}
        asked = _asked(alike[0].cycle) if remedy.where != NOW else None
        namespace, of_template = remedy.cycle.pod.namespace, dict[int, Cycle]()
        for i, (ref, cycle, _) in enumerate(self._waiting):
            again = ref.namespace == namespace and ref.name in remedy.remade
            if again or (asked is not None and ref in names and _asked(cycle) == asked):
                attempts[i] = of_template.setdefault(id(cycle), _changed(cycle, remedy.cycle))
        return attempts


def _changed(cycle: Cycle, remedied: Cycle) -> Cycle:
    """Return the attempt for a Pod of the template that a remedy changes; its labels and claims are its own."""
    return replace(cycle, pod=asking_as(cycle.pod, remedied.pod), constraints=remedied.constraints)


def _asked(cycle: Cycle) -> tuple[object, ...]:
    """Return what a change in the template is tried on, without what Pods of one template have of their own."""
    pod = cycle.pod
    constraints = [
        (constraint.topology_key, constraint.max_skew, constraint.hard, constraint.min_domains)
        for constraint in cycle.constraints
    ]
    return pod.requests, pod.affinity, pod.tolerations, pod.pod_affinity, pod.ports, constraints
