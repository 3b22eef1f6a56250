"""
All Pods that kube-scheduler could not place, grouped by what made them and by cause, each group with what frees most.

    subjects ──each attempted──> groups by (workload, cause) ──remedies, tried on every Pod that waits──> PendingList
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from typing import NamedTuple

from webhook.objects.fields import as_list, as_mapping
from webhook.placement.explanation import agrees
from webhook.placement.gaps import gaps
from webhook.placement.remedies import NOW, Remedy, remedies
from webhook.placement.subject import PlacementSubject, attempt
from webhook.scheduler.features import Features
from webhook.scheduler.framework import Feasibility, Framework, feasible_nodes, message
from webhook.scheduler.preemption import Preemption, messages, preempt
from webhook.scheduler.profile import USUAL_PROFILES, Cycle, Profiles
from webhook.scheduler.snapshot import Snapshot

PASSES = "a node passes now"
# Groups for which changes are tried, the largest first: each takes a third of a second at 5,000 nodes.
LEAST_TRIED, NODES_TRIED_FOR_ALL = 10, 50_000
ATTEMPTS_FOR_ALL = 10_000  # A change of a group is tried on every Pod that waits and is unlike the others.


class Group(NamedTuple):
    """
    Pods of one namespace and workload that wait for the same cause: what kube-scheduler would say now.

    `api_group` is that of the workload.  `remedy` is the change that lets in the most of all Pods that wait, each
    taken by itself: `frees` of them.  None is `tried` for the smallest groups of a large cluster.  `gaps` are what is
    not computed of some of the Pods.  `preemption` is what kube-scheduler does for the first of them, or what it has
    done and waits for; None where preemption does not help.
    """

    namespace: str
    api_group: str
    workload: str
    cause: str
    pods: tuple[str, ...]
    remedy: Remedy | None
    frees: int
    tried: bool = True
    gaps: tuple[str, ...] = ()
    preemption: Preemption | None = None


class PendingList(NamedTuple):
    """The groups, the largest first; of `compared` Pods kube-scheduler has told `agree` what is computed here."""

    groups: tuple[Group, ...]
    agree: int
    compared: int


class _WaitingPod(NamedTuple):
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
    subjects: Sequence[PlacementSubject], snapshot: Snapshot, features: Features, profiles: Profiles = USUAL_PROFILES
) -> PendingList:
    """Return what each of the Pods waits for, which `profiles` place; Pods that are alike are attempted once."""
    waiting = list(_attempted(subjects, snapshot, features, profiles))
    grouped: dict[tuple[str, str, str, str, bool], list[_WaitingPod]] = {}
    for waiting_pod in waiting:
        subject = waiting_pod.subject
        workload = subject.workload or str(subject.ref)
        key = subject.ref.namespace, subject.api_group, workload, waiting_pod.cause, waiting_pod.preempts
        grouped.setdefault(key, []).append(waiting_pod)
    largest_first = sorted(grouped.items(), key=lambda group: (-len(group[1]), group[0]))
    attempts = len({id(waiting_pod.cycle) for waiting_pod in waiting})
    tried = max(LEAST_TRIED, min(most_tried(snapshot), ATTEMPTS_FOR_ALL // max(1, attempts)))
    groups = [_group(*key[:4], alike, waiting, i < tried) for i, (key, alike) in enumerate(largest_first)]
    said = [waiting_pod for waiting_pod in waiting if waiting_pod.subject.verdict.message]
    return PendingList(
        tuple(groups),
        sum(pod.agrees for pod in said),
        len(said),
    )


def _attempted(
    subjects: Iterable[PlacementSubject], snapshot: Snapshot, features: Features, profiles: Profiles
) -> Iterator[_WaitingPod]:
    """Yield the Pods, each with its attempt."""
    alike: dict[tuple[str, str], _WaitingPod] = {}
    for subject in sorted(subjects, key=lambda subject: (subject.ref.namespace, subject.ref.name)):
        key = attempt_likeness(subject)
        if key not in alike:
            cycle = attempt(subject, snapshot, features, profile=profiles[subject.scheduler]).cycle
            framework = Framework(cycle)
            feasibility = framework.feasibility()
            preemption = preempt(framework, feasibility, snapshot.pods_of, snapshot.budgets)
            unknown = gaps(cycle, feasibility, preemption, subject.unmodelled)
            of_filters = message(cycle, feasibility)
            alike[key] = _WaitingPod(subject, cycle, feasibility, preemption, of_filters, unknown)
        yield alike[key]._replace(subject=subject)


def most_tried(snapshot: Snapshot) -> int:
    """Return the number of groups for which changes are tried."""
    return max(LEAST_TRIED, NODES_TRIED_FOR_ALL // max(1, len(snapshot.nodes)))


def attempt_likeness(subject: PlacementSubject) -> tuple[str, str]:
    """
    Return what decides where a Pod may run now: beside its likeness its name, which is that of ephemeral volumes, and
    by which it is known where a node is nominated for it.
    """
    volumes = map(as_mapping, as_list(subject.pod.spec.get("volumes")))
    named = subject.pod.nominated_node or any(volume.get("ephemeral") for volume in volumes)
    return likeness(subject), subject.ref.name if named else ""


def likeness(subject: PlacementSubject) -> str:
    """Return what Pods that are alike have in common, from which other Pods differ."""
    pod = subject.pod
    owner = None if pod.owner is None else astuple(pod.owner)
    return json.dumps([pod.namespace, owner, pod.labels, pod.spec], sort_keys=True, default=str)


def _group(
    namespace: str,
    api_group: str,
    workload: str,
    cause: str,
    alike: Sequence[_WaitingPod],
    waiting: Sequence[_WaitingPod],
    tries: bool,
) -> Group:
    names = tuple(sorted(pod.subject.ref.name for pod in alike))
    unknown = tuple(dict.fromkeys(gap for pod in alike for gap in pod.gaps))
    if not cause:
        cause = f"{PASSES}, but not judged: {', '.join(unknown)}" if unknown else PASSES
        return Group(namespace, api_group, workload, cause, names, None, 0, gaps=unknown)
    if alike[0].preempts:
        made = alike[0].preemption
        return Group(namespace, api_group, workload, cause, names, None, 0, gaps=unknown, preemption=made)
    best, most, cycle = None, 0, alike[0].cycle
    offered = remedies(cycle, alike[0].feasibility) if tries else ()
    # Fewer Pods come last: what is deleted may be made anew, and wait in place of this one.
    for remedy in sorted(offered, key=lambda remedy: remedy.cycle.snapshot.pods is not cycle.snapshot.pods):
        if most < len(waiting) and (number := _frees(remedy, alike, waiting)) > most:
            best, most = remedy, number
    return Group(namespace, api_group, workload, cause, names, best, most, tries, unknown)


def _frees(remedy: Remedy, alike: Sequence[_WaitingPod], waiting: Sequence[_WaitingPod]) -> int:
    """Return how many of the Pods that wait a change lets in, each by itself; one in a template helps one workload."""
    if remedy.where != NOW:
        first = _asked(alike[0].cycle)
        return sum(_asked(pod.cycle) == first for pod in alike)
    return sum(_let_in(waiting, remedy.cycle.snapshot))


def _asked(cycle: Cycle) -> tuple[object, ...]:
    """Return what a change in the template is tried on, without what Pods of one template have of their own."""
    pod = cycle.pod
    constraints = [
        (constraint.topology_key, constraint.max_skew, constraint.hard, constraint.min_domains)
        for constraint in cycle.constraints
    ]
    return pod.requests, pod.affinity, pod.tolerations, pod.pod_affinity, pod.ports, constraints


def _let_in(waiting: Iterable[_WaitingPod], snapshot: Snapshot) -> Iterable[bool]:
    known: dict[int, bool] = {}  # Pods that are alike share their attempt.
    for waiting_pod in waiting:
        if id(waiting_pod.cycle) not in known:
            known[id(waiting_pod.cycle)] = feasible_nodes(replace(waiting_pod.cycle, snapshot=snapshot)) != 0
        yield known[id(waiting_pod.cycle)]
