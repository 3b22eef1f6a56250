"""
How the Pods of a workload are spread, by each constraint in force, and what the loss of a zone would take.

    next Pod ──its constraints, or defaults──> Pods per domain, as the scheduler counts them ──> skew
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evenkeel.placement.created_pods import PodCreation
from evenkeel.placement.subject import FROM_SCHEDULER, POLICY, attempt, of_new_pod
from evenkeel.report.inventory import Inventory, LiveWorkload, key_of, named
from evenkeel.scheduler.framework import usable_nodes
from evenkeel.scheduler.pod_counts import LabelSet, PodGroup
from evenkeel.scheduler.profile import USUAL_PROFILE, Cycle, Profiles
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.spread_filter import count_each
from evenkeel.scheduler.volumes import NO_MOUNTS
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw, as_mapping, with_value
from webhook.kubernetes.kinds import CONSTRAINTS_PATH
from webhook.kubernetes.names import ZONE
from webhook.kubernetes.references import ObjectKey
from webhook.spread.constraint import Constraint
from webhook.spread.domains import carrying_every_key, is_confined
from webhook.spread.nodes import Nodes, NodeSet
from webhook.spread.selectors import EQUALS, IN, Selector


@dataclass(frozen=True, slots=True)
class Spread:
    """
    One constraint in force, and how the Pods that it counts are spread now.

    `source` is where it comes from: FROM_POD, POLICY or FROM_SCHEDULER.  `template` is the number of the Pod template,
    in an object with several; it is 0 elsewhere.  `unlabelled` is the number of nodes that lack its key, `excluded` of
    those that its node inclusion policies, or another constraint's key, leave out: none of them counts.
    `closed` are eligible domains where no node takes its Pods, as cordons, taints and node affinity go.  `shared` is
    the number of Pods of other workloads that it counts, by their names: of all `makers` of Pods but its `own`.  It is
    `confined` if node affinity leaves its Pods one domain.  Where no node is known, `counted` is None, and nothing of
    what it counts is.
    """

    constraint: Constraint
    source: str
    template: int
    counted: DomainCounts | None
    unlabelled: int
    excluded: int
    closed: tuple[str, ...]
    makers: Mapping[ObjectKey, int]
    own: ObjectKey
    confined: bool

    @property
    def shared(self) -> Mapping[str, int]:
        """
        How many Pods of each other workload the constraint counts, by the workload's name.

        It is computed on access: in a cluster with many Pods that have no controller, each may count all others.
        """
        return named({key: number for key, number in self.makers.items() if key != self.own})

    @property
    def skew(self) -> int | None:
        """The most Pods in any eligible domain, less the fewest, as the scheduler has it: 0 if too few domains."""
        if self.counted is None:
            return None
        return self.counted.largest_skew

    @property
    def excess(self) -> int:
        """How far the skew is beyond maxSkew, 0 if it is not, or not known."""
        return max(0, (self.skew or 0) - self.constraint.max_skew)


class ZoneLoss(NamedTuple):
    """The number of Pods by zone, and of those on nodes without one."""

    zones: Mapping[str, int]
    elsewhere: int

    @property
    def largest(self) -> str:
        """The first of those with the most Pods; "" if no Pod is in a zone."""
        return min(self.zones, key=lambda zone: (-self.zones[zone], zone), default="")

    @property
    def share(self) -> float | None:
        """The share of the Pods on nodes that its loss would take, from 0 to 1; None if no Pod is in a zone."""
        total = sum(self.zones.values()) + self.elsewhere
        return self.zones[self.largest] / total if self.zones else None


def sum_of_losses(losses: Iterable[ZoneLoss | None]) -> ZoneLoss:
    """Return how the Pods of several workloads together are spread over zones; what is not known is left out."""
    zones, elsewhere = Counter[str](), 0
    for loss in losses:
        if loss is not None:
            zones.update(loss.zones)
            elsewhere += loss.elsewhere
    return ZoneLoss(dict(sorted(zones.items())), elsewhere)


def zone_loss(workload: LiveWorkload, nodes: Nodes) -> ZoneLoss | None:
    """Return how the Pods of a workload that are on nodes are spread over zones; None where no node is known."""
    if not nodes:
        return None
    zone_of, zones, elsewhere = nodes.placed(ZONE, nodes.all).of, Counter[str](), 0
    for node, number in workload.nodes.items():
        if node in zone_of:
            zones[zone_of[node]] += number
        else:
            elsewhere += number
    return ZoneLoss(dict(sorted(zones.items())), elsewhere)


class _NamespacePods:
    """The Pods of one namespace: those that a selector matches are found once, among those with one of its labels."""

    def __init__(self, groups: Mapping[LabelSet, PodGroup], makers: Mapping[LabelSet, Mapping[ObjectKey, int]]) -> None:
        self._groups, self._makers = groups, makers
        self._labelled: dict[tuple[str, str], list[LabelSet]] = {}
        for labels in groups:
            for item in labels:
                self._labelled.setdefault(item, []).append(labels)
        self._matching: dict[Selector, Mapping[LabelSet, PodGroup]] = {}
        self._made: dict[Selector, Mapping[ObjectKey, int]] = {}

    def matching(self, selector: Selector) -> Mapping[LabelSet, PodGroup]:
        """Return the Pods that a selector matches."""
        groups = self._matching.get(selector)
        if groups is None:
            candidates = {labels: self._groups[labels] for labels in self._candidates(selector)}
            groups = {labels: group for labels, group in candidates.items() if selector.matches(group.labels)}
            self._matching[selector] = groups
        return groups

    def _candidates(self, selector: Selector) -> Sequence[LabelSet]:
        asked = [
            self._labelled.get((requirement.key, requirement.values[0]), [])
            for requirement in selector.requirements
            if requirement.operator in (EQUALS, IN) and len(requirement.values) == 1
        ]
        return min(asked, key=len) if asked else list(self._groups)

    def makers(self, selector: Selector) -> Mapping[ObjectKey, int]:
        """Return the number of Pods of each workload that a selector matches."""
        numbers = self._made.get(selector)
        if numbers is None:
            counted: Counter[ObjectKey] = Counter()
            for labels in self.matching(selector):
                counted.update(self._makers.get(labels, {}))
            numbers = self._made[selector] = counted
        return numbers


class Spreading:
    """The counts of a cluster whose kube-scheduler has these profiles; each is made once."""

    def __init__(
        self, snapshot: Snapshot, features: Features, inventory: Inventory, profiles: Profiles, creation: PodCreation
    ) -> None:
        self._snapshot, self._features, self._inventory, self._profiles = snapshot, features, inventory, profiles
        self._creation = creation
        self._namespaces: dict[str, _NamespacePods] = {}
        self._closed: dict[tuple[str, NodeSet, NodeSet], tuple[str, ...]] = {}

    def of(self, workload: LiveWorkload, pod: Raw, given: Sequence[object], template: int = 0) -> Iterator[Spread]:
        """
        Yield each constraint in force on a new Pod of the workload, and how the Pods that it counts are spread.

        `given` are constraints that evenkeel's policy gives the Pod, which has none of its own.
        """
        if given:
            pod = as_mapping(with_value(pod, CONSTRAINTS_PATH, list(given)))
        subject = of_new_pod(pod, {}, self._creation)
        profile = self._profiles.get(subject.scheduler, USUAL_PROFILE)
        tried = attempt(subject, self._snapshot, self._features, profile=profile)
        source, cycle = POLICY if given else tried.source, tried.cycle
        if (
            source == FROM_SCHEDULER and workload.ref.kind == "DaemonSet"
        ):  # One node takes each of its Pods, and is not scored.
            cycle = replace(cycle, constraints=[constraint for constraint in cycle.constraints if constraint.hard])
        own = self._of(workload.ref.namespace)
        matching = {
            labels: group
            for constraint in cycle.constraints
            for labels, group in own.matching(constraint.selector).items()
        }
        snapshot = replace(self._snapshot, pods={workload.ref.namespace: matching})
        cycle = replace(cycle, pod=replace(cycle.pod, mounts=NO_MOUNTS), snapshot=snapshot)  # Each Pod has its own.
        for counted in count_each(cycle):
            makers = own.makers(counted.constraint.selector) if counted.counts else {}
            nodes = self._nodes(cycle, counted.constraint)
            confined = is_confined(cycle.pod, counted.constraint)
            known = counted if self._snapshot.nodes else None
            yield Spread(counted.constraint, source, template, known, *nodes, makers, key_of(workload), confined)

    def _of(self, namespace: str) -> _NamespacePods:
        of_namespace = self._namespaces.get(namespace)
        if of_namespace is None:
            groups = self._snapshot.pods.get(namespace, {})
            of_namespace = self._namespaces[namespace] = _NamespacePods(groups, self._inventory.makers(namespace))
        return of_namespace

    def _nodes(self, cycle: Cycle, constraint: Constraint) -> tuple[int, int, tuple[str, ...]]:
        """Return how many nodes lack the key, how many are left out for another reason, and the closed domains."""
        nodes = self._snapshot.nodes
        together = [
            constraint_of_pod for constraint_of_pod in cycle.constraints if constraint_of_pod.hard == constraint.hard
        ]
        labelled = carrying_every_key(nodes, [constraint] if cycle.system_defaults else together)
        counted, carrying = cycle.reach.eligible(constraint, labelled), nodes.carrying(constraint.topology_key)
        shut = counted & ~usable_nodes(cycle)
        return (
            (nodes.all & ~carrying).bit_count(),
            (carrying & ~counted).bit_count(),
            self._closed_domains(constraint.topology_key, counted, shut),
        )

    def _closed_domains(self, key: str, counted: NodeSet, shut: NodeSet) -> tuple[str, ...]:
        """Return the domains of which every node that counts is shut; found once for Pods of the same nodes."""
        closed = self._closed.get((key, counted, shut))
        if closed is None:
            nodes = self._snapshot.nodes
            domains, named = nodes.domains(key), {node.labels[key] for node in nodes.members(shut)}
            closed = tuple(sorted(value for value in named if not domains[value] & counted & ~shut))
            self._closed[key, counted, shut] = closed
        return closed
