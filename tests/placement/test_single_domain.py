"""Why a constraint spreads nothing because the Pods can run in one domain only, and what a person can do."""

from __future__ import annotations

import pytest

from evenkeel.placement.single_domain import single_domain, tied
from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import HOSTNAME, INFRA, ZONE, attempted, node, spread

IN_A = node("a1", "a"), node("a2", "a")
ZONES = node("a1", "a", labels={"disk": "ssd"}), node("b1", "b")
SOFT = spread(whenUnsatisfiable="ScheduleAnyway")


def found(*objects, of=None, **spec):
    cycle = attempted(*objects, constraints=[of or spread()], **spec)
    return single_domain(cycle, cycle.constraints[0])


def offers_min_domains(single):
    return any(advice.startswith("if") and "set minDomains: 3" in advice for advice in single.advice)


def test_nodes_in_one_zone_and_the_limits_of_the_cure():
    why, advice = found(*IN_A)

    assert "all nodes that count are in zone a" == why
    assert [
        "if nodes can start in other zones, set minDomains: 3, or how many zones you want: "
        "Pods beyond maxSkew then wait for nodes there",
        "Karpenter starts nodes in each zone that its NodePools offer, "
        "cluster-autoscaler only where a zone has a node group of its own",
        "while fewer zones have nodes than minDomains, also after the loss of one, "
        "each takes only maxSkew Pods: the others wait, and rollouts stop",
    ] == [*advice]


def test_on_nodes_each_new_one_is_a_domain_for_any_autoscaler():
    why, advice = found(IN_A[0], of=spread(HOSTNAME))

    assert "node a1 is the only one that counts" == why
    assert [
        "if more nodes can start, set minDomains: 3, or how many nodes you want: "
        "Pods beyond maxSkew then wait for these nodes",
        "while fewer nodes exist than minDomains, also after the loss of one, "
        "each takes only maxSkew Pods: the others wait, and rollouts stop",
    ] == [*advice]


def test_min_domains_is_no_more_than_affinity_allows():
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    _, advice = found(*IN_A, affinity={"nodeAffinity": required})

    assert advice[0].startswith("if nodes can start in other zones, set minDomains: 2, as node affinity allows: ")


def test_what_else_leaves_one_node():
    honoring, selected = spread(HOSTNAME, nodeTaintsPolicy="Honor"), {"nodeSelector": {"disk": "ssd"}}
    keys = [spread(HOSTNAME), spread("disk")]
    of_keys = attempted(*ZONES, constraints=keys)

    assert "nodeTaintsPolicy leaves only node a1" == found(IN_A[0], node("g1", taints=[INFRA]), of=honoring).why
    assert "its nodeSelector leaves only node a1" == found(*ZONES, of=honoring, **selected).why
    assert (
        "node a1 is the only one that has the topologyKey of each constraint"
        == single_domain(of_keys, of_keys.constraints[0]).why
    )


@pytest.mark.parametrize(
    ("nodes", "of", "spec", "why"),
    [
        (IN_A, SOFT, {}, "all nodes that count are in zone a"),
        (IN_A, spread(labelSelector={"matchLabels": {"app": "x"}}), {}, "all nodes that count are in zone a"),
        (IN_A, spread(), {"nodeSelector": {ZONE: "a"}}, "its nodeSelector leaves only zone a"),
        (ZONES, spread(), {"nodeSelector": {"disk": "ssd"}}, "its nodeSelector leaves only zone a"),
    ],
    ids=["the API server refuses it", "it counts no Pod of its own", "Pods would wait", "Pods might wait"],
)
def test_where_min_domains_is_no_cure(nodes, of, spec, why):
    single = found(*nodes, of=of, **spec)

    assert why == single.why
    assert not offers_min_domains(single)


def test_what_ignoring_affinity_would_do_is_said_and_not_advised():
    single = found(*ZONES, nodeSelector={"disk": "ssd"})

    assert [
        "allow more domains in the nodeSelector, or remove the constraint",
        "with nodeAffinityPolicy: Ignore the other domains count, too, "
        "so the constraint refuses Pods in this one, but sends none there",
    ] == [*single.advice]


def test_the_pod_of_a_daemon_set_is_tied_to_its_node():
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}

    assert ("its node affinity leaves only zone b", ()) == found(*ZONES, affinity={"nodeAffinity": required})


def test_several_domains():
    assert found(*ZONES) is None
    assert found(*IN_A, of=spread(minDomains=2)) is None


BOUND = claim("data", "pv")
IN_ZONE_A, ON_A1 = volume("pv", "a", of="data"), volume("pv", "a1", key=HOSTNAME, of="data")
TERMS = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a", "b"]}]}]
REGIONAL = volume("pv", of="data", nodeAffinity={"required": {"nodeSelectorTerms": TERMS}})


def allowing(*zones):
    return storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": [*zones]}]}])


@pytest.mark.parametrize(
    ("objects", "tie"),
    [
        ((BOUND, IN_ZONE_A), ("data", "a")),
        ((BOUND, ON_A1), ("data", "a")),
        ((BOUND, REGIONAL), None),
        ((BOUND, volume("pv", of="data")), None),
        ((claim("data"), allowing("a")), ("data", "a")),
        ((claim("data"), allowing("a", "b")), None),
        ((claim("data"), storage_class()), None),
    ],
    ids=["its zone", "a node", "two zones", "any zone", "its class", "its class allows two", "its class allows any"],
)
@pytest.mark.parametrize("nodes", [IN_A, ZONES])
def test_a_claim_leaves_one_domain_whatever_nodes_there_are(nodes, objects, tie):
    cycle = attempted(*nodes, *objects, constraints=[spread()], **using("data"))

    assert tie == tied(cycle, cycle.constraints[0])
    if nodes is IN_A:
        single = single_domain(cycle, cycle.constraints[0])
        assert (tie is None) == offers_min_domains(single)
        refused = "do not set minDomains: claim data leaves only zone a, so Pods would wait"
        assert (refused in single.advice) == (tie is not None)
