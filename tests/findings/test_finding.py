"""What a rule finds, and how grave it is."""

from __future__ import annotations

import pickle

from webhook.findings.finding import Severity


def test_the_gravest_severity_ranks_first():
    assert [0, 1, 2, 3] == [severity.rank for severity in Severity]
    assert Severity.ERROR is min(Severity, key=lambda severity: severity.rank)
    assert (Severity("warning"), 1) == (pickle.loads(pickle.dumps(Severity.WARNING)), Severity.WARNING.rank)
