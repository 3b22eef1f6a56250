"""
What a Pod asks of the Pods that share a domain with it: its Pod affinity and Pod anti-affinity.

    spec.affinity ──> PodAffinity: terms, each with a selector, namespaces and a topology key
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import POD_AFFINITY, POD_ANTI_AFFINITY, PREFERRED_TERMS, REQUIRED_TERMS
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import HARD, IGNORE, Constraint, read_selector
from webhook.spread.nodes import Nodes
from webhook.spread.selectors import NOTHING, Selector, as_selector


class PodTerm(NamedTuple):
    """One term: it selects Pods by their labels, in some namespaces."""

    topology_key: str  # Two nodes are in one domain if they have the same value of it.
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector  # The namespaces that it matches count besides.

    def selects(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        """
        Whether the term selects a Pod with these labels, in a namespace with these labels.

        upstream: types.go:AffinityTerm.Matches (v1.37)
        """
        in_namespace = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return in_namespace and self.selector.matches(labels)


def one_per_domain(term: PodTerm, nodes: Nodes) -> Constraint:
    """Return required anti-affinity of Pods against each other as a hard constraint with one Pod in each domain."""
    return Constraint(
        index=-1,
        max_skew=1,
        topology_key=term.topology_key,
        when_unsatisfiable=HARD,
        label_selector=None,
        selector=term.selector,
        min_domains=len(nodes) + 1,  # More than there are: the minimum stays 0.
        node_affinity_policy=IGNORE,
        node_taints_policy=IGNORE,
        match_label_keys=(),
    )


class WeightedPodTerm(NamedTuple):
    """A preferred term."""

    weight: int  # Negative for anti-affinity.
    term: PodTerm


class PodAffinity(NamedTuple):
    """The terms of a Pod."""

    affinity: tuple[PodTerm, ...] = ()  # Required.
    anti_affinity: tuple[PodTerm, ...] = ()  # Required.
    preferred: tuple[WeightedPodTerm, ...] = ()  # Of both.

    @property
    def terms(self) -> tuple[PodTerm, ...]:
        """All of them, without their weights."""
        return (*self.affinity, *self.anti_affinity, *[preference.term for preference in self.preferred])

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces in which the terms select Pods; None if a namespaceSelector may match any."""
        if any(term.namespace_selector != NOTHING for term in self.terms):
            return None
        return frozenset[str]().union(*[term.namespaces for term in self.terms])


MOST_WEIGHT = 100


def preferring(affinity: PodAffinity, index: int, *, apart: bool) -> PodAffinity:
    """Prefer one required term instead, with the largest weight; `apart`: a term of anti-affinity."""
    required = affinity.anti_affinity if apart else affinity.affinity
    others = (*required[:index], *required[index + 1 :])
    preferred = (*affinity.preferred, WeightedPodTerm(-MOST_WEIGHT if apart else MOST_WEIGHT, required[index]))
    changed = affinity._replace(preferred=preferred)
    return changed._replace(anti_affinity=others) if apart else changed._replace(affinity=others)


def read_pod_affinity(reader: Reader, raw: object, namespace: str) -> PodAffinity:
    """
    Return the Pod affinity in `spec.affinity` of a raw Pod of a namespace; `reader` collects what has the wrong type.

    upstream: types.go:PodInfo.Update (v1.37)
    """
    path: FieldPath = ("spec", "affinity")
    written = reader.mapping(raw, path)
    near, apart = (reader.mapping(written.get(name), (*path, name)) for name in (POD_AFFINITY, POD_ANTI_AFFINITY))
    return PodAffinity(
        _read_required(reader, near, (*path, POD_AFFINITY), namespace),
        _read_required(reader, apart, (*path, POD_ANTI_AFFINITY), namespace),
        (
            *_read_preferred(reader, near, (*path, POD_AFFINITY), namespace, 1),
            *_read_preferred(reader, apart, (*path, POD_ANTI_AFFINITY), namespace, -1),
        ),
    )


def _read_required(reader: Reader, raw: Mapping[str, object], path: FieldPath, namespace: str) -> tuple[PodTerm, ...]:
    terms = reader.mappings(raw.get(REQUIRED_TERMS), (*path, REQUIRED_TERMS))
    return tuple([_read_term(reader, term, term_path, namespace) for term, term_path in terms])


def _read_preferred(
    reader: Reader, raw: Mapping[str, object], path: FieldPath, namespace: str, sign: int
) -> Iterator[WeightedPodTerm]:
    for item, item_path in reader.mappings(raw.get(PREFERRED_TERMS), (*path, PREFERRED_TERMS)):
        weight = reader.integer(item.get("weight"), item_path, "weight") or 0
        term_path = (*item_path, "podAffinityTerm")
        term = reader.mapping(item.get("podAffinityTerm"), term_path)
        yield WeightedPodTerm(sign * weight, _read_term(reader, term, term_path, namespace))


def _read_term(reader: Reader, raw: Mapping[str, object], path: FieldPath, namespace: str) -> PodTerm:
    """
    Return one term; without namespaces and a namespaceSelector it looks at the Pod's own namespace.

    upstream: types.go:getNamespacesFromPodAffinityTerm (v1.37)
    """
    namespaces = frozenset(reader.strings(raw.get("namespaces"), path, "namespaces"))
    namespace_selector = read_selector(reader, raw.get("namespaceSelector"), (*path, "namespaceSelector"))
    if not namespaces and namespace_selector is None:
        namespaces = frozenset([namespace])
    return PodTerm(
        reader.string(raw.get("topologyKey"), path, "topologyKey") or "",
        as_selector(read_selector(reader, raw.get("labelSelector"), (*path, "labelSelector"))),
        namespaces,
        as_selector(namespace_selector),
    )
