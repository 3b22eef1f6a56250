"""What the webhook would answer to what is to come."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from evenkeel.report.impact import GRAVITY, NEVER_ASKED, Impact
from tests.support.build import ZONE, constraint, pod, policy, service, workload
from tests.support.placing import node
from tests.support.reporting import ZONES, deployment, made_by, only, pods
from webhook.admission.decision import Outcome

EMPTY = constraint(labelSelector={})
DEFAULTS = """{defaulting: {defaultingType: List, defaultConstraints: [
  {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]}}"""
NO_DEFAULTS = "{defaulting: {defaultingType: System}}"
ENFORCED = "{rules: {empty-selector: {severity: error, enforced: true}}}"


class Case(NamedTuple):
    """The answers to the object created, to its update, and to its Pods; "-" where there is no such request."""

    name: str
    objects: list
    answers: str
    rules: str = ""


CASES = [
    Case("what is right", deployment(constraint()), "allowed allowed allowed"),
    Case(
        "an error: its update is not at fault, and its Pods are only audited",
        deployment(EMPTY),
        "denied warned allowed",
    ),
    Case("where errors only warn", deployment(EMPTY), "would-be-denied warned allowed", "{enforcement: Warn}"),
    Case("an enforced rule, and its controller", deployment(EMPTY), "denied warned allowed", ENFORCED),
    Case(
        "an enforced rule, and an operator that makes Pods itself",
        [
            workload("CloneSet", EMPTY) | {"apiVersion": "apps.kruise.io/v1alpha1"},
            made_by("CloneSet/web", "web-a", "a1", api_version="apps.kruise.io/v1alpha1"),
        ],
        "denied warned denied",
        ENFORCED,
    ),
    Case("where what is owned is denied, too", deployment(EMPTY), "denied warned denied", "{ownedObjects: Deny}"),
    Case("a Pod that nobody made", [pod(EMPTY, uid="u", spec={"nodeName": "a1"})], "denied - -"),
    Case(
        "a copy for debugging, of a Pod that got defaults",
        [service(), pod(constraint(whenUnsatisfiable="ScheduleAnyway"), labels={}, uid="u", spec={"nodeName": "a1"})],
        "allowed - -",
        DEFAULTS.replace("{def", "{rules: {selector-misses-own-pod: error}, def", 1),
    ),
    Case(
        "Pods of an owner that is not known",
        [made_by("Cluster/db", "db-1", "a1", api_version="postgresql.cnpg.io/v1")],
        "- - allowed",
    ),
    Case("a DaemonSet is warned", [workload("DaemonSet", constraint())], "warned warned allowed"),
    Case(
        "a Job, whose template cannot change",
        [workload("Job", EMPTY), made_by("Job/web", "web-a", "a1", api_version="batch/v1")],
        "denied allowed allowed",
    ),
    Case("Pods that are given defaults", [*deployment(), service()], "allowed allowed defaulted", DEFAULTS),
    Case("a Pod that is given defaults", [pod(uid="u"), service()], "defaulted - -", DEFAULTS),
]


def answers(impact):
    every = (impact.create, impact.update, impact.pods)
    return " ".join("-" if one is None else str(one.outcome) if one.allowed else "denied" for one in every)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers(case):
    assert case.answers == answers(only(*ZONES, *case.objects, of=policy(case.rules)).impact)


def test_the_worst_answer_has_the_words():
    impact = only(*ZONES, *deployment(EMPTY)).impact

    assert impact.worst is impact.create
    assert "empty-selector: topologySpreadConstraints[0].labelSelector: must select Pods" in impact.worst.message
    assert impact.update.message.startswith("empty-selector: ")
    assert ["empty-selector"] == [one.rule for one in impact.create.findings if one.severity == "error"]


def test_a_denial_comes_before_every_other_outcome():
    assert {*GRAVITY} == {*Outcome}
    assert only(*ZONES, *deployment(EMPTY)).impact.worst.gravity == 0


def test_nothing_is_sent_from_some_namespaces():
    made = workload("Deployment", EMPTY, namespace="kube-system")
    impact = only(made, never_sent=("kube-system",)).impact

    assert ("allowed allowed allowed", True) == (answers(impact), impact.create.not_sent)


def test_the_webhook_knows_no_pods():
    """`unschedulable` needs them: the finding is in the report, and the answer is what the webhook says."""
    full = [node(name, name[0], pods="1") for name in ("a1", "b1")]
    objects = [*full, *deployment(constraint()), *pods("a1", "b1", "")]
    found = only(*objects, of=policy())

    assert "allowed" == str(found.impact.create.outcome)
    assert "unschedulable" in [one.rule for one in found.findings]


def test_the_defaults_that_its_pods_are_given():
    impact = only(*ZONES, *deployment(), service(), of=policy(DEFAULTS)).impact

    assert [[ZONE]] == [[one["topologyKey"] for one in given] for given in impact.defaults]
    assert impact.gives_defaults


def test_the_defaults_that_its_pods_are_not_given_in_a_trial():
    impact = only(*ZONES, *deployment(), service(), of=policy(f"{DEFAULTS[:-1]}, defaultingMode: Audit}}")).impact

    assert (((),), False) == (impact.defaults, impact.gives_defaults)
    assert [[ZONE]] == [[one["topologyKey"] for one in each.constraints] for each in impact.audited_defaults]


def test_defaults_that_a_pod_was_given_are_not_taken_for_its_own():
    given = {"annotations": {"evenkeel.dev/defaulted-by": "policy"}}
    objects = [pod(constraint(maxSkew=5), uid="u", spec={"nodeName": "a1"}, **given), service()]

    assert "defaulted - -" == answers(only(*ZONES, *objects, of=policy(DEFAULTS)).impact)
    assert "allowed - -" == answers(only(*ZONES, *objects, of=policy(NO_DEFAULTS)).impact)


def test_an_update_is_denied_by_either_of_its_answers():
    allowed, denied = NEVER_ASKED, replace(NEVER_ASKED, allowed=False)
    answered = [(denied, allowed), (allowed, denied), (None, denied), (allowed, allowed), (None, None)]

    assert [True, True, True, False, False] == [
        Impact(denied, update, of_pods).denies_update for update, of_pods in answered
    ]


def test_a_template_of_a_wrong_type_is_no_crash():
    odd = workload("Deployment") | {"spec": {"template": {"metadata": [], "spec": {"topologySpreadConstraints": 7}}}}

    assert not only(odd).impact.create.allowed


def test_the_worst_answer_to_pods_of_any_template_counts():
    kind = {"apiVersion": "e.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.sets[*].template"}
    enforced = policy(workloads=[kind], rules={"empty-selector": {"severity": "error", "enforced": True}})
    sets = [{"template": deployment(each)[0]["spec"]["template"]} for each in (constraint(), EMPTY)]
    fleet = {"apiVersion": "e.com/v1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": {"sets": sets}}

    assert "denied warned denied" == answers(only(*ZONES, fleet, of=enforced).impact)


def test_the_gravest_finding_has_the_words():
    """Though another is on an earlier field."""
    misses = constraint(topologyKey="rack", labelSelector={"matchLabels": {"app": "db"}})
    create = only(*ZONES, *deployment(misses, EMPTY)).impact.create

    assert create.message.startswith("empty-selector: topologySpreadConstraints[1]")
