"""evenkeel policy init: the policy does what is wanted, and the test shows it."""

from __future__ import annotations

import re
from itertools import product

import pytest
import yaml

from tests.support.build import HOSTNAME, ZONE
from webhook.loading.usage import UsageError
from webhook.objects.names import NAMESPACE_NAME
from webhook.policy.parsing import parse_policy
from webhook.policy_test.drafting import POLICY_FILE, TEST_FILE, drafts
from webhook.policy_test.running import run_file
from webhook.policy_test.wishes import DENIABLE, Wishes
from webhook.scheduler.constraint import HARD, SOFT

NOTHING = Wishes((), 2, "", (), {}, {}, "", None, "Warn", "", "")
ZONES = NOTHING._replace(topology_keys=(ZONE,), min_replicas=3)
PRODUCTION, PAYMENTS = {"env": "production"}, {"team": "payments"}
EXEMPT = {"exempt": PAYMENTS, "until": "2027-06-30"}
OUTCOME = {"Deny": "denied", "Warn": "would-be-denied", "Audit": "would-be-denied"}
MISSING, REQUIRING_HARD, MISSES = "missing-constraints", "soft-constraint", "selector-misses-own-pod"


def written(wishes, folder):
    """The results of the test that is written, and its file as data."""
    for name, text in drafts(wishes).items():
        (folder / name).write_text(text, "utf-8")
    return run_file(str(folder / TEST_FILE)), yaml.safe_load((folder / TEST_FILE).read_text("utf-8"))


def outcomes(test):
    return {case["name"]: (case["expect"]["outcome"], case["expect"].get("rules")) for case in test["cases"]}


def text_of(wishes):
    return drafts(wishes)[POLICY_FILE]


def rules_of(wishes):
    """What the policy says of rules, everywhere and in each override by its name."""
    policy = yaml.safe_load(text_of(wishes))
    return {"": policy.get("rules"), **{each["name"]: each["rules"] for each in policy.get("overrides", ())}}


def outcomes_wanted(wishes):
    """What is to become of each case, in the words of the wishes."""
    denied = OUTCOME[wishes.enforcement]
    yield from [denied] * (len(wishes.topology_keys) + bool(wishes.action) + len(wishes.denied))
    if wishes.topology_keys and wishes.min_replicas > 1:
        yield "allowed"
    if wishes.topology_keys or wishes.action:
        yield "allowed"
    if wishes.selected:
        yield "allowed" if wishes.topology_keys or wishes.action else "warned"
    if wishes.exempt:
        yield from ("warned", denied) * (len(wishes.topology_keys) + bool(wishes.action) + len(wishes.denied))
    yield "allowed" if wishes.defaults == () else "defaulted"


def fitting(keys, number, action):
    """The default constraints that break nothing: those that are soft, or lack a key that each Pod needs, do."""
    return () if number == 1 or (action == HARD and not keys) else (HOSTNAME,)


COMBINATIONS = [
    Wishes(keys, number, action, denied, selected, *exempt, fitting(keys, number, action), enforcement, "", "")
    for (keys, number), action, denied, selected, exempt, enforcement in product(
        (((), 2), ((ZONE,), 1), ((ZONE, "rack"), 3)),
        ("", HARD, SOFT),
        ((), (MISSES,)),
        ({}, PRODUCTION),
        (({}, ""), (PAYMENTS, "2027-06-30")),
        ("Deny", "Warn"),
    )
    if keys or action or denied or not (selected or exempt[0])
]


@pytest.mark.parametrize("wishes", COMBINATIONS, ids=str)
def test_the_policy_does_what_is_wanted(wishes, tmp_path):
    results, test = written(wishes, tmp_path)

    assert [*outcomes_wanted(wishes)] == [case["expect"]["outcome"] for case in test["cases"]]
    assert outcomes(test).get("a workload with all that is required is allowed") in (None, ("allowed", []))
    assert () == results.problems and all(result.passed for result in results.results)


def test_each_case_breaks_what_its_name_says(tmp_path):
    wishes = ZONES._replace(topology_keys=(ZONE, "rack"), action=HARD, denied=DENIABLE, defaults=())
    _, test = written(wishes, tmp_path)
    found = outcomes(test)

    for key in (ZONE, "rack"):
        assert ("would-be-denied", [MISSING]) == found[f"3 replicas need a constraint for {key}"]
    assert ("would-be-denied", [REQUIRING_HARD]) == found[f"a constraint needs whenUnsatisfiable: {HARD}"]
    for rule in DENIABLE:
        outcome, rules = found[f"{rule} is an error"]
        assert "would-be-denied" == outcome and rule in rules
    assert ("allowed", []) == found["2 replicas need no constraint"]
    assert ("allowed", []) == found["a workload with all that is required is allowed"]


@pytest.mark.parametrize("enforcement", OUTCOME)
def test_who_is_exempt_is_only_warned_until_the_day_and_others_are_not_concerned(tmp_path, enforcement):
    wishes = ZONES._replace(selected=PRODUCTION, **EXEMPT, enforcement=enforcement)
    _, test = written(wishes, tmp_path)
    found, cases = outcomes(test), {case["name"]: case for case in test["cases"]}

    # What only warns is in no answer where enforcement is Audit.
    last, after = "team=payments is exempt until 2027-06-30", "team=payments is no longer exempt on 2027-07-01"
    assert ("allowed" if enforcement == "Audit" else "warned", [MISSING]) == found[last]
    assert (OUTCOME[enforcement], [MISSING]) == found[after]
    assert ["2027-06-30", "2027-07-01"] == [cases[name]["today"] for name in (last, after)]
    assert ("allowed", []) == found["this is not required outside env=production"]
    namespaces = {obj["metadata"]["name"]: obj["metadata"]["labels"] for obj in test["cluster"][:-1]}
    assert {"selected": PRODUCTION, "exempt": PRODUCTION | PAYMENTS, "outside": {}} == {
        name: {key: value for key, value in labels.items() if key != NAMESPACE_NAME}
        for name, labels in namespaces.items()
    }
    assert all(labels[NAMESPACE_NAME] == name for name, labels in namespaces.items())


def test_a_namespace_may_be_named_as_the_test_names_others(tmp_path):
    named = {NAMESPACE_NAME: "selected"}
    results, test = written(ZONES._replace(**EXEMPT | {"exempt": named}), tmp_path)

    names = [obj["metadata"]["name"] for obj in test["cluster"][:-1]]
    assert {"selected"} < {*names} and len(names) == 2 == len({*names})
    assert all(result.passed for result in results.results)
    assert ("warned", [MISSING]) == outcomes(test)[f"{NAMESPACE_NAME}=selected is exempt until 2027-06-30"]


def test_rules_hold_everywhere_or_in_an_override():
    setting = {"severity": "error", "minReplicas": 3, "topologyKeys": [ZONE]}

    assert {"": {MISSING: setting}} == rules_of(ZONES)
    assert {"": None, "env=production": {MISSING: setting}} == rules_of(ZONES._replace(selected=PRODUCTION))
    exempt = setting | {"severity": "warning"}
    assert {"": {MISSING: setting}, "team=payments": {MISSING: exempt}} == rules_of(ZONES._replace(**EXEMPT))
    assert {"": None} == rules_of(NOTHING)
    assert {"": {"hard-constraint": {"severity": "error"}}} == rules_of(NOTHING._replace(action=SOFT))


def test_the_override_of_who_is_exempt_comes_first_and_selects_no_more_than_the_other():
    overrides = yaml.safe_load(text_of(ZONES._replace(selected=PRODUCTION, **EXEMPT)))["overrides"]

    assert [PRODUCTION | PAYMENTS, PRODUCTION] == [each["namespaceSelector"]["matchLabels"] for each in overrides]
    assert ["2027-06-30", None] == [each.get("until") and str(each["until"]) for each in overrides]


@pytest.mark.parametrize("selected", [{}, PRODUCTION])
def test_a_warning_says_from_when_it_denies_and_whom_to_ask(selected):
    said = {"deny_from": "2027-01-15", "contact": "#plätform 😀"}
    policy = parse_policy(text_of(ZONES._replace(selected=selected, **EXEMPT, **said)))

    exempt, of_others = policy.overrides[0].settings, policy.parts[-1 if selected else 0].settings
    assert "will be denied from 2027-07-01; ask #plätform 😀" == exempt[MISSING].notice
    for rule in (MISSING, "empty-selector"):
        assert "will be denied from 2027-01-15; ask #plätform 😀" == of_others[rule].notice
    later = parse_policy(text_of(ZONES._replace(**EXEMPT, **said | {"deny_from": "2028-01-15"})))
    assert "will be denied from 2028-01-15; ask #plätform 😀" == later.overrides[0].settings[MISSING].notice


@pytest.mark.parametrize(
    ("wishes", "notice"),
    [
        ({"enforcement": "Deny"}, "will be denied from 2027-07-01"),
        ({"enforcement": "Deny", "contact": "#a"}, "will be denied from 2027-07-01; ask #a"),
        ({"deny_from": "2027-01-15"}, "will be denied from 2027-07-01"),
        ({}, ""),
        ({"enforcement": "Audit"}, ""),
    ],
)
def test_who_is_exempt_is_told_a_day_only_if_the_policy_denies_then(wishes, notice):
    override = parse_policy(text_of(ZONES._replace(**EXEMPT, **wishes))).overrides[0]

    assert notice == override.settings[MISSING].notice


@pytest.mark.parametrize("action", ["", HARD])
@pytest.mark.parametrize("keys", [(), (ZONE,), (HOSTNAME,), ("rack", ZONE)], ids=str)
@pytest.mark.parametrize("rule", DENIABLE)
def test_the_test_fails_if_a_rule_denies_no_more(tmp_path, rule, keys, action):
    wishes = NOTHING._replace(topology_keys=keys, action=action, denied=(rule,), defaults=(), enforcement="Deny")
    files = drafts(wishes)
    files[POLICY_FILE] = re.sub(rf"(?<= {rule}:\n    severity: )error", "warning", files[POLICY_FILE])

    assert files != drafts(wishes)
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert not all(result.passed for result in run_file(str(tmp_path / TEST_FILE)).results)


def test_nothing_is_said_of_a_day_where_errors_deny():
    said = {"deny_from": "", "contact": "#platform"}

    assert "notice" not in text_of(ZONES._replace(enforcement="Deny")) + text_of(ZONES)
    assert "\nnotice:" not in text_of(ZONES._replace(enforcement="Deny", **EXEMPT, **said))


@pytest.mark.parametrize(
    ("defaults", "given"),
    [(None, [ZONE, HOSTNAME]), ((), []), ((HOSTNAME,), [HOSTNAME]), ((ZONE, "rack"), [ZONE, "rack"])],
)
def test_a_pod_gets_the_default_constraints_that_are_wanted(tmp_path, defaults, given):
    results, test = written(ZONES._replace(defaults=defaults), tmp_path)

    constraints = [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": SOFT} for key in given]
    expected = {"outcome": "defaulted" if given else "allowed", "defaults": constraints}
    assert expected == test["cases"][-1]["expect"]
    assert results.results[-1].passed
    assert ("defaulting" in yaml.safe_load(text_of(ZONES._replace(defaults=defaults)))) == (defaults is not None)


@pytest.mark.parametrize(
    "wishes",
    [
        ZONES._replace(action=HARD),
        NOTHING._replace(action=HARD, defaults=("rack",)),
        ZONES._replace(min_replicas=1, defaults=(HOSTNAME,)),
    ],
    ids=str,
)
def test_default_constraints_that_no_pod_would_get_are_refused(wishes):
    """evenkeel gives a Pod no constraints with which the policy would deny it."""
    with pytest.raises(UsageError) as raised:
        drafts(wishes)

    other = ", or name other topology keys with it" if wishes.topology_keys else ""
    assert str(raised.value).endswith(f"; write --default-constraints none{other}")
    begins = "--require" if wishes.topology_keys else "--when-unsatisfiable"
    assert str(raised.value).startswith(begins if wishes.defaults is None else "--default-constraints: these ")
    assert drafts(wishes._replace(defaults=()))


def test_the_files_are_those_of_a_person():
    """The whole text, once."""
    files = drafts(ZONES._replace(selected=PRODUCTION, contact="#platform"))

    assert [POLICY_FILE, TEST_FILE] == [*files]
    assert (
        files[POLICY_FILE]
        == """\
# Written by evenkeel policy init.
apiVersion: config.evenkeel.dev/v1alpha1
kind: SpreadPolicy
enforcement: Warn  # Errors only warn. Write Deny to deny them.
notice: {contact: "#platform"}

# No defaulting: Pods without constraints get the built-in default constraints.

# Only the first override that matches a namespace applies to it.
overrides:
- name: "env=production"
  namespaceSelector: {matchLabels: {env: production}}
  notice: {contact: "#platform"}
  rules:
    # Workloads with 3 replicas or more must have a constraint for each of these keys.
    missing-constraints:
      severity: error
      minReplicas: 3
      topologyKeys: [topology.kubernetes.io/zone]
"""
    )
    assert files[TEST_FILE].startswith(
        "# What is expected of policy.yaml. Written by evenkeel policy init; evenkeel policy test runs it.\n"
        "kind: PolicyTest\npolicy: policy.yaml\ncluster:\n- apiVersion: v1\n  kind: Namespace\n"
    )
    assert "      selector:\n        matchLabels: {app: web}\n" in files[TEST_FILE]
