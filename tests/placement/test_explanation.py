"""Each constraint with its domains, and every node with what refuses it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.placement.explanation import agrees, explain
from tests.support.placing import HOSTNAME, INFRA, attempted, node, running, spread


def domains(explained):
    return {
        domain.value: (domain.match_num, domain.skew, domain.eligible, domain.passes) for domain in explained.domains
    }


def test_a_constraint_with_each_of_its_domains():
    found = explain(
        attempted(
            node("a1", "a"),
            node("b1", "b"),
            node("c1", "c", taints=[INFRA]),
            running("a1"),
            running("b1"),
            constraints=[spread()],
        )
    )
    (explained,) = found.constraints

    assert (0, 1) == (explained.min_match_num, explained.self_match_num)
    assert {"a": (1, 2, True, False), "b": (1, 2, True, False), "c": (0, 1, True, True)} == domains(explained)
    assert [0, 0, 0] == [domain.open.bit_count() for domain in explained.domains]
    assert (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 node(s) didn't match pod topology spread constraints. preemption: 0/3 nodes are available: "
        "1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod." == found.message
    )


def test_a_domain_that_is_not_counted_is_shown_as_such():
    cycle = attempted(node("a1", "a"), node("b1", "b"), constraints=[spread()], nodeSelector={HOSTNAME: "a1"})
    (explained,) = explain(cycle).constraints

    assert {"a": (0, 1, True, True), "b": (0, 1, False, True)} == domains(explained)


def test_constraints_are_in_the_order_of_the_pod():
    soft = spread(whenUnsatisfiable="ScheduleAnyway")
    found = explain(attempted(node("a1", "a"), constraints=[soft, spread(HOSTNAME)]))

    assert [(0, False), (1, True)] == [(one.constraint.index, one.constraint.hard) for one in found.constraints]


def test_a_soft_constraint_lets_the_pod_into_every_domain():
    soft = spread(whenUnsatisfiable="ScheduleAnyway")
    found = explain(attempted(node("a1", "a"), node("b1", "b"), running("a1"), running("a1"), constraints=[soft]))

    assert {"a": (2, 3, True, True), "b": (0, 1, True, True)} == domains(found.constraints[0])
    assert ("", True) == (found.message, found.total["b1"] > found.total["a1"])


def test_nodes_without_the_key_are_apart():
    cycle = attempted(node("a1", "a"), node("n2"), constraints=[spread()])
    (explained,) = explain(cycle).constraints

    assert ["n2"] == list(cycle.snapshot.nodes.names(explained.unlabelled))
    assert {"a"} == domains(explained).keys()


def test_under_the_schedulers_own_defaults_a_node_without_one_key_counts_for_the_other():
    soft = [spread(key, whenUnsatisfiable="ScheduleAnyway") for key in (HOSTNAME, "topology.kubernetes.io/zone")]
    cycle = attempted(node("n1"), running("n1"), constraints=soft)

    assert [{"n1": (1, 1, True, True)}, {}] == [
        domains(one) for one in explain(replace(cycle, system_defaults=True)).constraints
    ]


def test_a_cluster_without_nodes():
    found = explain(attempted(constraints=[spread()]))

    assert ("no nodes available to schedule pods", ()) == (found.message, found.constraints[0].domains)


SAID = "0/1 nodes are available: 1 Insufficient cpu."
NOT_HELPFUL = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("said", "gaps", "same"),
    [
        (f"{SAID} {NOT_HELPFUL}", (), True),
        (SAID, (), False),
        (f"{SAID} preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", (), False),
        (f"{SAID} cannot allocate all claims. {NOT_HELPFUL}", ("dynamic resources",), True),
        (SAID, ("dynamic resources",), True),
        (f"{SAID.removesuffix('.')}, 1 node(s) didn't have free ports for the requested pod ports.", ("x",), False),
        ("", ("dynamic resources",), False),
        (f"{SAID} no new claims to deallocate, {NOT_HELPFUL}", (), True),  # as 1.34 to 1.36 say it
    ],
)
def test_what_is_not_judged_may_have_kube_scheduler_add_something(said, gaps, same):
    assert same is agrees(said, (f"{SAID} {NOT_HELPFUL}",), SAID, gaps)


def test_one_of_several_placements_is_told():
    placed = [f"{SAID} preemption: found a potential placement for pod on node {node}" for node in ("a", "b")]

    assert agrees(placed[1], placed, SAID, ())
    assert not agrees(SAID, placed, SAID, ())


def test_where_preemption_helps_on_one_node_its_message_is_certain():
    placeholder = running("n1", cpu="4")
    placeholder["spec"]["priority"] = -10
    found = explain(attempted(node("n1", cpu="4"), placeholder))

    told = "preemption: found a potential placement for pod on node n1, preempting 1 victims"
    assert f"0/1 nodes are available: 1 Insufficient cpu. {told}" == found.message
    assert ["n1"] == list(found.preemption.candidates)
