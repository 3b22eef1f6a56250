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

AFFINITY_UNMET = Reason("node(s) didn't match pod affinity rules", "podAffinity not met")
ANTI_AFFINITY_UNMET = Reason("node(s) didn't match pod anti-affinity rules", "podAntiAffinity not met")
ANTI_AFFINITY_OF_OTHERS_UNMET = Reason(
    "node(s) didn't satisfy existing pods anti-affinity rules", "podAntiAffinity of other Pods not met"
)
NO_TERMS = PodAffinity()

Weights = tuple[tuple[str, int], ...]  # Topology keys, each with what a Pod weighs in its domain.


class _OwnMatches(NamedTuple):
    """The topology keys of the incoming Pod's terms that select Pods with some labels."""

    affinity: tuple[str, ...]  # Those of all required terms, or none: all terms must select the same Pod.
    anti_affinity: tuple[str, ...]
    weights: Weights


class _OthersMatches(NamedTuple):
    """The topology keys of another Pod's terms that select the incoming Pod."""

    anti_affinity: tuple[str, ...]
    weights: Weights


class InterPodAffinity(Plugin):
    """Counts in each domain the Pods that the incoming Pod's terms select, and those whose terms select it."""

    name = INTER_POD_AFFINITY
    counts_pods = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._own = cycle.pod.pod_affinity or NO_TERMS
        # What was matched before; copies share these.
        self._own_cache: dict[tuple[str, LabelSet], _OwnMatches] = {}
        self._others_cache: dict[PodAffinity, _OthersMatches] = {}
        self._affinity_counts = TopologyCounts(self.nodes)
        self._anti_affinity_counts = TopologyCounts(self.nodes)
        self._existing_anti_affinity_counts = TopologyCounts(self.nodes)
        # Weights are counted when the first score is asked for, or the first Pod that has weight comes or goes.
        self._preferences: TopologyCounts | None = None
        # The Pods of the snapshot, by node, with their matches.
        self._snapshot_own = list(self._match_snapshot_own()) if self._own != NO_TERMS else []
        self._snapshot_others = list(self._match_snapshot_others())
        for own_matches, pods in self._snapshot_own:
            self._count_own(own_matches, pods)
        for others_matches, pods in self._snapshot_others:
            self._count_others(others_matches, pods)

    def _match_snapshot_own(self) -> Iterator[tuple[_OwnMatches, Mapping[str, int]]]:
        """Yield the Pods that terms of the incoming Pod select, terminating ones too."""
        own, snapshot = self._own, self.cycle.snapshot
        selectors = {term.selector for term in own.terms}  # Mostly one, and most Pods match none.
        for namespace, groups in chain(snapshot.pods.items(), snapshot.terminating.items()):
            terms = self._own_terms_for(namespace)
            for group in groups.values() if terms != NO_TERMS else ():
                labels = group.labels
                if any(selector.matches(labels) for selector in selectors):
                    yield self._match_own(terms, labels), group.nodes

    def _match_snapshot_others(self) -> Iterator[tuple[_OthersMatches, Mapping[str, int]]]:
        """Yield the Pods whose terms select the incoming Pod."""
        for affinity, pods in self.cycle.snapshot.affine.items():
            if any(matches := self._match_others(affinity)):
                yield matches, pods

    def _own_terms_for(self, namespace: str) -> PodAffinity:
        """Return the incoming Pod's terms that look at a namespace; of required affinity all or none."""
        own, cycle = self._own, self.cycle
        return PodAffinity(
            own.affinity if all(looks_at(term, namespace, cycle) for term in own.affinity) else (),
            tuple([term for term in own.anti_affinity if looks_at(term, namespace, cycle)]),
            tuple([preference for preference in own.preferred if looks_at(preference.term, namespace, cycle)]),
        )

    def _match_own(self, terms: PodAffinity, labels: Labels) -> _OwnMatches:
        """Match terms that look at the namespace of Pods with the labels of these."""
        affinity = terms.affinity
        return _OwnMatches(
            _keys(affinity) if affinity and all(term.selector.matches(labels) for term in affinity) else (),
            _keys([term for term in terms.anti_affinity if term.selector.matches(labels)]),
            tuple([(term.topology_key, weight) for weight, term in terms.preferred if term.selector.matches(labels)]),
        )

    def _match_others(self, affinity: PodAffinity) -> _OthersMatches:
        """Match terms of another Pod with the incoming Pod; the score counts its required affinity, too."""
        is_selected_by, hard_weight = self.cycle.is_selected_by, self.cycle.profile.hard_pod_affinity_weight
        required = [(hard_weight, term) for term in affinity.affinity] if hard_weight else []
        return _OthersMatches(
            _keys([term for term in affinity.anti_affinity if is_selected_by(term)]),
            tuple(
                [
                    (term.topology_key, weight)
                    for weight, term in (*required, *affinity.preferred)
                    if is_selected_by(term)
                ]
            ),
        )

    def _count_own(self, matches: _OwnMatches, pods: Mapping[str, int]) -> None:
        """
        Count Pods that the incoming Pod's required terms select.

        upstream: filtering.go:topologyToMatchedTermCount.updateWithAffinityTerms (v1.37)
        """
        for key in matches.affinity:
            self._affinity_counts.add(key, pods)
        for key in matches.anti_affinity:
            self._anti_affinity_counts.add(key, pods)

    def _count_others(self, matches: _OthersMatches, pods: Mapping[str, int]) -> None:
        """
        Count Pods whose required anti-affinity selects the incoming Pod.

        upstream: filtering.go:InterPodAffinity.getExistingAntiAffinityCounts (v1.37)
        """
        for key in matches.anti_affinity:
            self._existing_anti_affinity_counts.add(key, pods)

    @property
    def skipped(self) -> bool:
        return not (self._own.affinity or self._own.anti_affinity or self._existing_anti_affinity_counts)

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes on which the Pod's affinity, its anti-affinity or that of another Pod is not met.

        upstream: filtering.go:InterPodAffinity.Filter (v1.37)
        """
        for reason, refused in (
            (AFFINITY_UNMET, self._affinity_unmet()),
            (ANTI_AFFINITY_UNMET, _reached(self._anti_affinity_counts)),
            (ANTI_AFFINITY_OF_OTHERS_UNMET, _reached(self._existing_anti_affinity_counts)),
        ):
            yield Refusal(self.name, (reason,), remaining & refused, reason is not AFFINITY_UNMET)
            remaining &= ~refused

    def kept_off(self) -> NodeSet:
        return _reached(self._anti_affinity_counts) | _reached(self._existing_anti_affinity_counts)

    def _affinity_unmet(self) -> NodeSet:
        """
        Return the nodes where a required affinity term is not met.

        The first of Pods that want to be near each other may go to any node that has the keys.

        upstream: filtering.go:satisfyPodAffinity (v1.37)
        """
        terms, near = self._own.affinity, self.nodes.all
        is_first = bool(terms) and not self._affinity_counts and self._selects_itself
        for term in terms:
            key = term.topology_key
            near &= self.nodes.carrying(key) if is_first else self._affinity_counts.reached(key)
        return self.nodes.all & ~near

    @cached_property
    def _selects_itself(self) -> bool:
        """Whether all required affinity terms of the Pod select the Pod."""
        pod = self.cycle.pod
        affinity = self._own_terms_for(pod.namespace).affinity
        return bool(affinity) and all(term.selector.matches(pod.labels) for term in affinity)

    @property
    def preferences(self) -> TopologyCounts:
        """
        What Pods weigh in each domain, by the terms of the incoming Pod and by their own.

        upstream: scoring.go:InterPodAffinity.PreScore (v1.37)
        """
        if self._preferences is None:
            self._preferences = TopologyCounts(self.nodes)
            for own_matches, pods in self._snapshot_own:
                self._weigh(own_matches.weights, pods)
            for others_matches, pods in self._snapshot_others:
                self._weigh(others_matches.weights, pods)
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
            own_matches = self._own_matches(info)
            self._count_own(own_matches, pods)
            self._weigh(own_matches.weights, pods)
        if info.affinity is not None:
            others_matches = self._others_matches(info.affinity)
            self._count_others(others_matches, pods)
            self._weigh(others_matches.weights, pods)

    def _own_matches(self, info: PodInfo) -> _OwnMatches:
        matches = self._own_cache.get((info.namespace, info.labels))
        if matches is None:
            matches = self._match_own(self._own_terms_for(info.namespace), dict(info.labels))
            self._own_cache[info.namespace, info.labels] = matches
        return matches

    def _others_matches(self, affinity: PodAffinity) -> _OthersMatches:
        matches = self._others_cache.get(affinity)
        if matches is None:
            matches = self._others_cache[affinity] = self._match_others(affinity)
        return matches

    def heeds(self, info: PodInfo) -> bool:
        if self._own != NO_TERMS and any(self._own_matches(info)):
            return True
        return info.affinity is not None and any(self._others_matches(info.affinity))

    def copy(self) -> InterPodAffinity:
        new = InterPodAffinity.__new__(InterPodAffinity)
        Plugin.__init__(new, self.cycle)
        new._own, new._own_cache, new._others_cache = self._own, self._own_cache, self._others_cache
        new._snapshot_own, new._snapshot_others = self._snapshot_own, self._snapshot_others
        new._affinity_counts = self._affinity_counts.copy()
        new._anti_affinity_counts = self._anti_affinity_counts.copy()
        new._existing_anti_affinity_counts = self._existing_anti_affinity_counts.copy()
        new._preferences = None if self._preferences is None else self._preferences.copy()
        return new


def looks_at(term: PodTerm, namespace: str, cycle: Cycle) -> bool:
    """
    Whether a term of the incoming Pod looks at the Pods of a namespace.

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
    return union(counts.reached(key) for key in counts.keys)


def _share(weight: int, most: int) -> int:
    """Return a weight as a share of the largest, 0 to 100; floating point, as in Go, rounds as upstream does."""
    return int(float(MAX_NODE_SCORE) * (float(weight) / float(most))) if most > 0 else 0
