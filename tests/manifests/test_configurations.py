"""What the API server is told to send: the kinds, the conditions, and how to reach the webhook."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from tests.support import ROOT, build
from tests.support.review import review
from tests.support.strategies import LIST, SYSTEM, policies_of_defaults
from webhook.admission.defaulting import Defaults
from webhook.admission.request import MUTATE
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.names import NAMESPACE_NAME, SYSTEM_NAMESPACES
from webhook.kubernetes.reader import Reader
from webhook.manifests.configurations import (
    FAIL,
    MUTATING_NAME,
    TIMEOUT_SECONDS,
    WebhookTarget,
    configurations,
    enforced_entry_name,
    entry_name,
    ignoring,
    unsent,
)
from webhook.server.transport.http_request import turn_seconds
from webhook.server.transport.loop import SWEEP_SECONDS
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import as_selector

TARGET = WebhookTarget(b"PEM", service=("guard", "keel"), failure_policy=FAIL)
OTHERS = ("rollouts.argoproj.io", "clonesets.apps.kruise.io", "statefulsets.apps.kruise.io")
EVERY_ENTRY = ("pods", "podtemplates", "workloads", "cronjobs", *OTHERS)
FLEET = {"apiVersion": "a.io/v1", "kind": "Fleet", "resource": "fleets"}


def made(target=TARGET, **policy):
    """The entries by kind of configuration, for the built-in policy with `policy` in it."""
    parsed = build.policy(**policy)
    return {one["kind"].removesuffix("WebhookConfiguration"): one for one in configurations(parsed, target)}


def entries(phase, target=TARGET, **policy):
    return {one["name"].removesuffix(".evenkeel.dev"): one for one in made(target, **policy)[phase]["webhooks"]}


def conditions(entry):
    return {one["name"]: one["expression"] for one in entry.get("matchConditions", ())}


def test_the_entries_of_the_built_in_policy():
    assert ["defaults"] == [*entries("Mutating")]
    assert [*EVERY_ENTRY] == [*entries("Validating")]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.api_version} {kind.kind}")
def test_an_entry_is_named_after_the_kinds_that_it_sends(kind):
    """kubectl prints the name where it denies."""
    sends = {
        (f"{group}/{version}".lstrip("/"), resource)
        for entry in made()["Validating"]["webhooks"]
        if entry["name"] == entry_name(kind)
        for rule in entry["rules"]
        for group in rule["apiGroups"]
        for version in rule["apiVersions"]
        for resource in rule["resources"]
    }

    assert (kind.api_version, kind.resource) in sends


def test_each_kind_is_sent_once_by_one_entry():
    sent = Counter(
        (f"{group}/{version}".lstrip("/"), resource)
        for entry in entries("Validating", workloads=[{**FLEET, "podTemplate": "spec.template"}]).values()
        for rule in entry["rules"]
        for group in rule["apiGroups"]
        for version in rule["apiVersions"]
        for resource in rule["resources"]
    )

    assert sent == Counter([*((kind.api_version, kind.resource) for kind in KINDS), ("a.io/v1", "fleets")])


def test_only_new_pods_are_sent_and_changes_of_everything_else():
    operations = {name: one["rules"][0]["operations"] for name, one in entries("Validating").items()}

    assert ["CREATE"] == operations.pop("pods")
    assert {("CREATE", "UPDATE")} == set(map(tuple, operations.values()))
    assert all(("changed" in conditions(one)) == (name != "pods") for name, one in entries("Validating").items())


def test_what_the_api_server_wants_of_every_entry():
    every = [*entries("Mutating", earlyAnswer=True).values(), *entries("Validating").values()]

    for entry in every:
        assert ("None", ["v1"], "Equivalent") == tuple(
            entry[name] for name in ("sideEffects", "admissionReviewVersions", "matchPolicy")
        )
        assert re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+){2,}", entry["name"])
        for name, expression in conditions(entry).items():
            assert re.fullmatch("[a-z-]+", name)
            assert expression.count("(") == expression.count(")")


def test_defaults_come_last_and_again_where_somebody_else_changed_the_pod():
    assert sorted([MUTATING_NAME, "vault-agent-injector", "istio-sidecar-injector"])[-1] == MUTATING_NAME
    assert "IfNeeded" == entries("Mutating")["defaults"]["reinvocationPolicy"]


def test_the_seconds_that_the_api_server_waits():
    assert (3, 5) == (
        entries("Mutating")["defaults"]["timeoutSeconds"],
        entries("Validating")["pods"]["timeoutSeconds"],
    )


def test_some_namespaces_are_never_sent():
    selectors = [one["namespaceSelector"]["matchExpressions"] for one in entries("Validating").values()]

    assert [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": [*SYSTEM_NAMESPACES, "guard"],
        },
        {"key": "evenkeel.dev/skip", "operator": "NotIn", "values": ["true"]},
    ] == selectors[0]
    assert all(one == selectors[0] for one in selectors)


def test_a_failure_policy_is_for_built_in_kinds_only():
    """CEL that fails on a custom resource without a schema must not keep it from being created."""
    found = {name: one["failurePolicy"] for name, one in entries("Validating").items()}

    assert {"Ignore"} == {found.pop(name) for name in list(found) if "." in name}
    assert {"Fail"} == set(found.values())
    assert "Ignore" == WebhookTarget(b"").failure_policy


BY_USERS = WebhookTarget(b"", enforced_fail=True)
ENFORCED = {"severity": "error", "enforced": True}
BUILT_IN = ("pods", "podtemplates", "workloads", "cronjobs")
EMPTY, MISSING = {"empty-selector": ENFORCED}, {"missing-constraints": ENFORCED}
BY_RULES = {
    "a rule that needs constraints": ({"rules": EMPTY}, ["has-constraints", "not-by-controller"]),
    "and one that does not": ({"rules": {**EMPTY, **MISSING}}, ["not-by-controller"]),
    "which is not enforced": (
        {"rules": {**EMPTY, "missing-constraints": "warning"}},
        ["has-constraints", "not-by-controller"],
    ),
    "enforced for some": ({"overrides": [{"name": "x", "podSelector": {}, "rules": MISSING}]}, ["not-by-controller"]),
}


@pytest.mark.parametrize(("policy", "sent"), BY_RULES.values(), ids=BY_RULES)
def test_what_an_enforced_rule_may_deny_fails_unless_a_controller_sends_it(policy, sent):
    found = entries("Validating", BY_USERS, **policy)

    assert {*(f"enforced.{name}" for name in BUILT_IN), *EVERY_ENTRY} == {*found}
    assert {"Fail"} == {found[f"enforced.{name}"]["failurePolicy"] for name in BUILT_IN}
    assert {"Ignore"} == {found[name]["failurePolicy"] for name in EVERY_ENTRY}
    assert sent == [*conditions(found["enforced.pods"])]


@pytest.mark.parametrize(("policy", "sent"), BY_RULES.values(), ids=BY_RULES)
def test_the_entry_that_sends_what_a_person_applies(policy, sent):
    given = build.policy(**policy)
    pods, rollouts = (next(one for one in KINDS if one.resource == name) for name in ("pods", "rollouts"))
    without = None if "has-constraints" in sent else "enforced.pods.evenkeel.dev"

    assert "enforced.pods.evenkeel.dev" == enforced_entry_name(given, pods, constrained=True)
    if given.judges_without_constraints:
        assert without == enforced_entry_name(given, pods, constrained=False)
    assert enforced_entry_name(given, rollouts, constrained=True) is None
    assert enforced_entry_name(build.policy(), pods, constrained=True) is None


@pytest.mark.parametrize(("policy", "sent"), BY_RULES.values(), ids=BY_RULES)
def test_each_object_is_sent_by_one_of_both_entries(policy, sent):
    """The second has the conditions that both have, and that one of the first's own is not met."""
    found = entries("Validating", BY_USERS, **policy)
    plain = entries("Validating", **policy)
    for name in BUILT_IN:
        first, second = conditions(found[f"enforced.{name}"]), conditions(found[name])
        own = [expression for each, expression in first.items() if each not in conditions(plain[name])]

        assert " || ".join(f"!({expression})" for expression in own) == second.pop("not-enforced")
        assert conditions(plain[name]) == second


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"rules": {"empty-selector": {"severity": "warning", "enforced": True}}},
        {"enforcement": "Warn", "rules": EMPTY},
    ],
    ids=["nothing is enforced", "only a warning", "nothing denies"],
)
def test_nothing_fails_where_nothing_is_enforced(policy):
    assert made(BY_USERS, **policy) == made(WebhookTarget(b""), **policy)


def test_by_which_entries_all_passes_while_no_webhook_answers():
    policy = build.policy(rules=EMPTY)
    ignored = tuple(f"{name}.evenkeel.dev" for name in BUILT_IN)

    def found(target):
        return ignoring(policy, made(target, rules=EMPTY)["Validating"]["webhooks"])

    assert (ignored, (), ()) == (found(WebhookTarget(b"")), found(BY_USERS), found(TARGET))


@pytest.mark.parametrize(
    ("policy", "sent"),
    [
        ({"defaulting": SYSTEM}, []),
        ({"defaulting": {"defaultingType": "List", "defaultConstraints": []}}, []),
        ({"defaulting": SYSTEM, "overrides": [{"name": "x", "podSelector": {}, "defaulting": SYSTEM}]}, []),
        ({"overrides": [{"name": "x", "podSelector": {}, "defaulting": SYSTEM}]}, ["defaults"]),
        ({"defaulting": SYSTEM, "earlyAnswer": True}, [*EVERY_ENTRY]),
        ({"earlyAnswer": True}, ["defaults", *EVERY_ENTRY]),
    ],
    ids=["System", "an empty list", "System for some, too", "a list for the rest", "early answers", "both"],
)
def test_what_is_sent_to_be_mutated(policy, sent):
    found = made(**policy)

    assert sent == [one["name"].removesuffix(".evenkeel.dev") for one in found.get("Mutating", {}).get("webhooks", [])]


def override(name, defaulting=LIST, **fields):
    return {"name": name, "defaulting": defaulting, **fields}


def of_namespaces(**labels):
    return {"namespaceSelector": {"matchLabels": labels}}


def asked(**policy):
    """What the entry for defaults asks of namespaces, besides that they are not excluded."""
    expressions = entries("Mutating", **policy)["defaults"]["namespaceSelector"]["matchExpressions"]
    assert [NAMESPACE_NAME, "evenkeel.dev/skip"] == [one["key"] for one in expressions[:2]]
    return expressions[2:]


A = override("a", **of_namespaces(team="a"))
B = override("b", **of_namespaces(team="b"), defaultingMode="Audit")
NARROW = [
    ("one", [A], [build.term("team", "In", "a")]),
    ("several values of a key", [A, B], [build.term("team", "In", "a", "b")]),
    ("one that gives none", [A, override("b", SYSTEM, **of_namespaces(team="b"))], [build.term("team", "In", "a")]),
    ("one that changes no defaults", [A, {"name": "b", "podSelector": {}}], [build.term("team", "In", "a")]),
    ("one for all namespaces", [A, override("b", podSelector={"matchLabels": {"a": "b"}})], []),
    ("one for another key", [A, override("b", **of_namespaces(env="b"))], []),
    ("one that selects Pods, too", [A | {"podSelector": {"matchLabels": {"a": "b"}}}], [build.term("team", "In", "a")]),
]


@pytest.mark.parametrize(("overrides", "expressions"), [case[1:] for case in NARROW], ids=[case[0] for case in NARROW])
def test_where_only_some_namespaces_get_defaults_only_their_pods_are_sent(overrides, expressions):
    assert expressions == asked(defaulting=SYSTEM, overrides=overrides)
    assert expressions == asked(defaulting={"defaultingType": "List"}, overrides=overrides)
    assert [] == asked(defaulting=LIST, overrides=overrides) == asked(overrides=overrides)


def test_the_recommended_start_sends_pods_of_namespaces_with_the_label():
    policy = yaml.safe_load((ROOT / "docs/examples/defaults/policy.yaml").read_text())

    assert [build.term("spread-defaults", "In", "enabled", "trial")] == asked(**policy)


def test_only_what_gives_defaults_is_sent_of_some_namespaces():
    early = entries("Mutating", earlyAnswer=True, defaulting=SYSTEM, overrides=[A], rules=MISSING)
    others = [one["namespaceSelector"] for name, one in early.items() if name != "defaults"]

    assert [entries("Validating")["pods"]["namespaceSelector"]] * len(EVERY_ENTRY) == others


def test_early_answers_are_for_what_nobody_owns():
    early = entries("Mutating", earlyAnswer=True)

    assert ["has-constraints", "changed", "not-owned"] == [*conditions(early["workloads"])]


@pytest.mark.parametrize(
    "policy",
    [
        {"rules": {"missing-constraints": "info"}},
        {"overrides": [{"name": "x", "podSelector": {}, "rules": {"missing-constraints": "error"}}]},
    ],
    ids=["for all", "for some"],
)
def test_a_policy_that_misses_constraints_needs_what_has_none(policy):
    found = entries("Validating", **policy)

    assert {"pods": [], "workloads": ["changed"]} == {
        name: [*conditions(found[name])] for name in ("pods", "workloads")
    }


def test_the_kind_of_an_operator_is_sent_only_where_the_policy_names_it():
    named = entries("Validating", workloads=[{"builtIn": "strimzi-kafka"}])
    entry = named["kafkas.kafka.strimzi.io"]

    assert {"kafkas.kafka.strimzi.io"} == named.keys() - entries("Validating").keys()
    assert {"v1beta2", "v1"} == {version for rule in entry["rules"] for version in rule["apiVersions"]}
    assert [["kafkas"]] * 2 == [rule["resources"] for rule in entry["rules"]]
    assert {} == conditions(entry), "the chart does not know the paths"
    assert "Ignore" == entry["failurePolicy"]


def test_a_kind_that_the_policy_describes_anew_is_sent_as_it_says():
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "resource": "rollouts"}
    entry = entries("Validating", workloads=[{**rollout, "podTemplate": "spec.pods"}])["rollouts.argoproj.io"]

    assert (
        "object.?spec.?pods.?spec.?topologySpreadConstraints.orValue([]).size() > 0"
        == (conditions(entry)["has-constraints"])
    )


@pytest.mark.parametrize(
    ("target", "config"),
    [
        (TARGET, {"service": {"namespace": "guard", "name": "keel", "path": "/validate", "port": 443}}),
        (WebhookTarget(b"PEM", url="https://10.0.0.1:8443/"), {"url": "https://10.0.0.1:8443/validate"}),
    ],
    ids=["service", "url"],
)
def test_how_the_webhook_is_reached(target, config):
    found = made(target)["Validating"]["webhooks"][0]["clientConfig"]

    assert {**config, "caBundle": "UEVN"} == found


DROPPED = {"rules": {"missing-constraints": "error"}}
MORE = {"workloads": [{**FLEET, "podTemplate": "spec.template"}]}


@pytest.mark.parametrize(
    ("registered", "in_force", "missing"),
    [
        ({}, {}, ()),
        ({}, {"rules": {"empty-selector": "warning"}}, ()),
        ({}, {"defaulting": SYSTEM}, ()),
        ({"defaulting": SYSTEM}, {}, ("defaults",)),
        ({}, MORE, ("fleets.a.io",)),
        (MORE, {}, ()),
        ({}, DROPPED, EVERY_ENTRY),
        (DROPPED, {}, ()),
        ({"target": BY_USERS, "rules": EMPTY}, {"rules": EMPTY}, ()),
        ({"target": BY_USERS, "rules": EMPTY}, {}, BUILT_IN),
    ],
    ids=[
        "the same",
        "no other calls",
        "fewer calls",
        "defaults",
        "another kind",
        "a kind less",
        "more conditions",
        "fewer conditions",
        "entries of their own",
        "and no longer",
    ],
)
def test_what_a_policy_needs_and_is_not_sent_is_named(registered, in_force, missing):
    found = [entry for one in made(**registered).values() for entry in one["webhooks"]]
    policy = build.policy(**in_force)

    assert missing == tuple(name.removesuffix(".evenkeel.dev") for name in unsent(policy, found))


def test_an_entry_without_conditions_sends_all_that_is_needed():
    """The API server stores no empty list; one before 1.29 is given no conditions, for it cannot read them."""
    for policy in ({}, {"rules": {"missing-constraints": "error"}}):
        found = [entry for one in made(**policy).values() for entry in one["webhooks"]]
        stored = [{key: value for key, value in one.items() if key != "matchConditions"} for one in found]

        assert () == unsent(build.policy(**policy), stored)


OPT_IN = {"defaulting": SYSTEM, "overrides": [A]}


@pytest.mark.parametrize(
    ("registered", "in_force", "missing"),
    [
        (OPT_IN, OPT_IN, ()),
        (OPT_IN, OPT_IN | {"overrides": [A, B]}, ("defaults",)),
        (OPT_IN | {"overrides": [A, B]}, OPT_IN, ()),
        (OPT_IN, {}, ("defaults",)),
        ({}, OPT_IN, ()),
        (OPT_IN, {"defaulting": SYSTEM}, ()),
        ({"target": WebhookTarget(b"", excluded=("a", "b")), **OPT_IN}, OPT_IN, ()),
    ],
    ids=["the same", "more namespaces", "fewer", "all", "no longer all", "no defaults", "others are excluded"],
)
def test_namespaces_with_defaults_that_are_not_sent_are_missed(registered, in_force, missing):
    found = [entry for one in made(**registered).values() for entry in one["webhooks"]]

    assert missing == tuple(name.removesuffix(".evenkeel.dev") for name in unsent(build.policy(**in_force), found))


@pytest.mark.parametrize("policy", [{}, OPT_IN], ids=["for all", "for some"])
def test_what_a_cloud_excludes_from_all_entries_is_not_missed(policy):
    """As the admissions enforcer of AKS does."""
    found = [entry for one in made(**policy).values() for entry in one["webhooks"]]
    for entry in found:
        entry["namespaceSelector"]["matchExpressions"].append({"key": "control-plane", "operator": "DoesNotExist"})

    assert () == unsent(build.policy(**policy), found)


LABELLINGS = [
    {key: value for key, value in zip("ab", chosen, strict=True) if value}
    for chosen in product(("", "x", "y"), repeat=2)
]


@settings(suppress_health_check=list(HealthCheck))
@given(policies_of_defaults, policies_of_defaults)
def test_no_pod_that_would_get_defaults_is_lost(policy, other):
    """Neither by its own configurations, nor by those for another policy unless that is told."""
    in_force = build.policy(**policy)
    own, others = ([entry for one in made(**each).values() for entry in one["webhooks"]] for each in (policy, other))
    assert () == unsent(in_force, own)

    told = unsent(in_force, others)
    for namespace_labels in ({NAMESPACE_NAME: "shop", **labels} for labels in LABELLINGS):
        if any(given_defaults(in_force, namespace_labels, labels) for labels in LABELLINGS):
            assert sends_to_default(own, namespace_labels)
            assert told or sends_to_default(others, namespace_labels)


def given_defaults(policy, namespace_labels, labels):
    """Whether a Pod with these labels gets any, be the labels of its namespace known to the webhook or not."""
    raw = build.request(build.pod(labels={"app": "web", **labels}))
    return any(
        isinstance(review(raw, MUTATE, policy, build.snapshot(*objects), build.FEATURES).defaulted, Defaults)
        for objects in ([build.service(), build.namespace(**namespace_labels)], [build.service()])
    )


def sends_to_default(entries, namespace_labels):
    selectors = [one["namespaceSelector"] for one in entries if one["name"] == "defaults.evenkeel.dev"]
    return any(as_selector(read_selector(Reader(), one, ())).matches(namespace_labels) for one in selectors)


def test_a_large_review_that_gets_no_turn_is_asked_again_in_time():
    """It waits, is told to come in a second, waits again, and has still some time to be answered."""
    for seconds in TIMEOUT_SECONDS.values():
        waits = turn_seconds(f"timeout={seconds}s") + SWEEP_SECONDS
        assert waits + 1 + waits < seconds


def test_an_entry_without_a_failure_policy_fails():
    """As the API server has it."""
    policy, sent = build.policy(rules=EMPTY), made(WebhookTarget(b""), rules=EMPTY)["Validating"]["webhooks"]
    failing = [{name: value for name, value in entry.items() if name != "failurePolicy"} for entry in sent]

    assert () == ignoring(policy, failing)
    assert 4 == len(ignoring(policy, sent))


def test_early_answers_have_no_entries_for_what_is_enforced():
    found = made(BY_USERS, earlyAnswer=True, rules=EMPTY)

    names = {phase: [entry["name"] for entry in one["webhooks"]] for phase, one in found.items()}
    assert [True, False] == [
        any(name.startswith("enforced.") for name in names[each]) for each in ("Validating", "Mutating")
    ]


@pytest.mark.parametrize("conditions", [True, False])
def test_an_api_server_that_knows_no_conditions_is_given_none(conditions):
    found = made(WebhookTarget(b"", conditions=conditions))

    assert {conditions} == {"matchConditions" in entry for one in found.values() for entry in one["webhooks"]}


@pytest.mark.parametrize(
    ("url", "path"), [("https://here/", "https://here/validate"), ("https://a/b", "https://a/b/validate")]
)
def test_a_url_leads_to_the_phase(url, path):
    assert {"url": path, "caBundle": "UEVN"} == WebhookTarget(b"PEM", url=url).client_config("validate")
    assert "caBundle" not in WebhookTarget(b"", url=url).client_config("validate")
