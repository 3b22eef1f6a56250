"""kube-scheduler's default profile; the recordings of tests/conformance hold it against the real scheduler."""

from __future__ import annotations

import pytest

from tests.support.build import pod
from tests.support.placement import HARD, SOFT, bound, parsed
from webhook.objects.reading import Reader
from webhook.scheduler.features import LATEST, features
from webhook.scheduler.incoming import read_incoming_pod
from webhook.scheduler.profile import (
    Cycle,
    Profile,
    feasible_nodes,
    find_feasible,
    message,
    prioritize,
    total,
    usable_nodes,
)
from webhook.scheduler.snapshot import from_objects

INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
SMALL = {"cpu": "1", "memory": "1Gi", "pods": "2"}
BIG = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2", "memory": "2Gi"}}}]}


def node(name, zone="a", allocatable=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": zone}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"} if allocatable is None else allocatable},
    }


def cycle(*objects, constraints=(), minor=37, **spec):
    asked = read_incoming_pod(Reader(), pod(spec=spec), features(minor))
    return Cycle(asked, parsed(*constraints), from_objects(objects, features(minor)), features(minor))


def refusals(asked):
    """Plugin and reasons by the name of each node that is refused."""
    found = find_feasible(asked)
    nodes = asked.snapshot.nodes
    assert nodes.all == found.feasible | sum(refusal.nodes for refusal in found.refusals)  # each in one set
    assert found.feasible == feasible_nodes(asked)
    return {
        name: (refusal.plugin, *refusal.reasons) for refusal in found.refusals for name in nodes.names(refusal.nodes)
    }


def said(asked):
    return message(asked, find_feasible(asked))


def named(*values):
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(values)}]}


def affinity(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


TAINTED, CORDONED = node("n1", taints=[INFRA]), node("n2", unschedulable=True)
UNSCHEDULABLE = ("NodeUnschedulable", "node(s) were unschedulable")
UNTOLERATED = ("TaintToleration", "node(s) had untolerated taint(s)")


def test_a_node_that_nothing_refuses_is_feasible():
    asked = cycle(node("n1"))

    assert ({}, "") == (refusals(asked), said(asked))


def test_each_plugin_says_why_in_its_order():
    asked = cycle(
        TAINTED,
        node("n2", unschedulable=True, taints=[INFRA]),
        node("n3", zone="b"),
        node("n4", allocatable=SMALL),
        node("n5"),
        bound("n4"),
        bound("n5"),
        constraints=[HARD],
        nodeSelector={"zone": "a"},
        **BIG,
    )

    assert {
        "n1": UNTOLERATED,
        "n2": UNSCHEDULABLE,
        "n3": ("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"),
        "n4": ("NodeResourcesFit", "Insufficient cpu", "Insufficient memory"),
    } == refusals(asked)


def test_the_spread_is_asked_last_and_of_all_nodes():
    asked = cycle(node("n1"), node("n2", "b", taints=[INFRA]), bound("n1"), constraints=[HARD])
    found = find_feasible(asked)

    assert {"n1": ("PodTopologySpread", "node(s) didn't match pod topology spread constraints"), "n2": UNTOLERATED} == (
        refusals(asked)
    )
    assert ["n2"] == list(asked.snapshot.nodes.names(found.spread.passing))


def test_a_cordoned_node_is_open_to_who_tolerates_it():
    """Whatever its taint says: `kubectl cordon` sets the field, and the taint follows."""
    tolerating = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]

    assert {"n2": UNSCHEDULABLE} == refusals(cycle(CORDONED))
    assert {} == refusals(cycle(CORDONED, tolerations=tolerating)) == refusals(cycle(node("n2", unschedulable=False)))


def test_up_to_1_33_a_taint_is_named():
    assert {"n1": ("TaintToleration", "node(s) had untolerated taint {dedicated: infra}")} == refusals(
        cycle(TAINTED, minor=33)
    )


@pytest.mark.parametrize(
    ("minor", "refused"),
    [
        (36, ("NodeName", "node(s) didn't match the requested node name")),
        (37, ("", "node(s) didn't satisfy plugin(s) [NodeName]")),
    ],
)
def test_a_pod_that_names_its_node(minor, refused):
    assert {"n1": refused} == refusals(cycle(node("n1"), node("n2"), nodeName="n2", minor=minor))


def test_a_pod_that_names_a_node_that_is_not_there():
    asked = cycle(node("n1"), nodeName="gone")

    assert "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeName]." == said(asked)


def test_names_in_the_affinity_leave_the_other_nodes_out():
    assert {"n1": ("", "node(s) didn't satisfy plugin(s) [NodeAffinity]")} == refusals(
        cycle(node("n1"), node("n2"), affinity=affinity(named("n2")))
    )


def test_terms_in_conflict_reject_the_pod():
    conflict = {"matchFields": [*named("n1")["matchFields"], *named("n2")["matchFields"]]}
    asked = cycle(node("n1"), node("n2"), affinity=affinity(conflict))

    assert {"n1", "n2"} == refusals(asked).keys()
    assert "0/2 nodes are available: pod affinity terms conflict." == said(asked)


def test_two_plugins_that_leave_no_node_together():
    asked = cycle(node("n1"), node("n2"), nodeName="n1", affinity=affinity(named("n2")))

    assert "0/2 nodes are available: node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously." == said(
        asked
    )


def test_the_message_counts_each_reason_and_sorts_as_text():
    tainted = [node(f"t{i}", taints=[INFRA]) for i in range(10)]
    full = [node(f"f{i}", allocatable={**SMALL, "pods": "0"}) for i in range(2)]

    assert (
        "0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 Insufficient memory, "
        "2 Too many pods."
    ) == said(cycle(*tainted, *full, **BIG))


def test_a_cluster_without_nodes():
    assert "no nodes available to schedule pods" == said(cycle())


def scores(asked):
    return prioritize(asked, find_feasible(asked).feasible)


def test_one_candidate_is_not_scored():
    assert {} == scores(cycle(node("n1")))


def test_a_node_with_a_taint_that_only_warns_is_worth_less():
    avoided = node("n2", taints=[{**INFRA, "effect": "PreferNoSchedule"}])

    assert {"n1": 100, "n2": 0} == scores(cycle(node("n1"), avoided))["TaintToleration"]
    assert {"n1": 100, "n2": 100} == scores(
        cycle(node("n1"), avoided, tolerations=[{"key": "dedicated", "operator": "Exists"}])
    )["TaintToleration"]


def test_preferred_affinity():
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": zones}]}}
        for weight, zones in ((10, ["a"]), (30, ["a", "b"]))
    ]
    preferring = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    asked = cycle(node("n1"), node("n2", "b"), node("n3", "c"), affinity=preferring)

    assert {"n1": 100, "n2": 75, "n3": 0} == scores(asked)["NodeAffinity"]


def test_what_scores_nothing_is_left_out():
    assert ["TaintToleration", "NodeResourcesFit"] == list(scores(cycle(node("n1"), node("n2"))))
    assert {"NodeResourcesBalancedAllocation", "PodTopologySpread"} <= scores(
        cycle(node("n1"), node("n2"), constraints=[SOFT], **BIG)
    ).keys()


def test_the_total_weighs_the_plugins():
    found = {"TaintToleration": {"n1": 100, "n2": 0}, "PodTopologySpread": {"n1": 50, "n2": 100}}

    assert {"n1": 3 * 100 + 2 * 50, "n2": 2 * 100} == total(found)


def test_an_emptier_node_is_preferred():
    running = pod(name="running", uid="u", spec={"nodeName": "n1", **BIG})
    found = scores(cycle(node("n1"), node("n2"), running, **BIG))["NodeResourcesFit"]

    assert found["n1"] < found["n2"]


def test_the_newest_version_is_known():
    assert LATEST.node_name_in_pre_filter
    assert not LATEST.names_untolerated_taint


def test_the_usable_nodes_are_those_that_room_and_spread_alone_may_refuse():
    full, lonely = node("n3", allocatable={"cpu": "1m", "pods": "1"}), node("n4", zone="b")
    asked = cycle(TAINTED, CORDONED, full, lonely, constraints=[HARD])

    def usable(one):
        return sorted(one.snapshot.nodes.names(usable_nodes(one)))

    assert ["n3", "n4"] == usable(asked)
    assert ["n1", "n3", "n4"] == usable(
        asked._replace(profile=Profile(filters=("NodeUnschedulable", "NodeResourcesFit")))
    )
    by_name = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [named("n3")]}}
    asked = cycle(TAINTED, full, lonely, affinity={"nodeAffinity": by_name})
    assert ["n3"] == usable(asked) == usable(asked._replace(profile=Profile("batch")))
    assert [] == usable(cycle(full, affinity=affinity(named("n9"))))
