"""Where a policy defeats itself: what is an error and what a note, at which path, and by which rules."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.policy.contradictions import contradictions
from tests.support.build import FEATURES, HOSTNAME, ZONE, node, policy, snapshot
from webhook.admission.terms import Terms

REGION = "topology.kubernetes.io/region"
SEVERE = {"severity": "error"}
HARD, SOFT = (
    {
        "defaultingType": "List",
        "defaultConstraints": [
            {"maxSkew": 3, "topologyKey": key, "whenUnsatisfiable": action} for key in (ZONE, HOSTNAME)
        ],
    }
    for action in ("DoNotSchedule", "ScheduleAnyway")
)
NONE = {"defaultingType": "System"}
PROD = {"name": "prod", "namespaceSelector": {"matchLabels": {"env": "prod"}}}


def asking(*keys, **fields):
    return {"missing-constraints": {**SEVERE, "topologyKeys": [*keys], **fields}}


def forbidding(*keys, **fields):
    return {"forbidden-topology-key": {**SEVERE, "topologyKeys": [*keys], **fields}}


def allowing(*keys):
    return {"forbidden-topology-key": {**SEVERE, "allowedTopologyKeys": [*keys]}}


def found_in(raw, *objects):
    given = policy(**raw)
    terms = Terms(given, snapshot(*objects) if objects else None, FEATURES)
    return {str(each).partition(": ")[0]: each for each in contradictions(given, terms)}


class Self(NamedTuple):
    """A policy, and the path at which it defeats itself; `says` are words of it, such as the rules that do so."""

    name: str
    raw: dict
    path: str
    error: bool
    says: tuple = ()


KEYS = "rules.missing-constraints.topologyKeys[0]"
DEFEATS = [
    Self("a blank in a key that is asked for", {"rules": asking(f"{ZONE} ")}, KEYS, True),
    Self("a key of two words", {"rules": asking("a b")}, KEYS, True),
    Self(
        "a malformed key of a rule that is off",
        {"rules": {"missing-constraints": {"severity": "ignore", "topologyKeys": ["a b"]}}},
        KEYS,
        True,
    ),
    Self(
        "a malformed key that is forbidden",
        {"rules": forbidding("a b")},
        "rules.forbidden-topology-key.topologyKeys[0]",
        True,
    ),
    Self(
        "a malformed key that is allowed",
        {"rules": allowing(ZONE, HOSTNAME, "a/b/c")},
        "rules.forbidden-topology-key.allowedTopologyKeys[2]",
        True,
    ),
    Self("a misspelt key", {"rules": asking("topology.kubernetes.io/Zone")}, KEYS, False, (ZONE,)),
    Self(
        "a misspelt key of another rule",
        {"rules": {"hard-constraint": {"severity": "warning", "topologyKeys": ["topology.kubernetes.io/zon"]}}},
        "rules.hard-constraint.topologyKeys[0]",
        False,
        (ZONE,),
    ),
    Self(
        "a misspelt key in an override",
        {"overrides": [{**PROD, "rules": asking("topology.kubernetes.io/Zone")}]},
        f"overrides[0].{KEYS}",
        False,
        (ZONE,),
    ),
    Self(
        "a misspelt key of a default",
        {
            "defaulting": {
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/Zone", "whenUnsatisfiable": "ScheduleAnyway"}
                ],
            }
        },
        "defaulting.defaultConstraints[0].topologyKey",
        False,
        (ZONE,),
    ),
    Self(
        "hard and soft are both errors",
        {"rules": {"hard-constraint": "error", "soft-constraint": "error"}, "defaulting": NONE},
        "rules",
        True,
        ("hard-constraint", "soft-constraint"),
    ),
    Self(
        "both for one key",
        {
            "rules": {rule: {**SEVERE, "topologyKeys": [ZONE]} for rule in ("hard-constraint", "soft-constraint")},
            "defaulting": NONE,
        },
        "rules",
        True,
        (f'"{ZONE}"',),
    ),
    Self(
        "asked for and forbidden",
        {"rules": {**asking("rack"), **forbidding("rack")}},
        "rules.missing-constraints",
        True,
        ('"rack"', "forbidden-topology-key"),
    ),
    Self(
        "asked for and not allowed",
        {"rules": {**asking(REGION, ZONE), **allowing(ZONE, HOSTNAME)}},
        "rules.missing-constraints",
        True,
        (f'"{REGION}"',),
    ),
    Self(
        "asked for, and neither hard nor soft",
        {
            "rules": {
                **asking(ZONE),
                "hard-constraint": "error",
                "soft-constraint": {**SEVERE, "topologyKeys": [ZONE]},
            },
            "defaulting": NONE,
        },
        "rules.missing-constraints",
        True,
    ),
    Self(
        "asked for by the policy, forbidden in one namespace",
        {"rules": asking("rack"), "overrides": [{**PROD, "rules": forbidding("rack")}]},
        "overrides[0].rules.missing-constraints",
        True,
        ("forbidden-topology-key",),
    ),
    Self(
        "all that is allowed is forbidden",
        {
            "rules": {"forbidden-topology-key": {**SEVERE, "topologyKeys": [ZONE], "allowedTopologyKeys": [ZONE]}},
            "defaulting": NONE,
        },
        "rules",
        True,
    ),
    Self(
        "defaults above the largest maxSkew",
        {"rules": {"excessive-max-skew": {**SEVERE, "maxSkew": 1}}, "defaulting": SOFT},
        "defaulting",
        False,
        ("excessive-max-skew", "only Pods that a controller creates"),
    ),
    Self(
        "built-in defaults on a key that is not allowed",
        {"rules": allowing(ZONE)},
        "defaulting",
        False,
        ("built-in", "forbidden-topology-key"),
    ),
    Self("soft defaults where soft is an error", {"rules": {"soft-constraint": "error"}}, "defaulting", False),
    Self(
        "defaults that would be denied later",
        {"enforcement": "Warn", "rules": {"soft-constraint": "error"}},
        "defaulting",
        False,
        ("under enforcement: Deny",),
    ),
    Self(
        "defaults that no Pod gets",
        {"ownedObjects": "Deny", "rules": {"soft-constraint": "error"}, "defaulting": SOFT},
        "defaulting",
        True,
        ("no Pod gets them",),
    ),
    Self(
        "built-in defaults that no Pod gets",
        {"ownedObjects": "Deny", "rules": {"soft-constraint": "error"}},
        "defaulting",
        False,
        ("no Pod gets them",),
    ),
    Self(
        "defaults that an override forbids",
        {"overrides": [{**PROD, "rules": {"soft-constraint": "error"}}]},
        "overrides[0]",
        False,
        ("soft-constraint",),
    ),
    Self(
        "defaults of an override that the policy forbids",
        {"rules": {"hard-constraint": "error"}, "overrides": [{**PROD, "defaulting": HARD}]},
        "overrides[0].defaulting",
        False,
        ("hard-constraint",),
    ),
]


@pytest.mark.parametrize("case", DEFEATS, ids=lambda case: case.name)
def test_a_policy_that_defeats_itself(case):
    found = found_in(case.raw)

    assert [case.path] == [*found]
    assert case.error == found[case.path].error
    assert [] == [words for words in case.says if words not in found[case.path].text]


FINE = {
    "nothing": {},
    "a key that the rule forbids because it is deprecated": {
        "rules": forbidding("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zon")
    },
    "a key of one's own": {"rules": asking("rack")},
    "hard for zones, soft for the rest": {
        "rules": {
            "hard-constraint": {**SEVERE, "topologyKeys": [ZONE]},
            "soft-constraint": {**SEVERE, "topologyKeys": [HOSTNAME]},
        },
        "defaulting": NONE,
    },
    "hard for zones, with minDomains": {
        "rules": {
            **asking(ZONE),
            "soft-constraint": {**SEVERE, "topologyKeys": [ZONE]},
            "missing-min-domains": {**SEVERE, "minDomains": 3},
        },
        "defaulting": NONE,
    },
    "each rule that can be an error, alone": {"rules": {"rollout-skew": "error", "wrong-revision-key": "error"}},
    "a rule that defaults break, of warnings": {"rules": {"soft-constraint": "warning"}},
    "what the Pods lack with defaults, too": {"rules": asking(REGION, minReplicas=1)},
    "defaults with matchLabelKeys": {
        "rules": {"absent-match-label-key": "error"},
        "defaulting": {
            "defaultingType": "List",
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["tier"]}
            ],
        },
    },
    "the same in an override": {"rules": asking("rack"), "overrides": [{**PROD, "enforcement": "Warn"}]},
}


@pytest.mark.parametrize("name", FINE)
def test_a_policy_that_can_be_kept(name):
    assert {} == found_in(FINE[name])


def test_an_override_does_not_repeat_what_is_said_of_the_policy():
    raw = {
        "rules": {**asking("rack"), **forbidding("rack")},
        "overrides": [{**PROD, "rules": {"rollout-skew": "error"}}],
    }

    assert ["rules.missing-constraints"] == [*found_in(raw)]


def test_a_key_that_a_node_has_is_not_misspelt():
    raw = {"rules": asking("topology.kubernetes.io/Zone")}

    assert {} == found_in(raw, node("n1", **{"topology.kubernetes.io/Zone": "a"}))
