"""Which constraints do nothing, and why."""

from __future__ import annotations

from tests.support.build import HOSTNAME, ZONE, constraint, hpa
from tests.support.placing import node
from tests.support.reporting import ZONES, deployment, only, pods

SELECTOR = "its selector counts no Pod"
CONFINED = "its nodeSelector leaves only zone a"


def why(*objects, nodes=ZONES, **options):
    return [*only(*nodes, *objects, **options).idle]


def test_a_selector_that_counts_no_pod():
    empty, others = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "x"}})
    null = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}

    assert [SELECTOR] * 3 == why(*deployment(empty, others, null), *pods("a1", "b1"))


def test_without_nodes_only_what_holds_on_any_is_known():
    empty, others = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "x"}})
    soft = constraint(whenUnsatisfiable="ScheduleAnyway")
    null = constraint(topologyKey="rack", labelSelector=None)

    assert [SELECTOR, "", "", SELECTOR] == why(*deployment(empty, others, soft, null), *pods("a1", "b1"), nodes=[])


def test_one_domain_and_none():
    soft = {"whenUnsatisfiable": "ScheduleAnyway"}
    both = deployment(constraint(), constraint(topologyKey="rack", **soft), constraint(topologyKey=HOSTNAME, **soft))

    assert [
        "all nodes that count are in zone a",
        "no node has the label",
        "no node with the label counts: each lacks the key of another constraint, or an inclusion policy excludes it",
    ] == why(*both[:1], *both[1:], *pods("a1", "a2"), nodes=[node("a1", "a"), node("a2", "a")])


def test_one_domain_that_affinity_leaves():
    """Though nodes of other domains may count: the soft constraint prefers none."""
    in_a = deployment(constraint(), constraint(topologyKey=HOSTNAME), constraint(whenUnsatisfiable="ScheduleAnyway"))
    for one in in_a:
        one["spec"]["template"]["spec"]["nodeSelector"] = {ZONE: "a"}

    assert [CONFINED, "", CONFINED] == why(*in_a, *pods("a1", "a2"))


def test_a_hard_constraint_whose_min_domains_are_missing_refuses():
    assert [""] == why(*deployment(constraint(minDomains=2)), *pods("a1"), nodes=[node("a1", "a")])
    assert [""] == why(*deployment(constraint(topologyKey="rack")), *pods("a1")), "no node takes it"


def test_a_max_skew_that_is_never_reached():
    few = deployment(constraint(maxSkew=9), constraint(topologyKey=HOSTNAME))
    few[0]["spec"] |= {"replicas": 3, "strategy": {"type": "Recreate"}}

    assert ["with so few Pods the skew cannot exceed maxSkew", ""] == why(*few, *pods("a1", "b1", "c1"))


def test_what_spreads():
    assert [""] == why(*deployment(constraint()), *pods("a1", "b1"))
    assert [""] == why(*deployment(constraint()))


def test_an_autoscaler_may_bring_more_pods_than_max_skew():
    few = deployment(constraint(maxSkew=9))
    few[0]["spec"] |= {"replicas": 3, "strategy": {"type": "Recreate"}}

    assert [""] == why(*few, hpa(2, 10), *pods("a1", "b1", "c1"))
    assert ["with so few Pods the skew cannot exceed maxSkew"] == why(*few, hpa(2, 9), *pods("a1", "b1", "c1"))
