"""Who makes nodes, as nodes, NodePools and the API server tell, and whether it makes the node that a change adds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.placement.node_makers import by_itself, makers_note
from evenkeel.placement.remedies import NOW, Remedy, remedies
from evenkeel.placement.variants import NEW_NODE, with_new
from evenkeel.scheduler.framework import find_feasible
from tests.support.build import snapshot
from tests.support.placing import INFRA, ZONE, attempted, node, running, spread
from webhook.spread.cluster_view import CLUSTER_AUTOSCALER, KARPENTER, view_of

POOL = "karpenter.sh/nodepool"
GENERAL = {POOL: "general"}
GOING = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1767225600", "effect": "NoSchedule"}
CANDIDATE = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1767225600", "effect": "PreferNoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
STARTING = {"key": "startup-taint.cluster-autoscaler.kubernetes.io/x", "effect": "NoSchedule"}
GROUPS = ["eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool"]


def node_pool(name, **spec):
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


FIXED = node_pool("fixed", replicas=3)
IN_FIXED = node("f1", "f", labels={POOL: "fixed"})


@pytest.mark.parametrize(
    ("objects", "makers"),
    [
        ([node("n1")], []),
        ([node("n1"), node("n2", labels=GENERAL)], [KARPENTER]),
        ([node("n1"), node_pool("general")], [KARPENTER]),
        ([IN_FIXED, FIXED], []),
        ([IN_FIXED, FIXED, node("n1", labels=GENERAL)], [KARPENTER]),
        ([IN_FIXED, FIXED, node_pool("general")], [KARPENTER]),
        ([IN_FIXED], [KARPENTER]),
        ([IN_FIXED, node_pool("fixed", replicas=0)], []),
        ([node("n1", taints=[GOING])], [CLUSTER_AUTOSCALER]),
        ([node("n1", taints=[INFRA, CANDIDATE])], [CLUSTER_AUTOSCALER]),
        ([node("n1", taints=[STARTING, INFRA])], []),
        ([node("n1", labels=GENERAL), node("n2", taints=[CANDIDATE])], [KARPENTER, CLUSTER_AUTOSCALER]),
        *[([node("n1", labels={label: "main"})], []) for label in GROUPS],
    ],
)
def test_who_makes_nodes(objects, makers):
    for view in (snapshot(*objects), view_of(objects), snapshot(*objects).without_pods()):
        assert set(makers) == view.node_makers(view.nodes.all)
    assert len(makers) == sum("makes nodes here" in line for line in makers_note(snapshot(*objects)))


def test_only_nodes_that_are_asked_about_tell():
    view = view_of([node("n1"), node("n2", labels=GENERAL), node("n3", taints=[CANDIDATE])])

    assert set() == view.node_makers(view.nodes.named(["n1"]))
    assert {KARPENTER} == view.node_makers(view.nodes.named(["n1", "n2"]))
    assert {KARPENTER, CLUSTER_AUTOSCALER} == view.node_makers(view.nodes.all)


def test_a_cluster_that_serves_node_pools_has_karpenter_before_its_first_node():
    served = replace(snapshot(node("n1", labels={GROUPS[0]: "main"})), serves_node_pools=True)

    assert {KARPENTER} == served.node_makers(0)
    assert [
        "Karpenter makes nodes here; evenkeel does not simulate it. The events of a Pod say what it does for the Pod."
    ] == list(makers_note(served))


def test_cluster_autoscaler_sees_no_soft_constraint():
    (note,) = makers_note(snapshot(node("n1", taints=[CANDIDATE])))

    assert note.startswith("cluster-autoscaler makes nodes here, but none for a soft constraint; ")


def test_groups_of_a_cloud_prove_no_autoscaler():
    groups = [
        node("a", labels={GROUPS[0]: "x"}),
        node("b", labels={GROUPS[2]: "y"}),
        node("c", labels={GROUPS[2]: "z"}),
    ]

    assert [
        "Nodes here are in EKS node groups and AKS node pools. An autoscaler may add some, but no node says so; "
        "evenkeel does not simulate it."
    ] == list(makers_note(snapshot(*groups)))
    assert [] == list(makers_note(snapshot(node("n1"))))


def added(*objects, like="a1", labels=None, **spec):
    """What is said of a change that adds a node like one of these, with other labels."""
    cycle = attempted(*objects, **spec)
    more = with_new(cycle, next(node for node in cycle.snapshot.nodes if node.name == like), labels or {})
    return by_itself(Remedy("add a node", NOW, (NEW_NODE,), more))


GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATING = {"tolerations": [{"operator": "Exists"}]}
TAINTED = node("a1", labels=GENERAL, taints=[GPU])
OF_GENERAL = "Karpenter adds no node of NodePool general: its nodes have the taint nvidia.com/gpu=present:NoSchedule"
MAY = "Karpenter may add it by itself"


@pytest.mark.parametrize(
    ("objects", "spec", "said"),
    [
        ([node("a1")], {}, ""),
        ([node("a1", labels={GROUPS[0]: "main"})], {}, ""),
        ([node("a1", labels=GENERAL)], {}, MAY),
        ([node("a1", labels={GROUPS[0]: "main"}), node_pool("general")], {}, MAY),
        ([node("a1", taints=[CANDIDATE])], {}, "cluster-autoscaler may add it by itself"),
        ([node("a1", labels=GENERAL, taints=[CANDIDATE])], {}, "Karpenter or cluster-autoscaler may add it by itself"),
        (
            [node("a1", labels={POOL: "fixed"}), FIXED, node_pool("general")],
            {},
            "Karpenter adds no node of NodePool fixed, whose replicas are fixed",
        ),
        ([TAINTED], {}, OF_GENERAL),
        (
            [TAINTED, node("b1", labels=GENERAL, taints=[GPU, CANDIDATE])],
            {"like": "b1"},
            OF_GENERAL.replace("Karpenter", "Karpenter or cluster-autoscaler"),
        ),
        ([TAINTED], TOLERATING, MAY),
        ([TAINTED, node("b1", labels=GENERAL)], {}, MAY),
        *[([node("a1", labels=GENERAL, taints=[taint])], {}, MAY) for taint in (NOT_READY, STARTING, UNREGISTERED)],
        (
            [node("a1", labels={GROUPS[1]: "infra"}, taints=[GPU]), node("b1", taints=[GOING])],
            {},
            OF_GENERAL.replace("Karpenter", "cluster-autoscaler").replace("NodePool general", "GKE node pool infra"),
        ),
    ],
)
def test_a_node_that_is_added_by_itself_or_not(objects, spec, said):
    assert said == added(*objects, **spec)


OF_INFRA = "perhaps no node of NodePool infra: its nodes have the taint dedicated=infra:NoSchedule"
OF_GPU = "no node of NodePool infra: its nodes have the taint nvidia.com/gpu=present:NoSchedule"
SHUT = [node(f"c{i}", "c", labels={POOL: "infra"}, taints=[INFRA]) for i in range(2)]
MADE = [node("a1", "a", labels=GENERAL), node("b1", "b", labels=GENERAL)]


@pytest.mark.parametrize(
    ("objects", "spec", "zone", "said"),
    [
        ([*MADE, *SHUT], {}, "c", f"{MAY}, but {OF_INFRA}"),
        ([*MADE, *SHUT], TOLERATING, "c", MAY),
        ([*MADE, SHUT[0]], {}, "c", MAY),  # a person may have tainted one node
        ([*MADE, node("c1", "c", labels={POOL: "infra"}, taints=[GPU])], {}, "c", f"{MAY}, but {OF_GPU}"),
        ([*MADE, node("c1", "c", labels={POOL: "infra"}, taints=[INFRA, GPU])], {}, "c", f"{MAY}, but {OF_GPU}"),
        ([*MADE, *SHUT, node("c9", "c", labels={POOL: "infra"}, taints=[GPU])], {}, "c", MAY),
        ([*MADE, *SHUT], {}, "b", MAY),
        ([*MADE, *SHUT], {}, "a new zone", MAY),
        ([*MADE, *SHUT, node("c9", "c", labels=GENERAL)], {}, "c", MAY),
        ([*MADE, *SHUT, node("c9", "c")], {}, "c", MAY),
        (
            [*MADE, *SHUT, node("c9", "c", labels={POOL: "fixed"}), FIXED],
            {},
            "c",
            f"{MAY}, but no node of NodePool fixed, whose replicas are fixed, {OF_INFRA}",
        ),
        ([*MADE, node("c1", "c", labels={GROUPS[0]: "x"}, taints=[NOT_READY])], {}, "c", MAY),
    ],
)
def test_a_zone_whose_pools_the_pod_does_not_tolerate(objects, spec, zone, said):
    assert said == added(*objects, labels={ZONE: zone}, **spec)


def said_of_added(*objects, **spec):
    """What is said of each change that adds a node."""
    cycle = attempted(*objects, **spec)
    return [by_itself(remedy) for remedy in remedies(cycle, find_feasible(cycle)) if "add a node" in remedy.change]


@pytest.mark.parametrize("fixed", ["fixed", "zfixed"])
@pytest.mark.parametrize(
    "sizes",
    [
        {"a1": "4", "b1": "4"},  # alike
        {"a1": "4", "a2": "4", "b1": "8"},  # the commonest size is that of the fixed pool
        {"a1": "8", "b1": "1"},  # only the fixed pool has a node that is large enough
        {"a1": "2", "b1": "1"},  # neither has, and the fixed pool lacks less
    ],
)
def test_the_name_of_a_fixed_pool_decides_nothing(fixed, sizes):
    pools = {"a": fixed, "b": "general"}
    nodes = [node(name, "z", cpu=cpu, labels={POOL: pools[name[0]]}) for name, cpu in sizes.items()]
    full = [running(name, cpu) for name, cpu in sizes.items()]
    said = said_of_added(*nodes, *full, node_pool(fixed, replicas=3), node_pool("general"), cpu="3")

    only_fixed = max(sizes.values()) == "8" and sizes["b1"] == "1"
    wanted = f"Karpenter adds no node of NodePool {fixed}, whose replicas are fixed" if only_fixed else MAY
    assert said and {wanted} == {*said}


def test_a_fixed_pool_in_the_zone_is_no_model_for_a_node_that_another_pool_may_have_there():
    nodes = [node("a1", "a", labels={POOL: "fixed"}), node("b1", "b", labels=GENERAL), running("a1"), running("b1")]
    closed = node("c1", "c", labels={POOL: "fixed"}, taints=[INFRA])
    said = said_of_added(*nodes, closed, FIXED, node_pool("general"), constraints=[spread()])

    assert f"{MAY}, but no node of NodePool fixed, whose replicas are fixed" in said
    assert all(text.startswith(MAY) for text in said)


def test_a_change_that_adds_no_node_is_never_made_by_itself():
    cycle = attempted(node("a1", labels=GENERAL))

    assert "" == by_itself(Remedy("uncordon a1", NOW, ("a1",), cycle))
