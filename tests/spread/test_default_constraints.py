"""The scheduler's own defaults: the constraints in force, and the arguments that it refuses."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint
from webhook.kubernetes.fields import path_text
from webhook.spread.default_constraints import SYSTEM_DEFAULTS, constraints_in_force, validate_args
from webhook.spread.selectors import EVERYTHING, NOTHING, equals

LABELS = {"app": "web", "tier": "back", "pod-template-hash": "55fb"}


def web():
    """The selector that is derived from one Service."""
    return EVERYTHING.add(equals({"app": "web"}))


def in_force(raw, *defaults, selector=None):
    return constraints_in_force(raw, LABELS, defaults, selector or web(), FEATURES)


def test_a_pod_without_constraints_gets_the_defaults_with_the_derived_selector():
    for raw in (None, []):
        hard, soft = in_force(raw, constraint(labelSelector=None), SYSTEM_DEFAULTS[0])

        assert (ZONE, True, web()) == (hard.topology_key, hard.hard, hard.selector)
        assert (HOSTNAME, True, web()) == (soft.topology_key, soft.soft, soft.selector)


def test_a_constraint_of_its_own_keeps_the_defaults_away():
    (own,) = in_force([constraint(labelSelector=None)], *SYSTEM_DEFAULTS)

    assert (ZONE, NOTHING) == (own.topology_key, own.selector)


def test_no_default_applies_where_nothing_selects_the_pod():
    assert () == in_force(None, *SYSTEM_DEFAULTS, selector=EVERYTHING)


def test_match_label_keys_of_a_default_are_ignored():
    (default,) = in_force(None, {**SYSTEM_DEFAULTS[0], "matchLabelKeys": ["tier"]})

    assert "app=web" == str(default.selector)


def test_the_other_fields_of_a_default_are_not():
    given = constraint(
        minDomains=3, maxSkew=2, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor", labelSelector=None
    )
    (found,) = in_force(None, given)

    assert (2, 3) == (found.max_skew, found.min_domains)
    assert ("Ignore", "Honor") == (found.node_affinity_policy, found.node_taints_policy)


def test_the_system_defaults():
    found = [(one.max_skew, one.topology_key, one.soft) for one in in_force(None, *SYSTEM_DEFAULTS)]

    assert [(3, HOSTNAME, True), (5, ZONE, True)] == found


class Args(NamedTuple):
    name: str
    constraints: tuple
    errors: str = ""
    type: str = "List"


def default(**fields):
    return constraint(**{"labelSelector": None} | fields)


ARGS = [
    Args("a list", (default(), default(whenUnsatisfiable="ScheduleAnyway"), default(topologyKey=HOSTNAME))),
    Args("an empty list", ()),
    Args("System", (), type="System"),
    Args("System with a list", (default(),), "Invalid defaultingType", "System"),
    Args("another type", (), "NotSupported defaultingType", "Both"),
    Args("maxSkew 0", (default(maxSkew=0),), "Invalid [0].maxSkew"),
    Args("no maxSkew", (default(maxSkew=None),), "Invalid [0].maxSkew"),
    Args("no topologyKey", (default(topologyKey=None),), "Required [0].topologyKey"),
    Args("an empty topologyKey", (default(topologyKey=""),), "Required [0].topologyKey"),
    Args("a topologyKey that is no label", (default(topologyKey="a b"),), "Invalid [0].topologyKey"),
    Args("no whenUnsatisfiable", (default(whenUnsatisfiable=None),), "Required [0].whenUnsatisfiable"),
    Args("another whenUnsatisfiable", (default(whenUnsatisfiable="Never"),), "NotSupported [0].whenUnsatisfiable"),
    Args("a selector", (default(labelSelector={}),), "Forbidden [0].labelSelector"),
    Args("one twice", (default(), default(maxSkew=2)), "Duplicate [1]"),
    Args("one three times", (default(),) * 3, "Duplicate [1], Duplicate [2]"),
    Args(
        "it does not look at the rest",
        (default(minDomains=0, nodeAffinityPolicy="Bogus", matchLabelKeys=["a b"]),),
    ),
    Args("all at once", ({},), "Invalid [0].maxSkew, Required [0].topologyKey, Required [0].whenUnsatisfiable"),
]


@pytest.mark.parametrize("case", ARGS, ids=lambda case: case.name)
def test_arguments_that_the_scheduler_refuses(case):
    errors = validate_args(case.type, case.constraints, ("args",))
    shown = [f"{e.type[len('FieldValue') :]} {path_text(e.path[1:])}".replace("defaultConstraints", "") for e in errors]

    assert case.errors == ", ".join(shown)
