"""`policy check` names each way past an enforced rule, and where nobody sees a denial."""

from __future__ import annotations

import pytest

from tests.support.build import policy

ENFORCED = {"severity": "error", "enforced": True}
RULES = {"empty-selector": ENFORCED}
LOOSER = {"empty-selector": "warning"}
FAILURE = "empty-selector: enforced, but by default every object passes while the webhook does not answer; to deny"
SKIP = "empty-selector: enforced, but not in a namespace with the label evenkeel.dev/skip"
BY_NAMESPACE = {"namespaceSelector": {"matchLabels": {"tier": "prod"}}}
BY_LABELS = {"name": "a", "podSelector": {"matchLabels": {"tier": "lax"}}}
BY_SCHEDULER = {"name": "b", "schedulerName": "other"}
MISSING = "rules.missing-constraints.minReplicas: the 2 replicas are counted when an object is applied"
UNSEEN = "if its Pods are denied, a Deployment or Job gets none, and whoever applied it sees no error"

CASES = {
    "no rule is enforced": ({"rules": LOOSER}, []),
    "one that only warns": (
        {"rules": {"empty-selector": {"severity": "warning", "enforced": True}}},
        ["rules.empty-selector: enforced, but with severity warning it denies nothing"],
    ),
    "nothing denies": (
        {"rules": RULES, "enforcement": "Warn"},
        [
            "enforcement: Warn denies nothing, although these are marked enforced: empty-selector; "
            "write enforcement: Deny"
        ],
    ),
    "Pods of controllers": ({"ownedObjects": "Deny"}, ["ownedObjects: Deny: " + UNSEEN]),
    "Pods of controllers in an override": (
        {"overrides": [BY_SCHEDULER, {**BY_LABELS, "ownedObjects": "Deny"}]},
        ["overrides[1]: ownedObjects: Deny: " + UNSEEN],
    ),
    "Pods of controllers where an override denies": (
        {"enforcement": "Warn", "ownedObjects": "Deny", "overrides": [{**BY_LABELS, "enforcement": "Deny"}]},
        ["overrides[0]: ownedObjects: Deny: " + UNSEEN],
    ),
    "Pods of controllers, and nothing denies": ({"enforcement": "Warn", "ownedObjects": "Deny"}, []),
    "a rule": ({"rules": RULES}, [FAILURE, SKIP]),
    "in an override": ({"overrides": [{"name": "a", **BY_NAMESPACE, "rules": RULES}]}, [FAILURE, SKIP]),
    "what a label loosens": (
        {"rules": RULES, "overrides": [{**BY_LABELS, "rules": LOOSER}]},
        [FAILURE, SKIP, "overrides[0]: changes empty-selector, enforced elsewhere, and anyone can set these labels"],
    ),
    "what a scheduler loosens": (
        {"rules": RULES, "overrides": [{**BY_SCHEDULER, "rules": {"empty-selector": {"enforced": False}}}]},
        [FAILURE, SKIP, "overrides[0]: changes empty-selector, enforced elsewhere, and anyone can set this scheduler"],
    ),
    "what comes before a stricter one": (
        {"overrides": [BY_LABELS, {"name": "b", **BY_NAMESPACE, "rules": RULES}]},
        [FAILURE, SKIP, "overrides[0]: changes empty-selector"],
    ),
    "what comes after it": ({"overrides": [{"name": "b", **BY_NAMESPACE, "rules": RULES}, BY_LABELS]}, [FAILURE, SKIP]),
    "what only some namespaces loosen": (
        {"rules": RULES, "overrides": [{**BY_LABELS, **BY_NAMESPACE, "rules": LOOSER}]},
        [FAILURE, SKIP],
    ),
    "what another rule loosens": (
        {"rules": RULES, "overrides": [{**BY_LABELS, "rules": {"pinned-pod": "ignore"}}]},
        [FAILURE, SKIP],
    ),
    "a count of replicas": (
        {"rules": {"missing-constraints": ENFORCED}, "overrides": [{**BY_LABELS, "rules": LOOSER}]},
        ["missing-constraints: enforced", "missing-constraints: enforced", MISSING],
    ),
    "what a label lets off": (
        {"rules": RULES, "overrides": [{**BY_LABELS, "enforcement": "Warn"}]},
        [FAILURE, SKIP, "overrides[0]: changes empty-selector, enforced elsewhere, and anyone can set these labels"],
    ),
    "what nobody but a namespace lets off": (
        {"rules": RULES, "overrides": [{"name": "a", **BY_NAMESPACE, "enforcement": "Warn"}]},
        [FAILURE, SKIP],
    ),
    "what denies for some": (
        {"rules": RULES, "enforcement": "Warn", "overrides": [{"name": "a", **BY_NAMESPACE, "enforcement": "Deny"}]},
        ["enforcement: Warn denies nothing, although these are marked enforced: empty-selector", FAILURE, SKIP],
    ),
    "what is enforced where nothing denies": (
        {"overrides": [{"name": "a", **BY_NAMESPACE, "enforcement": "Warn", "rules": RULES}]},
        [
            "overrides[0].enforcement: Warn denies nothing, although these are marked enforced: empty-selector; "
            "write Deny here"
        ],
    ),
    "and of each": (
        {"rules": {"missing-constraints": {**ENFORCED, "minReplicas": 1}}},
        ["missing-constraints: enforced"] * 2,
    ),
    "for some": (
        {"overrides": [{"name": "a", **BY_NAMESPACE, "rules": {"missing-constraints": ENFORCED}}]},
        [*["missing-constraints: enforced"] * 2, f"overrides[0].{MISSING}"],
    ),
}


@pytest.mark.parametrize(("given", "noted"), CASES.values(), ids=CASES)
def test_each_way_past_an_enforced_rule_is_noted(given, noted):
    fine = {"name": "hostname", "defaulting": {"defaultingType": "System"}}["defaulting"]
    notes = policy(**given, defaulting=fine).notes

    assert len(noted) == len(notes)
    assert all(map(str.startswith, notes, noted))


PLACES = [
    {"apiVersion": "a/v1", "kind": "A", "resource": "as", "constraints": f"{place}.spread", **more}
    for place, more in (("one", {"labels": "one.labels"}), ("other", {}))
]


@pytest.mark.parametrize(
    ("places", "noted"),
    [
        (PLACES, "workloads: selector-misses-own-pod cannot judge other.spread of A: the labels of the Pods of a A"),
        (PLACES[1:], "workloads: selector-misses-own-pod cannot judge A: the labels of the Pods of a A"),
        (PLACES[:1], ""),
    ],
    ids=["in one of two places", "in its only place", "nowhere"],
)
def test_what_a_rule_cannot_judge_is_noted_once(places, noted):
    notes = policy(workloads=places, rules={"selector-misses-own-pod": "error"}).notes

    assert bool(noted) == len(notes)
    assert all(note.startswith(noted) for note in notes)
