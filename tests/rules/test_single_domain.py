"""The rule single-domain."""

from __future__ import annotations

import pytest

from tests.rules.judged import HARD_HOST, ON_A, ZONES, on, said, stateful
from tests.support.build import HOSTNAME, ZONE, constraint, honoring, node, pod, workload
from tests.support.claims import claim, using, volume
from webhook.rules import RULES

IN_A = (node("n1"), node("n2"))
RULE = RULES["single-domain"]
GPU_IN_B = node("g1", ["nvidia.com/gpu:NoSchedule"], **{ZONE: "b"})
TAINTED = (*IN_A, GPU_IN_B)


def test_nodes_in_one_zone_only():
    message, fix = said(stateful(constraint(), HARD_HOST), *IN_A, rule=RULE.id)

    assert ("spreads nothing: all nodes that count are in zone a", RULE.fix) == (message, fix)
    assert "set minDomains if nodes can start in other domains" in fix


@pytest.mark.parametrize(
    ("obj", "nodes", "where"),
    [
        (stateful(honoring()), IN_A, "zone a"),
        (stateful(honoring(topologyKey="rack")), (node(rack="r1"), node("n2", rack="r1")), "rack r1"),
        (pod(honoring()), IN_A, "zone a"),
        (workload("Job", honoring(), spec={"parallelism": 6}), IN_A, "zone a"),
    ],
)
def test_any_key_and_kind(obj, nodes, where):
    message, _ = said(obj, *nodes, rule=RULE.id)

    assert message.endswith(f"are in {where}")


def test_min_domains_is_no_remedy_where_a_claim_leaves_one_domain():
    bound = claim("data", "pv"), volume("pv", "a", of="data")
    _, fix = said(stateful(honoring(), pod_spec=using("data")), *IN_A, *bound, rule=RULE.id)

    assert "remove the constraint: claim data leaves only a, so minDomains is no remedy" == fix
    _, fix = said(stateful(honoring(), pod_spec=using("data")), *IN_A, bound[0], volume("pv", of="data"), rule=RULE.id)
    assert RULE.fix == fix, "every node reaches its volume"


@pytest.mark.parametrize("more", [(), (node("g2", ["node.kubernetes.io/not-ready:NoSchedule", "x:NoSchedule"]),)])
@pytest.mark.parametrize("closed", [GPU_IN_B, node("g1", ["x:NoExecute"], **{ZONE: "b"})])
def test_taints_that_stay_leave_one_zone(closed, more):
    message, fix = said(stateful(honoring()), *IN_A, closed, *more, rule=RULE.id)

    assert "spreads nothing: nodeTaintsPolicy leaves only zone a" == message
    assert "add nodes in other zones without taints, or with taints that the Pods tolerate" == fix


def test_nodes_have_sentences_of_their_own():
    obj = stateful(honoring(topologyKey=HOSTNAME))
    message, fix = said(obj, node("n1"), rule=RULE.id)

    assert "spreads nothing: node n1 is the only one that counts" == message
    assert "set minDomains if more nodes can start: if not, Pods wait, and rollouts stop" == fix
    assert (
        "spreads nothing: nodeTaintsPolicy leaves only node n1",
        "add nodes without taints, or with taints that the Pods tolerate",
    ) == said(obj, node("n1"), GPU_IN_B, rule=RULE.id)


@pytest.mark.parametrize(
    ("obj", "nodes"),
    [
        (stateful(constraint()), ZONES),
        (stateful(constraint(whenUnsatisfiable="ScheduleAnyway")), IN_A),
        (stateful(constraint(minDomains=2)), IN_A),
        (stateful(constraint(), replicas=1), IN_A),
        (stateful(constraint(maxSkew=6)), IN_A),
        (stateful(constraint(labelSelector={"matchLabels": {"app": "db"}})), IN_A),
        (stateful(constraint(topologyKey="rack")), IN_A),
        (stateful(constraint(), pod_spec=ON_A), (node("a"), node("n2", **{ZONE: "b"}))),
        (stateful(honoring()), (*IN_A, node("n3", ["node.kubernetes.io/not-ready:NoExecute"], **{ZONE: "b"}))),
        (stateful(honoring()), (*IN_A, node("n3", ["node.cilium.io/agent-not-ready:NoSchedule"], **{ZONE: "b"}))),
        (stateful(honoring()), (*IN_A, node("n3", ["node.kubernetes.io/unschedulable:NoSchedule"], **{ZONE: "b"}))),
        (stateful(constraint(nodeTaintsPolicy="Ignore")), (*IN_A, GPU_IN_B)),
        (stateful(honoring(), pod_spec={"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}), TAINTED),
        (stateful(honoring()), (*TAINTED, node("n4", **{ZONE: "b"}))),
        (workload("DaemonSet", constraint()), IN_A),
    ],
    ids=[
        "two zones",
        "a soft constraint",
        "minDomains refuses",
        "one replica",
        "no more replicas than maxSkew",
        "it counts others",
        "no node has the key",
        "affinity, which is pinned-domain's",
        "a node that is not ready",
        "an agent that starts",
        "a cordon",
        "taints that do not matter",
        "taints that it tolerates",
        "another node there, as the fix says",
        "a DaemonSet",
    ],
)
def test_what_is_not_reported(obj, nodes):
    assert [] == [finding for finding in on(obj, *nodes) if RULE.id in finding]
