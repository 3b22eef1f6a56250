"""Default constraints: those that kube-scheduler applies to a Pod without its own, and what it accepts as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    FieldError,
    FieldPath,
    as_mapping,
)
from webhook.kubernetes.labels import Labels, label_key_errors
from webhook.kubernetes.names import HOSTNAME, ZONE
from webhook.spread.constraint import ACTIONS, SOFT, Constraint, parse_constraints
from webhook.spread.selectors import Selector

SYSTEM_DEFAULTS: Sequence[dict[str, object]] = (
    {"maxSkew": 3, "topologyKey": HOSTNAME, "whenUnsatisfiable": SOFT},
    {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": SOFT},
)
SYSTEM, LIST = "System", "List"
DEFAULTING_TYPES = (SYSTEM, LIST)


def constraints_in_force(
    raw: object, labels: Labels, defaults: Sequence[dict[str, object]], selector: Selector, features: Features
) -> tuple[Constraint, ...]:
    """
    Return the constraints by which the scheduler places a Pod: its own in `raw`, or else `defaults` with `selector`.

    The selector is derived from the Pod's Services and owner.  matchLabelKeys of `defaults` have no effect.

    upstream: plugin.go:PodTopologySpread.getConstraints (v1.37)
    """
    own = parse_constraints(raw, labels, features)
    if own or selector.empty:
        return own
    return tuple(
        replace(constraint, selector=selector) for constraint in parse_constraints(list(defaults), {}, features)
    )


def validate_args(defaulting_type: str, constraints: Sequence[object], path: FieldPath) -> tuple[FieldError, ...]:
    """
    Return every reason why kube-scheduler refuses these args at `path`, whose fields have the right types.

    upstream: validation_pluginargs.go:ValidatePodTopologySpreadArgs (v1.37)
    """
    return (*_type_errors(defaulting_type, constraints, (*path, "defaultingType")), *_default_errors(constraints, path))


def _type_errors(defaulting_type: str, constraints: Sequence[object], path: FieldPath) -> Iterator[FieldError]:
    """upstream: validation_pluginargs.go:validateDefaultingType (v1.37)"""
    if defaulting_type not in DEFAULTING_TYPES:
        yield FieldError(NOT_SUPPORTED, path, defaulting_type, 'supported values: "System", "List"')
    elif defaulting_type == SYSTEM and constraints:
        yield FieldError(INVALID, path, defaulting_type, "must be List when defaultConstraints are given")


def _default_errors(constraints: Sequence[object], path: FieldPath) -> Iterator[FieldError]:
    seen: set[tuple[object, object]] = set()
    for i, constraint in enumerate(map(as_mapping, constraints)):
        item_path = (*path, "defaultConstraints", i)
        key, action = constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")
        max_skew = constraint.get("maxSkew")
        if not isinstance(max_skew, int) or max_skew <= 0:
            yield FieldError(INVALID, (*item_path, "maxSkew"), max_skew, "must be greater than zero")
        if not isinstance(key, str) or not key:
            yield FieldError(REQUIRED, (*item_path, "topologyKey"), key, "can not be empty")
        else:
            for detail in label_key_errors(key):
                yield FieldError(INVALID, (*item_path, "topologyKey"), key, detail)
        if action not in ACTIONS:
            detail = 'supported values: "DoNotSchedule", "ScheduleAnyway"' if action else "can not be empty"
            kind = NOT_SUPPORTED if action else REQUIRED
            yield FieldError(kind, (*item_path, "whenUnsatisfiable"), action, detail)
        if constraint.get("labelSelector") is not None:
            detail = "must not be given: the selector is derived for each Pod"
            yield FieldError(FORBIDDEN, (*item_path, "labelSelector"), constraint["labelSelector"], detail)
        if (key, action) in seen:
            detail = "must not repeat (topologyKey, whenUnsatisfiable)"
            yield FieldError(DUPLICATE, item_path, f"{{{key}, {action}}}", detail)
        seen.add((key, action))
