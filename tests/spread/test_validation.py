"""Constraints as kube-apiserver judges them, version by version."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import pytest

from tests.support.build import FEATURES, TERM, constraint, keys, selecting, term
from webhook.kubernetes.features import features
from webhook.kubernetes.fields import FieldError, path_text, value_at
from webhook.spread.constraint import same
from webhook.spread.validation import on_stored_pod, shown_path, validate

LABELS = {"app": "web", "tier": "back"}


UNTIL_1_26, UNTIL_1_33 = range(25, 27), range(27, 34)


SINCE_1_26, SINCE_1_27, SINCE_1_34 = range(26, 39), range(27, 39), range(34, 39)


def errors(raw, judged_by=FEATURES, merged=False):
    """What kube-apiserver says of a list, as `Type field`."""
    found = validate(raw, LABELS, ("list",), merged=merged, features=judged_by)
    return ", ".join(sorted(f"{one.type[len('FieldValue') :]} {path_text(one.path[1:])}".strip() for one in found))


class Case(NamedTuple):
    """What is wrong, in these minor versions, with a list of constraints, or with the one that has these fields."""

    name: str
    raw: object
    errors: str = ""
    minors: range = range(25, 39)

    def check(self, merged):
        raw = [constraint() | self.raw] if isinstance(self.raw, dict) else self.raw
        found = {minor: errors(raw, features(minor), merged) for minor in self.minors}

        assert dict.fromkeys(self.minors, self.errors) == found


KEYS, SELECTS = "[0].matchLabelKeys", "[0].labelSelector.matchExpressions[0]"


EMPTY = "Invalid [0].maxSkew, NotSupported [0].whenUnsatisfiable, Required [0].topologyKey"


REPEATED = "Duplicate [0].{topologyKey, whenUnsatisfiable}"


SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}


NEW_PODS = [
    Case("a valid one", {}),
    Case("no list", None),
    Case("an empty list", []),
    Case("an empty one", [{}], EMPTY),
    Case("null is an empty one", [None], EMPTY),
    Case("maxSkew 0", {"maxSkew": 0}, "Invalid [0].maxSkew"),
    Case("maxSkew below 0", {"maxSkew": -(2**31)}, "Invalid [0].maxSkew"),
    Case("the largest maxSkew", {"maxSkew": 2**31 - 1}),
    Case("maxSkew 1.0", {"maxSkew": 1.0}),
    Case("an empty topologyKey", {"topologyKey": ""}, "Required [0].topologyKey"),
    Case("a topologyKey that is no label", {"topologyKey": "a b"}),
    Case("another whenUnsatisfiable", {"whenUnsatisfiable": "Never"}, "NotSupported [0].whenUnsatisfiable"),
    Case("a null selector", {"labelSelector": None}),
    Case("an empty selector", {"labelSelector": {}}),
    Case("one twice", [constraint(), constraint(maxSkew=2)], REPEATED),
    Case("one three times", [constraint()] * 3, f"{REPEATED}, {REPEATED.replace('0', '1')}"),
    Case("one hard and one soft", [constraint(), constraint(**SOFT)]),
    Case("minDomains 0", {"minDomains": 0}, "Invalid [0].minDomains", SINCE_1_27),
    Case("minDomains of a soft one", {"minDomains": 2, **SOFT}, "Invalid [0].minDomains", SINCE_1_27),
    Case("1.26 drops minDomains", {"minDomains": 0, **SOFT}, minors=UNTIL_1_26),
    Case("a null minDomains", {"minDomains": None, **SOFT}),
    Case("another affinity policy", {"nodeAffinityPolicy": "No"}, "NotSupported [0].nodeAffinityPolicy", SINCE_1_26),
    Case("an empty taints policy", {"nodeTaintsPolicy": ""}, "NotSupported [0].nodeTaintsPolicy", SINCE_1_26),
    Case("1.25 drops policies", {"nodeAffinityPolicy": "No", "nodeTaintsPolicy": ""}, minors=range(25, 26)),
    # API servers before 1.27 do not look into selectors (kubernetes#111802).
    Case("a selector's key", selecting(**{"a b": "x"}), "Invalid [0].labelSelector.matchLabels", SINCE_1_27),
    Case("a selector's value", selecting(a="x y"), "Invalid [0].labelSelector.matchLabels", SINCE_1_27),
    Case("a null value is empty", selecting(a=None)),
    Case("In without values", selecting(term("a", "In")), f"Required {SELECTS}.values", SINCE_1_27),
    Case("NotIn without values", selecting(term("a", "NotIn")), f"Required {SELECTS}.values", SINCE_1_27),
    Case("In of null is of the empty string", selecting(term("a", "In", None))),
    Case("Exists with values", selecting(term("a", "Exists", "x")), f"Forbidden {SELECTS}.values", SINCE_1_27),
    Case("DoesNotExist with them", selecting(term("a", "DoesNotExist", "")), f"Forbidden {SELECTS}.values", SINCE_1_27),
    Case("another operator", selecting(term("a", "Gt", "1")), f"Invalid {SELECTS}.operator", SINCE_1_27),
    Case("an expression's key", selecting(term("a b", "Exists")), f"Invalid {SELECTS}.key", SINCE_1_27),
    Case("an expression's value", selecting(term("a", "In", "x", "?")), f"Invalid {SELECTS}.values[1]", SINCE_1_27),
    Case("a match label key that is none", keys("tier", "a b"), f"Invalid {KEYS}[1]", SINCE_1_27),
    Case("a null match label key", keys(None), f"Invalid {KEYS}[0], Invalid {KEYS}[0]", SINCE_1_27),
    Case("1.26 drops matchLabelKeys", keys("a b", labelSelector=None), minors=UNTIL_1_26),
    Case("keys alone", keys("?", labelSelector=None), f"Forbidden {KEYS}, Invalid {KEYS}[0]", UNTIL_1_33),
    Case("keys alone, since 1.34", keys("?", labelSelector=None), f"Forbidden {KEYS}", SINCE_1_34),
    Case("neither keys nor selector", keys(labelSelector=None)),
    Case("a key in both", keys("tier", "app", **selecting(app="web")), f"Invalid {KEYS}[1]", UNTIL_1_33),
    Case("a key in both, merged", keys("tier", "app", **selecting(app="web")), "Invalid [0][1]", SINCE_1_34),
    Case("a key in both, as an expression", keys("app", **selecting(TERM)), "Invalid [0][0]", SINCE_1_34),
    Case("a key in both that the Pod lacks", keys("a", **selecting(a="x")), f"Invalid {KEYS}[0]", UNTIL_1_33),
    Case("a key in both that the Pod lacks, since 1.34", keys("a", **selecting(a="x")), minors=SINCE_1_34),
    Case("a key listed twice", keys("app", "tier", "app"), minors=UNTIL_1_33),
    Case("a key listed twice, merged twice", keys("app", "tier", "app"), "Invalid [0][2]", SINCE_1_34),
]


STANDING = [
    Case("a template may have a key in both", keys("app", **selecting(app="web")), minors=SINCE_1_34),
    Case("before 1.34 it may not", keys("app", **selecting(app="web")), f"Invalid {KEYS}[0]", UNTIL_1_33),
    Case("the merged key is right", keys("app", **selecting(TERM)), minors=SINCE_1_34),
    Case("the merged key a second time", keys("app", **selecting(TERM, TERM)), "Invalid [0][0]", SINCE_1_34),
    Case("the merged key in matchLabels too", keys("app", **selecting(TERM, app="a")), "Invalid [0][0]", SINCE_1_34),
    Case("the merged key before 1.34", keys("app", **selecting(TERM)), f"Invalid {KEYS}[0]", UNTIL_1_33),
]


@pytest.mark.parametrize("case", NEW_PODS, ids=lambda case: case.name)
def test_a_new_pod(case):
    case.check(merged=False)


@pytest.mark.parametrize("case", STANDING, ids=lambda case: case.name)
def test_constraints_as_they_stand(case):
    """In a template, or in a Pod that is stored, nothing is merged."""
    case.check(merged=True)


def test_a_stored_pod_is_judged_as_merged_whatever_version_is_told():
    raw = [constraint(**keys("app", **selecting(TERM)))]

    assert "" == errors(raw, on_stored_pod(features(30)), merged=True)


FULL = constraint(
    **keys("app", **selecting(term("tier", "In", "back"), x="y")),
    minDomains=2,
    nodeAffinityPolicy="Honor",
    nodeTaintsPolicy="Honor",
)


TEXT, NUMBER, ARRAY, OBJECT = [5, True, [], {}], ["1", True, 1.5, 2**31, -(2**31) - 1, []], ["x", 5, {}], ["x", 5, []]


IN = (0, "labelSelector")


WRONG = [
    ((), ARRAY),
    ((0,), OBJECT),
    ((0, "maxSkew"), NUMBER),
    ((0, "minDomains"), NUMBER),
    *(((0, name), TEXT) for name in ("topologyKey", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy")),
    (IN, OBJECT),
    ((*IN, "matchLabels"), OBJECT),
    ((*IN, "matchLabels", "x"), TEXT),
    ((*IN, "matchExpressions"), ARRAY),
    ((*IN, "matchExpressions", 0), OBJECT),
    ((*IN, "matchExpressions", 0, "key"), TEXT),
    ((*IN, "matchExpressions", 0, "operator"), TEXT),
    ((*IN, "matchExpressions", 0, "values"), ARRAY),
    ((*IN, "matchExpressions", 0, "values", 0), TEXT),
    ((0, "matchLabelKeys"), ARRAY),
    ((0, "matchLabelKeys", 0), TEXT),
]


def planted(path, value):
    raw = {"list": deepcopy([FULL])}
    *above, last = ("list", *path)
    value_at(raw, above)[last] = value
    return raw["list"]


@pytest.mark.parametrize("merged", [False, True], ids=["merged-first", "as-it-stands"])
@pytest.mark.parametrize(("path", "values"), WRONG, ids=[str(path) for path, _ in WRONG])
def test_a_wrong_type_is_the_only_error_at_its_path(path, values, merged):
    """And nothing is concluded from what could not be read, here or elsewhere."""
    expected = f"TypeInvalid {path_text(path)}".strip()

    for value in values:
        raw = planted(path, value)
        assert dict.fromkeys((30, 36), expected) == {minor: errors(raw, features(minor), merged) for minor in (30, 36)}


@pytest.mark.parametrize("name", ["minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"])
def test_a_wrong_type_in_a_field_that_the_version_drops_is_still_wrong(name):
    """The API server decodes a Pod before it drops anything."""
    assert f"TypeInvalid [0].{name}" == errors(planted((0, name), {}), features(25))


def test_topology_keys_that_could_not_be_read_are_no_duplicates():
    raw = [constraint(topologyKey=5), constraint(topologyKey=6)]

    assert "TypeInvalid [0].topologyKey, TypeInvalid [1].topologyKey" == errors(raw)


def test_other_errors_stay_beside_a_wrong_type():
    raw = [constraint(maxSkew="1", topologyKey="")]

    assert "Required [0].topologyKey, TypeInvalid [0].maxSkew" == errors(raw)


def test_null_is_absent():
    for name in FULL:
        absent = {key: value for key, value in FULL.items() if key != name}

        assert errors([absent]) == errors([FULL | {name: None}])
        assert same([absent], [FULL | {name: None}], FEATURES)


SHOWN = [
    ("spec.list[2].matchLabelKeys[1]", ("spec", "list", 2, 1), "exists in both matchLabelKeys and labelSelector"),
    ("list[2].matchLabelKeys[1]", ("list", 2, "matchLabelKeys", 1), "exists in both matchLabelKeys and labelSelector"),
    ("list[2]", ("list", 2, "{topologyKey, whenUnsatisfiable}"), ""),
    ("list[2].maxSkew", ("list", 2, "maxSkew"), "must be greater than zero"),
]


@pytest.mark.parametrize(("shown", "path", "detail"), SHOWN, ids=[shown for shown, _, _ in SHOWN])
def test_the_path_that_a_person_is_shown(shown, path, detail):
    """Upstream's own path leads nowhere in two cases."""
    assert shown == path_text(shown_path(FieldError("FieldValueInvalid", path, "", detail)))
