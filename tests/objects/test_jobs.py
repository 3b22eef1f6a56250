"""How far a Job is, and what it does when its Pods are deleted, by its policies and by how often it has failed."""

from __future__ import annotations

import pytest

from evenkeel.objects.jobs import JobProgress, JobReplacement, read_job_progress, read_job_replacement


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


@pytest.mark.parametrize(
    ("spec", "status", "wanted"),
    [
        ({}, {}, (1, 1, 0, False, False)),
        ({"parallelism": 2}, {"succeeded": 1}, (2, None, 1, False, False)),
        ({"completions": 3}, {}, (1, 3, 0, False, False)),
        ({"parallelism": 0, "completions": 3, "suspend": True}, {}, (0, 3, 0, True, False)),
        ({}, {"conditions": [{"type": "Complete", "status": "False"}]}, (1, 1, 0, False, False)),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, (1, 1, 0, False, False)),
        *(
            ({}, {"conditions": [{"type": "Suspended", "status": "False"}, {"type": ending, "status": "True"}]}, done)
            for done in [(1, 1, 0, False, True)]
            for ending in ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
        ),
    ],
)
def test_how_far_it_is(spec, status, wanted):
    assert JobProgress(*wanted) == read_job_progress({"spec": spec, "status": status})
