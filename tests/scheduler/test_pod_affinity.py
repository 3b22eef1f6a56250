"""The terms of a Pod, as they are read, and the Pods that they select."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.pod_affinity import PodAffinity, preferring, read_pod_affinity
from webhook.kubernetes.reader import Reader

REQUIRED, PREFERRED = (f"{when}DuringSchedulingIgnoredDuringExecution" for when in ("required", "preferred"))


def term(**fields):
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, **fields}


def read(raw):
    reader = Reader()
    found = read_pod_affinity(reader, raw, "shop")
    assert [] == reader.errors
    return found


def test_terms_stand_where_they_are_written_and_what_is_unwanted_weighs_less_than_nothing():
    weighted = [{"weight": 7, "podAffinityTerm": term(topologyKey="rack")}]
    found = read(
        {
            "podAffinity": {REQUIRED: [term(), term(topologyKey="rack")], PREFERRED: weighted},
            "podAntiAffinity": {REQUIRED: [term(topologyKey="host")], PREFERRED: weighted},
        }
    )

    assert ["zone", "rack"] == [one.topology_key for one in found.affinity]
    assert ["host"] == [one.topology_key for one in found.anti_affinity]
    assert [(7, "rack"), (-7, "rack")] == [(weight, one.topology_key) for weight, one in found.preferred]


@pytest.mark.parametrize("raw", [None, {}, {"podAffinity": None}, {"podAffinity": {REQUIRED: None}}])
def test_what_is_absent_asks_for_nothing(raw):
    assert PodAffinity() == read(raw)


@pytest.mark.parametrize(
    ("fields", "selected"),
    [
        ({}, {"shop"}),
        ({"namespaces": ["pay"]}, {"pay"}),
        ({"namespaceSelector": {}}, {"shop", "pay", "dev"}),
        ({"namespaceSelector": {"matchLabels": {"team": "pay"}}}, {"pay"}),
        ({"namespaces": ["shop"], "namespaceSelector": {"matchLabels": {"team": "pay"}}}, {"shop", "pay"}),
        ({"namespaces": [], "namespaceSelector": None}, {"shop"}),
        ({"labelSelector": None}, set()),
        ({"labelSelector": {}}, {"shop"}),
        ({"labelSelector": {"matchLabels": {"app": "db"}}}, set()),
    ],
)
def test_namespaces_and_labels_select_pods(fields, selected):
    (one,) = read({"podAffinity": {REQUIRED: [term(**fields)]}}).affinity
    namespaces = {"shop": {"team": "shop"}, "pay": {"team": "pay"}, "dev": {}}

    assert selected == {name for name, labels in namespaces.items() if one.selects(name, {"app": "web"}, labels)}


def test_a_field_of_a_wrong_type_is_named():
    reader = Reader()
    read_pod_affinity(reader, {"podAntiAffinity": {REQUIRED: [{"topologyKey": 3}]}}, "shop")

    assert [("spec", "affinity", "podAntiAffinity", REQUIRED, 0, "topologyKey")] == [one.path for one in reader.errors]


@pytest.mark.parametrize(
    ("terms", "namespaces"),
    [
        ([], set()),
        ([{}, {"namespaces": ["pay"]}], {"shop", "pay"}),
        ([{}, {"namespaceSelector": {}}], None),
    ],
)
def test_the_namespaces_of_all_terms(terms, namespaces):
    assert namespaces == read({"podAntiAffinity": {REQUIRED: [term(**fields) for fields in terms]}}).namespaces


@pytest.mark.parametrize(
    ("index", "apart", "wanted"),
    [
        (0, False, (["rack"], ["host", "rack"], [(100, "zone")])),
        (1, True, (["zone", "rack"], ["host"], [(-100, "rack")])),
    ],
)
def test_one_required_term_is_preferred_instead(index, apart, wanted):
    near, off = ([term(topologyKey=key) for key in keys] for keys in (("zone", "rack"), ("host", "rack")))
    found = preferring(read({"podAffinity": {REQUIRED: near}, "podAntiAffinity": {REQUIRED: off}}), index, apart=apart)

    assert wanted == (
        [one.topology_key for one in found.affinity],
        [one.topology_key for one in found.anti_affinity],
        [(weight, one.topology_key) for weight, one in found.preferred],
    )
