"""The selector that kube-scheduler derives for a Pod without constraints, and the constraints that it then uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.conformance.cases import CONSTRAINTS, Difference, IllFormed, compared, objects
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_mapping, value_at
from webhook.kubernetes.labels import labels_of
from webhook.kubernetes.references import controller_of
from webhook.spread.cluster_view import ClusterView, SnapshotError, view_of
from webhook.spread.constraint import Constraint
from webhook.spread.default_constraints import (
    DEFAULTING_TYPES,
    SYSTEM,
    SYSTEM_DEFAULTS,
    constraints_in_force,
)
from webhook.spread.default_selector import default_selector
from webhook.spread.selectors import EVERYTHING, Selector

RECORDED = "placement.jsonl.gz"
SELECTING = ("services", "replicationControllers", "replicaSets", "statefulSets")


def differences(case: Mapping[str, object], features: Features) -> Iterator[Difference]:
    """Selectors are compared as text, duplicates and all."""
    selector, constraints = in_force(case, features)

    yield from compared(case, "defaultSelector", str(selector))
    yield from compared(case, "hardConstraints", [_text(one) for one in constraints if one.hard])
    yield from compared(case, "softConstraints", [_text(one) for one in constraints if one.soft])


def in_force(case: Mapping[str, object], features: Features) -> tuple[Selector, tuple[Constraint, ...]]:
    """The default selector, and the constraints by which the Pod is placed."""
    metadata = as_mapping(value_at(case["pod"], ("metadata",)))
    labels, defaults = labels_of(metadata.get("labels")), _defaults(case)
    selector = EVERYTHING
    if defaults:  # else the plugin has no use for a selector, and derives none
        namespace = str(metadata.get("namespace", ""))
        selector = default_selector(namespace, labels, controller_of(metadata), _snapshot(case)).selector
    raw = value_at(case["pod"], CONSTRAINTS)
    return selector, constraints_in_force(raw, labels, defaults, selector, features)


def _defaults(case: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    config = as_mapping(case.get("config"))
    defaulting_type = config.get("defaultingType")
    if defaulting_type not in DEFAULTING_TYPES:
        raise IllFormed(f"config.defaultingType: must be {' or '.join(DEFAULTING_TYPES)}")
    if defaulting_type == SYSTEM:
        return SYSTEM_DEFAULTS
    return objects(config.get("defaultConstraints"), "config.defaultConstraints")


def _snapshot(case: Mapping[str, object]) -> ClusterView:
    try:
        return view_of(one for name in SELECTING for one in objects(case.get(name), name))
    except SnapshotError as error:
        raise IllFormed(str(error)) from error


def _text(one: Constraint) -> str:
    return (
        f"{one.topology_key}/{one.max_skew}/{one.selector}/minDomains={one.min_domains}"
        f"/affinity={one.node_affinity_policy}/taints={one.node_taints_policy}"
    )
