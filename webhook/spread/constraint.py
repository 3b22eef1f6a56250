"""
A topology spread constraint: merged as kube-apiserver does it, parsed as kube-scheduler does it.

    raw JSON ──merge──> as stored ──read──> WrittenConstraint ──parse──> Constraint, every default applied
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from typing import Any, NamedTuple, cast

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldError, FieldPath
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.reader import Reader
from webhook.spread.selectors import (
    IN,
    LabelSelector,
    Requirement,
    Selector,
    as_selector,
    equals,
)

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
HONOR, IGNORE = "Honor", "Ignore"
ACTIONS, POLICIES = (HARD, SOFT), (HONOR, IGNORE)
FIELDS = frozenset(
    {
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "labelSelector",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "matchLabelKeys",
    }
)
IN_SELECTOR, _IN_REQUIREMENT = frozenset({"matchLabels", "matchExpressions"}), frozenset({"key", "operator", "values"})
_GATED_FIELDS = {  # the API server drops a field if its feature is off
    "minDomains": "min_domains",
    "nodeAffinityPolicy": "node_inclusion_policies",
    "nodeTaintsPolicy": "node_inclusion_policies",
    "matchLabelKeys": "match_label_keys",
}
LARGEST_KEPT = 8 << 10  # bytes; a longer list is not cached.  Two constraints take some 400.


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint as the scheduler sees it, every default applied."""

    index: int  # in the Pod's list, from 0
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None  # as written
    selector: Selector  # which Pods count: `label_selector`, and what matchLabelKeys adds to it
    min_domains: int
    node_affinity_policy: str
    node_taints_policy: str
    match_label_keys: tuple[str, ...]  # as written
    hard: bool = field(init=False)  # DoNotSchedule
    soft: bool = field(init=False)  # ScheduleAnyway; neither if whenUnsatisfiable is invalid

    def __post_init__(self) -> None:
        object.__setattr__(self, "hard", self.when_unsatisfiable == HARD)
        object.__setattr__(self, "soft", self.when_unsatisfiable == SOFT)


class UnknownField(NamedTuple):
    """A field that the API type does not have."""

    path: FieldPath  # begins at the list
    known: Set[str]  # the fields of the API type there
    alone: bool  # none of the known fields is beside it


class WrittenConstraint(NamedTuple):
    """The API type, v1.TopologySpreadConstraint; an absent or null field has the value that Go decodes it to."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None
    min_domains: int | None
    node_affinity_policy: str | None
    node_taints_policy: str | None
    match_label_keys: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """A list of constraints as Go decodes it."""

    written: tuple[WrittenConstraint, ...]
    mistyped: tuple[FieldError, ...]  # fields of a wrong type; their paths begin at the list
    features: Features
    unknown: tuple[UnknownField, ...] = field(default=(), repr=False, compare=False)  # Go ignores them silently
    # A cache of what others compute from the reading, by the function that computes it.
    derived: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def merges(self) -> bool:
        """Whether any constraint has matchLabelKeys, to be merged into its selector."""
        return any(written.match_label_keys for written in self.written)

    @cached_property
    def words(self) -> frozenset[str]:
        """
        What any constraint has: topology keys, values of whenUnsatisfiable, "minDomains", "matchLabelKeys".

        Rules that look for other words need not be called.
        """
        words = {word for written in self.written for word in (written.topology_key, written.when_unsatisfiable)}
        if any(written.min_domains is not None for written in self.written):
            words.add("minDomains")
        if self.merges:
            words.add("matchLabelKeys")
        return frozenset(words)

    @cached_property
    def topology_keys(self) -> frozenset[str]:
        return frozenset([written.topology_key for written in self.written])

    @cached_property
    def unmerged(self) -> tuple[Constraint, ...]:
        """What `parse_constraints` returns for a Pod that has no label."""
        return tuple([_constraint(i, written, {}) for i, written in enumerate(self.written)])

    def parsed(self, labels: Labels) -> tuple[Constraint, ...]:
        """Return the constraints as `parse_constraints` does for a Pod that has `labels`."""
        if not self.merges:
            return self.unmerged
        return tuple([_constraint(i, written, labels) for i, written in enumerate(self.written)])


def parse_constraints(raw: object, labels: Labels, features: Features) -> tuple[Constraint, ...]:
    """
    Return the hard and soft constraints of a Pod with `labels`, in their order.

    `raw` is the JSON list as it was written.  A field of a wrong type reads as absent, for `validate` reports it.

    upstream: common.go:PodTopologySpread.filterTopologySpreadConstraints (v1.37)
    """
    return read_constraints(raw, features).parsed(labels)


def merge(raw: object, labels: Labels, features: Features) -> object:
    """
    Return the JSON list with matchLabelKeys merged, as kube-apiserver does it for a new Pod with `labels` since 1.34.

    A requirement for each of these keys that the Pod carries is appended to labelSelector.  What has a wrong type stays
    as it is.

    upstream: strategy.go:mutateTopologySpreadConstraints (v1.37)
    """
    if not features.selector_merge or not isinstance(raw, list):
        return raw
    return [_merge_one(constraint, labels) for constraint in raw]


def as_stored(raw: object, labels: Labels, features: Features) -> object:
    """
    Return the JSON list as kube-apiserver stores it for a new Pod with `labels`.

    Fields of features that are off are dropped first, then `merge` follows.

    upstream: strategy.go:podStrategy.PrepareForCreate (v1.37)
    """
    dropped = {name for name, feature in _GATED_FIELDS.items() if not getattr(features, feature)}
    if not dropped or not isinstance(raw, list):
        return merge(raw, labels, features)
    return merge(
        [_without(constraint, dropped) if isinstance(constraint, dict) else constraint for constraint in raw],
        labels,
        features,
    )


def _without(constraint: Mapping[str, object], dropped: Set[str]) -> Mapping[str, object]:
    return {name: value for name, value in constraint.items() if name not in dropped}


def same(this: object, other: object, features: Features) -> bool:
    """Return whether two raw lists of constraints decode to the same API objects."""
    return read_constraints(this, features) == read_constraints(other, features)


def _merge_one(raw: object, labels: Labels) -> object:
    """
    Return a constraint with its matchLabelKeys merged into its selector.

    upstream: strategy.go:applyMatchLabelKeys (v1.37)
    """
    keys = raw.get("matchLabelKeys") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(keys, list):
        return raw
    carried_keys = [key for key in keys if isinstance(key, str) and key in labels]
    selector = raw.get("labelSelector")
    expressions = selector.get("matchExpressions") if isinstance(selector, dict) else None
    if not carried_keys or not isinstance(selector, dict) or not isinstance(expressions, list | None):
        return raw
    added = [{"key": key, "operator": IN, "values": [labels[key]]} for key in carried_keys]
    return {**raw, "labelSelector": {**selector, "matchExpressions": [*(expressions or ()), *added]}}


def _cached_by_content(function: Callable[[object, Features], Reading]) -> Callable[[object, Features], Reading]:
    """
    Return `function` of a list of constraints, with a cache: all Pods of a workload carry the same list.

    The key is the content of the list, for a list cannot be hashed.  Lists above LARGEST_KEPT are not cached.
    """

    @lru_cache(maxsize=1024)
    def call_with_content(content: bytes, features: Features) -> Reading:
        return function(marshal.loads(content), features)

    @wraps(function)
    def cached(raw: object, features: Features) -> Reading:
        try:
            # Unlike equality, bytes tell 1 from true and from 1.0.  Version 2 has no references, which are by identity.
            content = marshal.dumps(cast(Any, raw), 2)
        except ValueError:  # nested too deep
            return function(raw, features)
        return call_with_content(content, features) if len(content) <= LARGEST_KEPT else function(raw, features)

    return cached


@_cached_by_content
def read_constraints(raw: object, features: Features) -> Reading:
    """Read a JSON list of constraints as Go decodes it; fields of features that are off are dropped."""
    reader = Reader()
    written = tuple([_read_one(reader, item, path, features) for item, path in reader.mappings(raw, ())])
    return Reading(written, tuple(reader.errors), features, tuple(_unknown_fields(raw)))


def _unknown_fields(raw: object) -> list[UnknownField]:
    unknown: list[UnknownField] = []
    for i, constraint in enumerate(raw if isinstance(raw, list) else ()):
        if not isinstance(constraint, dict):
            continue
        if not constraint.keys() <= FIELDS:
            unknown += _unknown_in(constraint, FIELDS, (i,))
        selector = constraint.get("labelSelector")
        if not isinstance(selector, dict):
            continue
        if not selector.keys() <= IN_SELECTOR:
            unknown += _unknown_in(selector, IN_SELECTOR, (i, "labelSelector"))
        expressions = selector.get("matchExpressions")
        for j, expression in enumerate(expressions if isinstance(expressions, list) else ()):
            if isinstance(expression, dict) and not expression.keys() <= _IN_REQUIREMENT:
                unknown += _unknown_in(expression, _IN_REQUIREMENT, (i, "labelSelector", "matchExpressions", j))
    return unknown


def _unknown_in(raw: Mapping[str, object], known: Set[str], path: FieldPath) -> Iterator[UnknownField]:
    alone = known.isdisjoint(raw)
    return (UnknownField((*path, name), known, alone) for name in raw if name not in known)


def _read_one(reader: Reader, raw: Mapping[str, object], path: FieldPath, features: Features) -> WrittenConstraint:
    """Read one constraint, without the fields that util.go:DropDisabledPodFields clears."""
    get = raw.get
    written = WrittenConstraint(
        max_skew=reader.integer(get("maxSkew"), path, "maxSkew") or 0,
        topology_key=reader.string(get("topologyKey"), path, "topologyKey") or "",
        when_unsatisfiable=reader.string(get("whenUnsatisfiable"), path, "whenUnsatisfiable") or "",
        label_selector=read_selector(reader, get("labelSelector"), (*path, "labelSelector")),
        min_domains=reader.integer(get("minDomains"), path, "minDomains"),
        node_affinity_policy=reader.string(get("nodeAffinityPolicy"), path, "nodeAffinityPolicy"),
        node_taints_policy=reader.string(get("nodeTaintsPolicy"), path, "nodeTaintsPolicy"),
        match_label_keys=reader.strings(get("matchLabelKeys"), path, "matchLabelKeys"),
    )
    if not features.node_inclusion_policies:
        written = written._replace(node_affinity_policy=None, node_taints_policy=None)
    if not features.min_domains:
        written = written._replace(min_domains=None)
    return written if features.match_label_keys else written._replace(match_label_keys=())


def read_selector(reader: Reader, raw: object, path: FieldPath) -> LabelSelector | None:
    """Read the LabelSelector at `path`, None for null; `reader` collects what has the wrong type."""
    if raw is None:
        return None
    selector = reader.mapping(raw, path)
    return LabelSelector(
        reader.string_map(selector.get("matchLabels"), (*path, "matchLabels")),
        tuple(
            Requirement(
                reader.string(item.get("key"), item_path, "key") or "",
                reader.string(item.get("operator"), item_path, "operator") or "",
                reader.strings(item.get("values"), item_path, "values"),
            )
            for item, item_path in reader.mappings(selector.get("matchExpressions"), (*path, "matchExpressions"))
        ),
    )


def _constraint(index: int, written: WrittenConstraint, labels: Labels) -> Constraint:
    """Return one constraint for a Pod with `labels`, every default applied."""
    from_keys = {key: labels[key] for key in written.match_label_keys if key in labels}
    return Constraint(
        index=index,
        max_skew=written.max_skew,
        topology_key=written.topology_key,
        when_unsatisfiable=written.when_unsatisfiable,
        label_selector=written.label_selector,
        selector=as_selector(written.label_selector, first=equals(from_keys)),
        min_domains=1 if written.min_domains is None else written.min_domains,
        node_affinity_policy=written.node_affinity_policy or HONOR,
        node_taints_policy=written.node_taints_policy or IGNORE,
        match_label_keys=written.match_label_keys,
    )
