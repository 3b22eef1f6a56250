"""Label selectors: what they match, in two values and in three, and how Kubernetes writes them."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import (
    DOES_NOT_EXIST,
    EVERYTHING,
    EXISTS,
    IN,
    NOT_IN,
    NOTHING,
    Match,
    any_of,
    as_label_selector,
    as_selector,
    equals,
)

YES, NO, UNKNOWN = Match.YES, Match.NO, Match.UNKNOWN


def selector(raw):
    """The selector that a LabelSelector stands for, given as JSON."""
    return as_selector(read_selector(Reader(), raw, ()))


def term(key, operator, *values):
    return {"key": key, "operator": operator, **({"values": [*values]} if values else {})}


def terms(*expressions):
    return {"matchExpressions": [*expressions]}


class Case(NamedTuple):
    name: str
    raw: object
    match: Match
    labels: str = "app=web"
    addable: str = ""

    @property
    def label_set(self):
        return dict(pair.split("=") for pair in self.labels.split())


HASH = "pod-template-hash"
CASES = [
    Case("null matches nothing", None, NO),
    Case("null matches not even a Pod without labels", None, NO, labels=""),
    Case("null stays nothing, whatever is added", None, NO, addable="app tier"),
    Case("{} matches everything", {}, YES),
    Case("{} matches a Pod without labels", {}, YES, labels=""),
    Case("empty lists are {}", {"matchLabels": {}, "matchExpressions": []}, YES, labels=""),
    Case("the label", {"matchLabels": {"app": "web"}}, YES),
    Case("another value", {"matchLabels": {"app": "api"}}, NO),
    Case("no such label", {"matchLabels": {"tier": "web"}}, NO),
    Case("one label of two", {"matchLabels": {"app": "web", "tier": "back"}}, NO),
    Case("an empty value is not an absent label", {"matchLabels": {"tier": ""}}, NO),
    Case("In, one of them", terms(term("app", IN, "api", "web")), YES),
    Case("In, none of them", terms(term("app", IN, "api", "db")), NO),
    Case("In, no such label", terms(term("tier", IN, "back")), NO),
    Case("NotIn, one of them", terms(term("app", NOT_IN, "api", "web")), NO),
    Case("NotIn, none of them", terms(term("app", NOT_IN, "api")), YES),
    Case("NotIn, no such label", terms(term("tier", NOT_IN, "back")), YES),
    Case("Exists", terms(term("app", EXISTS)), YES),
    Case("Exists, no such label", terms(term("tier", EXISTS)), NO),
    Case("DoesNotExist", terms(term("tier", DOES_NOT_EXIST)), YES),
    Case("DoesNotExist, but it does", terms(term("app", DOES_NOT_EXIST)), NO),
    Case("terms must all match", terms(term("app", EXISTS), term("app", IN, "api")), NO),
    Case("the value of a label to come", {"matchLabels": {HASH: "55fb"}}, UNKNOWN, addable=HASH),
    Case("In, a label to come", terms(term(HASH, IN, "55fb")), UNKNOWN, addable=HASH),
    Case("NotIn, a label to come", terms(term(HASH, NOT_IN, "55fb")), UNKNOWN, addable=HASH),
    Case("Exists, a label that may come", terms(term(HASH, EXISTS)), UNKNOWN, addable=HASH),
    Case("DoesNotExist, a label that may come", terms(term(HASH, DOES_NOT_EXIST)), UNKNOWN, addable=HASH),
    Case("a label that is there already is known", {"matchLabels": {"app": "web"}}, YES, addable="app"),
    Case("and so is that it differs", {"matchLabels": {"app": "api"}}, NO, addable="app"),
    Case("no decides over unknown", {"matchLabels": {"app": "api", HASH: "55fb"}}, NO, addable=HASH),
    Case("also where it comes later", {"matchLabels": {HASH: "55fb", "tier": "web"}}, NO, addable=HASH),
    Case("unknown decides over yes", {"matchLabels": {"app": "web", HASH: "55fb"}}, UNKNOWN, addable=HASH),
    Case("a label that cannot come", {"matchLabels": {HASH: "55fb"}}, NO, addable="tier"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_matching(case):
    assert case.match == selector(case.raw).match(case.label_set, case.addable.split())


@pytest.mark.parametrize("case", [case for case in CASES if not case.addable], ids=lambda case: case.name)
def test_without_labels_to_come_there_are_two_values(case):
    assert (case.match == YES) == selector(case.raw).matches(case.label_set)


PRINTED = [
    ("", None),
    ("", {}),
    ("app=web", {"matchLabels": {"app": "web"}}),
    ("app=", {"matchLabels": {"app": ""}}),
    ("app=web,tier=back", {"matchLabels": {"tier": "back", "app": "web"}}),
    ("app in (api,web)", terms(term("app", IN, "web", "api"))),
    ("app in (web)", terms(term("app", IN, "web"))),
    ("app notin (,api,api)", terms(term("app", NOT_IN, "api", "", "api"))),
    ("app", terms(term("app", EXISTS))),
    ("!app", terms(term("app", DOES_NOT_EXIST))),
    ("!a,b,c=x", {**terms(term("b", EXISTS), term("a", DOES_NOT_EXIST)), "matchLabels": {"c": "x"}}),
]


@pytest.mark.parametrize(("text", "raw"), PRINTED, ids=[text or str(raw) for text, raw in PRINTED])
def test_a_selector_prints_as_kubernetes_prints_it(text, raw):
    """In the order of the keys, and of the values; nothing and everything print alike."""
    assert text == str(selector(raw))


def test_requirements_on_one_key_keep_the_order_in_which_they_came():
    raw = {**terms(term("app", IN, "web")), "matchLabels": {"app": "web"}}

    assert "app=web,app in (web),app=web" == str(selector(raw).add(equals({"app": "web"})))


def test_null_and_empty_differ_though_both_print_nothing():
    assert NOTHING == selector(None)
    assert EVERYTHING == selector({})
    assert (False, True) == (NOTHING.empty, EVERYTHING.empty)
    assert not selector({"matchLabels": {"app": "web"}}).empty


def test_nothing_stays_nothing():
    assert NOTHING == NOTHING.add(equals({"app": "web"}))


class Written(NamedTuple):
    """What is asked for, a label set or a term each, and how that is written."""

    name: str
    parts: tuple
    raw: dict


def all_of(*parts):
    """The selector that asks for each of these label sets and terms."""
    found = EVERYTHING
    for part in parts:
        found = found.add(selector(terms(part)).requirements if "key" in part else equals(part))
    return found


WRITTEN = [
    Written("everything", (), {}),
    Written("labels", ({"app": "web", "tier": "back"},), {"matchLabels": {"app": "web", "tier": "back"}}),
    Written("an exact duplicate", ({"app": "web"}, {"app": "web"}), {"matchLabels": {"app": "web"}}),
    Written(
        "a key asked for twice",
        ({"app": "web"}, {"app": "api"}),
        {"matchLabels": {"app": "web"}, **terms(term("app", IN, "api"))},
    ),
    Written(
        "a label and a term on its key",
        ({"app": "web"}, term("app", IN, "web", "api")),
        {"matchLabels": {"app": "web"}, **terms(term("app", IN, "web", "api"))},
    ),
    Written("a term twice", (term("app", EXISTS), term("app", EXISTS)), terms(term("app", EXISTS))),
    Written("a term without values", (term("app", DOES_NOT_EXIST),), terms(term("app", DOES_NOT_EXIST))),
]


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case.name)
def test_a_selector_is_written_as_a_label_selector(case):
    assert case.raw == as_label_selector(all_of(*case.parts))


KEYS, TEXTS = "ab", ("", "x", "y")
label_sets = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(TEXTS))
values = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3)
expressions = st.builds(
    lambda key, operator, values: term(key, operator, *(values if operator in (IN, NOT_IN) else ())),
    st.sampled_from(KEYS),
    st.sampled_from([IN, NOT_IN, EXISTS, DOES_NOT_EXIST]),
    values,
)
EVERY_LABEL_SET = [
    {key: value for key, value in zip(KEYS, chosen, strict=True) if value is not None}
    for chosen in product((None, *TEXTS, "z"), repeat=len(KEYS))
]


IMPLIED = [
    ({"matchLabels": {"a": "x"}}, terms(term("a", IN, "x", "y"))),
    (terms(term("a", IN, "x", "y")), terms(term("a", EXISTS))),
    (terms(term("a", IN, "x")), terms(term("a", NOT_IN, "y"))),
    (terms(term("a", NOT_IN, "x", "y")), terms(term("a", NOT_IN, "y"))),
    (terms(term("a", DOES_NOT_EXIST)), terms(term("a", NOT_IN, "y"))),
    ({"matchLabels": {"a": "x", "b": "y"}}, {"matchLabels": {"b": "y"}}),
    ({"matchLabels": {"a": "x"}}, {}),
    (None, {"matchLabels": {"a": "x"}}),
]


@pytest.mark.parametrize(("narrow", "wide"), IMPLIED, ids=str)
def test_what_a_selector_matches_another_matches_too(narrow, wide):
    assert selector(narrow).implies(selector(wide))
    assert not selector(wide).implies(selector(narrow))


@given(st.lists(label_sets | expressions, max_size=3), st.lists(label_sets | expressions, max_size=2))
def test_what_is_implied_is_so_for_all_labels(narrow, wide):
    narrow, wide = all_of(*narrow), all_of(*wide)

    assert narrow.implies(narrow)
    assert not narrow.implies(wide) or all(wide.matches(labels) for labels in EVERY_LABEL_SET if narrow.matches(labels))


UNIONS = [
    ("a in (x)", [{"matchLabels": {"a": "x"}}]),
    ("a in (x),!b", [{"matchLabels": {"a": "x"}, **terms(term("b", DOES_NOT_EXIST))}]),
    ("a in (x,y)", [{"matchLabels": {"a": "x"}}, {"matchLabels": {"a": "y"}}, {"matchLabels": {"a": "x"}}]),
    ("a in (x,y),b", [terms(term("b", EXISTS), term("a", IN, value)) for value in "yx"]),
    ("a in (x)", [{"matchLabels": {"a": "x"}}, {"matchLabels": {"a": "x", "b": "y"}}]),
    ("a in (x,y),b in (x,y)", [{"matchLabels": {"a": value, "b": value}} for value in "xy"]),
    ("", [{"matchLabels": {"a": "x"}}, {"matchLabels": {"b": "x"}}]),
    ("", [{"matchLabels": {"a": "x"}}, {}]),
    ("", [terms(term("a", NOT_IN, "x")), terms(term("a", NOT_IN, "y"))]),
    ("a in (x)", [None, {"matchLabels": {"a": "x"}}]),
]


@pytest.mark.parametrize(("text", "raw"), UNIONS, ids=str)
def test_what_any_of_several_selectors_match_one_matches(text, raw):
    assert text == str(any_of(map(selector, raw)))


def test_any_of_none_matches_nothing():
    assert NOTHING == any_of([]) == any_of([NOTHING])


@given(st.lists(st.lists(label_sets | expressions, max_size=3), max_size=3))
def test_no_labels_are_lost_that_any_of_several_selectors_match(several):
    several = [all_of(*parts) for parts in several]
    one = any_of(several)

    assert all(one.matches(labels) for labels in EVERY_LABEL_SET if any(each.matches(labels) for each in several))


@given(label_sets, st.lists(values, min_size=1, max_size=3))
def test_it_is_their_union_where_they_differ_in_the_values_of_one_key(labels, several):
    several = [all_of({**labels, "a": "x"}, term("c", IN, *of_one)) for of_one in several]
    one = any_of(several)
    labellings = [{**labels, **more} for labels in EVERY_LABEL_SET for more in ({}, *({"c": text} for text in TEXTS))]

    assert [one.matches(labels) for labels in labellings] == [
        any(each.matches(labels) for each in several) for labels in labellings
    ]


@given(st.lists(label_sets | expressions, max_size=5))
def test_a_selector_survives_being_written(parts):
    """Read back, it matches exactly what it matched before."""
    before = all_of(*parts)
    after = selector(as_label_selector(before))

    assert [before.matches(labels) for labels in EVERY_LABEL_SET] == [
        after.matches(labels) for labels in EVERY_LABEL_SET
    ]
