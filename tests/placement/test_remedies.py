"""What would let a Pod in: only what helps, and nothing larger than it must be."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.placement import remedies as module
from evenkeel.placement.remedies import IN_TEMPLATE, MOST_REMEDIES, NOW, misspelt_keys, remedies
from evenkeel.scheduler.framework import feasible_nodes, find_feasible
from evenkeel.scheduler.profile import USUAL_PROFILE
from tests.support.claims import claim, storage_class, using
from tests.support.placing import HOSTNAME, INFRA, ZONE, attempted, node, requesting, running, spread

OWNED = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}]}
ZONES = [node("a1", "a"), node("b1", "b"), *(running(on, **OWNED) for on in ("a1", "a1", "b1", "b1"))]


def bare(name, on):
    """A Pod on a node that no controller makes again."""
    made = running(on)
    return {**made, "metadata": {**made["metadata"], "name": name}}


def found(cycle):
    return {(one.where, one.change): set(one.nodes) for one in remedies(cycle, find_feasible(cycle))}


TAINTED = node("c1", "c", taints=[INFRA])


def test_a_zone_that_is_shut_and_empty():
    assert {
        (NOW, "remove the taint dedicated=infra:NoSchedule from c1 (zone c)"): {"c1"},
        (NOW, "add a node (such as a1) to zone c"): {"a new node"},
        (NOW, "add a node (such as a1) in a new zone"): {"a new node"},
        (IN_TEMPLATE, "nodeTaintsPolicy: Honor on constraint 0"): {"a1", "b1"},
        (IN_TEMPLATE, "maxSkew: 3 on constraint 0"): {"a1", "b1"},
        (IN_TEMPLATE, "add a toleration of dedicated=infra:NoSchedule"): {"c1"},
        (IN_TEMPLATE, "whenUnsatisfiable: ScheduleAnyway on constraint 0"): {"a1", "b1"},
        (IN_TEMPLATE, "remove constraint 0"): {"a1", "b1"},
    } == found(attempted(*ZONES, TAINTED, constraints=[spread()]))


def test_the_smallest_max_skew_is_named_and_no_larger_one():
    cycle = attempted(node("a1", "a"), node("b1", "b", taints=[INFRA]), running("a1"), constraints=[spread()])

    assert {(IN_TEMPLATE, "maxSkew: 2 on constraint 0")} == {one for one in found(cycle) if "maxSkew" in one[1]}


def test_the_smallest_max_skew_of_many_that_open_a_domain():
    """Zone 0 has no Pod, and zone 64 has 64; only that one is not shut."""
    zones = [node(f"n{zone}", f"z{zone}", taints=[INFRA] if zone < 64 else []) for zone in range(65)]
    there = [running(f"n{zone}") for zone in range(65) for _ in range(zone)]

    assert {"n64"} == found(attempted(*zones, *there, constraints=[spread()]))[
        IN_TEMPLATE, "maxSkew: 65 on constraint 0"
    ]


def test_of_many_nodes_little_is_tried_and_of_each_group(monkeypatch):
    """Without a bound, each of eight zones with too many Pods is tried with ever fewer."""
    tried = []
    monkeypatch.setattr(module, "NODES_TRIED", 180)  # twenty tries in nine nodes
    monkeypatch.setattr(module, "_hopeful", lambda _, finders: list(finders))
    monkeypatch.setattr(module, "feasible_nodes", lambda cycle: tried.append(cycle) or feasible_nodes(cycle))
    zones = [node(f"n{zone}", f"z{zone}") for zone in range(8)]
    there = [running(f"n{zone}") for zone in range(8) for _ in range(41)]
    cycle = attempted(*zones, node("shut", "shut", taints=[INFRA]), *there, constraints=[spread(), spread(HOSTNAME)])

    assert {NOW, IN_TEMPLATE} == {where for where, _ in found(cycle)}
    assert 20 < len(tried) < 60


def test_a_cordoned_node_is_uncordoned():
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cycle = attempted(*ZONES, node("c1", "c", unschedulable=True, taints=[cordon]), constraints=[spread()])

    assert {"c1"} == found(cycle)[NOW, "uncordon c1 (zone c)"]
    assert not [one for one in found(cycle) if "toleration" in one[1]]  # of a taint that the node itself sets


def test_of_a_zone_a_node_is_uncordoned_before_one_is_untainted():
    cordoned = node("c2", "c", unschedulable=True)
    changes = [change for _, change in found(attempted(*ZONES, TAINTED, cordoned, constraints=[spread()]))]

    assert ["uncordon c2 (zone c)", "remove the taint dedicated=infra:NoSchedule from c1 (zone c)"] == changes[:2]


def test_a_node_that_is_not_ready_is_not_untainted():
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    changes = [
        change for _, change in found(attempted(*ZONES, node("c1", "c", taints=[not_ready]), constraints=[spread()]))
    ]

    assert not [change for change in changes if "taint" in change.lower() and "Policy" not in change]


def test_a_node_is_never_labelled_as_another():
    unnamed = node("c1", "c")
    del unnamed["metadata"]["labels"][HOSTNAME]
    cycle = attempted(*ZONES, unnamed, constraints=[spread(HOSTNAME)])

    assert [(NOW, f"label c1 with {HOSTNAME}=c1")] == [one for one in found(cycle) if "label" in one[1]]


def test_a_new_node_is_not_one_that_is_called_new():
    cycle = attempted(node("new", "new", cpu="1"), running("new", cpu="1"), constraints=[spread()], cpu="500m")

    assert {"a new node"} == found(cycle)[NOW, "add a node (such as new) to zone new"]
    assert {"a new node"} == found(cycle)[NOW, "add a node (such as new) in a new zone"]


def test_too_few_domains():
    cycle = attempted(*ZONES, constraints=[spread(minDomains=4)])

    assert {"a1", "b1"} == found(cycle)[IN_TEMPLATE, "minDomains: 2 on constraint 0"]


def test_a_key_that_no_node_carries():
    cycle = attempted(node("a1"), constraints=[spread("rack")])

    assert {
        (NOW, "label a1 with its rack (rack)"): {"a1"},
        (IN_TEMPLATE, "whenUnsatisfiable: ScheduleAnyway on constraint 0"): {"a1"},
        (IN_TEMPLATE, "remove constraint 0"): {"a1"},
    } == found(cycle)


def test_no_room():
    cycle = attempted(node("a1", cpu="2"), node("b1", cpu="1"), running("a1", "1500m"), cpu="1500m")

    assert {
        (NOW, "free 1 of cpu on a1"): {"a1"},
        (NOW, "add a node (such as a1)"): {"a new node"},
        (IN_TEMPLATE, "lower the requests: cpu from 1500m to 1"): {"b1"},
    } == found(cycle)


def test_smaller_requests_where_many_nodes_that_are_shut_have_more_room():
    shut = [node(f"shut-{one}", taints=[INFRA], cpu=str(100 + one)) for one in range(70)]
    cycle = attempted(node("a1", cpu="52"), running("a1", "1500m"), *shut, cpu="200")

    assert {"a1"} == found(cycle)[IN_TEMPLATE, "lower the requests: cpu from 200 to 50500m"]


@pytest.mark.parametrize(
    ("used", "change"), [("3", "lower the requests: cpu from 4 to 1"), ("3100m", None), ("5", None)]
)
def test_requests_are_not_lowered_to_less_than_a_quarter(used, change):
    cycle = attempted(node("a1", cpu="4"), running("a1", used), cpu="4")

    assert [change] * bool(change) == [words for _, words in found(cycle) if "lower" in words]


def test_two_changes_where_none_alone_helps():
    cycle = attempted(node("a1", "a", taints=[INFRA], cpu="1"), constraints=[spread("rack")], cpu="2")
    changes = [change for _, change in found(cycle)]

    assert not changes  # three things are wrong
    cycle = attempted(node("a1", "a", taints=[INFRA]), constraints=[spread("rack")])
    changes = [change for _, change in found(cycle)]
    assert changes
    assert all(", and " in change for change in changes)


def test_a_pod_that_nothing_makes_again_is_deleted_on_its_node():
    cycle = attempted(
        node("a1"), node("b1"), bare("one", "a1"), bare("two", "b1"), constraints=[spread(HOSTNAME, minDomains=3)]
    )

    assert {"a1"} == found(cycle)[NOW, "delete Pod one, which no controller creates again (on a1)"]


def test_a_pod_is_deleted_also_for_the_second_constraint():
    there = [node("a1", "a"), node("b1", "b"), bare("one", "a1"), bare("two", "b1")]
    cycle = attempted(*there, constraints=[spread(), spread(HOSTNAME, minDomains=3)])

    assert {"a1"} == found(cycle)[NOW, "delete Pod one, which no controller creates again (on a1)"]


def test_a_pod_that_its_controller_would_make_again_is_not_deleted():
    """Its successor would wait in place of this one."""
    there = [node("a1", "a"), node("b1", "b"), node("c1", "c", taints=[INFRA])]
    owned = [running(on, **OWNED) for on in ("a1", "a1", "b1", "b1")]

    assert not [one for one in found(attempted(*there, *owned, constraints=[spread()])) if "delete" in one[1]]
    mixed = [*owned[1:], bare("one", "a1")]
    assert not [one for one in found(attempted(*there, *mixed, constraints=[spread()])) if "delete" in one[1]]
    named = [bare("one", "a1"), bare("two", "a1"), *owned[2:]]
    assert {"a1"} == found(attempted(*there, *named, constraints=[spread()]))[
        NOW, "delete Pods one and two, which no controller creates again (zone a)"
    ]


def test_what_is_lacking_beside_room_that_is_kept_for_another_pod():
    waiting = running("", "3")
    kept = {**waiting, "spec": {**waiting["spec"], "priority": 9}, "status": {"nominatedNodeName": "a1"}}
    del kept["spec"]["nodeName"]

    assert {"a1"} == found(attempted(node("a1", cpu="4"), kept, cpu="2"))[
        IN_TEMPLATE, "lower the requests: cpu from 2 to 1"
    ]


def test_two_changes_of_which_the_first_shows_what_the_second_is_against():
    cycle = attempted(node("a1", cpu="1", unschedulable=True), cpu="1200m")

    assert {(IN_TEMPLATE, "uncordon a1, and lower the requests: cpu from 1200m to 1"): {"a1"}} == found(cycle)


def test_a_lost_zone_bars_the_others_until_its_nodes_are_deleted():
    lost = [{"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    one, other = (node(name, "c", taints=lost) for name in ("c1", "c2"))
    there = [node("a1", "a"), node("b1", "b"), running("a1", **OWNED), running("b1", **OWNED)]

    cycle = attempted(*there, one, constraints=[spread()])
    assert {"a1", "b1"} == found(cycle)[NOW, "delete node c1, if it is lost for good (zone c)"]
    now = [remedy for remedy in remedies(cycle, find_feasible(cycle)) if remedy.where == NOW]
    assert [remedy for remedy in now if remedy.last_resort] == now[-1:]  # c1 may come back at any moment
    assert "delete node c1" in now[-1].change
    cycle = attempted(*there, one, other, constraints=[spread()])
    assert {"a1", "b1"} == found(cycle)[NOW, "delete nodes c1 and c2, if they are lost for good (zone c)"]
    cycle = attempted(*there, one, node("c3", "c", cpu="0"), constraints=[spread()])
    assert not [change for _, change in found(cycle) if "delete" in change]  # c3 still counts


def test_a_node_that_was_shut_down_is_lost_too():
    out_of_service = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    there = [node("a1", "a"), node("b1", "b"), running("a1", **OWNED), running("b1", **OWNED)]
    changes = found(attempted(*there, node("c1", "c", taints=[out_of_service, unreachable]), constraints=[spread()]))

    assert (NOW, "delete node c1, if it is lost for good (zone c)") in changes
    assert (NOW, "add a node (such as a1) to zone c") not in changes


def test_bare_pods_come_last_and_of_many_nodes_two():
    nodes = [node(f"n{i}") for i in range(9)]
    cycle = attempted(
        *nodes, *(bare(f"p{i}", f"n{i}") for i in range(9)), constraints=[spread(HOSTNAME, minDomains=10)]
    )

    assert [
        "add a node (such as n0)",
        "delete Pod p0, which no controller creates again (on n0)",
        "delete Pod p1, which no controller creates again (on n1)",
    ] == [change for where, change in found(cycle) if where == NOW]


def test_no_more_than_four_pods_are_deleted_for_one():
    def there(number):
        return [node("a1", "a"), *(bare(f"p{i}", "a1") for i in range(number)), node("b1", "b", taints=[INFRA])]

    cycle = attempted(*there(4), constraints=[spread()])
    (deleted,) = (one for one in remedies(cycle, find_feasible(cycle)) if "delete" in one.change)
    assert "delete Pods p0, p1, p2 and p3, which no controller creates again (zone a)" == deleted.change
    assert ("delete", "pod", "p0", "p1", "p2", "p3", "-n", "shop") == deleted.edits[0].arguments
    assert not [one for one in found(attempted(*there(5), constraints=[spread()])) if "delete" in one[1]]


def test_a_misspelt_key_is_put_right_and_no_node_labelled_with_it():
    cycle = attempted(node("a1", "a"), node("b1", "b"), constraints=[spread("kubernetes.io/zone")])

    assert {"kubernetes.io/zone": ZONE} == misspelt_keys(cycle)
    assert (IN_TEMPLATE, f"topologyKey: {ZONE} on constraint 0") == next(iter(found(cycle)))
    assert not [one for one in found(cycle) if "label" in one[1]]


def test_a_well_known_key_is_meant_by_its_last_part_where_nodes_have_it():
    cycle = attempted(node("a1", "a"), node("b1", "b"), constraints=[spread("zone"), spread("region"), spread("rack")])
    single = attempted(node("a1", "a"), node("b1", "b"), constraints=[spread("zone")])

    assert {"zone": ZONE} == misspelt_keys(cycle)
    assert (IN_TEMPLATE, f"topologyKey: {ZONE} on constraint 0") == next(iter(found(single)))
    assert {} == misspelt_keys(attempted(node("a1", "a", labels={"zone": "a"}), constraints=[spread("zone")]))


def test_a_node_gets_the_zone_in_which_it_is_and_no_invented_one():
    """In zone a it would not help: there are too many Pods already."""
    there = [node("a1", "a"), running("a1", **OWNED), node("b1", "b", taints=[INFRA]), node("x1")]

    assert {"x1"} == found(attempted(*there, constraints=[spread()]))[
        NOW, f"label x1 with its zone ({ZONE}), only if its zone is b or a new zone"
    ]


def blank(name, **spec):
    return node(name, labels={ZONE: ""}, **spec)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([blank("x1", taints=[INFRA])], "x1 with its"),
        ([blank("x1", cpu="0")], "x1 with its"),
        ([blank("x1", taints=[INFRA]), blank("x2", cpu="0")], "x1 and x2 with their"),
    ],
    ids=["tainted", "full", "two together"],
)
def test_a_zone_without_a_name_is_put_right_and_gets_no_node(nodes, words):
    there = [node("a1", "a"), node("b1", "b"), running("a1", **OWNED), running("b1", **OWNED)]
    changes = found(attempted(*there, *nodes, constraints=[spread()]))
    (label,) = [change for _, change in changes if "label" in change]

    whose = words.rpartition(" ")[2]
    assert f'in place of "", label {words} zone ({ZONE}), only if {whose} zone is a or b' == label
    assert {"a1", "b1"} == changes[NOW, label]
    assert [] == [change for _, change in changes if "add" in change and 'zone ""' in change]


def test_a_node_more_is_as_large_as_it_must_be():
    cycle = attempted(node("small", "a", cpu="1"), node("large", "a", cpu="4"), running("large", "3"), cpu="2")

    assert (NOW, "add a node (such as large)") in found(cycle)


def test_a_node_more_for_a_claim_where_no_node_has_a_zone():
    there = [node("n1", cpu="4"), running("n1", "3"), storage_class(), claim("data")]

    assert (NOW, "add a node (such as n1)") in found(attempted(*there, cpu="2", **using("data")))


def test_a_node_larger_than_any_there_is():
    cycle = attempted(node("a1"), node("b1", cpu="4"), cpu="12")

    assert {"a new node"} == found(cycle)[NOW, "add a node such as a1, but with at least 12 of cpu"]


def test_a_node_that_has_what_no_node_has():
    gpu = requesting("1")
    gpu[0]["resources"]["requests"]["example.com/gpu"] = "2"
    cycle = attempted(node("a1", taints=[INFRA], cpu="2"), node("a2", cpu="500m"), containers=gpu)

    assert (NOW, "add a node such as a2, but with at least 1 of cpu and 2 of example.com/gpu") in found(cycle)


def test_a_pod_that_nothing_helps():
    assert {} == found(attempted())


def test_an_affinity_that_no_node_meets():
    cycle = attempted(node("a1"), nodeSelector={"disk": "ssd"})

    assert {"a1"} == found(cycle)[IN_TEMPLATE, "remove the nodeSelector and the required node affinity"]


NODES = st.lists(
    st.builds(
        lambda zone, tainted, closed, cpu: (zone, [INFRA] if tainted else [], closed, cpu),
        st.sampled_from(["a", "b", "c", None]),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["0", "1", "8"]),
    ),
    min_size=1,
    max_size=4,
)
CONSTRAINTS = st.lists(
    st.builds(
        lambda key, skew, least: spread(key, maxSkew=skew, minDomains=least),
        st.sampled_from(["topology.kubernetes.io/zone", HOSTNAME]),
        st.integers(1, 2),
        st.integers(1, 4),
    ),
    max_size=2,
    unique_by=lambda one: one["topologyKey"],
)


@given(NODES, st.lists(st.integers(0, 3), max_size=6), CONSTRAINTS)
def test_each_remedy_names_nodes_and_there_are_at_most_eight(nodes, placed, constraints):
    made = [
        node(f"n{i}", zone, taints=taints, unschedulable=closed, cpu=cpu)
        for i, (zone, taints, closed, cpu) in enumerate(nodes)
    ]
    cycle = attempted(*made, *(running(f"n{i % len(nodes)}") for i in placed), constraints=constraints)
    those = remedies(cycle, find_feasible(cycle))

    assert len(those) <= MOST_REMEDIES
    assert all(one.nodes for one in those)
    assert [one.where for one in those] == sorted((one.where for one in those), key=[NOW, IN_TEMPLATE].index)


@pytest.mark.parametrize("number", [300])
def test_a_large_cluster_is_not_tried_node_by_node(number):
    made = [node(f"n{i}", "abc"[i % 3], taints=[INFRA]) for i in range(number)]

    assert 3 >= len([one for one in found(attempted(*made, constraints=[spread()])) if "take the taint" in one[1]])


def test_nothing_is_asked_of_a_resource_that_the_profile_ignores():
    requests = {"cpu": "2", "memory": "64Mi", "example.com/gpu": "3"}
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    profile = replace(USUAL_PROFILE, ignored=frozenset({"example.com/gpu"}))
    cycle = replace(attempted(node("a1", "a", cpu="1"), containers=containers), profile=profile)

    assert {(IN_TEMPLATE, "lower the requests: cpu from 2 to 1")} == {
        one for one in found(cycle) if "requests" in one[1]
    }


def several_constraints(random):
    """An attempt with constraints in a cluster of which some nodes lack a key, are shut or have no room."""
    nodes = []
    for i in range(random.randint(2, 7)):
        labels = {"rack": random.choice("rs")} if random.random() < 0.8 else {}
        shut = {"taints": [INFRA]} if random.random() < 0.2 else {}
        zone = random.choice(("a", "b", "c", None))
        nodes.append(node(f"n{i}", zone, labels=labels, pods=random.choice(("1", "9")), **shut))
    places = [f"n{random.randrange(len(nodes))}" for _ in range(random.randint(1, 8))]
    pods = [running(place, labels={"app": "web"}, **OWNED) for place in places]
    keys = random.sample((ZONE, "rack", HOSTNAME), random.randint(2, 3))
    constraints = [
        spread(key, minDomains=random.choice((1, 1, 3)), nodeTaintsPolicy=random.choice(("Honor", "Ignore")))
        for key in keys
    ]
    return attempted(*nodes, *pods, constraints=constraints)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_passed_over_would_not_help(seed, monkeypatch):
    """A change of a constraint where the others, or something else, refuse all nodes."""
    cycle = several_constraints(Random(seed))
    hopeful = found(cycle)

    monkeypatch.setattr(module, "_hopeful", lambda _, finders: list(finders))

    assert hopeful == found(cycle)


def test_where_other_constraints_refuse_all_nodes_few_changes_of_one_are_tried(monkeypatch):
    zones = [node(f"{zone}{i}", zone, labels={"rack": f"{zone}{i}"}) for zone in "ab" for i in range(3)]
    empty = [node("c1", "c", labels={"rack": "c1"}, taints=[INFRA], cpu="50m"), node("d1", "d", taints=[INFRA])]
    pods = [running(f"{zone}{i}", labels={"app": "web"}) for zone in "ab" for i in range(3) for _ in range(2)]
    cycle = attempted(*zones, *empty, *pods, constraints=[spread(ZONE), spread("rack"), spread(HOSTNAME)])
    feasibility, tried = find_feasible(cycle), list[object]()
    monkeypatch.setattr(module, "feasible_nodes", lambda cycle: tried.append(cycle) or feasible_nodes(cycle))

    remedies(cycle, feasibility)

    assert len(tried) < 100  # and 200 if each change of each constraint is tried
