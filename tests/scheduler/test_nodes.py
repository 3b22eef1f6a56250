"""Nodes, and what a Pod asks of them, as apimachinery and component-helpers answer it."""

from __future__ import annotations

import pytest

from webhook.objects.fields import path_text
from webhook.objects.reading import Reader
from webhook.scheduler.nodes import (
    DO_NOT_SCHEDULE,
    Node,
    Taint,
    Toleration,
    read_incoming_pod,
    read_taints,
    untolerated_taint,
)

NODE = Node("n1", {"disk": "ssd", "gen": "7", "odd": "+8"})
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


def pod(*terms, **spec):
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}}
    return {"spec": spec | ({"affinity": affinity} if terms else {})}


def matches(raw):
    reader = Reader()
    found = read_incoming_pod(reader, raw)
    assert [] == reader.errors
    return found.affinity.matches(NODE)


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


def test_what_has_a_wrong_type_is_named_and_reads_as_absent():
    reader = Reader()
    found = read_incoming_pod(
        reader,
        {"metadata": {"labels": []}, "spec": {"nodeSelector": "x", "affinity": [], "tolerations": [{"key": 5}, None]}},
    )
    read_taints(reader, {"key": "x"}, ("spec", "taints"))

    assert ("", {}, True) == (found.namespace, found.labels, found.affinity.matches(NODE))
    assert [
        "metadata.labels",
        "spec.nodeSelector",
        "spec.affinity",
        "spec.tolerations[0].key",
        "spec.taints",
    ] == [path_text(error.path) for error in reader.errors]


def test_affinity_without_terms_is_met_by_no_node():
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}

    assert not matches({"spec": {"affinity": required}})
