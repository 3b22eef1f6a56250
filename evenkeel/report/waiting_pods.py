"""
The Pods that wait for a node, those that are alike together, by their workload; and why.

    Pods without a node ──alike ones attempted once──> Waiting, each with what explain says of the first
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.pending.groups import most_tried
from evenkeel.placement.explanation import Explanation, explain
from evenkeel.placement.remedies import Remedy, remedies
from evenkeel.placement.subject import (
    PlacementSubject,
    attempt,
    attempt_likeness,
    foreign,
    ignoring_placer,
    of_pod,
)
from evenkeel.placement.successors import changed_since, made_again, with_successors
from evenkeel.report.inventory import Inventory
from evenkeel.scheduler.profile import USUAL_PROFILE, USUAL_PROFILES, Profiles
from evenkeel.scheduler.snapshot import Snapshot
from webhook.findings.wording import ignores_constraints
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.references import ObjectKey

MOST_EXPLAINED = 200  # Groups: nobody reads the causes of more, and each takes an attempt on all nodes.


class Waiting(NamedTuple):
    """Pods of one workload that wait, and are alike."""

    subject: PlacementSubject  # one of them
    names: tuple[str, ...]  # of all of them
    source: str = ""  # where their constraints come from
    explanation: Explanation | None = None  # None beyond the largest MOST_EXPLAINED groups, or if no node is known
    remedies: tuple[Remedy, ...] = ()
    tried: bool = False  # changes were tried: not for small groups of a large cluster, nor if some node takes the Pods


def waiting(
    pods: Iterable[Raw],
    workloads: Collection[ObjectKey],
    others: Mapping[ObjectKey, Raw],
    inventory: Inventory,
    snapshot: Snapshot,
    features: Features,
    profiles: Profiles = USUAL_PROFILES,
) -> Mapping[ObjectKey, Sequence[Waiting]]:
    """
    Return why the Pods of these workloads wait, by workload; the largest groups of alike Pods come first.

    `others`: the objects that make Pods.
    """
    alike: dict[tuple[ObjectKey, tuple[str, str]], list[PlacementSubject]] = {}
    for pod in pods:
        subject = of_pod(pod, others)
        if (key := _workload(subject, inventory)) in workloads:
            alike.setdefault((key, attempt_likeness(subject)), []).append(subject)
    by_workload: dict[ObjectKey, list[Waiting]] = {}
    most_first = sorted(alike.items(), key=lambda group: (-len(group[1]), group[0]))
    for i, ((key, _), subjects) in enumerate(most_first):
        names = tuple(sorted(subject.ref.name for subject in subjects))
        # One about which kube-scheduler has said something, if there is one.
        first = min(subjects, key=lambda subject: (not subject.verdict.message, subject.ref.name))
        group = Waiting(first, names)
        if i < MOST_EXPLAINED and snapshot.nodes:
            tries = i < most_tried(snapshot)
            group = _explained(group, subjects if tries else (), others, snapshot, features, profiles)
        by_workload.setdefault(key, []).append(group)
    return by_workload


def _workload(subject: PlacementSubject, inventory: Inventory) -> ObjectKey:
    pod = subject.pod
    return inventory.top(pod.key if pod.owner is None else pod.owner.key(pod.namespace))


def _explained(
    group: Waiting,
    tried_on: Sequence[PlacementSubject],
    others: Mapping[ObjectKey, Raw],
    snapshot: Snapshot,
    features: Features,
    profiles: Profiles,
) -> Waiting:
    """Return the group with its explanation, and with the changes that help; none if `tried_on` is empty."""
    if placer := ignoring_placer(group.subject, {}, snapshot.nodes):
        remarks = (f"{ignores_constraints(placer, 'it')}.", *group.subject.remarks)
        return group._replace(subject=replace(group.subject, remarks=remarks))
    profile = profiles.get(group.subject.scheduler, USUAL_PROFILE)
    attempted = attempt(group.subject, snapshot, features, profile=profile)
    explanation = explain(attempted.cycle, group.subject.unmodelled)
    tries = bool(tried_on) and not explanation.feasibility.feasible
    fixes: tuple[Remedy, ...] = ()
    if tries:
        remake = made_again(tried_on, attempted.cycle, others, profiles=profiles)
        changes = remedies(attempted.cycle, explanation.feasibility)
        outdated = bool(changed_since(group.subject, others))
        fixes = with_successors(changes, remake, outdated=outdated)
    subject = replace(group.subject, remarks=(*foreign(group.subject, profiles), *group.subject.remarks))
    return group._replace(
        subject=subject, source=attempted.source, explanation=explanation, remedies=fixes, tried=tries
    )
