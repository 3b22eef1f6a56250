"""Which constraints do nothing: they neither refuse a node nor prefer one to another, as the cluster is."""

from __future__ import annotations

from collections.abc import Sequence

from evenkeel.report.spread import Spread
from webhook.findings.finding import Finding
from webhook.kubernetes.kinds import FIELD

NO_POD = "its selector counts no Pod"


def why_idle(spread: Spread, findings: Sequence[Finding] = ()) -> str:
    """Return why a constraint spreads nothing; "" if it may spread, or nodes are not known."""
    constraint, counted = spread.constraint, spread.counted
    selector = constraint.selector
    selects_nothing = selector.matches_nothing or selector.empty
    if counted is None:  # No node is known.
        return NO_POD if selects_nothing else spread.single
    if not counted.counts and (selects_nothing or not counted.self_match_num):
        return NO_POD
    if constraint.soft and not counted.eligible:
        if spread.excluded:
            return (
                "no node with the label counts: each lacks the key of another constraint, or an inclusion policy "
                "excludes it"
            )
        return "no node has the label"
    if spread.single:
        return spread.single
    return next((finding.idle for finding in findings if finding.idle and _is_on(finding, constraint.index)), "")


def _is_on(finding: Finding, index: int) -> bool:
    return (FIELD, index) in zip(finding.path, finding.path[1:], strict=False)
