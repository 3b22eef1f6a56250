"""What a Job does when its Pods are deleted, by its policies and by how often it has failed."""

from __future__ import annotations

import pytest

from webhook.objects.jobs import JobReplacement, read_job_replacement


def policy(*rules):
    return {"rules": [{"action": action, "onPodConditions": conditions} for action, conditions in rules]}


DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]
OTHER = [{"type": "ConfigIssue", "status": "True"}]


@pytest.mark.parametrize(
    ("spec", "status", "wanted"),
    [
        ({}, {}, (False, 6)),
        ({}, {"failed": 2}, (False, 4)),
        ({"backoffLimit": 1}, {"failed": 3}, (False, 0)),
        ({"podReplacementPolicy": "Failed"}, {}, (True, 6)),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, {}, (False, 6)),
        ({"podFailurePolicy": policy(("Ignore", DISRUPTED))}, {}, (True, None)),
        ({"podFailurePolicy": policy(("FailJob", DISRUPTED))}, {}, (True, 0)),
        ({"podFailurePolicy": policy(("FailJob", OTHER), ("Count", DISRUPTED), ("FailJob", DISRUPTED))}, {}, (True, 6)),
        ({"podFailurePolicy": policy(("FailJob", OTHER))}, {}, (True, 6)),
        ({"backoffLimitPerIndex": 1}, {}, (False, None)),
        ({"backoffLimitPerIndex": 0}, {}, (False, 0)),
        ({"backoffLimitPerIndex": 1, "backoffLimit": 2}, {}, (False, 2)),
        ({"backoffLimit": "many"}, {"failed": None}, (False, 6)),
    ],
)
def test_what_it_does(spec, status, wanted):
    assert JobReplacement(*wanted) == read_job_replacement({"spec": spec, "status": status})
