"""Where a node may be added, and like which."""

from __future__ import annotations

from random import Random

import pytest

from evenkeel.placement.new_nodes import is_fault_domain, model_of_new, places_of_new
from evenkeel.placement.remedies import NOW, remedies
from evenkeel.scheduler.framework import find_feasible
from tests.support.placing import HOSTNAME, INFRA, ZONE, attempted, node, requesting, running, spread

REGION = "topology.kubernetes.io/region"
FARGATE = {"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"}
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
GOING = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}
CANDIDATE = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}
ANY = [{"operator": "Exists"}]


def model(*nodes, labels=None, **fields):
    found = model_of_new(attempted(*nodes, **fields), labels or {})
    return found and found.name


@pytest.mark.parametrize(
    ("first", "fields"),
    [
        (node("a1", "a", taints=[FARGATE], cpu="1"), {}),
        (node("a1", "a", taints=[FARGATE]), {"tolerations": ANY}),
        (node("a1", "a", labels={"eks.amazonaws.com/compute-type": "fargate"}), {}),
        (node("a1", "a", labels={"type": "virtual-kubelet"}, cpu="1000"), {}),
        (node("a1", "a", taints=[CONTROL_PLANE]), {"tolerations": ANY}),
        (node("a1", "a", labels={"node-role.kubernetes.io/control-plane": ""}), {}),
        (node("a1", "a", taints=[GOING]), {"tolerations": ANY}),
        (node("a1", "a", taints=[INFRA]), {}),
        (node("a1", "a", unschedulable=True), {"tolerations": ANY}),
        (node("a1", "a", labels={"disk": "hdd"}), {"nodeSelector": {"disk": "ssd"}}),
        (node("a1", "a", cpu="2"), {"cpu": "3"}),
        (node("a1"), {"constraints": [spread()]}),
    ],
)
def test_a_new_node_is_like_one_that_can_take_the_pod(first, fields):
    """The first would be the model: of two sizes that are as common, the smaller one is."""
    assert "z1" == model(first, node("z1", "z", labels={"disk": "ssd"}, cpu="2000"), **fields)


def test_no_node_is_like_a_new_one():
    assert model(node("a1", taints=[INFRA]), node("b1", taints=[NOT_READY])) is None
    assert model(node("a1", cpu="1"), cpu="2") is None
    assert model() is None


SYSTEM = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
ON_SYSTEM = {"tolerations": ANY, "nodeSelector": {"mode": "system"}}


@pytest.mark.parametrize(
    ("taint", "fields", "named"),
    [
        (SYSTEM, ON_SYSTEM, True),
        ({**SYSTEM, "key": "components.gke.io/gke-managed-components"}, ON_SYSTEM, True),
        (CONTROL_PLANE, ON_SYSTEM, True),
        (CANDIDATE, {}, True),
        ({**GOING, "effect": "PreferNoSchedule"}, {}, True),
        (GOING, {}, False),
        ({**GOING, "key": "karpenter.sh/disrupted"}, {}, False),
    ],
)
def test_where_all_nodes_that_suit_are_full_one_is_added_like_them(taint, fields, named):
    """It has no taint of a controller, and one that is leaving is not named."""
    role = {"node-role.kubernetes.io/control-plane": ""} if taint == CONTROL_PLANE else {}
    suiting = [node(f"{z}1", z, cpu="1", taints=[taint], labels={"mode": "system", **role}) for z in "ab"]
    other = node("o1", "a", cpu="1", taints=[INFRA])
    cycle = attempted(
        *suiting, other, *(running(f"{z}1", "800m") for z in "ab"), constraints=[spread()], cpu="800m", **fields
    )
    added = {found.change: found for found in remedies(cycle, find_feasible(cycle)) if "add a node" in found.change}

    assert {f"add a node (such as {z}1) to zone {z}" if named else f"add a node to zone {z}" for z in "ab"} <= {*added}
    for found in added.values():
        new = found.cycle.snapshot.nodes.get("a new node")
        assert new is not None
        assert [taint["key"]] * (fields == ON_SYSTEM) == [taint.key for taint in new.taints]


@pytest.mark.parametrize("leaving", [{"taints": [GOING]}, {"unschedulable": True}])
def test_where_all_nodes_are_leaving_a_larger_one_names_none(leaving):
    in_control = node("c1", cpu="1", labels={"node-role.kubernetes.io/control-plane": ""})
    changes = [
        found.change
        for cycle in [attempted(in_control, node("a1", cpu="2", **leaving), cpu="3")]
        for found in remedies(cycle, find_feasible(cycle))
    ]

    assert "add a node with at least 3 of cpu" in changes


def test_a_node_that_is_leaving_is_the_model_only_where_no_other_is():
    assert "z1" == model(node("a1", "a", taints=[GOING]), node("a2", "a", taints=[GOING]), node("z1", "z"))
    assert "a1" == model(node("a1", "a", taints=[GOING]), node("z1", "z", taints=[INFRA]))


def test_where_every_node_is_of_the_control_plane_a_new_one_is_like_those():
    assert "a1" == model(node("a1", "a", labels={"node-role.kubernetes.io/control-plane": ""}))


def test_a_node_that_is_full_may_still_be_the_model():
    assert "a1" == model(node("a1", cpu="4", pods="1"), running("a1", "4"), cpu="4")


def test_a_pool_whose_taint_the_pod_tolerates_may_have_the_model():
    spot = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NoSchedule"}
    cycle = attempted(node("a1", "a", taints=[spot]), running("a1"), constraints=[spread()], tolerations=ANY)
    (added,) = (found for found in remedies(cycle, find_feasible(cycle)) if "in a new zone" in found.change)

    assert "a1" == model(node("a1", "a", taints=[spot]), tolerations=ANY)
    new = added.cycle.snapshot.nodes.get("a new node")
    assert new is not None and spot["key"] == new.taints[0].key


def test_the_commonest_size_that_can_take_the_pod():
    """Machines of one type differ by some MiB of memory."""
    small = [node(f"a{i}", cpu="2") for i in range(3)]
    less_memory = node("c2")
    less_memory["status"]["allocatable"]["memory"] = "8190Mi"
    nodes = [*small, node("b1", cpu="64"), node("c1"), less_memory]

    assert "a0" == model(*nodes)
    assert "c2" == model(*nodes, cpu="3")
    assert "b1" == model(*nodes, cpu="9")


def test_of_the_commonest_size_a_node_in_the_place_itself_is_named():
    nodes = [node("a1", "a"), node("b1", "b"), node("b2", "b", cpu="64")]

    assert "b1" == model(*nodes, labels={ZONE: "b"})
    assert "a1" == model(*nodes, labels={ZONE: "z"})


def test_the_answer_is_the_same_when_nodes_are_renamed():
    random = Random(1)
    cpus = {"a": ("2", "4", "4"), "b": ("4", "8"), "c": ("8", "8", "8", "2")}
    kinds = [(zone, cpu, f"pool-{i}") for zone in cpus for i, cpu in enumerate(cpus[zone])]
    kinds += [(zone, cpu, "twin") for zone, cpu, pool in kinds if pool == "pool-0"]
    closed = [node("x1", "a", taints=[FARGATE], cpu="4"), node("x2", "c", taints=[CONTROL_PLANE], cpu="4")]
    answers = set()
    for _ in range(8):
        names = random.sample(range(100), len(kinds))
        pools = {}
        made = []
        for name, (zone, cpu, pool) in zip(names, kinds, strict=True):
            made.append(node(f"n{name}", zone, cpu=cpu, labels={"pool": pool}))
            pools[f"n{name}"] = (zone, cpu, pool)
        full = [running(one["metadata"]["name"], one["status"]["allocatable"]["cpu"]) for one in made]
        cycle = attempted(*made, *closed, *full, constraints=[spread(maxSkew=9)], cpu="3")
        changes = [found.change for found in remedies(cycle, find_feasible(cycle)) if "such as" in found.change]
        answers.add(tuple(str(pools[change.split("such as ")[1].split(")")[0]]) + change[-7:] for change in changes))

    assert 1 == len(answers) and answers != {()}


@pytest.mark.parametrize("names", ["f1 f2 k1 k2", "z1 z2 k1 k2", "k1 k2 a1 a2"])
def test_fargate_s_nodes_are_no_model_whatever_they_are_called(names):
    """Of three domains that minDomains wants, nodes have two."""
    f1, f2, k1, k2 = names.split()
    nodes = [node(f1, "a", taints=[FARGATE], cpu="1"), node(f2, "b", taints=[FARGATE], cpu="1")]
    nodes += [node(k1, "a", cpu="16"), node(k2, "b", cpu="16"), running(k1, "1"), running(k2, "1")]
    cycle = attempted(*nodes, constraints=[spread(minDomains=3)], cpu="1")
    changes = [found.change for found in remedies(cycle, find_feasible(cycle)) if "delete" not in found.change]

    assert [f"add a node (such as {k1}) in a new zone", "minDomains: 2 on constraint 0"] == changes[:2]


def test_the_labels_of_a_place_are_those_that_its_nodes_share():
    nodes = [
        node("a1", "a", labels={REGION: "r1", "rack": "1"}),
        node("b1", "b", labels={REGION: "r1", "rack": "2"}),
        node("b2", "c", labels={REGION: "r1", "rack": "2"}),
    ]

    assert {"rack 1": {ZONE: "a", REGION: "r1", "rack": "1"}, "rack 2": {REGION: "r1", "rack": "2"}} == {
        place: labels for labels, place in places_of_new(attempted(*nodes, constraints=[spread("rack")]))
    }
    assert [({}, "")] == list(places_of_new(attempted(*nodes, constraints=[spread(HOSTNAME)])))


@pytest.mark.parametrize(
    ("zones", "faults"),
    [
        (("0", "1", "eastus-1", "eastus-2"), ["0", "1"]),
        (("0", "1", "2"), []),
        (("1", "rack-a"), []),
        (("1", "2", "dmz-1"), []),
        (("0", "westus-1"), []),
        (("westeurope-1", "westeurope-2"), []),
    ],
)
def test_azure_has_fault_domains_in_place_of_zones(zones, faults):
    cycle = attempted(*(node(f"n{zone}", zone, labels={REGION: "eastus"}) for zone in zones), constraints=[spread()])

    assert faults == [zone for zone in zones if is_fault_domain(cycle.snapshot.nodes, zone)]
    assert sorted({*zones} - {*faults}) == sorted(labels[ZONE] for labels, _ in places_of_new(cycle))


@pytest.mark.parametrize(("zones", "faults"), [(("0", "1", "eastus-1"), ["0", "1"]), (("0", "1", "2"), [])])
def test_nodes_of_aks_tell_fault_domains_from_zones_whatever_their_region(zones, faults):
    aks = {"kubernetes.azure.com/agentpool": "system"}
    cycle = attempted(*(node(f"n{zone}", zone, labels=aks) for zone in zones), constraints=[spread()])

    assert faults == [zone for zone in zones if is_fault_domain(cycle.snapshot.nodes, zone)]


def test_a_zone_that_is_a_number_is_no_fault_domain_without_a_region():
    cycle = attempted(*(node(f"n{zone}", zone) for zone in ("0", "eastus-1", "-1")), constraints=[spread()])

    assert not is_fault_domain(cycle.snapshot.nodes, "0")


def test_no_node_is_added_to_a_zone_without_a_name_and_its_label_is_put_right():
    unnamed = node("n0", labels={ZONE: ""}, taints=[INFRA])
    there = [node("a1", "a"), node("b1", "b"), running("a1"), running("b1")]
    cycle = attempted(*there, unnamed, constraints=[spread()])
    changes = [found.change for found in remedies(cycle, find_feasible(cycle)) if found.where == NOW]

    assert any("label n0 with its zone" in change for change in changes)
    assert not [change for change in changes if change.endswith("to zone ")]


@pytest.mark.parametrize(("kind", "counts"), [("DaemonSet", True), ("Node", True), ("ReplicaSet", False)])
def test_a_new_node_has_the_pods_of_daemon_sets_and_the_static_ones(kind, counts):
    owned = {"ownerReferences": [{"apiVersion": "v1", "kind": kind, "name": "d", "controller": True}]}
    there = [node("a1", "a"), running("a1", "1", **owned), node("b1", "b"), running("b1", "1", **owned)]
    cycle = attempted(*there, cpu="7500m")
    changes = [found.change for found in remedies(cycle, find_feasible(cycle)) if "add a node" in found.change]

    assert ["add a node such as a1, but with at least 8500m of cpu" if counts else "add a node (such as a1)"] == changes
    assert "a1" == model(*there, cpu="7")


def test_a_port_of_a_daemon_set_is_taken_on_a_new_node_too():
    owned = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}]}
    port = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    on_port = running("a1", **owned)
    on_port["spec"]["containers"] = port

    assert model(node("a1", "a"), on_port, containers=port) is None
    assert "b1" == model(node("a1", "a"), on_port, node("b1", "b", cpu="4"), containers=port)


def test_a_node_that_has_more_is_like_the_one_that_lacks_least():
    gpu = requesting("1")
    gpu[0]["resources"]["requests"]["example.com/gpu"] = "2"
    closed = node("a1", taints=[CONTROL_PLANE], cpu="64")
    changes = [
        found.change
        for cycle in [attempted(closed, node("b1", cpu="4"), node("c1", cpu="500m"), containers=gpu)]
        for found in remedies(cycle, find_feasible(cycle))
    ]

    assert "add a node such as b1, but with at least 2 of example.com/gpu" in changes
