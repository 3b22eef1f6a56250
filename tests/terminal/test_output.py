"""Rules that did not run are counted by what they need."""

from __future__ import annotations

import pytest

from evenkeel.terminal.output import not_run
from webhook.findings.evaluation import OPERATOR_LABELS
from webhook.findings.finding import Skipped
from webhook.findings.rule import Need


@pytest.mark.parametrize(
    ("skipped", "lines"),
    [
        ([], []),
        ([("a", Need.NODES)], ["1 rule needs a cluster: --cluster live"]),
        ([("a", Need.NODES), ("b", Need.PODS), ("a", Need.PODS)], ["2 rules need a cluster: --cluster live"]),
        ([("a", Need.PODS), ("b", Need.OTHERS)], ["2 rules need a cluster with Pods: --cluster live"]),
        (
            [("a", OPERATOR_LABELS), ("b", OPERATOR_LABELS), ("b", Need.NODES), ("b", Need.REPLICAS)],
            [
                "1 rule needs a cluster: --cluster live",
                "2 rules skipped: the labels of the Pods that an operator makes are not known",
                "1 rule skipped: the number of replicas is not known",
            ],
        ),
    ],
)
def test_rules_that_did_not_run_are_counted_by_what_they_need(skipped, lines):
    reasons = [Skipped(rule, need.value if isinstance(need, Need) else need) for rule, need in skipped]

    assert lines == [*not_run(reasons)]
