"""What becomes of an object that is applied: who answers, what is stored, and what kube-apiserver refuses by itself."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.admit.dry_run import dry_run, mentions_constraints, patched
from tests.support.build import (
    FEATURES,
    SELECTOR,
    ZONE,
    constraint,
    node,
    pod,
    policy,
    request,
    service,
    snapshot,
    workload,
)
from tests.support.review import review
from tests.support.said import rule_in
from tests.support.strategies import RECORDED
from webhook.admission.decision import ALLOWED, Outcome
from webhook.admission.defaulting import Defaults
from webhook.admission.ownership import ACCOUNTS
from webhook.admission.request import MUTATE, VALIDATE
from webhook.admission.terms import Terms
from webhook.kubernetes.features import features

EMPTY, INVALID = constraint(labelSelector={}), constraint(maxSkew=0)
BAD, GOOD = workload("Deployment", EMPTY), workload("StatefulSet", constraint())
MERGED = SELECTOR | {"matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}
KEYED = pod(constraint(matchLabelKeys=["v"]), labels={"app": "web", "v": "1"})
SPREAD = ("spec", "topologySpreadConstraints")


def applied(obj, old=None, rules="", objects=(), version=FEATURES, **options):
    return dry_run(obj, old, Terms(policy(rules), snapshot(*objects), version), **options)


def constraints(obj):
    return obj["spec"]["topologySpreadConstraints"]


class Case(NamedTuple):
    """Which phase denies, and which rules both phases warn of."""

    name: str
    obj: dict
    old: dict | None = None
    rules: str = ""
    denied_by: str | None = None
    warned: tuple = ()


CASES = [
    Case("a good one", GOOD),
    Case("a bad one", BAD, denied_by=VALIDATE),
    Case("that was as bad before", BAD | {"metadata": {"name": "web", "namespace": "shop", "x": "y"}}, BAD),
    Case("a bad one, where errors only warn", BAD, rules="{enforcement: Warn}", warned=("empty-selector",)),
    Case("an early answer", pod(INVALID), rules="{earlyAnswer: true}", denied_by=MUTATE),
    Case(
        "after an early answer nobody else is asked",
        pod(INVALID, EMPTY | {"topologyKey": "rack"}),
        rules="{earlyAnswer: true, rules: {empty-selector: warning}}",
        denied_by=MUTATE,
    ),
    Case("a kind that nobody judges", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_who_denies_and_who_warns(case):
    found = applied(case.obj, case.old, case.rules)

    assert (case.denied_by, case.denied_by is None) == (found.denied_by, found.answer.allowed)
    assert found.answer is (found.mutate if case.denied_by == MUTATE else found.validate)
    assert case.warned == tuple(map(rule_in, found.warnings))
    assert found.updated == (case.old is not None)


def test_defaults_are_patched_in_judged_and_stored():
    found = applied(pod(), objects=[service()], rules="{rules: {soft-constraint: warning}}")

    assert isinstance(found.mutate.defaulted, Defaults)
    assert ["soft-constraint"] * 2 == [finding.rule for finding in found.validate.findings]
    assert [SELECTOR] * 2 == [one["labelSelector"] for one in constraints(found.stored)]
    assert "topologySpreadConstraints" not in found.obj["spec"]


@pytest.mark.parametrize(
    ("severity", "outcome"),
    [("ignore", Outcome.DEFAULTED), ("warning", Outcome.WARNED), ("error", Outcome.DENIED)],
)
def test_defaults_do_not_hide_what_a_pod_still_lacks(severity, outcome):
    asks = f"{{severity: {severity}, topologyKeys: [rack], minReplicas: 1}}"

    assert outcome is applied(pod(), objects=[service()], rules=f"{{rules: {{missing-constraints: {asks}}}}}").outcome


def test_the_webhook_sees_neither_pods_nor_what_they_use():
    whole = snapshot(node(), pod(spec={"nodeName": "n1", "containers": [{"name": "a"}]}))
    seen = whole.without_pods()

    assert (True, False) == (whole.knows_pods, seen.knows_pods)


@pytest.mark.parametrize(
    ("obj", "minor", "selector"),
    [
        (KEYED, 34, MERGED),
        (KEYED, 33, SELECTOR),
        (KEYED | {"metadata": KEYED["metadata"] | {"uid": "u1"}}, 34, SELECTOR),
        (
            workload("Deployment", *constraints(KEYED))["spec"]["template"] | {"apiVersion": "v1", "kind": "x"},
            34,
            SELECTOR,
        ),
    ],
    ids=["a new Pod", "before 1.34", "a Pod that is stored", "another kind"],
)
def test_a_new_pod_is_stored_with_its_keys_merged(obj, minor, selector):
    found = applied(obj, version=features(minor))

    assert [selector] == [one["labelSelector"] for one in constraints(found.stored)]


@pytest.mark.parametrize("namespace", [None, "kube-system"], ids=["that it is given", "of its own"])
def test_what_is_never_sent_is_not_judged(namespace):
    obj = workload("Deployment", INVALID, namespace=namespace)
    found = applied(obj, namespace="kube-system", never_sent=["kube-system"])

    assert (True, True) == (found.unsent, found.refused)
    assert (ALLOWED, ALLOWED, None) == (found.mutate, found.validate, found.denied_by)
    assert not applied(obj | {"metadata": {"name": "web", "namespace": "shop"}}, never_sent=["kube-system"]).unsent


@pytest.mark.parametrize(
    ("user", "denied_by"),
    [("", VALIDATE), (f"{ACCOUNTS}statefulset-controller", None), (f"{ACCOUNTS}job-controller", VALIDATE)],
    ids=["a person", "its controller", "another controller"],
)
def test_an_enforced_rule_believes_an_owner_reference_to_the_owners_controller(user, denied_by):
    owned, rules = pod(EMPTY, owner="StatefulSet/web"), "{rules: {empty-selector: {enforced: true}}}"

    assert denied_by == applied(owned, rules=rules, user=user).denied_by


ROLLOUT = workload("Rollout", INVALID) | {"apiVersion": "argoproj.io/v1alpha1"}


@pytest.mark.parametrize(
    ("obj", "refused"),
    [
        (pod(INVALID), True),
        (workload("Deployment", INVALID), True),
        (BAD, False),
        (ROLLOUT, False),
        (workload("Deployment", *[INVALID] * 101), False),
    ],
    ids=["a Pod", "a template", "what is valid", "a custom resource", "what nobody judges"],
)
def test_what_kube_apiserver_refuses_by_itself(obj, refused):
    assert refused == applied(obj).refused


SCHEMA = {"kind": "CustomResourceDefinition", "spec": {"topologySpreadConstraints": {"type": "array"}}}


@pytest.mark.parametrize(
    ("obj", "mentioned"),
    [
        ({"spec": {"sets": [{"pod": {"topologySpreadConstraints": [{}]}}]}}, True),
        *(({"spec": {f"{anchor}(topologySpreadConstraints)": [{}]}}, True) for anchor in ("", "+", "=", "^", "<", "X")),
        ({"spec": {"topologySpreadConstraints": []}}, False),
        (SCHEMA, False),
        ({"data": "topologySpreadConstraints"}, False),
        (None, False),
    ],
    ids=["deep down", *["an anchor of Kyverno"] * 6, "an empty list", "a schema", "a word", "nothing"],
)
def test_constraints_of_an_unknown_kind_are_noticed(obj, mentioned):
    assert mentioned == mentions_constraints(obj)


def test_a_kind_that_no_policy_describes_is_passed_over():
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"topologySpreadConstraints": [EMPTY]}}

    assert (None, True) == (applied(thing).kind, applied(thing).passed_over)
    assert not applied(BAD).passed_over


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("/a", {"a": 1, "b": {"c": 2}}),
        ("/b/c", {"b": {"c": 1}}),
        ("/b/x~1y~0z", {"b": {"c": 2, "x/y~z": 1}}),
        ("/new/c", {"b": {"c": 2}, "new": {"c": 1}}),
    ],
)
def test_a_patch_is_applied(path, after):
    assert after == patched({"b": {"c": 2}}, [{"op": "add", "path": path, "value": 1}])


MANAGER = "system:kube-controller-manager"
ENFORCES = "{enforcement: Deny, earlyAnswer: true, rules: {empty-selector: {severity: error, enforced: true}}}"
ASKED = [one for one in RECORDED if one["operation"] in ("CREATE", "UPDATE") and not one.get("subResource")]
OWNED = pod(EMPTY, owner="ReplicaSet/web")
OURS = [request(pod(EMPTY)), request(OWNED), request(BAD), request(BAD, BAD), request(OWNED, pod(constraint()))]


@pytest.mark.parametrize("user", ["jane", MANAGER])
@pytest.mark.parametrize("rules", ["", ENFORCES])
def test_the_answers_are_those_to_the_requests_of_kube_apiserver(rules, user):
    """Whoever sends the object, and whether it is new."""
    terms = Terms(policy(rules), snapshot(service()), FEATURES)
    for raw in [*ASKED, *OURS]:
        group, kind = raw["object"]["apiVersion"].rpartition("/")[0], raw["object"]["kind"]
        asked = {**raw, "userInfo": {"username": user}, "kind": {"group": group, "kind": kind}}
        found = dry_run(raw["object"], raw.get("oldObject"), terms, namespace=raw["namespace"], user=user)
        assert review(asked, MUTATE, *terms_of(terms)) == found.mutate
        after = asked | {"object": patched(raw["object"], found.mutate.patch)}
        assert review(after, VALIDATE, *terms_of(terms)) == found.validate


def terms_of(terms):
    return terms.policy, terms.snapshot, terms.features


@pytest.mark.parametrize(
    ("obj", "minor", "labels"),
    [
        (pod(spec={"nodeName": "n1"}), 37, {"app": "web", ZONE: "a"}),
        (pod(spec={"nodeName": "n1"}, labels={ZONE: "mine"}), 37, {ZONE: "a"}),
        (pod(spec={"nodeName": "n1"}), 34, {"app": "web"}),
        (pod(spec={"nodeName": "gone"}), 37, {"app": "web"}),
        (pod(), 37, {"app": "web"}),
    ],
    ids=["a node that is known", "over its own", "before 1.35", "an unknown node", "none"],
)
def test_a_pod_with_a_node_name_is_given_the_zone_of_the_node(obj, minor, labels):
    """kube-apiserver copies it before it asks any webhook."""
    assert labels == applied(obj, objects=[node("n0"), node()], version=features(minor)).stored["metadata"]["labels"]


def test_an_update_copies_no_zone():
    named = pod(spec={"nodeName": "n1"})

    assert named == applied(named, named, objects=[node()]).stored
