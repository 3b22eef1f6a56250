"""Default constraints are checked as kube-scheduler checks them, and as the Pods that get them will be."""

from __future__ import annotations

import pytest

from tests.support.build import HOSTNAME, ZONE, snapshot
from tests.support.placing import node
from webhook.kubernetes.features import LATEST, features
from webhook.policy.defaults import (
    Defaulting,
    defaulting_errors,
    integers,
    karpenter_notes,
    lacking_notes,
    notes_on,
    parse_defaulting,
)

SOFT = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}


def listed(**fields):
    return {"defaultingType": "List", "defaultConstraints": [SOFT | fields]}


def test_an_absent_type_means_system():
    assert Defaulting("System") == parse_defaulting({}) == parse_defaulting(None)
    assert Defaulting("List", (SOFT,)) == parse_defaulting(listed())


def test_a_whole_float_becomes_an_integer_and_nothing_else_changes():
    found = integers({"maxSkew": 1.0, "minDomains": 1.5, "topologyKey": "a"})

    assert {"maxSkew": 1, "minDomains": 1.5, "topologyKey": "a"} == found
    assert isinstance(found["maxSkew"], int)


@pytest.mark.parametrize(
    ("args", "begins"),
    [
        (listed(maxSkew=0), "d.defaultConstraints[0].maxSkew: found 0, must be greater than zero"),
        (listed(minDomains=2), "d.defaultConstraints[0].minDomains: found 2, can only use minDomains if"),
        (listed(nodeTaintsPolicy="No"), 'd.defaultConstraints[0].nodeTaintsPolicy: found "No", supported values'),
        ({"defaultConstraints": [SOFT]}, "d: absent defaultingType means System"),
        ({"defaultingType": "List", "defaultConstraints": [SOFT, SOFT]}, "d.defaultConstraints[1]: found"),
        (listed(matchLabelKeys=["a b"]), 'd.defaultConstraints[0].matchLabelKeys[0]: found "a b"'),
    ],
    ids=["for the scheduler", "for the API server", "a policy that is none", "no type", "twice", "no label key"],
)
def test_what_cannot_be_used_is_named(args, begins):
    (cause,) = defaulting_errors(args, ("d",), LATEST)

    assert cause.startswith(begins)


def test_the_version_decides_what_can_be_used():
    """Up to 1.26 minDomains is dropped; up to 1.34 a length is in characters."""
    assert [] == list(defaulting_errors(listed(minDomains=2), ("d",), features(26)))
    selector = {"matchLabelKeys": ["a" * 64]}
    for minor, unit in ((34, "characters"), (35, "bytes")):
        (cause,) = defaulting_errors(listed(**selector), ("d",), features(minor))
        assert cause.endswith(f"name part must be no more than 63 {unit}")


def test_what_may_surprise_is_noted():
    zone, hostname = SOFT, SOFT | {"topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}

    assert () == tuple(notes_on(Defaulting("System"), ("d",)))
    assert ["d: no constraint on kubernetes.io/hostname"] == [
        note.partition(": any")[0] for note in notes_on(Defaulting("List", (zone,)), ("d",))
    ]
    assert ["d.defaultConstraints[1].whenUnsatisfiable: DoNotSchedule can leave Pods Pending"] == [
        note.partition(" whose")[0] for note in notes_on(Defaulting("List", (zone, hostname)), ("d",))
    ]


def test_what_karpenter_does_with_soft_constraints_is_noted():
    host, hard = SOFT | {"topologyKey": HOSTNAME}, SOFT | {"whenUnsatisfiable": "DoNotSchedule"}
    constraints = (SOFT, host, hard, host | {"maxSkew": 3})

    assert [] == list(karpenter_notes(Defaulting("List", (SOFT, host), built_in=True), ("d",)))
    assert [
        "d.defaultConstraints[0]: Karpenter treats ScheduleAnyway as required: "
        f"it starts a node in each domain of {ZONE}, and keeps nodes that it would consolidate",
        "d.defaultConstraints[1]: Karpenter treats ScheduleAnyway as required: it puts at most 1 matching Pod "
        "on a node, starts nodes for the others, and keeps nodes that it would consolidate",
        "d.defaultConstraints[3]: Karpenter treats ScheduleAnyway as required: it puts at most 3 matching Pods "
        "on a node, starts nodes for the others, and keeps nodes that it would consolidate",
    ] == list(karpenter_notes(Defaulting("List", constraints), ("d",)))


def test_a_constraint_whose_key_nodes_lack_is_noted():
    """The key of the first is on all nodes, that of the others on one, and on none."""
    nodes = snapshot(node("a1", "a", labels={"rack": "r1"}), node("b1", "b")).nodes
    constraints = (SOFT, SOFT | {"topologyKey": "rack"}, SOFT | {"topologyKey": "row"})

    assert ["d.defaultConstraints[1].topologyKey", "d.defaultConstraints[2].topologyKey"] == [
        note.partition(": ")[0] for note in lacking_notes(Defaulting("List", constraints), ("d",), nodes)
    ]
