"""The rule idle-switch."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.rules.judged import OBJECT, findings, labelled
from tests.support.build import constraint, pod, workload
from webhook.findings import wording
from webhook.findings.finding import Severity
from webhook.rules import RULES

IGNORE, SKIP = "evenkeel.dev/ignore", "evenkeel.dev/skip"
IN_TEMPLATE = "spec.template.metadata.labels"


class Switch(NamedTuple):
    """What is said of a label or an annotation: nothing, or a message that begins so, and a fix with these words."""

    name: str
    obj: dict
    message: str = ""
    fix: str = ""


SWITCHED = [
    Switch("a rule", pod(constraint(), annotations={IGNORE: "pinned-pod, rollout-skew"})),
    Switch("what lint reports", pod(constraint(), annotations={IGNORE: "unused-suppression"})),
    Switch(
        "a rule that is none",
        pod(constraint(), annotations={IGNORE: "pinned-pod,empty-selectr"}),
        "there is no rule empty-selectr",
        "write empty-selector",
    ),
    Switch("like none", pod(annotations={IGNORE: "all"}), "there is no rule all", 'remove "all"'),
    Switch(
        "in a template",
        workload("Deployment", template={"annotations": {IGNORE: "rollout-skw"}}),
        "there is no rule rollout-skw",
        "write rollout-skew",
    ),
    Switch(
        "as a label",
        pod(labels={"app": "web", IGNORE: "pinned-pod"}),
        "does nothing as a label: it must be an annotation",
        "move it to metadata.annotations",
    ),
    Switch("which is no text", pod(annotations={IGNORE: ["pinned-pod"]})),
    Switch("a Pod that opts out", pod(labels={"app": "web", SKIP: "true"})),
    Switch("one that does not", pod(labels={"app": "web", SKIP: "false"})),
    Switch("a template", labelled("Deployment", **{SKIP: "true"})),
    Switch(
        "another value",
        labelled("Deployment", **{SKIP: "yes"}),
        'does nothing: only the value "true" works',
        'write "true"',
    ),
    Switch(
        "without quotes",
        labelled("StatefulSet", **{SKIP: True}),
        'does nothing: only the value "true" works',
        "the quotes",
    ),
    Switch(
        "on a Deployment",
        workload("Deployment") | {"metadata": {"labels": {SKIP: "true"}}},
        "does nothing on a Deployment: it must be a label of its Pods",
        f"move it to {IN_TEMPLATE}",
    ),
    Switch(
        "on a CronJob",
        workload("CronJob") | {"metadata": {"labels": {SKIP: "true"}}},
        "does nothing on a CronJob",
        f"move it to spec.jobTemplate.{IN_TEMPLATE}",
    ),
    Switch("on both", labelled("Deployment", **{SKIP: "true"}) | {"metadata": {"labels": {SKIP: "true"}}}),
    Switch("copied from the template", labelled("Job", **{SKIP: "false"}) | {"metadata": {"labels": {SKIP: "false"}}}),
    Switch(
        "of another value, copied from the template",
        labelled("ReplicationController", **{SKIP: "yes"}) | {"metadata": {"labels": {SKIP: "yes"}}},
        'does nothing: only the value "true" works',
        'write "true"',
    ),
    Switch(
        "under another name, copied from the template",
        labelled("Job", **{"evenkeel.dev/skp": "true"}) | {"metadata": {"labels": {"evenkeel.dev/skp": "true"}}},
        "does nothing under this name",
        f"write {SKIP}",
    ),
    Switch(
        "which the template contradicts",
        labelled("Job", **{SKIP: "false"}) | {"metadata": {"labels": {SKIP: "true"}}},
        "does nothing on a Job",
        f"move it to {IN_TEMPLATE}",
    ),
    Switch(
        "on a custom resource, which may hand it on",
        workload("Rollout") | {"apiVersion": "argoproj.io/v1alpha1", "metadata": {"labels": {SKIP: "true"}}},
    ),
    Switch(
        "as an annotation",
        workload("Deployment", annotations={SKIP: "true"}),
        "does nothing as an annotation: it must be a label",
        f"move it to {IN_TEMPLATE}",
    ),
    Switch(
        "of a Pod",
        pod(annotations={SKIP: "true"}),
        "does nothing as an annotation: it must be a label",
        "move it to metadata.labels",
    ),
    Switch(
        "a name that is nearly one",
        pod(annotations={"evenkeel.dev/Ignored": "pinned-pod"}),
        "does nothing",
        f"write {IGNORE}",
    ),
    Switch("a name of its own", pod(annotations={"evenkeel.dev/owner": "us", "evenkeel.dev/defaulted-by": "policy"})),
]


@pytest.mark.parametrize("case", SWITCHED, ids=lambda case: case.name)
def test_a_switch_that_does_nothing_is_said_once(case):
    found = findings(case.obj, rollout_skew=RULES["rollout-skew"].setting(Severity.IGNORE))

    assert ["idle-switch"] * bool(case.message) == [f.rule for f in found]
    assert all(f.message.startswith(case.message) and case.fix in f.fix for f in found)
    assert all(f.fix in wording.warning(f, OBJECT) for f in found)


def test_an_annotation_that_would_silence_an_enforced_rule_is_said():
    made = workload("Deployment", constraint(labelSelector={}), annotations={IGNORE: "empty-selector,pinned-pod"})
    found = findings(made, empty_selector=RULES["empty-selector"].setting(enforced=True))
    (idle,) = [finding for finding in found if finding.rule == "idle-switch"]

    assert "cannot switch off empty-selector: the policy enforces it" == idle.message
    assert "remove empty-selector, and fix what the rule finds" == idle.fix
    assert "empty-selector" in [finding.rule for finding in found]
