"""What of a policy is in force for one Pod, line by line."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from evenkeel.policy.in_force_text import as_json, text
from tests.support.build import pod, policy
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import RULES

BATCH = "{name: batch, namespaceSelector: {matchLabels: {team: batch}}, defaulting: {defaultingType: System}%s}"
OVERRIDDEN = "{overrides: [%s]}" % (BATCH % "")
RULES_TOO = "{overrides: [%s]}" % (BATCH % ", rules: {empty-selector: warning}")


class Case(NamedTuple):
    """A line, and where it is shown: with which policy, in a namespace of which labels."""

    name: str
    line: str
    rules: str = ""
    labels: dict | None = None


CASES = [
    Case("no override", "override       none matches", labels={}),
    Case("an override", "override       batch", OVERRIDDEN, {"team": "batch"}),
    Case("one for others", "override       none matches", OVERRIDDEN, {"team": "web"}),
    Case(
        "one that may match",
        "               another may apply: the labels of the namespace are not known; …",
        OVERRIDDEN,
    ),
    Case("the enforcement", "enforcement    Warn", "{enforcement: Warn}"),
    Case("owned objects", "ownedObjects   Deny", "{ownedObjects: Deny}"),
    Case("early answers", "earlyAnswer    true", "{earlyAnswer: true}"),
    Case("no early answers", "earlyAnswer    false"),
    Case("errors", "onError        Deny", "{onError: Deny}"),
    Case("defaults", "defaulting     List"),
    Case("each default", '               - {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", …'),
    Case("the scheduler's defaults", "defaulting     System", OVERRIDDEN, {"team": "batch"}),
    Case(
        "defaults that are in doubt",
        "defaulting     none, because it is not certain which override applies",
        OVERRIDDEN,
    ),
    Case("a rule", "  empty-selector           error"),
    Case("a rule that is in doubt", "  empty-selector           error, in doubt", RULES_TOO),
    Case(
        "parameters",
        "  excessive-max-skew       error    enforced topologyKeys=[] maxSkew=5",
        "{rules: {excessive-max-skew: {severity: error, enforced: true, maxSkew: 5}}}",
    ),
]


def lines(rules, labels):
    found = policy(rules)
    return text(found, found.in_force(parse_workloads(pod())[0], labels)).splitlines()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_line(case):
    found = lines(case.rules, case.labels)

    if case.line.endswith("…"):
        assert any(line.startswith(case.line[:-1]) for line in found), found
    else:
        assert case.line in found


def test_every_rule_has_a_line():
    found = lines("", {})

    assert list(RULES) == [line.split()[0] for line in found[found.index("rules") + 1 :]]
    assert not any("certain" in line for line in found)


def test_the_same_for_programs():
    of_batch = "namespaceSelector: {matchLabels: {team: batch}}, rules: {empty-selector: warning}"
    given = policy(f"{{enforcement: Warn, overrides: [{{name: batch, until: 2999-01-31, {of_batch}}}]}}")
    (workload,) = parse_workloads(pod())
    known, doubtful = (
        json.loads(as_json(given, given.in_force(workload, labels))) for labels in ({"team": "batch"}, None)
    )

    assert ("batch", "2999-01-31", True, "Warn") == tuple(
        known[name] for name in ("override", "until", "certain", "enforcement")
    )
    assert ("List", 2) == (known["defaulting"]["type"], len(known["defaulting"]["defaultConstraints"]))
    assert list(RULES) == [rule["id"] for rule in known["rules"]]
    assert (None, None, False) == tuple(doubtful[name] for name in ("override", "until", "certain"))
    assert ["empty-selector"] == [rule["id"] for rule in doubtful["rules"] if rule["inDoubt"]]


def test_defaulting_that_is_in_doubt_is_null():
    given = policy(OVERRIDDEN)

    assert json.loads(as_json(given, given.in_force(parse_workloads(pod())[0], None)))["defaulting"] is None
