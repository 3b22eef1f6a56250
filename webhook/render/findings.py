"""A finding for programs."""

from __future__ import annotations

from webhook.findings.finding import Finding, Skipped
from webhook.objects.fields import path_text


def finding_json(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "field": path_text(finding.path),
        "message": finding.message,
        "found": finding.found,
        "wanted": finding.wanted,
        "fix": finding.fix,
        **({"help": finding.help} if finding.help else {}),
    }


def skipped_json(skipped: Skipped) -> dict[str, object]:
    return {"rule": skipped.rule, "reason": skipped.reason}
