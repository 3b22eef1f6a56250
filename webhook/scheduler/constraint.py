"""
A topology spread constraint: merged, validated and parsed as kube-apiserver and kube-scheduler do it.

    raw JSON --merge--> as stored --validate--> the API server's errors
                           |
                           +------parse-------> Constraint, every default applied
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, cast

from webhook.scheduler.features import Features
from webhook.scheduler.fields import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    FieldError,
    FieldPath,
    as_list,
    as_mapping,
    label_key_errors,
    label_value_errors,
)
from webhook.scheduler.reading import Reader
from webhook.scheduler.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    Labels,
    LabelSelector,
    Requirement,
    Selector,
    as_selector,
    equals,
)

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
HONOR, IGNORE = "Honor", "Ignore"
ACTIONS, POLICIES = (HARD, SOFT), (HONOR, IGNORE)
REPEATED = "{topologyKey, whenUnsatisfiable}"
IN_BOTH = "exists in both matchLabelKeys and labelSelector"
LARGEST_KEPT = 8 << 10  # Bytes of a list whose reading is kept; two constraints take some 400.


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint as the scheduler sees it; `label_selector` and `match_label_keys` are what was written."""

    index: int
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None
    selector: Selector
    min_domains: int
    node_affinity_policy: str
    node_taints_policy: str
    match_label_keys: tuple[str, ...]

    @property
    def hard(self) -> bool:
        return self.when_unsatisfiable == HARD

    @property
    def soft(self) -> bool:
        return self.when_unsatisfiable == SOFT


@dataclass(frozen=True, slots=True)
class _Written:
    """The API type: absent and null fields as Go decodes them."""

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
    """A list of constraints as Go decodes it, and where the types are wrong; paths begin at the list."""

    written: tuple[_Written, ...]
    mistyped: tuple[FieldError, ...]
    features: Features

    @cached_property
    def merges(self) -> bool:
        """Whether there is anything to merge into a selector."""
        return any(one.match_label_keys for one in self.written)

    @cached_property
    def errors(self) -> tuple[FieldError, ...]:
        """`validate`, for the constraints as they stand; nothing is said that rests on a field of a wrong type."""
        errors = [error for i, one in enumerate(self.written) for error in _constraint_errors(one, (i,), self.features)]
        errors += _repeated(self.written)
        unread = {error.path for error in self.mistyped}
        return (*self.mistyped, *(error for error in errors if not unread or not _rests_on(error, unread)))

    @cached_property
    def unmerged(self) -> tuple[Constraint, ...]:
        """`parse`, for a Pod that has no label."""
        return tuple([_constraint(i, one, {}) for i, one in enumerate(self.written)])


def validate(
    raw: object, labels: Labels, path: FieldPath, *, merged: bool, features: Features
) -> tuple[FieldError, ...]:
    """
    Every reason why kube-apiserver rejects `raw`, the list of constraints that stands at `path`.

    With `merged` the constraints are judged as they stand, as in a template or a Pod that is stored; without, they
    are first merged with the Pod's `labels`, as when a Pod is created.  Where a type is wrong, the API server cannot
    read the object at all; here each such field is named, and nothing is said that rests on it.
    (validation.validateTopologySpreadConstraints)
    """
    errors = read(raw if merged else merge(raw, labels, features), features).errors
    return tuple([replace(error, path=(*path, *error.path)) for error in errors]) if errors else ()


def parse(raw: object, labels: Labels, features: Features) -> tuple[Constraint, ...]:
    """The constraints of a Pod with `labels`; what `validate` objects to is read as leniently as it can be."""
    reading = read(raw, features)
    if not reading.merges:
        return reading.unmerged
    return tuple([_constraint(i, one, labels) for i, one in enumerate(reading.written)])


def merge(raw: object, labels: Labels, features: Features) -> object:
    """The list as kube-apiserver stores it for a new Pod (podStrategy.PrepareForCreate, since 1.34)."""
    if not features.selector_merge or not isinstance(raw, list):
        return raw
    return [_merge_one(constraint, labels) for constraint in raw]


def same(one: object, other: object, features: Features) -> bool:
    """Whether two lists of constraints decode to the same API objects."""
    return read(one, features) == read(other, features)


def _merge_one(raw: object, labels: Labels) -> object:
    constraint, selector = as_mapping(raw), as_mapping(raw).get("labelSelector")
    keys = [key for key in as_list(constraint.get("matchLabelKeys")) if isinstance(key, str) and key in labels]
    if not keys or not isinstance(selector, dict) or not isinstance(selector.get("matchExpressions"), list | None):
        return raw
    added = [{"key": key, "operator": IN, "values": [labels[key]]} for key in keys]
    expressions = [*as_list(selector.get("matchExpressions")), *added]
    return {**constraint, "labelSelector": {**selector, "matchExpressions": expressions}}


def read(raw: object, features: Features) -> Reading:
    """The list as Go decodes it; the Pods of a workload all carry the same, so that a reading is kept for the next."""
    try:
        content = marshal.dumps(cast(Any, raw), 2)  # Unlike equality, it tells 1 from true and from 1.0.
    except ValueError:  # nested too deep
        return _read(raw, features)
    return _read_content(content, features) if len(content) <= LARGEST_KEPT else _read(raw, features)


@lru_cache(maxsize=1024)
def _read_content(content: bytes, features: Features) -> Reading:
    return _read(marshal.loads(content), features)


def _read(raw: object, features: Features) -> Reading:
    reader = Reader()
    written = tuple([_read_one(reader, item, at, features) for item, at in reader.mappings(raw, ())])
    return Reading(written, tuple(reader.errors), features)


def _read_one(reader: Reader, raw: object, path: FieldPath, features: Features) -> _Written:
    """Fields of a feature that is off are dropped, as pod.DropDisabledPodFields does."""
    field = as_mapping(raw).get
    written = _Written(
        max_skew=reader.integer(field("maxSkew"), path, "maxSkew") or 0,
        topology_key=reader.string(field("topologyKey"), path, "topologyKey") or "",
        when_unsatisfiable=reader.string(field("whenUnsatisfiable"), path, "whenUnsatisfiable") or "",
        label_selector=read_selector(reader, field("labelSelector"), (*path, "labelSelector")),
        min_domains=reader.integer(field("minDomains"), path, "minDomains"),
        node_affinity_policy=reader.string(field("nodeAffinityPolicy"), path, "nodeAffinityPolicy"),
        node_taints_policy=reader.string(field("nodeTaintsPolicy"), path, "nodeTaintsPolicy"),
        match_label_keys=reader.strings(field("matchLabelKeys"), path, "matchLabelKeys"),
    )
    if not features.node_inclusion_policies:
        written = replace(written, node_affinity_policy=None, node_taints_policy=None)
    if not features.min_domains:
        written = replace(written, min_domains=None)
    return written if features.match_label_keys else replace(written, match_label_keys=())


def read_selector(reader: Reader, raw: object, path: FieldPath) -> LabelSelector | None:
    """A LabelSelector at `path`; None for null."""
    if raw is None:
        return None
    selector = reader.mapping(raw, path)
    return LabelSelector(
        reader.string_map(selector.get("matchLabels"), (*path, "matchLabels")),
        tuple(
            Requirement(
                reader.string(item.get("key"), at, "key") or "",
                reader.string(item.get("operator"), at, "operator") or "",
                reader.strings(item.get("values"), at, "values"),
            )
            for item, at in reader.mappings(selector.get("matchExpressions"), (*path, "matchExpressions"))
        ),
    )


def _constraint(index: int, written: _Written, labels: Labels) -> Constraint:
    """podTopologySpread.filterTopologySpreadConstraints."""
    applied = {key: labels[key] for key in written.match_label_keys if key in labels}
    return Constraint(
        index=index,
        max_skew=written.max_skew,
        topology_key=written.topology_key,
        when_unsatisfiable=written.when_unsatisfiable,
        label_selector=written.label_selector,
        selector=as_selector(written.label_selector, first=equals(applied)),
        min_domains=1 if written.min_domains is None else written.min_domains,
        node_affinity_policy=written.node_affinity_policy or HONOR,
        node_taints_policy=written.node_taints_policy or IGNORE,
        match_label_keys=written.match_label_keys,
    )


def _constraint_errors(written: _Written, path: FieldPath, features: Features) -> Iterator[FieldError]:
    if written.max_skew <= 0:
        yield FieldError(INVALID, (*path, "maxSkew"), written.max_skew, "must be greater than zero")
    if not written.topology_key:
        yield FieldError(REQUIRED, (*path, "topologyKey"), "", "can not be empty")
    if written.when_unsatisfiable not in ACTIONS:
        yield _not_supported((*path, "whenUnsatisfiable"), written.when_unsatisfiable, ACTIONS)
    yield from _min_domains_errors(written, (*path, "minDomains"))
    for name, policy in (
        ("nodeAffinityPolicy", written.node_affinity_policy),
        ("nodeTaintsPolicy", written.node_taints_policy),
    ):
        if policy is not None and policy not in POLICIES:
            yield _not_supported((*path, name), policy, POLICIES)
    yield from _match_label_keys_errors(written, path, features)
    if written.label_selector is not None and features.selector_validation:
        yield from selector_errors(written.label_selector, (*path, "labelSelector"))


def _not_supported(path: FieldPath, value: str, wanted: Sequence[str]) -> FieldError:
    supported = ", ".join(f'"{one}"' for one in wanted)
    return FieldError(NOT_SUPPORTED, path, value, f"supported values: {supported}")


def _min_domains_errors(written: _Written, path: FieldPath) -> Iterator[FieldError]:
    if written.min_domains is None:
        return
    if written.min_domains <= 0:
        yield FieldError(INVALID, path, written.min_domains, "must be greater than zero")
    if written.when_unsatisfiable != HARD:
        detail = f"can only use minDomains if whenUnsatisfiable={HARD}, not {written.when_unsatisfiable}"
        yield FieldError(INVALID, path, written.min_domains, detail)


def _match_label_keys_errors(written: _Written, path: FieldPath, features: Features) -> Iterator[FieldError]:
    """ValidateMatchLabelKeysAndMismatchLabelKeys; before the merge of 1.34, ValidateMatchLabelKeysInTopologySpread."""
    keys, selector, at = written.match_label_keys, written.label_selector, (*path, "matchLabelKeys")
    if keys and selector is None:
        yield FieldError(FORBIDDEN, at, list(keys), "must not be specified when labelSelector is not set")
    if selector is not None or not features.selector_merge:
        for i, key in enumerate(keys):
            yield from (FieldError(INVALID, (*at, i), key, detail) for detail in label_key_errors(key))
    if selector is not None and features.selector_merge:
        yield from _keys_in_both_after_merge(keys, selector, path)
    elif selector is not None:
        yield from (FieldError(INVALID, (*at, i), key, IN_BOTH) for i, key in enumerate(keys) if key in selector.keys)


def _keys_in_both_after_merge(keys: Sequence[str], selector: LabelSelector, path: FieldPath) -> Iterator[FieldError]:
    """The merge puts each key into the selector once, so it is wrong only when it stands there again."""
    index_of = {key: i for i, key in enumerate(keys)}
    seen = set(selector.match_labels)
    for expression in selector.match_expressions:
        if expression.key in index_of and expression.key in seen:
            # Upstream's path lacks the field's name; `shown_path` puts it back.
            yield FieldError(INVALID, (*path, index_of[expression.key]), expression.key, IN_BOTH)
        seen.add(expression.key)


def selector_errors(selector: LabelSelector, path: FieldPath) -> Iterator[FieldError]:
    """unversionedvalidation.ValidateLabelSelector."""
    at = (*path, "matchLabels")
    for key, value in selector.match_labels.items():
        yield from (FieldError(INVALID, at, key, detail) for detail in label_key_errors(key))
        yield from (FieldError(INVALID, at, value, detail) for detail in label_value_errors(value))
    for i, expression in enumerate(selector.match_expressions):
        yield from _expression_errors(expression, (*path, "matchExpressions", i))


def _expression_errors(expression: Requirement, path: FieldPath) -> Iterator[FieldError]:
    operator, values = expression.operator, expression.values
    if operator in (IN, NOT_IN) and not values:
        yield FieldError(REQUIRED, (*path, "values"), [], "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield FieldError(FORBIDDEN, (*path, "values"), list(values), detail)
    if operator not in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST):
        yield FieldError(INVALID, (*path, "operator"), operator, "not a valid selector operator")
    yield from (FieldError(INVALID, (*path, "key"), expression.key, d) for d in label_key_errors(expression.key))
    for i, value in enumerate(values):
        yield from (FieldError(INVALID, (*path, "values", i), value, detail) for detail in label_value_errors(value))


def _rests_on(error: FieldError, unread: Set[FieldPath]) -> bool:
    """Whether `error` is about a field that could not be read, or follows from one."""
    constraint, field = error.path[:-1], error.path[-1]
    sources = {"minDomains": ("whenUnsatisfiable",), REPEATED: ("topologyKey", "whenUnsatisfiable")}.get(str(field), ())
    follows = any((*constraint, source) in unread for source in sources)
    return follows or any(error.path[:length] in unread for length in range(len(error.path) + 1))


def _repeated(written: Sequence[_Written]) -> list[FieldError]:
    """ValidateSpreadConstraintNotRepeat: all but the last of each (topologyKey, whenUnsatisfiable)."""
    last = {(one.topology_key, one.when_unsatisfiable): i for i, one in enumerate(written)}
    return [
        FieldError(DUPLICATE, (i, REPEATED), f"{{{one.topology_key}, {one.when_unsatisfiable}}}", "")
        for i, one in enumerate(written)
        if last[one.topology_key, one.when_unsatisfiable] != i
    ]


def shown_path(error: FieldError) -> FieldPath:
    """Where in the object the field of `error` stands, where upstream's own path leads nowhere."""
    if error.detail == IN_BOTH and error.path[-2] != "matchLabelKeys":
        return (*error.path[:-1], "matchLabelKeys", error.path[-1])
    return error.path[:-1] if error.path[-1] == REPEATED else error.path


def on_stored_pod(features: Features) -> Features:
    """A stored Pod may hold merged keys whatever version is told: the API server that stored it has accepted it."""
    return replace(features, selector_merge=True)
