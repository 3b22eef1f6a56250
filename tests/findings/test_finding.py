"""What a rule finds, and how grave it is."""

from __future__ import annotations

import pickle

from webhook.findings.finding import Finding, Severity


def test_the_gravest_severity_ranks_first():
    assert [0, 1, 2, 3] == [severity.rank for severity in Severity]
    assert Severity.ERROR is min(Severity, key=lambda severity: severity.rank)
    assert (Severity("warning"), 1) == (pickle.loads(pickle.dumps(Severity.WARNING)), Severity.WARNING.rank)


def test_a_finding_reads_as_path_text_and_rule():
    found = Finding("a-rule", Severity.ERROR, ("spec", "list", 0, "name"), "must hold", "x", "y", "write y")

    assert "spec.list[0].name: must hold (a-rule)" == str(found)
    assert (False, False, False) == (found.enforced, found.said_by_api_server, found.rejected_by_api_server)
