"""The rule pinned-pod."""

from __future__ import annotations

import pytest

from tests.rules.judged import deployment, findings
from tests.support.build import constraint, pod
from webhook.findings.finding import Severity
from webhook.rules import RULES

ASKED = {"missing_constraints": RULES["missing-constraints"].setting(Severity.ERROR)}


def bound():
    made = deployment(constraint())
    made["spec"]["template"]["spec"]["nodeName"] = "n1"
    return made


@pytest.mark.parametrize(
    ("obj", "settings", "fix"),
    [
        (bound(), {}, "remove the constraints, or nodeName"),
        (bound(), ASKED, "remove nodeName"),
        (pod(constraint(), spec={"nodeName": "n1"}), {}, "remove the constraints, or nodeName"),
        (pod(constraint(), spec={"nodeName": "n1"}), ASKED, "remove the constraints, or nodeName"),
    ],
    ids=["a template", "where constraints are asked for", "a Pod", "a Pod where they are"],
)
def test_what_to_remove(obj, settings, fix):
    assert [fix] == [one.fix for one in findings(obj, **settings) if one.rule == "pinned-pod"]
