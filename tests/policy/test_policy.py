"""Where the policy matches which Pod, and what of it is in force there."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.build import pod, workload
from webhook.findings.finding import Severity
from webhook.kubernetes.workload import parse_workloads as parse_workload
from webhook.policy.defaults import Defaulting
from webhook.policy.parsing import built_in, parse_policy
from webhook.rules import RULES
from webhook.spread.selectors import Match

HEAD = "apiVersion: config.evenkeel.dev/v1alpha1\nkind: SpreadPolicy\n"


def policy(text=""):
    return parse_policy(HEAD + text)


def selecting(text):
    return f"overrides: [{{name: a, {text}}}]"


TEAM = "namespaceSelector: {matchLabels: {team: batch}}"
NAMED = "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}"
ALL, WEB = "podSelector: {}", "podSelector: {matchLabels: {app: web}}"
NAMED_JOB = "podSelector: {matchLabels: {job-name: sync}}"
HASHED = "podSelector: {matchExpressions: [{key: pod-template-hash, operator: Exists}]}"


class Place(NamedTuple):
    """`wanted` is the override in force, the first is called a; `?` says that it is not certain."""

    name: str
    overrides: tuple[str, ...]
    wanted: str
    namespace: dict | None = None
    given: dict = pod()


PLACES = [
    Place("the namespace has the label", (TEAM,), "a", namespace={"team": "batch"}),
    Place("the namespace has another label", (TEAM,), "none", namespace={"team": "web"}),
    Place("the labels of the namespace are not known", (TEAM,), "none ?"),
    Place("they are not known, but the scheduler is another", (f"{TEAM}, schedulerName: gpu",), "none"),
    Place("nor are they where the Pod has another label", (f"{TEAM}, {WEB}",), "none", given=pod(labels={"app": "db"})),
    Place("the name of the namespace is known", (NAMED % "shop",), "a"),
    Place("the name of the namespace is another", (NAMED % "bank",), "none"),
    Place("every namespace, whatever its labels", ("namespaceSelector: {}",), "a"),
    Place("the first that matches, and only that one", (WEB, ALL), "a"),
    Place("the second, where the first does not match", ("schedulerName: gpu", ALL), "b"),
    Place("the second, where the first might match", (TEAM, ALL), "b ?"),
    Place("the first, whatever the second might be", (ALL, TEAM), "a"),
    Place("the labels of the Pod are others", (WEB,), "none", given=pod(labels={"app": "db"})),
    Place("a label that the controller adds", (HASHED,), "none ?", given=workload("Deployment")),
    Place("a label that no controller adds", (HASHED,), "none", given=workload("StatefulSet")),
    Place("the name of its Job", (NAMED_JOB,), "a", given=workload("Job", name="sync")),
    Place("the name of another Job", (NAMED_JOB,), "none", given=workload("Job")),
    Place("the scheduler of the Pod", ("schedulerName: gpu",), "a", given=pod(spec={"schedulerName": "gpu"})),
    Place("no scheduler is the default one", ("schedulerName: default-scheduler",), "a"),
    Place("one of two conditions does not hold", (f"{WEB}, schedulerName: gpu",), "none"),
]


@pytest.mark.parametrize("case", PLACES, ids=lambda case: case.name)
def test_the_first_override_that_matches_is_in_force(case):
    overrides = (f"{{name: {name}, {text}}}" for name, text in zip("abc", case.overrides, strict=False))
    (given,) = parse_workload(case.given)
    found = policy(f"overrides: [{', '.join(overrides)}]").in_force(given, case.namespace)

    assert case.wanted == f"{found.override or 'none'}{'' if found.certain else ' ?'}"


def in_override(rules="{}", text=""):
    """What is in force where an override says `rules`, over a base that is strict."""
    base = "missing-constraints: {severity: error, enforced: true, minReplicas: 3}, pinned-pod: error"
    found = policy(f"rules: {{{base}}}\noverrides: [{{name: a, {ALL}, rules: {rules}{text}}}]")
    return found.in_force(*parse_workload(pod()), None)


def test_an_override_says_only_what_differs_of_a_rule():
    found = in_override("{missing-constraints: {topologyKeys: [rack]}, rollout-skew: {enforced: true}}").settings
    asked = {"minReplicas": 3, "topologyKeys": ["rack"]}

    assert RULES["missing-constraints"].setting(Severity.ERROR, True, asked) == found["missing-constraints"]
    assert RULES["rollout-skew"].setting(Severity.INFO, True) == found["rollout-skew"]
    assert Severity.ERROR is found["pinned-pod"].severity
    milder = in_override("{missing-constraints: warning}").settings["missing-constraints"]
    assert (Severity.WARNING, True, 3) == (milder.severity, milder.enforced, milder.parameters["minReplicas"])


def test_an_override_replaces_defaulting_whole():
    assert Defaulting("System") == in_override(text=", defaulting: {}").defaulting
    assert Defaulting("List") == in_override(text=", defaulting: {defaultingType: List}").defaulting
    assert built_in().defaulting == in_override().defaulting


def test_a_parameter_given_by_the_base_serves_an_override():
    found = policy(
        f"rules: {{excessive-max-skew: {{maxSkew: 3}}}}\n{selecting(f'{ALL}, rules: {{excessive-max-skew: info}}')}"
    )

    assert {"maxSkew": 3, "topologyKeys": []} == found.overrides[0].settings["excessive-max-skew"].parameters


def test_an_override_is_in_force_through_its_last_day():
    found = policy(f"overrides: [{{name: a, {ALL}, until: 2027-01-31}}, {{name: b, {WEB}}}]")
    days = ("2027-01-30", "2027-01-31", "2027-02-01")

    assert [["a", "b"], ["a", "b"], ["b"]] == [[each.name for each in found.on(day).overrides] for day in days]


def test_help_does_not_make_a_setting_another():
    """Else an override that only has other words for a rule would leave in doubt what it does."""
    base = "rules: {empty-selector: {help: ask us}}\n"
    found = policy(
        f"{base}overrides: [{{name: a, {TEAM}, rules: {{empty-selector: {{help: ask a}}}}}}, {{name: b, {ALL}}}]"
    )

    assert "ask a" == found.overrides[0].settings["empty-selector"].help
    assert "ask us" == found.overrides[1].settings["empty-selector"].help
    assert frozenset() == found.in_force(*parse_workload(pod()), None).doubted


def test_the_labels_of_pods_may_not_be_known():
    """Where nobody names their path."""
    found = policy(f"workloads: [{{apiVersion: a/v1, kind: A, resource: as, constraints: spread}}]\n{selecting(WEB)}")
    (given,) = parse_workload({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}}, found.kinds)

    assert (None, False) == (found.in_force(given, {}).override, found.in_force(given, {}).certain)


GIVEN = "defaulting: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: rack, %s}]}"
SOFTLY, NO_DEFAULTS = GIVEN % "whenUnsatisfiable: ScheduleAnyway", "defaulting: {defaultingType: List}"


@pytest.mark.parametrize(
    ("base", "overrides", "namespaces"),
    [
        ("", (), [{}, {"team": "batch"}]),
        (NO_DEFAULTS, (), []),
        (NO_DEFAULTS, (f"{TEAM}, {SOFTLY}",), [{"team": "batch"}]),
        (NO_DEFAULTS, (f"{ALL}, {SOFTLY}",), [{}, {"team": "batch"}]),
        (NO_DEFAULTS, (f"{ALL}, {NO_DEFAULTS}", f"{TEAM}, {SOFTLY}"), [{"team": "batch"}]),
    ],
    ids=["built in", "none", "for one team", "for all Pods", "none for others"],
)
def test_where_pods_may_be_given_defaults(base, overrides, namespaces):
    texts = (f"{{name: {name}, {text}}}" for name, text in zip("ab", overrides, strict=False))
    found = policy(f"{base}\noverrides: [{', '.join(texts)}]")

    assert namespaces == [
        labels for labels in ({}, {"team": "batch"}) if found.defaulted_namespaces.match(labels) is Match.YES
    ]
    assert bool(namespaces) == found.defaults


@pytest.mark.parametrize("override", [False, True])
def test_what_one_override_asks_the_policy_is_asked_for(override):
    rules = "rules: {missing-constraints: error}"
    found, plain = policy(selecting(f"{ALL}, {rules}") if override else rules), policy()

    assert (True, True) == (found.judges_without_constraints, found.gives("missing-constraints"))
    assert (False, False) == (plain.judges_without_constraints, plain.gives("missing-constraints"))


@pytest.mark.parametrize(("enforcement", "enforces"), [("Deny", True), ("Warn", False), ("Audit", False)])
def test_no_rule_is_enforced_where_nothing_denies(enforcement, enforces):
    found = policy(f"enforcement: {enforcement}\nrules: {{empty-selector: {{enforced: true}}}}")

    assert enforces == found.in_force(*parse_workload(pod()), None).enforces


def test_other_severities_hold_in_overrides_too():
    found = policy(selecting(f"{ALL}, rules: {{soft-constraint: warning}}"))
    changed = found.with_severities({"soft-constraint": Severity.ERROR})

    assert [Severity.ERROR] * 2 == [part.settings["soft-constraint"].severity for part in changed.parts]
    assert found.with_severities({"forbidden-topology-key": Severity.IGNORE}).gives("forbidden-topology-key")


class Strictness(NamedTuple):
    """What is in force, as (enforcement, that of enforced rules, ownedObjects), where one team has an override."""

    name: str
    policy: str
    override: str
    wanted: tuple
    namespace: dict | None = None


BATCH, OTHER = {"team": "batch"}, {"team": "web"}
STRICTNESS = [
    Strictness("what it does not say", "enforcement: Warn", "", ("Warn", "Warn", "Audit"), BATCH),
    Strictness("one team denies", "enforcement: Warn", "enforcement: Deny", ("Deny", "Deny", "Audit"), BATCH),
    Strictness("the others do not", "enforcement: Warn", "enforcement: Deny", ("Warn", "Warn", "Audit"), OTHER),
    Strictness("nor who may be that team", "enforcement: Warn", "enforcement: Deny", ("Warn", "Warn", "Audit")),
    Strictness("who may be warned is not denied", "", "enforcement: Warn", ("Warn", "Deny", "Audit")),
    Strictness("who may be warned or not", "enforcement: Audit", "enforcement: Warn", ("Audit", "Audit", "Audit")),
    Strictness("one team's owned objects", "", "ownedObjects: Deny", ("Deny", "Deny", "Deny"), BATCH),
    Strictness("perhaps that team's", "", "ownedObjects: Deny", ("Deny", "Deny", "Audit")),
    Strictness("perhaps not", "ownedObjects: Deny", "ownedObjects: Audit", ("Deny", "Deny", "Audit")),
]


@pytest.mark.parametrize("case", STRICTNESS, ids=lambda case: case.name)
def test_how_strict_it_is(case):
    found = policy(f"{case.policy}\n{selecting(TEAM + (', ' + case.override if case.override else ''))}")
    found = found.in_force(*parse_workload(pod()), case.namespace)

    assert case.wanted == (found.enforcement, found.of_enforced, found.owned_objects)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_overrides_that_may_be_in_force_either_leaves_it_in_doubt(order):
    differs = f"{{name: a, {TEAM}, defaulting: {{defaultingType: List}}, ownedObjects: Deny}}"
    same = f"{{name: b, {TEAM.replace('team', 'env')}}}"
    texts = [(differs, same)[i] for i in order]
    found = policy(f"ownedObjects: Deny\noverrides: [{', '.join(texts)}]").in_force(*parse_workload(pod()), None)
    audited = policy(f"overrides: [{', '.join(texts)}]").in_force(*parse_workload(pod()), None)

    assert (None, "Deny", "Audit") == (found.defaulting, found.owned_objects, audited.owned_objects)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_mildest_of_two_that_may_be_in_force_is(order):
    mild = f"{{name: a, {TEAM}, enforcement: Warn, ownedObjects: Audit, defaultingMode: Audit}}"
    same = f"{{name: b, {TEAM.replace('team', 'env')}}}"
    texts = ", ".join([(mild, same)[i] for i in order])
    found = policy(f"ownedObjects: Deny\noverrides: [{texts}]").in_force(*parse_workload(pod()), None)

    assert ("Warn", "Deny", "Audit", None) == (
        *(found.enforcement, found.of_enforced, found.owned_objects, found.defaulting),
    )


def test_the_doubt_is_about_what_differs_from_the_override_in_force():
    found = policy(f"overrides: [{{name: a, {TEAM}}}, {{name: b, {ALL}, rules: {{empty-selector: warning}}}}]")

    assert {"empty-selector"} == found.in_force(*parse_workload(pod()), None).doubted


def test_what_is_enforced_by_some():
    rules = "rules: {empty-selector: {enforced: true}}"
    one = policy(f"enforcement: Warn\n{rules}\n{selecting(f'{TEAM}, enforcement: Deny')}")
    none = policy(f"{rules}\nenforcement: Warn\n{selecting(f'{TEAM}, rules: {{pinned-pod: {{enforced: true}}}}')}")

    assert ("empty-selector",) == one.enforced
    assert () == none.enforced
    assert ("empty-selector",) == policy(f"{rules}\n{selecting(f'{TEAM}, enforcement: Warn')}").enforced


def test_what_is_possible_where_labels_are_not_known():
    """Each override that may be the first to match; not what another covers, nor what the name decides."""
    texts = (TEAM, f"{TEAM}, schedulerName: gpu", ALL, NAMED % "bank", "namespaceSelector: {matchLabels: {env: prod}}")
    found = policy(f"overrides: [{', '.join(f'{{name: {n}, {t}}}' for n, t in zip('abcde', texts, strict=True))}]")
    possible = found.possible("shop", None)
    (given,) = parse_workload(pod())
    first = {name: one.in_force(given, None) for name, one in possible.items()}

    assert {"a": "a", "e": "c", "": "c"} == {name: found.override for name, found in first.items()}
    assert all(found.certain for found in first.values())
    (of_gpu,) = parse_workload(pod(spec={"schedulerName": "gpu"}))
    assert all(one.in_force(of_gpu, None).certain for one in possible.values())
    assert {"": found} == found.possible("shop", {"team": "batch"})


def test_a_notice_is_not_kept_by_an_override_under_which_the_rule_only_warns():
    override = f"{{name: a, {ALL}, rules: {{empty-selector: warning}}}}"
    found = policy(f"enforcement: Warn\nnotice: {{contact: us}}\noverrides: [{override}]")
    errors = ("empty-selector", "malformed-topology-key")
    said = [[part.settings[rule].notice for rule in errors] for part in found.parts]

    assert [["will be denied; ask us"] * 2, ["", "will be denied; ask us"]] == said


def test_a_notice_of_the_policy_is_for_errors_of_its_overrides_too():
    """Those that only an override makes one, and not where the rule has a notice of its own."""
    override = f"{{name: a, {ALL}, rules: {{pinned-pod: error, empty-selector: error}}}}"
    rules = "rules: {empty-selector: {notice: {contact: them}}}"
    found = policy(f"enforcement: Warn\nnotice: {{contact: us}}\n{rules}\noverrides: [{override}]")
    said = [[part.settings[rule].notice for rule in ("pinned-pod", "empty-selector")] for part in found.parts]

    assert [["", "will be denied; ask them"], ["will be denied; ask us", "will be denied; ask them"]] == said
