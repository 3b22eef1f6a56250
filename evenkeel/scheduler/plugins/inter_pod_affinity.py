"""InterPodAffinity: a Pod goes near the Pods that it wants nearby, and not where it and others keep each other off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from evenkeel.scheduler.plugins.plugin import Parts, Plugin, Reason, Refusal
from evenkeel.scheduler.pod_affinity import PodAffinity, PodTerm
from evenkeel.scheduler.pod_counts import LabelSet, PodInfo
from evenkeel.scheduler.profile import INTER_POD_AFFINITY, Cycle
from evenkeel.scheduler.resource_fit import MAX_NODE_SCORE
from evenkeel.scheduler.topology_counts import TopologyCounts
from webhook.kubernetes.labels import Labels
from webhook.spread.nodes import NodeSet, union

AFFINITY_UNMET = Reason("node(s) didn't match pod affinity rules", "has no Pod nearby that its podAffinity selects")
ANTI_AFFINITY_UNMET = Reason(
    "node(s) didn't match pod anti-affinity rules", "has a Pod nearby that its podAntiAffinity selects"
)
ANTI_AFFINITY_OF_OTHERS_UNMET = Reason(
    "node(s) didn't satisfy existing pods anti-affinity rules", "has a Pod nearby whose podAntiAffinity selects it"
)
NO_TERMS = PodAffinity()

Weights = tuple[tuple[str, int], ...]  # Topology keys, each with what a Pod weighs in its domain.


class _Selected(NamedTuple):
    """
    Which terms of the Pod select Pods of some labels, by their topology keys.

    For required affinity one Pod must be selected by all terms: `wanted` has all of their keys, or none.
    """

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]
    weights: Weights


class _Selecting(NamedTuple):
    """Which terms of other Pods select the Pod, by their topology keys."""

    keeping_off: tuple[str, ...]
    weights: Weights


class InterPodAffinity(Plugin):
    """
    Counts in each domain the Pods that the Pod's terms select, and those whose terms select the Pod.

    What they weigh is counted when the first score is asked for, or the first Pod that weighs comes or goes.
    """

    name = INTER_POD_AFFINITY
    counts_pods = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._own = cycle.pod.pod_affinity or NO_TERMS
        self._selected: dict[tuple[str, LabelSet], _Selected] = {}
        self._selecting: dict[PodAffinity, _Selecting] = {}
        self._wanted, self._unwanted, self._keeping_off = (TopologyCounts(self.nodes) for _ in range(3))
        self._preferences: TopologyCounts | None = None
        self._there = list(self._selected_there()) if self._own != NO_TERMS else []
        self._selecting_there = list(self._with_terms_for_it())
        for selected, pods in self._there:
            self._require(selected, pods)
        for selecting, pods in self._selecting_there:
            self._heed(selecting, pods)

    def _selected_there(self) -> Iterator[tuple[_Selected, Mapping[str, int]]]:
        """Yield the Pods that terms of the Pod select, terminating ones too, by node; with these terms."""
        own, snapshot = self._own, self.cycle.snapshot
        selectors = {term.selector for term in own.terms}  # Mostly one, and most Pods match none.
        for namespace, groups in chain(snapshot.pods.items(), snapshot.terminating.items()):
            terms = self._looking_at(namespace)
            for group in groups.values() if terms != NO_TERMS else ():
                labels = group.labels
                if any(selector.matches(labels) for selector in selectors):
                    yield self._by_labels(terms, labels), group.nodes

    def _with_terms_for_it(self) -> Iterator[tuple[_Selecting, Mapping[str, int]]]:
        """Yield the Pods whose terms select the Pod, by node; with these terms."""
        for affinity, pods in self.cycle.snapshot.affine.items():
            if any(selecting := self._select_it(affinity)):
                yield selecting, pods

    def _looking_at(self, namespace: str) -> PodAffinity:
        """Return the Pod's own terms that look at a namespace; of required affinity all or none."""
        own, cycle = self._own, self.cycle
        return PodAffinity(
            own.affinity if all(looks_at(term, namespace, cycle) for term in own.affinity) else (),
            tuple([term for term in own.anti_affinity if looks_at(term, namespace, cycle)]),
            tuple([preference for preference in own.preferred if looks_at(preference.term, namespace, cycle)]),
        )

    def _by_labels(self, terms: PodAffinity, labels: Labels) -> _Selected:
        """Return which of the terms, which look at the namespace, select Pods with these labels."""
        affinity = terms.affinity
        return _Selected(
            _keys(affinity) if affinity and all(term.selector.matches(labels) for term in affinity) else (),
            _keys([term for term in terms.anti_affinity if term.selector.matches(labels)]),
            tuple([(term.topology_key, weight) for weight, term in terms.preferred if term.selector.matches(labels)]),
        )

    def _select_it(self, affinity: PodAffinity) -> _Selecting:
        """Return which terms of other Pods select the Pod: for the score their required affinity counts, too."""
        is_selected_by, hard_weight = self.cycle.is_selected_by, self.cycle.profile.hard_pod_affinity_weight
        required = [(hard_weight, term) for term in affinity.affinity] if hard_weight else []
        return _Selecting(
            _keys([term for term in affinity.anti_affinity if is_selected_by(term)]),
            tuple(
                [
                    (term.topology_key, weight)
                    for weight, term in (*required, *affinity.preferred)
                    if is_selected_by(term)
                ]
            ),
        )

    def _require(self, selected: _Selected, pods: Mapping[str, int]) -> None:
        """
        Count Pods that the Pod's own required terms select.

        upstream: filtering.go:topologyToMatchedTermCount.updateWithAffinityTerms (v1.37)
        """
        for key in selected.wanted:
            self._wanted.add(key, pods)
        for key in selected.unwanted:
            self._unwanted.add(key, pods)

    def _heed(self, selecting: _Selecting, pods: Mapping[str, int]) -> None:
        """
        Count Pods whose required anti-affinity selects the Pod.

        upstream: filtering.go:InterPodAffinity.getExistingAntiAffinityCounts (v1.37)
        """
        for key in selecting.keeping_off:
            self._keeping_off.add(key, pods)

    @property
    def skipped(self) -> bool:
        return not (self._own.affinity or self._own.anti_affinity or self._keeping_off)

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes on which the Pod's affinity, its anti-affinity or that of another Pod is not met.

        upstream: filtering.go:InterPodAffinity.Filter (v1.37)
        """
        for reason, refused in (
            (AFFINITY_UNMET, self._without_wanted()),
            (ANTI_AFFINITY_UNMET, _reached(self._unwanted)),
            (ANTI_AFFINITY_OF_OTHERS_UNMET, _reached(self._keeping_off)),
        ):
            yield Refusal(self.name, (reason,), remaining & refused, reason is not AFFINITY_UNMET)
            remaining &= ~refused

    def kept_off(self) -> NodeSet:
        return _reached(self._unwanted) | _reached(self._keeping_off)

    def _without_wanted(self) -> NodeSet:
        """
        Return the nodes that lack a Pod that the Pod wants nearby: the first Pod of a group that wants each other may
        go to any node that has the keys.

        upstream: filtering.go:satisfyPodAffinity (v1.37)
        """
        terms, near = self._own.affinity, self.nodes.all
        is_first = bool(terms) and not self._wanted and self._selects_itself
        for term in terms:
            near &= self.nodes.carrying(term.topology_key) if is_first else self._wanted.reached(term.topology_key)
        return self.nodes.all & ~near

    @cached_property
    def _selects_itself(self) -> bool:
        """Whether all required affinity terms of the Pod select the Pod."""
        pod = self.cycle.pod
        affinity = self._looking_at(pod.namespace).affinity
        return bool(affinity) and all(term.selector.matches(pod.labels) for term in affinity)

    @property
    def preferences(self) -> TopologyCounts:
        """
        What the Pods weigh in each domain, by the terms that the Pod and they have.

        upstream: scoring.go:InterPodAffinity.PreScore (v1.37)
        """
        if self._preferences is None:
            self._preferences = TopologyCounts(self.nodes)
            for selected, pods in self._there:
                self._weigh(selected.weights, pods)
            for selecting, pods in self._selecting_there:
                self._weigh(selecting.weights, pods)
        return self._preferences

    def _weigh(self, weights: Weights, pods: Mapping[str, int]) -> None:
        for key, weight in weights:
            self.preferences.add(key, pods, weight)

    def scores(self, candidates: NodeSet) -> Parts | None:
        """
        Score nodes by what the Pods of their domains weigh.

        upstream: scoring.go:InterPodAffinity.NormalizeScore (v1.37)
        """
        if self.cycle.profile.ignores_preferences_of_others and not self._own.preferred:
            return None
        if not self.preferences:
            return None
        weighed: Parts = [(candidates, 0)]
        for key in self.preferences.keys:
            by_weight = self.preferences.nodes_by_weight(key)
            elsewhere = self.nodes.all & ~union(by_weight.values())
            weighed = [
                (both, total + weight)
                for weight, nodes in (*by_weight.items(), (0, elsewhere))
                for part, total in weighed
                if (both := nodes & part)
            ]
        least, most = min(total for _, total in weighed), max(total for _, total in weighed)
        return [(nodes, _share(total - least, most - least)) for nodes, total in weighed]

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        pods = {node: number}
        if self._own != NO_TERMS:
            selected = self._selected_of(info)
            self._require(selected, pods)
            self._weigh(selected.weights, pods)
        if info.affinity is not None:
            selecting = self._selecting_it(info.affinity)
            self._heed(selecting, pods)
            self._weigh(selecting.weights, pods)

    def _selected_of(self, info: PodInfo) -> _Selected:
        selected = self._selected.get((info.namespace, info.labels))
        if selected is None:
            selected = self._by_labels(self._looking_at(info.namespace), dict(info.labels))
            self._selected[info.namespace, info.labels] = selected
        return selected

    def _selecting_it(self, affinity: PodAffinity) -> _Selecting:
        selecting = self._selecting.get(affinity)
        if selecting is None:
            selecting = self._selecting[affinity] = self._select_it(affinity)
        return selecting

    def heeds(self, info: PodInfo) -> bool:
        if self._own != NO_TERMS and any(self._selected_of(info)):
            return True
        return info.affinity is not None and any(self._selecting_it(info.affinity))

    def copy(self) -> InterPodAffinity:
        new = InterPodAffinity.__new__(InterPodAffinity)
        Plugin.__init__(new, self.cycle)
        new._own, new._selected, new._selecting = self._own, self._selected, self._selecting
        new._there, new._selecting_there = self._there, self._selecting_there
        new._wanted, new._unwanted, new._keeping_off = (
            self._wanted.copy(),
            self._unwanted.copy(),
            self._keeping_off.copy(),
        )
        new._preferences = None if self._preferences is None else self._preferences.copy()
        return new


def looks_at(term: PodTerm, namespace: str, cycle: Cycle) -> bool:
    """
    Return whether a term of the Pod looks at the Pods of a namespace.

    upstream: plugin.go:InterPodAffinity.mergeAffinityTermNamespacesIfNotEmpty (v1.37)
    """
    selector, labels = term.namespace_selector, cycle.snapshot.namespaces.get(namespace)
    if namespace in term.namespaces or selector.empty:
        return True
    if cycle.features.matches_unlabelled_namespaces and selector.matches({}):
        return True
    return labels is not None and selector.matches(labels)


def _keys(terms: Iterable[PodTerm]) -> tuple[str, ...]:
    return tuple([term.topology_key for term in terms])


def _reached(counts: TopologyCounts) -> NodeSet:
    """Return the nodes of all domains that have Pods."""
    return union(counts.reached(key) for key in counts.keys)


def _share(weight: int, most: int) -> int:
    """Return a weight as a share of the largest, 0 to 100, computed in floating point as Go does."""
    return int(float(MAX_NODE_SCORE) * (float(weight) / float(most))) if most > 0 else 0
