"""Nodes, their taints, and sets of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.images import NodeImage
from evenkeel.scheduler.scheduler_nodes import SchedulerNode, another
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.names import HOSTNAME
from webhook.kubernetes.reader import Reader
from webhook.spread.nodes import Node, Nodes
from webhook.spread.taints import DO_NOT_SCHEDULE, Taint, Toleration, read_taints, untolerated_taint

TAINT = Taint("dedicated", "infra", "NoSchedule")


def toleration(key="", operator="", value="", effect=""):
    return Toleration(key, operator, value, effect)


TOLERATED = [
    ("equal without an operator", toleration("dedicated", "", "infra"), True),
    ("equal", toleration("dedicated", "Equal", "infra", "NoSchedule"), True),
    ("another value", toleration("dedicated", "Equal", "x"), False),
    ("another key", toleration("x", "Exists"), False),
    ("another effect", toleration("dedicated", "Exists", "", "NoExecute"), False),
    ("whatever its value", toleration("dedicated", "Exists"), True),
    ("everything", toleration(operator="Exists"), True),
    ("any key with that value", toleration(operator="Equal", value="infra"), True),
    ("an operator that is switched off", toleration("dedicated", "Gt", "infra"), False),
]


@pytest.mark.parametrize(("name", "one", "tolerated"), TOLERATED, ids=[case[0] for case in TOLERATED])
def test_a_toleration(name, one, tolerated):
    assert (None if tolerated else TAINT) == untolerated_taint([TAINT], [one], DO_NOT_SCHEDULE)


def test_only_some_effects_are_asked_for():
    preferred = TAINT._replace(effect="PreferNoSchedule")
    evicting = TAINT._replace(effect="NoExecute")

    assert evicting == untolerated_taint([preferred, evicting, TAINT], [], DO_NOT_SCHEDULE)
    assert None is untolerated_taint([preferred], [], DO_NOT_SCHEDULE)


def test_taints_of_a_wrong_type_are_named():
    reader = Reader()

    assert () == read_taints(reader, {"key": "x"}, ("spec", "taints"))
    assert ["spec.taints"] == [path_text(error.path) for error in reader.errors]


@pytest.fixture
def several():
    preferred = TAINT._replace(effect="PreferNoSchedule")
    return Nodes(
        [
            Node("n1", {"zone": "a"}),
            Node("n2", {"zone": "b"}, (TAINT,)),
            Node("n3", {"zone": "a"}, (preferred, TAINT), unschedulable=True),
            Node("n4", {"rack": "1"}),
        ]
    )


def test_sets_of_nodes(several):
    def names(chosen):
        return list(several.names(chosen))

    assert ["n1", "n2", "n3", "n4"] == names(several.all) == [node.name for node in several.members(several.all)]
    assert ["n2", "n4"] == names(several.named(["n4", "n2", "absent"]))
    assert ["n1", "n2", "n3"] == names(several.carrying("zone"))
    assert {"a": ["n1", "n3"], "b": ["n2"]} == {zone: names(those) for zone, those in several.domains("zone").items()}
    assert ["n3"] == names(several.unschedulable)
    assert ([], {}, 0) == (names(0), several.domains("absent"), several.carrying("absent"))
    assert ("n2", None) == (several.get("n2").name, several.get("n5"))
    assert {"zone", "rack"} == several.label_keys


def test_nodes_that_are_tainted(several):
    tolerant = [toleration("dedicated", "Exists")]

    assert {TAINT: ["n2", "n3"]} == {
        taint: list(several.names(those)) for taint, those in several.untolerated([]).items()
    }
    assert ["n1", "n4"] == list(several.names(several.tolerated([])))
    assert several.all == several.tolerated(tolerant)


def test_domains_of_some_nodes(several):
    placed = several.placed("zone", several.named(["n2", "n3", "n4"]))

    assert ({"n2": "b", "n3": "a"}, {"a", "b"}) == (placed.of, placed.all)


def test_what_is_kept_is_bounded():
    nodes = Nodes(Node(f"n{i}", {"zone": "a"}) for i in range(200))
    found = [nodes.placed("zone", 1 << i).of for i in range(200)]

    assert [{f"n{i}": "a"} for i in range(200)] == found
    assert len(nodes._placed) <= 32


def test_no_node_is_no_set():
    nodes = Nodes()

    assert (0, 0, [], {}) == (len(nodes), nodes.all, list(nodes.members(nodes.all)), nodes.untolerated([]))


@given(st.sets(st.integers(0, 299)))
def test_a_set_holds_the_nodes_that_were_put_in(chosen):
    nodes = Nodes(Node(f"n{i}", {}) for i in range(300))
    found = nodes.named(f"n{i}" for i in chosen)

    assert [f"n{i}" for i in sorted(chosen)] == list(nodes.names(found))
    assert len(chosen) == found.bit_count()


def test_a_key_that_no_node_carries_is_not_kept(several):
    """Whoever writes Pods writes such keys."""
    for i in range(100):
        assert (0, {}) == (several.carrying(f"k{i}"), several.domains(f"k{i}"))

    assert set() == {key for kept in (several._carried, several._domains) for key in kept if key.startswith("k")}


def test_the_label_keys_of_nodes():
    nodes = Nodes([Node("a", {"x": "1", "y": "1"}), Node("b", {"x": "2"})])

    assert ({"x", "y"}, {"x"}) == (nodes.label_keys, nodes.common_label_keys)
    assert (set(), set()) == (Nodes().label_keys, Nodes().common_label_keys)


def test_domains_are_counted_whether_or_not_each_has_one_node(several):
    """As the set of their names has it."""
    for key in sorted(several.label_keys):
        for chosen in range(several.all + 1):
            assert len(several.placed(key, chosen).all) == several.number_of_domains(key, chosen)


@pytest.mark.parametrize(
    ("node", "closed"),
    [(Node("a", {}), False), (Node("a", {}, (TAINT,)), True), (Node("a", {}, unschedulable=True), True)],
    ids=["free", "tainted", "cordoned"],
)
def test_whether_any_node_is_closed_to_some(node, closed):
    assert closed is Nodes([Node("b", {}), node]).closed_to_some


def test_nodes_in_service_have_neither_cordons_nor_taints_of_controllers():
    not_ready = Taint("node.kubernetes.io/not-ready", "", "NoExecute")
    nodes = Nodes([Node("a", {}, (not_ready, TAINT)), Node("b", {}, unschedulable=True), Node("c", {})])

    assert Nodes([Node("a", {}, (TAINT,)), Node("b", {}), Node("c", {})]) == nodes.in_service
    assert nodes.in_service.in_service == nodes.in_service


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        (Node("b", {"x": "1"}, (TAINT,)), True),
        (Node("b", {"x": "1"}, unschedulable=True), True),
        (Node("b", {"x": "2"}), False),
        (Node("b", {}), False),
        (Node("c", {"x": "1"}), False),
        (None, False),
    ],
    ids=["a taint", "a cordon", "another label", "a label less", "another name", "a node less"],
)
def test_what_is_known_of_labels_is_kept_while_they_are_the_same(changed, kept):
    a, b = Node("a", {"x": "1"}), Node("b", {"x": "1"})
    before = Nodes([a, b])
    before.domains("x"), before.carrying("x"), before.placed("x", 1)
    there = [a, *([changed] if changed else [])]
    after = before.replaced_by(there)

    assert kept is (after._domains is before._domains)
    assert Nodes(there) == after
    assert [Nodes(there).domains("x"), Nodes(there).carrying("x")] == [after.domains("x"), after.carrying("x")]
    assert Nodes(there).by_taints == after.by_taints
    assert Nodes(there).unschedulable == after.unschedulable
    assert (0b11, {}) == (before.all, before.by_taints)


def test_a_new_node_has_a_hostname_of_its_own_and_no_images_yet():
    like = SchedulerNode(
        "n1", {HOSTNAME: "host-1", "name": "n1", "zone": "a"}, unschedulable=True, images=(NodeImage(("a",), 1),)
    )
    new = another(like, "new", {"zone": "b"})

    assert SchedulerNode("new", {HOSTNAME: "new", "name": "new", "zone": "b"}) == new


@pytest.mark.parametrize("chosen", [0, 1 << 39, 1 << 3 | 1 << 20 | 1 << 39, (1 << 40) - 1], ids=bin)
def test_nodes_are_grouped_whether_few_are_chosen_or_all(chosen):
    nodes = Nodes([Node(f"n{i}", {"even": str(i % 2)}) for i in range(40)])
    groups = nodes.grouped(chosen, lambda node: node.labels["even"])

    assert {name for group in groups.values() for name in nodes.names(group)} == set(nodes.names(chosen))
    assert all(node.labels["even"] == even for even, group in groups.items() for node in nodes.members(group))
