"""A test of a policy: what its file may hold, and what an answer is compared with."""

from __future__ import annotations

import json

import jsonschema
import pytest

from evenkeel.admit.dry_run import dry_run
from evenkeel.policy_test.form import PolicyTestError, answer, as_expectation, judge, parse_policy_test, schema
from tests.support.build import FEATURES, constraint, pod, policy, service, snapshot, workload
from webhook.admission.terms import Terms
from webhook.policy.schema import POLICY_API_VERSION

CASE = {"name": "a", "object": "web.yaml", "expect": {"outcome": "denied"}}
LEAST = {"kind": "PolicyTest", "cases": [CASE]}
EMPTY = workload("Deployment", constraint(labelSelector={}))
BARE = pod()
MISSES = workload(
    "StatefulSet", constraint(labelSelector={"matchLabels": {"app": "db"}}, matchLabelKeys=["pod-template-hash"])
)
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def parsed(**fields):
    return parse_policy_test(json.dumps(LEAST | fields))


def case(**fields):
    return {"cases": [CASE | fields]}


def applied(obj, old=None, rules="", **options):
    return dry_run(obj, old, Terms(policy(rules), snapshot(service()), FEATURES), **options)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema())


def test_what_is_absent_is_as_admit_takes_it():
    found = parsed()

    assert (None, None, "") == found[:3]
    assert [("a", "web.yaml", None, "", "", {"outcome": "denied"})] == list(found.cases)


def test_all_that_is_given_is_read():
    given = CASE | {"old": "old.yaml", "user": "ann", "today": "2027-01-31"}
    found = parsed(
        **{"apiVersion": POLICY_API_VERSION, "policy": "p.yaml", "cluster": [BARE], "today": "2027-01-30"},
        **{"kubernetesVersion": "1.34", "cases": [given]},
    )

    assert ("p.yaml", [BARE], "1.34", "2027-01-30") == found[:4]
    assert [("a", "web.yaml", "old.yaml", "ann", "2027-01-31", {"outcome": "denied"})] == list(found.cases)


@pytest.mark.parametrize(
    ("given", "read"), [("1.34", "1.34"), (1.34, "1.34"), (1.3, "1.30"), (1.4, "1.40"), ("v1.30.2", "v1.30.2")]
)
def test_a_version_may_lack_its_quotes(given, read):
    """YAML reads a bare 1.30 as 1.3."""
    assert read == parsed(kubernetesVersion=given).kubernetes_version


RULE = "cases[0].expect.rules[0]"


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"kind": "SpreadPolicy"}, "is no test of a policy: found SpreadPolicy, wanted one PolicyTest"),
        ({"case": 1}, "case: unknown field; did you mean cases?"),
        ({"policy": None}, "policy: found null, wanted a string or an object"),
        ({"cluster": 3}, "cluster: found 3, wanted a string or an object or an array"),
        ({"cluster": ["x"]}, 'cluster[0]: found "x", wanted an object'),
        ({"kubernetesVersion": True}, "kubernetesVersion: found true, wanted a string or a number"),
        ({"today": "tomorrow"}, 'today: found "tomorrow", wanted a day such as 2027-01-31'),
        ({"today": "2027-02-29"}, 'today: found "2027-02-29", wanted a date of the calendar'),
        (case(today="2027-02-29"), 'cases[0].today: found "2027-02-29", wanted a date of the calendar'),
        ({"cases": []}, "cases: found [], wanted at least one item"),
        (case(name=""), 'cases[0].name: found "", wanted a string that is not empty'),
        (
            case(expect={}),
            "cases[0].expect: found {}, wanted outcome or rules or exactly or warnings or defaults in it",
        ),
        (
            case(expect={"rules": []}),
            "cases[0].expect.rules: found [], wanted at least one rule; exactly: [] expects none",
        ),
        (case(expect={"rule": []}), "cases[0].expect.rule: unknown field; did you mean rules?"),
        (case(expect={"defaults": ["zone"]}), 'cases[0].expect.defaults[0]: found "zone", wanted an object'),
        ({"cases": [CASE, CASE]}, 'cases[1].name: found "a" twice, wanted a name of its own'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_cause_names_the_field_what_was_found_and_what_is_wanted(fields, cause):
    with pytest.raises(PolicyTestError) as caught:
        parsed(**fields)

    assert (cause,) == caught.value.causes


@pytest.mark.parametrize(
    ("expect", "near"), [({"rules": ["empty-selectr"]}, "empty-selector"), ({"outcome": "warn"}, "warned")]
)
def test_of_many_words_the_near_one_is_named(expect, near):
    with pytest.raises(PolicyTestError, match=f"; did you mean {near}\\?$"):
        parsed(**case(expect=expect))


@pytest.mark.parametrize("text", ["", "[]", "3", "{kind: PolicyTest}\n---\n{}", "a: [", "a: 1\na: 2"])
def test_what_is_no_test_is_one_cause(text):
    with pytest.raises(PolicyTestError) as caught:
        parse_policy_test(text)

    assert 1 == len(caught.value.causes)


def test_an_answer_is_all_that_can_be_expected():
    denied = answer(applied(EMPTY))
    defaulted = answer(applied(BARE))

    assert {"outcome": "denied", "rules": ["empty-selector"], "warnings": [], "defaults": []} == denied
    assert ("defaulted", [ZONE, HOSTNAME]) == (
        defaulted["outcome"],
        [one["topologyKey"] for one in defaulted["defaults"]],
    )


@pytest.mark.parametrize(
    ("obj", "keys"),
    [
        (EMPTY, ["outcome", "rules"]),
        (BARE, ["outcome", "defaults"]),
        (pod(labels={}), ["outcome", "defaults"]),
        (pod(constraint()), ["outcome"]),
        (MISSES, ["outcome", "rules"]),
    ],
    ids=["denied", "defaulted", "could be defaulted", "has constraints", "warned"],
)
def test_today_says_only_what_a_person_would_keep(obj, keys):
    """Neither the words of warnings, nor that no further rule finds anything."""
    assert keys == [*as_expectation(applied(obj))]


@pytest.mark.parametrize(
    ("obj", "expect"),
    [
        (EMPTY, {"outcome": "denied"}),
        (EMPTY, {"rules": ["empty-selector", "empty-selector"], "warnings": []}),
        (EMPTY, {"exactly": ["empty-selector", "empty-selector"]}),
        (MISSES, {"rules": ["wrong-revision-key"]}),
        (MISSES, {"outcome": "allowed"}),
        (MISSES, {"exactly": ["wrong-revision-key", "selector-misses-own-pod"], "rules": ["wrong-revision-key"]}),
        (pod(constraint()), {"exactly": [], "warnings": []}),
        (BARE, {"defaults": [{}, {"topologyKey": HOSTNAME}]}),
        (BARE, {"defaults": [{"labelSelector": {"matchLabels": {"app": "web"}}, "maxSkew": 1}, {}]}),
    ],
)
def test_what_is_absent_is_not_compared(obj, expect):
    assert judge("a", expect, applied(obj)).passed


def test_the_order_of_what_is_expected_does_not_matter():
    misses = constraint(labelSelector={"matchLabels": {"app": "db"}})
    warned = applied(workload("StatefulSet", misses, misses | {"topologyKey": HOSTNAME}))
    last, *others = reversed(answer(warned)["warnings"])

    assert others
    assert judge("a", {"warnings": [last, *others]}, warned).passed
    assert judge("a", {"warnings": [last]}, warned).passed


@pytest.mark.parametrize(
    ("obj", "expect"),
    [
        (EMPTY, {"outcome": "would-be-denied"}),
        (EMPTY, {"outcome": "allowed"}),
        (pod(constraint()), {"outcome": "warned"}),
        (EMPTY, {"outcome": "denied", "exactly": []}),
        (EMPTY, {"rules": ["empty-selector", "pinned-pod"]}),
        (EMPTY, {"exactly": ["empty-selector", "pinned-pod"]}),
        (MISSES, {"exactly": ["wrong-revision-key"]}),
        (MISSES, {"warnings": []}),
        (EMPTY, {"warnings": ["empty-selector"]}),
        (BARE, {"defaults": []}),
        (BARE, {"defaults": [{}]}),
        (BARE, {"defaults": [{}, {}, {}]}),
        (BARE, {"defaults": [{"topologyKey": HOSTNAME}, {"topologyKey": ZONE}]}),
        (BARE, {"defaults": [{"maxSkew": True}, {}]}),
        (BARE, {"defaults": [{"minDomains": 1}, {}]}),
        (EMPTY, {"defaults": [{}]}),
    ],
)
def test_what_differs_fails(obj, expect):
    result = judge("a", expect, applied(obj))

    assert not result.passed
    assert expect.keys() == result.expected.keys() == result.found.keys()
