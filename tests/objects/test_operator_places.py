"""The places of operators' kinds: each row is well formed, there once and read, and lint judges what stands there."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from tests.support.build import constraint
from tests.support.lint import judged, terms
from webhook.lint.kustomization import Kustomized, read_kustomization
from webhook.loading.inputs import with_operators
from webhook.objects.fields import path_text
from webhook.objects.kinds import FIELD
from webhook.objects.operator_places import (
    FILLS,
    KEEPS,
    LABELS_GIVEN,
    OPERATOR_PLACES,
    REPLICAS,
    RULE_OF_ITS_OWN,
    SETS,
    UNKNOWN,
)
from webhook.objects.operators import places
from webhook.policy.parsing import built_in

NAME, GROUP, KIND = r"[a-z][a-z0-9-]*", r"[a-z0-9.-]+\.[a-z0-9.-]+", "[A-Za-z][A-Za-z0-9]*"
VERSION = "v[0-9]+((alpha|beta)[0-9]+)?"
SOURCE_LINE = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9.-]+ ([0-9a-f]{12}|-) [A-Za-z0-9._/-]+")
KIND_LINE = re.compile(rf"  {NAME} {GROUP}/{VERSION}(,{VERSION})* {KIND}( [a-z0-9-]+)?")
STEP = r"[A-Za-z0-9_]+(\[\*\]|\{\*\})?"
FIELDS = "[A-Za-z]+(,[A-Za-z]+)*"
PLACE_LINE = re.compile(
    rf"    {STEP}(\.{STEP})* (({UNKNOWN}|({FILLS}|{SETS}){FIELDS})"
    rf"|{KEEPS}( {RULE_OF_ITS_OWN}{FIELDS})?( {REPLICAS}{STEP}(\.{STEP})*)?)"
)
LINES = OPERATOR_PLACES.splitlines()
# Each line of a place with that of its kind above it: read here once more, without the code that is tested.
ROWS = [
    (next(above for above in reversed(LINES[:i]) if not above.startswith("    ")), line)
    for i, line in enumerate(LINES)
    if line.startswith("    ")
]
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0].split()[0]} {row[1].split()[0]}")
DEFAULTED = {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": ""}


def test_every_line_is_well_formed_and_stands_below_one_of_its_own():
    forms = {0: SOURCE_LINE, 2: KIND_LINE, 4: PLACE_LINE}
    depths = [len(line) - len(line.lstrip()) for line in LINES]

    assert [] == [line for line, depth in zip(LINES, depths, strict=True) if not forms[depth].fullmatch(line)]
    assert [] == [LINES[i + 1] for i, depth in enumerate(depths[1:]) if depth > depths[i] + 2]
    assert (0, 4) == (depths[0], depths[-1])


def test_no_name_is_of_two_kinds_and_no_place_there_twice():
    kinds = {tuple(line.split()) for line in LINES if KIND_LINE.fullmatch(line)}  # one may stand below two sources

    assert [] == [name for name, times in Counter(kind[0] for kind in kinds).items() if times > 1]
    assert [] == [kind for kind, times in Counter((kind[1], kind[2]) for kind in kinds).items() if times > 1]
    assert [] == [row for row, times in Counter((kind, line.split()[0]) for kind, line in ROWS).items() if times > 1]


def test_every_row_is_a_place():
    """Whatever the order: what is read here, and what the code has read."""
    wanted = {(kind.split()[0], line.split()[0]) for kind, line in ROWS}

    assert wanted == {(place.name, path_text(place.path)) for place in places()}
    assert len(ROWS) == len(places())


@cache
def _terms():
    return terms(policy=with_operators(built_in()))


def planted(row, *constraints):
    """The smallest object that has these constraints in a row's place, in each of its versions, and their path."""
    _, versions, kind, *_ = row[0].split()
    group, _, each = versions.rpartition("/")
    path = row[1].split()[0]
    path = path if path.endswith(FIELD) else f"{path}.spec.{FIELD}"
    value: object = list(constraints)
    for step in reversed(path.split(".")):
        name, wild = re.sub(r"\W", "", step), step[-3:]
        value = {name: [value] if wild == "[*]" else {"one": value} if wild == "{*}" else value}
    objects = [
        {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "web"}, **value}
        for version in each.split(",")
    ]
    return objects, path.replace("[*]", "[0]").replace("{*}", ".one")


def found(row, *constraints):
    """For each version, each finding as its rule and its path behind the place; a note would be one, too."""
    objects, path = planted(row, *constraints)
    for obj in objects:
        result = judged(json.dumps(obj), _terms())
        assert ([], []) == (result.notes, result.problems)
        yield [(one.finding.rule, path_text(one.finding.path).removeprefix(path)) for one in result.found]


@every_row
def test_a_defect_is_found_at_its_path(row):
    for each in found(row, constraint(), constraint(topologyKey="kubernetes.io/zone", maxSkew=-1)):
        assert [("invalid-constraint", "[1].maxSkew"), ("misspelt-topology-key", "[1].topologyKey")] == each


@every_row
def test_what_is_right_has_no_finding(row):
    """Most labels are the operator's: what selects them is not known to be wrong."""
    for each in found(row, constraint(labelSelector={"matchLabels": {"made-by": "an-operator"}})):
        assert [] == each


@every_row
def test_what_the_operator_fills_in_may_be_absent_and_nothing_else(row):
    said = row[1].split()[1]
    named = said.removeprefix(FILLS).removeprefix(SETS)
    filled = {*DEFAULTED, "labelSelector"} if said == UNKNOWN else set(named.split(","))
    for name, empty in DEFAULTED.items():
        wanted = [] if name in filled else [("invalid-constraint", f"[0].{name}")]
        for value in (None, empty):
            assert all(wanted == each for each in found(row, constraint(**{name: value})))
    wanted = [] if "labelSelector" in filled else [("empty-selector", "[0].labelSelector")]
    assert all(wanted == each for each in found(row, constraint(labelSelector=None)))


@every_row
def test_an_empty_selector_is_found_where_it_is_known_that_the_operator_leaves_it(row):
    left = UNKNOWN not in row[1].split() and f"{SETS}labelSelector" not in row[1]
    wanted = [("empty-selector", "[0].labelSelector")] if left else []

    assert all(wanted == each for each in found(row, constraint(labelSelector={})))
    assert all([] == each for each in found(row, constraint(labelSelector={}, matchLabelKeys=["of-the-operator"])))


@every_row
def test_a_selector_that_is_absent_beside_label_keys_is_found_where_nobody_fills_it_in(row):
    keeps = KEEPS in row[1].split() and RULE_OF_ITS_OWN not in row[1]
    wanted = [("invalid-constraint", "[0].matchLabelKeys")] if keeps else []
    each = list(found(row, constraint(labelSelector=None, matchLabelKeys=["of-the-operator"])))

    assert all(wanted == [one for one in of_version if one[0] == "invalid-constraint"] for of_version in each)


def test_a_field_of_the_operators_own_is_known_and_fills_the_selector():
    rows = [row for row in ROWS if RULE_OF_ITS_OWN in row[1]]
    for row in rows:
        own = re.split("[, ]", row[1].partition(RULE_OF_ITS_OWN)[2])[0]
        for selector in (None, {}):
            assert all([] == each for each in found(row, constraint(labelSelector=selector, **{own: "OnResource"})))
        wanted = [("empty-selector", "[0].labelSelector"), ("unknown-field", f"[1].labelSelector.{own}")]
        second = constraint(topologyKey="rack", labelSelector={"matchLabels": {"a": "b"}, own: "x"})
        assert all(wanted == each for each in found(row, constraint(labelSelector={}), second))
    assert rows


LABEL_LINE = re.compile(rf"(?P<key>[a-z0-9./-]+)(?P<yields>\??)(=(?P<value>[a-z]+))?(?P<names>( {NAME})+)")
GIVEN = [
    (match, name)
    for line in LABELS_GIVEN.splitlines()
    if (match := LABEL_LINE.fullmatch(line)) is not None
    for name in match["names"].split()
]
every_label = pytest.mark.parametrize("match, name", GIVEN, ids=lambda given: given if isinstance(given, str) else "")


def test_every_label_is_well_formed_of_a_known_kind_and_there_once():
    assert [] == [line for line in LABELS_GIVEN.splitlines() if not LABEL_LINE.fullmatch(line)]
    assert {name for _, name in GIVEN} <= {place.name for place in places()}
    assert len(GIVEN) == len({(match["key"], name) for match, name in GIVEN})


def selecting(row, metadata, **labels):
    """The rules that are broken by constraints in a row's place that select these labels, in each version."""
    for obj in planted(row, constraint(labelSelector={"matchLabels": labels}))[0]:
        found = judged(json.dumps({**obj, "metadata": metadata}), _terms()).found
        yield [one.finding.rule for one in found]


@every_label
def test_a_selector_of_another_value_than_the_operator_gives_misses_the_pods(match, name):
    rows = [row for row in ROWS if row[0].split()[0] == name]
    key, own, named = match["key"], match["value"] or "prod", {"name": "prod"}
    misses = ["selector-misses-own-pod"]

    for row in rows:
        assert all([] == each for each in selecting(row, named, **{key: own, "other": "x"}))
        assert all(misses == each for each in selecting(row, named, **{key: "my-cluster", "other": "x"}))
        # The name is not known, or is no value of a label.
        for metadata in ({}, {"generateName": "prod-"}, {"name": "a." * 32 + "a"}, {"name": "{{ .Release.Name }}"}):
            unknown = [] if match["value"] is None or "name" not in metadata else misses
            assert all(unknown == each for each in selecting(row, metadata, **{key: "my-cluster"}))
        written = {**named, "labels": {key: "my-cluster"}}
        wanted = [] if match["yields"] else misses
        assert all(wanted == each for each in selecting(row, written, **{key: "my-cluster"}))
    assert rows


def test_the_value_that_the_operator_gives_is_written():
    row = next(row for row in ROWS if row[0].startswith("  dragonfly "))
    expression = {"key": "other", "operator": "Exists"}

    def mended(**selector):
        ((dragonfly,), _) = planted(row, constraint(labelSelector=selector))
        named = json.dumps({**dragonfly, "metadata": {"name": "prod"}})
        return [(one.finding.fix, one.finding.edit and one.finding.edit.value) for one in judged(named, _terms()).found]

    right = {"matchLabels": {"app": "prod", "other": "x"}}
    assert [("write labelSelector: {matchLabels: {app: prod, other: x}}", right)] == mended(
        matchLabels={"app": "cache", "other": "x"}
    )
    assert [("select labels that the Pod itself carries", None)] == mended(
        matchLabels={"app": "cache"}, matchExpressions=[expression]
    )


def test_the_name_is_not_known_of_what_a_kustomization_renames_or_patches():
    row = next(row for row in ROWS if row[0].startswith("  dragonfly "))
    ((dragonfly,), _) = planted(row, constraint(labelSelector={"matchLabels": {"app": "cache"}}))
    changes = read_kustomization("namePrefix: a-", lambda file: None).changes
    renamed = replace(_terms(), kustomized={"a.yaml": Kustomized(changes)})
    patched = replace(_terms(), patches=frozenset({"a.yaml"}))

    for by, wanted in ((_terms(), ["selector-misses-own-pod"]), (renamed, []), (patched, [])):
        assert wanted == [one.finding.rule for one in judged(json.dumps(dragonfly), by).found]
