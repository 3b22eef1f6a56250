"""A constraint as kube-apiserver stores it, version by version, and as kube-scheduler reads it."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.support.build import FEATURES, SELECTOR, TERM, ZONE, constraint, keys, selecting, term
from webhook.kubernetes.features import features
from webhook.spread.constraint import as_stored, merge, parse_constraints, same
from webhook.spread.selectors import NOTHING

LABELS = {"app": "web", "tier": "back"}


SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}


FULL = constraint(
    **keys("app", **selecting(term("tier", "In", "back"), x="y")),
    minDomains=2,
    nodeAffinityPolicy="Honor",
    nodeTaintsPolicy="Honor",
)


def merged(fields, minor=36, labels=LABELS):
    (found,) = merge([constraint() | fields], labels, features(minor))
    return found


def test_keys_that_the_pod_carries_are_merged_in_their_order():
    added = [term("tier", "In", "back"), TERM, term("tier", "In", "back")]
    given = keys("tier", "app", "absent", "tier", labelSelector={"matchExpressions": [term("app", "Exists")]})

    assert [term("app", "Exists"), *added] == merged(given)["labelSelector"]["matchExpressions"]
    assert {"matchExpressions": [TERM]} == merged(keys("app", labelSelector={}))["labelSelector"]


NOT_MERGED = {
    "before 1.34": (keys("app"), 33),
    "no keys": (keys(),),
    "no selector": (keys("app", labelSelector=None),),
    "no such label": (keys("app"), 36, {}),
}


@pytest.mark.parametrize("given", NOT_MERGED.values(), ids=NOT_MERGED)
def test_nothing_is_merged(given):
    assert constraint() | given[0] == merged(*given)


@pytest.mark.parametrize("raw", [None, [], "x", {}, [None, 5, "x"]], ids=str)
def test_what_is_no_list_of_constraints_is_left_alone(raw):
    assert raw == merge(raw, LABELS, FEATURES)


def test_the_merge_leaves_what_it_was_given_as_it_was():
    raw = [constraint(**keys("app", **selecting(TERM)))]
    before = deepcopy(raw)

    assert before != merge(raw, LABELS, FEATURES)
    assert before == raw


DROPPED = {
    25: ("minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"),
    26: ("minDomains", "matchLabelKeys"),
    27: (),
}


@pytest.mark.parametrize(("minor", "dropped"), DROPPED.items())
def test_fields_of_features_that_are_off_are_not_stored(minor, dropped):
    assert [{name: value for name, value in FULL.items() if name not in dropped}, "x"] == as_stored(
        [FULL, "x"], LABELS, features(minor)
    )


def test_what_is_merged_is_stored():
    assert merge([FULL], LABELS, FEATURES) == as_stored([FULL], LABELS, FEATURES) != [FULL]


def test_lists_that_decode_alike_are_the_same():
    one, turned = selecting(a="x", b="y"), {"labelSelector": {"matchLabels": {"b": "y", "a": "x"}}}

    assert same([constraint(**one)], [constraint(**turned)], FEATURES)
    assert same(None, [], FEATURES)
    assert not same([constraint(labelSelector=None)], [constraint(labelSelector={})], FEATURES)
    assert not same([constraint()], [constraint(nodeTaintsPolicy="Ignore")], FEATURES)
    assert not same([constraint()], [constraint(), constraint()], FEATURES)


def parsed(minor=36, **fields):
    (one,) = parse_constraints([constraint() | fields], LABELS, features(minor))
    return one


def optional(one):
    return one.min_domains, one.node_affinity_policy, one.node_taints_policy, one.match_label_keys


def test_the_scheduler_fills_in_its_defaults():
    one = parsed()

    assert (0, 1, ZONE, True, False) == (one.index, one.max_skew, one.topology_key, one.hard, one.soft)
    assert (1, "Honor", "Ignore", ()) == optional(one)
    assert "app=web" == str(one.selector)


def test_the_scheduler_takes_what_is_written():
    one = parsed(**FULL | {"nodeAffinityPolicy": "Ignore"} | SOFT)

    assert (2, "Ignore", "Honor", ("app",)) == optional(one)
    assert (False, True) == (one.hard, one.soft)


def test_a_version_that_drops_a_field_does_not_read_it():
    assert (1, "Honor", "Ignore", ()) == optional(parsed(25, **FULL | {"nodeAffinityPolicy": "Ignore"}))
    assert "app=web" == str(parsed(26, **keys("tier", labelSelector=SELECTOR)).selector)


NARROWED = {
    "a key more": (keys("tier", "absent", labelSelector=SELECTOR), "app=web,tier=back"),
    "a key listed twice": (keys("tier", "tier", labelSelector={}), "tier=back"),
    "a key in both": (keys("app", labelSelector=SELECTOR), "app=web,app=web"),
    "a key in both, the label first": (keys("app", **selecting(term("app", "In", "b", "a"))), "app=web,app in (a,b)"),
}


@pytest.mark.parametrize(("fields", "selector"), NARROWED.values(), ids=NARROWED)
def test_the_selector_is_narrowed_to_the_labels_of_the_pod(fields, selector):
    """As mergeLabelSetWithSelector does it: the Pod's labels come before the selector's own terms."""
    assert selector == str(parsed(**fields).selector)


def test_a_null_selector_matches_nothing_whatever_the_keys_say():
    assert NOTHING == parsed(labelSelector=None).selector == parsed(**keys("app", labelSelector=None)).selector
    assert parsed(labelSelector={}).selector.empty


def test_what_cannot_be_read_is_read_leniently():
    first, second = parse_constraints([None, {"maxSkew": "3", "labelSelector": "x"}], LABELS, FEATURES)

    assert (0, 0, "", "") == (first.index, first.max_skew, first.topology_key, first.when_unsatisfiable)
    assert (1, 0, False) == (second.index, second.max_skew, second.hard)
    assert () == parse_constraints("x", LABELS, FEATURES) == parse_constraints(None, LABELS, FEATURES)
