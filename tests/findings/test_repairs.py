"""What one fix says beside other constraints, and beside what the policy and other fixes say of them."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings
from tests.support.build import HOSTNAME, ZONE, constraint, honoring, keys, node, selecting, snapshot, workload
from webhook.findings.finding import Severity
from webhook.rules import RULES

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
LABELS = {"app": "web", "version": "v2"}
EXISTING = "remove the constraint: there is already one for topology.kubernetes.io/zone"


def asked(rule, **parameters):
    return {rule.replace("-", "_"): RULES[rule].setting(Severity.ERROR, parameters=parameters)}


ONLY_ZONE = asked("forbidden-topology-key", allowedTopologyKeys=[ZONE])
MISSING_ZONE = asked("missing-constraints", topologyKeys=[ZONE])


def fixes(*written, rule, kind="StatefulSet", **settings):
    """The fix of each finding of a rule, and the value that its edit writes."""
    made = workload(kind, *written, labels=LABELS, spec={"strategy": {"type": "Recreate"}})
    return [(one.fix, one.edit and one.edit.value) for one in findings(made, **settings) if one.rule == rule]


@pytest.mark.parametrize(
    ("rule", "settings", "written", "fix"),
    [
        (
            "hard-constraint",
            asked("hard-constraint"),
            [constraint(minDomains=3)],
            "write whenUnsatisfiable: ScheduleAnyway, and remove minDomains",
        ),
        ("hard-constraint", asked("hard-constraint"), [constraint(), constraint(whenUnsatisfiable=SOFT)], EXISTING),
        ("soft-constraint", asked("soft-constraint"), [constraint(whenUnsatisfiable=SOFT), constraint()], EXISTING),
        ("forbidden-topology-key", ONLY_ZONE, [constraint(), constraint(topologyKey="rack")], EXISTING),
        (
            "forbidden-topology-key",
            asked("forbidden-topology-key", allowedTopologyKeys=[HOSTNAME, ZONE]),
            [constraint(), constraint(topologyKey="rack")],
            f"use {HOSTNAME}",
        ),
        (
            "forbidden-topology-key",
            ONLY_ZONE | asked("soft-constraint", topologyKeys=[ZONE]),
            [constraint(topologyKey="rack", whenUnsatisfiable=SOFT)],
            f"write topologyKey: {ZONE} and whenUnsatisfiable: {HARD}",
        ),
        (
            "missing-constraints",
            MISSING_ZONE,
            [constraint(topologyKey="topology.kubernetes.io/zon")],
            f"write topologyKey: {ZONE} in topologySpreadConstraints[0]",
        ),
        ("invalid-constraint", asked("hard-constraint"), [constraint(whenUnsatisfiable="Never")], f"set it to {SOFT}"),
        (
            "invalid-constraint",
            {},
            [constraint(whenUnsatisfiable=SOFT, minDomains=2), constraint()],
            "remove minDomains",
        ),
    ],
)
def test_a_fix_leads_into_no_other_finding(rule, settings, written, fix):
    assert [fix] == [said for said, _ in fixes(*written, rule=rule, **settings)]


def test_of_two_misspelt_keys_one_is_corrected_and_the_other_constraint_goes():
    written = [constraint(topologyKey="topology.kubernetes.io/zon"), constraint(topologyKey="kubernetes.io/zone")]

    assert [(EXISTING, None), (f"write topologyKey: {ZONE}", ZONE)] == fixes(*written, rule="misspelt-topology-key")


@pytest.mark.parametrize(
    ("kind", "key", "fix", "edit"),
    [
        ("Deployment", "versoin", "write version", "version"),
        ("Deployment", "pod-template-hsh", "write pod-template-hash", "pod-template-hash"),
        ("Deployment", "ap", "remove the key", None),
        ("Deployment", "tier", "use pod-template-hash instead, or remove the key", None),
        ("StatefulSet", "tier", "use controller-revision-hash instead, or remove the key", None),
        ("DaemonSet", "tier", "use controller-revision-hash instead, or remove the key", None),
        ("ReplicaSet", "tier", "remove the key", None),
    ],
)
def test_an_absent_key_is_corrected_or_the_revision_key_offered(kind, key, fix, edit):
    settings = {"pinned_pod": RULES["pinned-pod"].setting(Severity.IGNORE)}
    written = honoring(**keys(key, **selecting(app="web")))

    assert [(fix, edit)] == fixes(written, rule="absent-match-label-key", kind=kind, **settings)


def test_no_key_is_offered_that_all_pods_of_the_workload_share():
    spec = {"selector": {"matchLabels": LABELS}, "strategy": {"type": "Recreate"}}
    made = workload("Deployment", honoring(**keys("versoin", **selecting(app="web"))), labels=LABELS, spec=spec)

    assert ["remove the key"] == [one.fix for one in findings(made) if one.rule == "absent-match-label-key"]


def test_the_revision_key_is_offered_once():
    written = honoring(**keys("tier", "team", **selecting(app="web")))

    assert ["use controller-revision-hash instead, or remove the key", "remove the key"] == [
        said for said, _ in fixes(written, rule="absent-match-label-key")
    ]


def test_a_key_with_a_blank_is_removed_where_the_selector_has_it():
    written = honoring(**keys("app ", **selecting(app="web")))

    assert [("remove the key", None)] == fixes(written, rule="invalid-constraint")


def test_a_key_that_is_twice_in_match_label_keys_is_not_said_to_be_in_the_selector():
    written = honoring(**keys("version", "version", **selecting(app="web")))
    made = workload("StatefulSet", written, labels=LABELS)
    (found,) = findings(made)

    assert ("invalid-constraint", "remove the key") == (found.rule, found.fix)
    assert "this key is twice in matchLabelKeys, so the API server rejects the Pod" == found.message


@pytest.mark.parametrize(
    ("labels", "fix"),
    [({"a": "b"}, f"use {HOSTNAME}"), ({ZONE: "a"}, f"use one of {HOSTNAME}, {ZONE}")],
    ids=["nodes have one", "nodes have both"],
)
def test_of_several_keys_those_that_nodes_have_are_offered(labels, fix):
    allowed = asked("forbidden-topology-key", allowedTopologyKeys=[ZONE, HOSTNAME])
    there = snapshot(node(**labels))

    assert [(fix, None)] == fixes(
        constraint(topologyKey="rack"), rule="forbidden-topology-key", snapshot=there, **allowed
    )


def test_where_only_some_keys_are_forbidden_another_is_wanted():
    ((fix, edit),) = fixes(
        constraint(topologyKey="rack"),
        rule="forbidden-topology-key",
        **asked("forbidden-topology-key", topologyKeys=["row", "rack"]),
    )

    assert ("use a key other than rack, row", None) == (fix, edit)


def test_a_key_that_is_twice_and_in_the_selector_is_said_to_be_in_both():
    (found, *_) = [
        one
        for one in findings(workload("StatefulSet", constraint(matchLabelKeys=["app", "app"])))
        if one.rule == "invalid-constraint"
    ]

    assert found.message.startswith("this key is also in labelSelector")
