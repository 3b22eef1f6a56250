"""The rule empty-selector."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings
from tests.support.build import constraint, pod, workload
from webhook.findings.finding import Severity
from webhook.rules import RULES


def test_the_empty_selector_is_worth_a_remark_where_it_counts():
    """kubernetes#141340, in 1.38: `{}` counts every Pod of the namespace."""
    severities = {
        minor: [f.severity for f in findings(pod(constraint(labelSelector={})), minor=minor)] for minor in (37, 38)
    }

    assert {37: [Severity.ERROR], 38: [Severity.INFO]} == severities


def test_nobody_is_told_to_copy_the_selector_that_the_api_server_makes_up_for_a_job():
    made_up = {"batch.kubernetes.io/controller-uid": "u1"}
    spec = {"selector": {"matchLabels": made_up}}
    (job,), (replica_set,) = (
        findings(workload(kind, constraint(labelSelector={}), labels={"app": "web", **made_up}, spec=own))
        for kind, own in (("Job", spec), ("ReplicaSet", {}))
    )

    assert (RULES["empty-selector"].fix, None) == (job.fix, job.edit)
    assert "write labelSelector: {matchLabels: {app: web}}" == replica_set.fix


def test_the_selector_of_a_replication_controller_can_be_copied():
    """It is a map of labels, and no LabelSelector."""
    spec = {"selector": {"app": "web"}}
    (found,) = findings(workload("ReplicationController", constraint(labelSelector={}), spec=spec))

    assert "write labelSelector: {matchLabels: {app: web}}" == found.fix
    assert {"matchLabels": {"app": "web"}} == found.edit.value


@pytest.mark.parametrize(("minor", "severity"), [(26, "info"), (27, "error"), (37, "error"), (38, "info")])
def test_whether_an_empty_selector_counts_every_pod_is_a_matter_of_the_version(minor, severity):
    assert [severity] == [f.severity for f in findings(pod(constraint(labelSelector={})), minor=minor)]


@pytest.mark.parametrize(("minor", "said"), [(27, False), (28, True)])
def test_the_api_server_warns_of_a_null_selector_since_1_28(minor, said):
    found = findings(pod(constraint(labelSelector=None)), minor=minor)

    assert [said] == [f.said_by_api_server for f in found]


def test_a_null_selector_counts_nothing_anywhere():
    assert [Severity.ERROR] == [f.severity for f in findings(pod(constraint(labelSelector=None)), minor=38)]
