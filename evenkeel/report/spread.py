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
from evenkeel.scheduler.spread_filter import count_each, labelled_for
from evenkeel.scheduler.volumes import NO_MOUNTS
from evenkeel.simulate.forced_skew import LeastSkew, least_skews
from webhook.findings.wording import why_single
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw, as_mapping, with_value
from webhook.kubernetes.kinds import CONSTRAINTS_PATH
from webhook.kubernetes.names import ZONE
from webhook.kubernetes.references import ObjectKey
from webhook.spread.constraint import Constraint
from webhook.spread.domains import only_domain
from webhook.spread.nodes import Nodes, NodeSet
from webhook.spread.selectors import EQUALS, IN, Selector


@dataclass(frozen=True, slots=True)
class Spread:
    """One constraint in force, and how the Pods that it counts are spread now."""

    constraint: Constraint
    source: str  # FROM_POD, POLICY or FROM_SCHEDULER
    template: int  # the number of the Pod template in an object with several; else 0
    counted: DomainCounts | None  # None where no node is known
    unlabelled: int  # nodes that lack its key, and so do not count
    excluded: int  # other nodes that do not count, by its inclusion policies or for lack of another constraint's key
    closed: tuple[str, ...]  # eligible domains where no node takes its Pods, by cordons, taints or node affinity
    makers: Mapping[ObjectKey, int]  # the workloads whose Pods it counts, and how many
    own: ObjectKey  # its workload
    single: str  # why its Pods can run in one domain only; "" if they may run in several
    least: LeastSkew

    @property
    def shared(self) -> Mapping[str, int]:
        """
        How many Pods of each other workload the constraint counts, by the workload's name.

        It is computed on access: in a cluster with many Pods that have no controller, each may count all others.
        """
        return named({key: number for key, number in self.makers.items() if key != self.own})

    @property
    def skew(self) -> int | None:
        """The most Pods in any eligible domain minus kube-scheduler's minimum, which is 0 for too few domains."""
        if self.counted is None:
            return None
        return self.counted.largest_skew

    @property
    def excess(self) -> int:
        """How far the skew is beyond maxSkew, or what hard constraints force; 0 if it is not, or is not known."""
        return max(0, (self.skew or 0) - self.least.skew)


class ZoneLoss(NamedTuple):
    """The Pods on nodes, by what a zone would take with it."""

    zones: Mapping[str, int]  # Pods by zone
    elsewhere: int  # Pods on nodes without a zone

    @property
    def largest(self) -> str:
        """The zone with the most Pods, the first of several; "" if no Pod is in a zone."""
        return min(self.zones, key=lambda zone: (-self.zones[zone], zone), default="")

    @property
    def share(self) -> float | None:
        """The share of the Pods on nodes that the loss of this zone takes, from 0 to 1; None if no Pod is in a zone."""
        total = sum(self.zones.values()) + self.elsewhere
        return self.zones[self.largest] / total if self.zones else None


def sum_of_losses(losses: Iterable[ZoneLoss | None]) -> ZoneLoss:
    """Return how the Pods of several workloads together are spread over zones, without what is not known."""
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
    """The Pods of one namespace; what a selector matches is computed once, since many constraints share selectors."""

    def __init__(self, groups: Mapping[LabelSet, PodGroup], makers: Mapping[LabelSet, Mapping[ObjectKey, int]]) -> None:
        self._groups, self._makers = groups, makers
        self._labelled: dict[tuple[str, str], list[LabelSet]] = {}
        for labels in groups:
            for item in labels:
                self._labelled.setdefault(item, []).append(labels)
        self._matching: dict[Selector, Mapping[LabelSet, PodGroup]] = {}
        self._made: dict[Selector, Mapping[ObjectKey, int]] = {}

    def matching(self, selector: Selector) -> Mapping[LabelSet, PodGroup]:
        groups = self._matching.get(selector)
        if groups is None:
            candidates = {labels: self._groups[labels] for labels in self._candidates(selector)}
            groups = {labels: group for labels, group in candidates.items() if selector.matches(group.labels)}
            self._matching[selector] = groups
        return groups

    def _candidates(self, selector: Selector) -> Sequence[LabelSet]:
        """Return label sets among which are all that match: those with the rarest of the labels that are required."""
        with_label = [
            self._labelled.get((requirement.key, requirement.values[0]), [])
            for requirement in selector.requirements
            if requirement.operator in (EQUALS, IN) and len(requirement.values) == 1
        ]
        return min(with_label, key=len) if with_label else list(self._groups)

    def makers(self, selector: Selector) -> Mapping[ObjectKey, int]:
        """Return how many Pods of each workload a selector matches."""
        numbers = self._made.get(selector)
        if numbers is None:
            counted: Counter[ObjectKey] = Counter()
            for labels in self.matching(selector):
                counted.update(self._makers.get(labels, {}))
            numbers = self._made[selector] = counted
        return numbers


class Spreading:
    """Counts Pods by domain for one workload after the other; what workloads share is computed once."""

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
        # The soft constraints of kube-scheduler do nothing for a DaemonSet: one node takes each Pod, and is not scored.
        if source == FROM_SCHEDULER and workload.ref.kind == "DaemonSet":
            cycle = replace(cycle, constraints=[constraint for constraint in cycle.constraints if constraint.hard])
        # Only the Pods that a constraint matches are counted, found by label: there may be many in the namespace.
        own_namespace = self._of(workload.ref.namespace)
        matching = {
            labels: group
            for constraint in cycle.constraints
            for labels, group in own_namespace.matching(constraint.selector).items()
        }
        snapshot = replace(self._snapshot, pods={workload.ref.namespace: matching})
        cycle = replace(cycle, pod=replace(cycle.pod, mounts=NO_MOUNTS), snapshot=snapshot)  # Each Pod has its own.
        all_counted = count_each(cycle)
        for counted, least in zip(all_counted, least_skews(all_counted, cycle.snapshot.nodes), strict=True):
            makers = own_namespace.makers(counted.constraint.selector) if counted.counts else {}
            unlabelled, excluded, closed = self._nodes(cycle, counted.constraint)
            only = only_domain(cycle.reach, counted.constraint, labelled_for(cycle, counted.constraint))
            yield Spread(
                counted.constraint,
                source,
                template,
                counted=counted if self._snapshot.nodes else None,
                unlabelled=unlabelled,
                excluded=excluded,
                closed=closed,
                makers=makers,
                own=key_of(workload),
                single=why_single(counted.constraint.topology_key, only) if only is not None else "",
                least=least,
            )

    def _of(self, namespace: str) -> _NamespacePods:
        of_namespace = self._namespaces.get(namespace)
        if of_namespace is None:
            groups = self._snapshot.pods.get(namespace, {})
            of_namespace = self._namespaces[namespace] = _NamespacePods(groups, self._inventory.makers(namespace))
        return of_namespace

    def _nodes(self, cycle: Cycle, constraint: Constraint) -> tuple[int, int, tuple[str, ...]]:
        """Return how many nodes lack the key, how many are left out for another reason, and the closed domains."""
        nodes = self._snapshot.nodes
        counted = cycle.reach.eligible(constraint, labelled_for(cycle, constraint))
        carrying = nodes.carrying(constraint.topology_key)
        shut = counted & ~usable_nodes(cycle)
        return (
            (nodes.all & ~carrying).bit_count(),
            (carrying & ~counted).bit_count(),
            self._closed_domains(constraint.topology_key, counted, shut),
        )

    def _closed_domains(self, key: str, counted: NodeSet, shut: NodeSet) -> tuple[str, ...]:
        """Return the domains in which all nodes that count are shut; computed once for the same sets of nodes."""
        closed = self._closed.get((key, counted, shut))
        if closed is None:
            nodes = self._snapshot.nodes
            domains, with_shut_node = nodes.domains(key), {node.labels[key] for node in nodes.members(shut)}
            closed = tuple(sorted(value for value in with_shut_node if not domains[value] & counted & ~shut))
            self._closed[key, counted, shut] = closed
        return closed
