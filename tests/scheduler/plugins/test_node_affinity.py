"""Node affinity, required and preferred."""

from __future__ import annotations

from dataclasses import replace

from tests.support.attempts import (
    affinity,
    cycle,
    named,
    node,
    refusals,
    said,
    scores,
)
from webhook.spread.affinity import NodeTerm, PreferredTerm
from webhook.spread.selectors import IN, Requirement


def test_names_in_the_affinity_leave_the_other_nodes_out():
    assert {"n1": ("", "node(s) didn't satisfy plugin(s) [NodeAffinity]")} == refusals(
        cycle(node("n1"), node("n2"), affinity=affinity(named("n2")))
    )


def test_terms_in_conflict_reject_the_pod():
    conflict = {"matchFields": [*named("n1")["matchFields"], *named("n2")["matchFields"]]}
    asked = cycle(node("n1"), node("n2"), affinity=affinity(conflict))

    assert {"n1", "n2"} == refusals(asked).keys()
    assert "0/2 nodes are available: pod affinity terms conflict." == said(asked)


def test_preferred_affinity():
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": zones}]}}
        for weight, zones in ((10, ["a"]), (30, ["a", "b"]))
    ]
    preferring = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    asked = cycle(node("n1"), node("n2", "b"), node("n3", "c"), affinity=preferring)

    assert {"n1": 100, "n2": 75, "n3": 0} == scores(asked)["NodeAffinity"]


def preferred(weight, *zones):
    return PreferredTerm(weight, NodeTerm((Requirement("zone", IN, zones),), ()))


def test_the_preferences_of_the_profile_add_to_those_of_the_pod():
    asked = cycle(node("n1"), node("n2", "b"), node("n3", "c"))
    asked = replace(asked, profile=replace(asked.profile, added_preferred=(preferred(10, "a"), preferred(5, "b"))))
    both = replace(asked, pod=replace(asked.pod, preferred=(preferred(15, "b"),)))

    assert {"n1": 100, "n2": 50, "n3": 0} == scores(asked)["NodeAffinity"]
    assert {"n1": 50, "n2": 100, "n3": 0} == scores(both)["NodeAffinity"]
