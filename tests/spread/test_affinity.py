"""What a Pod asks of a node's labels and name, as component-helpers answers it."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.incoming import read_incoming_pod
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.reader import Reader
from webhook.spread.nodes import Node, Nodes

NODES = [Node("n0", {"zone": "a"}), Node("n1", {"disk": "ssd", "gen": "7", "odd": "+8", "zeros": "8".zfill(63)})]


def matching(affinity):
    nodes = Nodes(NODES)
    return list(nodes.names(affinity.matching(nodes)))


def pod(*terms, **spec):
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}}
    return {"spec": spec | ({"affinity": affinity} if terms else {})}


def matches(raw):
    reader = Reader()
    found = read_incoming_pod(reader, raw, LATEST)
    assert [] == reader.errors
    return "n1" in matching(found.affinity)


def term(key, operator, *values, field="matchExpressions"):
    return {field: [{"key": key, "operator": operator, "values": list(values)}]}


NAMED, UNNAMED = (term("metadata.name", "In", name, field="matchFields") for name in ("n1", "n2"))
AFFINE = [
    ("a Pod that asks nothing", pod(), True),
    ("a node selector", pod(nodeSelector={"disk": "ssd"}), True),
    ("another one", pod(nodeSelector={"disk": "hdd"}), False),
    ("both must hold", pod(term("disk", "In", "ssd"), nodeSelector={"disk": "hdd"}), False),
    ("In", pod(term("disk", "In", "hdd", "ssd")), True),
    ("NotIn", pod(term("disk", "NotIn", "ssd")), False),
    ("NotIn of an absent label", pod(term("rack", "NotIn", "a")), True),
    ("Exists", pod(term("disk", "Exists")), True),
    ("DoesNotExist", pod(term("disk", "DoesNotExist")), False),
    ("Gt", pod(term("gen", "Gt", "6")), True),
    ("Gt of the same", pod(term("gen", "Gt", "7")), False),
    ("Lt", pod(term("gen", "Lt", "8")), True),
    ("Gt of what is no integer", pod(term("disk", "Gt", "6")), False),
    ("Gt of an absent label", pod(term("rack", "Gt", "6")), False),
    ("Gt of a label that Go reads as an integer", pod(term("odd", "Gt", "7")), True),
    ("Lt of one with many zeros", pod(term("zeros", "Lt", "9")), True),
    ("a name", pod(NAMED), True),
    ("another name", pod(UNNAMED), False),
    ("not that name", pod(term("metadata.name", "NotIn", "n1", field="matchFields")), False),
    ("another field", pod(term("metadata.uid", "In", "x", field="matchFields")), False),
    ("a term of both", pod({**NAMED, **term("disk", "In", "hdd")}), False),
    ("one of two terms", pod(UNNAMED, NAMED), True),
    ("an empty term matches nothing", pod({}), False),
    ("a term that cannot be parsed matches nothing", pod(term("gen", "Gt", "x")), False),
    ("nor with a value too many", pod(term("gen", "Gt", "1", "2")), False),
    ("nor one beyond 64 bits", pod(term("gen", "Lt", str(1 << 63))), False),
    ("nor In of nothing", pod(term("disk", "In")), False),
    ("nor Exists with values", pod(term("disk", "Exists", "ssd")), False),
    ("nor an unknown operator", pod(term("disk", "Is", "ssd")), False),
    ("nor a key that is none", pod(term("a/b/c", "NotIn", "x")), False),
    ("nor a value that is none", pod(term("rack", "NotIn", "x y")), False),
    ("nor two names", pod(term("metadata.name", "In", "n1", "n2", field="matchFields")), False),
    ("but the term beside it does", pod(term("gen", "Gt", "x"), NAMED), True),
]


@pytest.mark.parametrize(("name", "raw", "matching"), AFFINE, ids=[case[0] for case in AFFINE])
def test_what_a_pod_asks_of_a_node(name, raw, matching):
    assert matching == matches(raw)


def test_affinity_without_terms_is_met_by_no_node():
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}

    assert not matches({"spec": {"affinity": required}})


def names(*terms):
    return read_incoming_pod(Reader(), pod(*terms), LATEST).affinity.names


def named(*values):
    return term("metadata.name", "In", *values, field="matchFields")


@pytest.mark.parametrize(
    ("terms", "restricted"),
    [
        ((), None),
        ((named("n1"),), {"n1"}),
        ((named("n1"), named("n2")), {"n1", "n2"}),
        ((named("n1", "n2"),), {"n1", "n2"}),
        (({"matchFields": [*named("n1")["matchFields"], *named("n2")["matchFields"]]},), set()),
        ((named("n1"), term("disk", "Exists")), None),
        ((named("n1"), {}), None),
        ((term("metadata.name", "NotIn", "n1", field="matchFields"),), None),
    ],
    ids=["no term", "one", "two terms", "two values", "in conflict", "a term without", "an empty term", "NotIn"],
)
def test_names_that_restrict_every_term(terms, restricted):
    assert restricted == names(*terms)


def preferring(*terms):
    preferred = [{"weight": weight, "preference": one} for weight, one in terms]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    found = read_incoming_pod(Reader(), {"spec": {"affinity": affinity}}, LATEST).preferred
    return found and [(one.weight, matching(one.term)) for one in found]


def test_what_is_preferred():
    assert None is read_incoming_pod(Reader(), {}, LATEST).preferred
    assert () == preferring()  # The plugin gives every node 0 then, and without the field it gives none.
    assert [(5, ["n1"]), (1, ["n0"])] == preferring((5, term("disk", "In", "ssd")), (1, term("zone", "Exists")))


def test_a_preference_without_weight_or_that_matches_nothing_is_left_out():
    assert () == preferring((0, term("disk", "Exists")), (5, {}), (5, term("gen", "Gt", "x")))


LEFT = [
    ("a Pod that asks nothing", pod(), None),
    ("a node selector", pod(nodeSelector={"zone": "a", "disk": "ssd"}), "a"),
    ("of another label", pod(nodeSelector={"disk": "ssd"}), None),
    ("In", pod(term("zone", "In", "a", "b")), "a b"),
    ("one of two terms", pod(term("zone", "In", "a"), term("zone", "In", "b", "c")), "a b c"),
    ("a term without the key leaves it open", pod(term("zone", "In", "a"), term("disk", "In", "ssd")), None),
    (
        "several of one key",
        pod(
            both := {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["a", "b"]},
                    {"key": "zone", "operator": "In", "values": ["b", "c"]},
                    {"key": "zone", "operator": "Exists"},
                ]
            }
        ),
        "b",
    ),
    ("and a node selector", pod(both, nodeSelector={"zone": "a"}), ""),
    ("a node selector of every term", pod(term("zone", "In", "a", "b"), nodeSelector={"zone": "b"}), "b"),
    ("NotIn", pod(term("zone", "NotIn", "a")), None),
    ("Exists", pod(term("zone", "Exists")), None),
    ("DoesNotExist", pod(term("zone", "DoesNotExist")), None),
    ("Gt", pod(term("zone", "Gt", "6")), None),
    ("an empty term matches nothing", pod({}, term("zone", "In", "a")), "a"),
    ("terms that match nothing", pod({}), ""),
    ("a name leaves it open", pod(NAMED), None),
]


@pytest.mark.parametrize(("raw", "left"), [given[1:] for given in LEFT], ids=[given[0] for given in LEFT])
def test_the_values_that_are_left(raw, left):
    found = read_incoming_pod(Reader(), raw, LATEST).affinity.values("zone")

    assert (None if left is None else {*left.split()}) == found


@pytest.mark.parametrize("key", ["zone", "disk", "gen", "rack"])
@pytest.mark.parametrize("raw", [given[1] for given in AFFINE + LEFT], ids=[given[0] for given in AFFINE + LEFT])
def test_a_node_that_matches_has_one_of_the_values_that_are_left(raw, key):
    affinity, nodes = read_incoming_pod(Reader(), raw, LATEST).affinity, Nodes(NODES)
    left = affinity.values(key)

    assert left is None or {node.labels.get(key) for node in nodes.members(affinity.matching(nodes))} <= left
