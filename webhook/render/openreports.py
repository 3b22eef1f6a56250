"""
The findings of a report as OpenReports, objects for the cluster.

    ReportedWorkload with findings ──> one Report beside it, which it owns, so that it goes when the workload goes
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from webhook.findings.finding import Finding, Severity
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.objects.fields import path_text, texts_at
from webhook.report.report import Report, ReportedWorkload

OPENREPORTS_VERSION, OPENREPORTS_KIND, OPENREPORTS_RESOURCE = "openreports.io/v1alpha1", "Report", "reports"
SOURCE, MANAGED_BY = "evenkeel", "app.kubernetes.io/managed-by"
CATEGORY = "topology spread"
MOST_RESULTS = 10_000  # of all objects; the workloads that come first have theirs
# What a finding of each severity is called there; `ignore` is never found.  An info asks for nothing: it neither warns
# nor fails, and it is no pass, either.
REPORT_RESULTS = {
    Severity.ERROR: ("fail", "high"),
    Severity.WARNING: ("warn", "medium"),
    Severity.INFO: ("skip", "info"),
}


class Objects(NamedTuple):
    """The objects, by what is in them the same whenever it is found; `left_out` is the number of further findings."""

    items: tuple[Mapping[str, object], ...]
    left_out: int


def objects(report: Report, seconds: int) -> Objects:
    """
    Return one object for each workload with findings that is in the cluster, MOST_RESULTS findings in all.

    `seconds` since 1970 is when they were found.
    """
    reports: list[Mapping[str, object]] = []
    left, left_out = MOST_RESULTS, 0
    for workload in report.workloads:
        (uid,) = texts_at(workload.live.raw, "metadata.uid")
        if not uid or not workload.findings:
            continue
        shown = workload.findings[:left]
        left, left_out = left - len(shown), left_out + len(workload.findings) - len(shown)
        if shown:
            reports.append(_object(workload, uid, shown, seconds))
    return Objects(tuple(reports), left_out)


def _object(workload: ReportedWorkload, uid: str, findings: Iterable[Finding], seconds: int) -> Mapping[str, object]:
    ref = workload.live.ref
    named = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name, "uid": uid}
    results = [_result(finding, seconds) for finding in findings]
    counts = Counter(result["result"] for result in results)
    return {
        "apiVersion": OPENREPORTS_VERSION,
        "kind": OPENREPORTS_KIND,
        "metadata": {
            "name": f"{SOURCE}-{uid}",
            "namespace": ref.namespace,
            "labels": {MANAGED_BY: SOURCE},
            "ownerReferences": [named],
        },
        "source": SOURCE,
        "scope": {**named, "namespace": ref.namespace},
        "summary": {name: counts[name] for name in ("pass", "fail", "warn", "error", "skip")},
        "results": results,
    }


def _result(finding: Finding, seconds: int) -> dict[str, object]:
    result, severity = REPORT_RESULTS[finding.severity]
    told = {"field": path_text(finding.path), "found": finding.found, "wanted": finding.wanted, "fix": finding.fix}
    return {
        "source": SOURCE,
        "policy": finding.rule,
        "category": CATEGORY,
        "severity": severity,
        "result": result,
        "scored": result == "fail",  # A result that warns is not, as the form has it.
        "message": one_line(finding.message, LINE_LIMIT),
        "properties": {name: one_line(text, LINE_LIMIT) for name, text in told.items() if text},
        "timestamp": {"seconds": seconds, "nanos": 0},
    }


def dumped(reports: Objects) -> str:
    """Render the objects as `kubectl apply -f -` takes them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(reports.items)}, indent=2)


def same(this: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Return whether two objects say the same, whenever it was found."""
    return _said(this) == _said(other)


def _said(obj: Mapping[str, object]) -> object:
    results = obj.get("results")
    timeless = [{**result, "timestamp": None} for result in results] if isinstance(results, list) else results
    return obj.get("scope"), obj.get("summary"), timeless
