"""Why kube-apiserver rejects topology spread constraints: the same errors, in its own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    FieldError,
    FieldPath,
    path_text,
)
from webhook.kubernetes.labels import BEFORE_35, SINCE_35, Labels, LabelWords, label_key_errors, label_value_errors
from webhook.kubernetes.reader import brief
from webhook.spread.constraint import (
    ACTIONS,
    HARD,
    POLICIES,
    Reading,
    WrittenConstraint,
    merge,
    read_constraints,
)
from webhook.spread.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    LabelSelector,
    Requirement,
)

REPEATED = "{topologyKey, whenUnsatisfiable}"
NOT_REPEATED = "must not repeat (topologyKey, whenUnsatisfiable)"
IN_BOTH = "exists in both matchLabelKeys and labelSelector"
_SUPPORTED: dict[tuple[str, ...], str] = {
    names: "supported values: " + ", ".join(f'"{name}"' for name in names) for names in (ACTIONS, POLICIES)
}


def validate(
    raw: object, labels: Labels, path: FieldPath, *, merged: bool, features: Features
) -> tuple[FieldError, ...]:
    """
    Return every reason why kube-apiserver rejects `raw`, the JSON list of constraints at `path`; empty if it is valid.

    With `merged` the constraints are judged as they are, as in a template or a stored Pod; without it, they are first
    merged with the Pod's `labels`, as on creation.

    If a field has a wrong type, the API server cannot decode the object and reports that field alone.  Here all such
    fields are reported, and other errors too, unless they depend on such a field.

    upstream: validation.go:validateTopologySpreadConstraints (v1.37)
    """
    return tuple(errors_in(read_constraints(raw if merged else merge(raw, labels, features), features), path))


def errors_in(reading: Reading, path: FieldPath) -> Iterable[FieldError]:
    """Validate constraints that are read already, as `validate` does with `merged`."""
    errors: tuple[FieldError, ...] | None = reading.derived.get(_errors)
    if errors is None:
        errors = reading.derived[_errors] = _errors(reading, reading.features)
    if not errors:
        return ()
    return (error._replace(path=(*path, *error.path)) for error in errors)


def _errors(reading: Reading, features: Features) -> tuple[FieldError, ...]:
    """Return the errors of constraints as they are; paths begin at the list."""
    errors: list[FieldError] = []
    for i, written in enumerate(reading.written):
        errors += _constraint_errors(written, (i,), features)
    errors += _repeated(reading.written)
    mistyped = {error.path for error in reading.mistyped}
    return (*reading.mistyped, *(error for error in errors if not mistyped or not _depends_on(error, mistyped)))


def _constraint_errors(written: WrittenConstraint, path: FieldPath, features: Features) -> Iterator[FieldError]:
    if written.max_skew <= 0:
        yield FieldError(INVALID, (*path, "maxSkew"), written.max_skew, "must be greater than zero")
    if not written.topology_key:
        yield FieldError(REQUIRED, (*path, "topologyKey"), "", "can not be empty")
    if written.when_unsatisfiable not in ACTIONS:
        yield _not_supported((*path, "whenUnsatisfiable"), written.when_unsatisfiable, ACTIONS)
    if written.min_domains is not None:
        yield from _min_domains_errors(written, written.min_domains, (*path, "minDomains"))
    for name, policy in (
        ("nodeAffinityPolicy", written.node_affinity_policy),
        ("nodeTaintsPolicy", written.node_taints_policy),
    ):
        if policy is not None and policy not in POLICIES:
            yield _not_supported((*path, name), policy, POLICIES)
    if written.match_label_keys:
        yield from _match_label_keys_errors(written, path, features)
    if written.label_selector is not None and features.selector_validation:
        yield from selector_errors(written.label_selector, (*path, "labelSelector"), _words(features))


def _not_supported(path: FieldPath, value: str, wanted: tuple[str, ...]) -> FieldError:
    return FieldError(NOT_SUPPORTED, path, value, _SUPPORTED[wanted])


def _min_domains_errors(written: WrittenConstraint, min_domains: int, path: FieldPath) -> Iterator[FieldError]:
    """upstream: validation.go:validateMinDomains (v1.37)"""
    if min_domains <= 0:
        yield FieldError(INVALID, path, min_domains, "must be greater than zero")
    if written.when_unsatisfiable != HARD:
        detail = f"can only use minDomains if whenUnsatisfiable={HARD}, not {written.when_unsatisfiable}"
        yield FieldError(INVALID, path, min_domains, detail)


def _match_label_keys_errors(written: WrittenConstraint, path: FieldPath, features: Features) -> Iterator[FieldError]:
    """
    Yield errors of matchLabelKeys.

    Without the merge of 1.34 the API server calls ValidateMatchLabelKeysInTopologySpread instead.

    upstream: validation.go:ValidateMatchLabelKeysAndMismatchLabelKeys (v1.37)
    """
    keys, selector, keys_path = written.match_label_keys, written.label_selector, (*path, "matchLabelKeys")
    if keys and selector is None:
        yield FieldError(FORBIDDEN, keys_path, list(keys), "must not be specified when labelSelector is not set")
    if selector is not None or not features.selector_merge:
        for i, key in enumerate(keys):
            for detail in label_key_errors(key, _words(features)):
                yield FieldError(INVALID, (*keys_path, i), key, detail)
    if selector is not None and features.selector_merge:
        yield from _keys_in_both_after_merge(keys, selector, path)
    elif selector is not None:
        selected = selector.keys
        yield from (FieldError(INVALID, (*keys_path, i), key, IN_BOTH) for i, key in enumerate(keys) if key in selected)


def _keys_in_both_after_merge(keys: Sequence[str], selector: LabelSelector, path: FieldPath) -> Iterator[FieldError]:
    """Yield an error for each key that the selector has twice: once is the merge's own requirement."""
    index_of = {key: i for i, key in enumerate(keys)}
    seen = set(selector.match_labels)
    for expression in selector.match_expressions:
        if expression.key in index_of and expression.key in seen:
            # Upstream's path lacks the field's name; `shown_path` puts it back.
            yield FieldError(INVALID, (*path, index_of[expression.key]), expression.key, IN_BOTH)
        seen.add(expression.key)


def _words(features: Features) -> LabelWords:
    return SINCE_35 if features.lengths_in_bytes else BEFORE_35


def selector_errors(selector: LabelSelector, path: FieldPath, words: LabelWords = SINCE_35) -> Iterator[FieldError]:
    """
    Yield every reason why the API server rejects a LabelSelector at `path`.

    upstream: validation.go:ValidateLabelSelector (v1.37)
    """
    labels_path = (*path, "matchLabels")
    for key, value in selector.match_labels.items():
        for detail in label_key_errors(key, words):
            yield FieldError(INVALID, labels_path, key, detail)
        for detail in label_value_errors(value, words):
            yield FieldError(INVALID, labels_path, value, detail)
    for i, expression in enumerate(selector.match_expressions):
        yield from _expression_errors(expression, (*path, "matchExpressions", i), words)


def _expression_errors(expression: Requirement, path: FieldPath, words: LabelWords) -> Iterator[FieldError]:
    """upstream: validation.go:ValidateLabelSelectorRequirement (v1.37)"""
    operator, values = expression.operator, expression.values
    if operator in (IN, NOT_IN) and not values:
        yield FieldError(REQUIRED, (*path, "values"), [], "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield FieldError(FORBIDDEN, (*path, "values"), list(values), detail)
    if operator not in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST):
        yield FieldError(INVALID, (*path, "operator"), operator, "not a valid selector operator")
    for detail in label_key_errors(expression.key, words):
        yield FieldError(INVALID, (*path, "key"), expression.key, detail)
    for i, value in enumerate(values):
        for detail in label_value_errors(value, words):
            yield FieldError(INVALID, (*path, "values", i), value, detail)


def _depends_on(error: FieldError, mistyped: Set[FieldPath]) -> bool:
    """Return whether `error` is about a field with a wrong type, or in one, or depends on one beside it."""
    constraint, field = error.path[:-1], error.path[-1]
    sources = {"minDomains": ("whenUnsatisfiable",), REPEATED: ("topologyKey", "whenUnsatisfiable")}.get(str(field), ())
    follows = any((*constraint, source) in mistyped for source in sources)
    return follows or any(error.path[:length] in mistyped for length in range(len(error.path) + 1))


def _repeated(written: Sequence[WrittenConstraint]) -> list[FieldError]:
    """
    Return an error for all but the last of the constraints with the same (topologyKey, whenUnsatisfiable).

    upstream: validation.go:ValidateSpreadConstraintNotRepeat (v1.37)
    """
    pairs = [(constraint.topology_key, constraint.when_unsatisfiable) for constraint in written]
    last = {pair: i for i, pair in enumerate(pairs)}
    return [
        FieldError(DUPLICATE, (i, REPEATED), f"{{{key}, {action}}}", "")
        for i, (key, action) in enumerate(pairs)
        if last[key, action] != i
    ]


def shown_path(error: FieldError) -> FieldPath:
    """Return the path of `error` in the object: some of upstream's paths are not paths of a field."""
    if error.detail == IN_BOTH and error.path[-2] != "matchLabelKeys":
        return (*error.path[:-1], "matchLabelKeys", error.path[-1])
    return error.path[:-1] if error.path[-1] == REPEATED else error.path


def in_one_line(error: FieldError) -> str:
    """Return an error in one line: the path in the object, the value found, and what the API server says of it."""
    return f"{path_text(shown_path(error))}: found {brief(error.value)}, {error.detail or NOT_REPEATED}"


def on_stored_pod(features: Features) -> Features:
    """Return `features` with the merge of 1.34: a stored Pod may have merged keys, whatever version was asked for."""
    return features if features.selector_merge else features._replace(selector_merge=True)
