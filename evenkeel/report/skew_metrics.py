"""
How workloads are spread, and what the rules find in them, as metrics, in the text format of Prometheus.

Unlike those of the webhook (webhook/server/metrics.py), these metrics have the workload's name as a label.  So the
number of series is limited, and those left out are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from evenkeel.report.report import Report, ReportedWorkload
from evenkeel.report.spread import Spread
from webhook.kubernetes.names import HOSTNAME

MOST_SERIES = 20_000
WORKLOAD_LABELS = ("namespace", "group", "kind", "workload")
CONSTRAINT_LABELS = (*WORKLOAD_LABELS, "template", "constraint", "topology_key", "when_unsatisfiable", "source")


def text(report: Report | None, seconds: int, failures: int) -> bytes:
    """Return all metrics as text; `report` is None, and `seconds` 0, before the cluster was read for the first time."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(metrics(report, seconds, failures)))
    return generate_latest(registry)


def metrics(report: Report | None, seconds: int, failures: int) -> list[Metric]:
    """Return every metric, also one without samples."""
    workload_metrics = _of_workloads(report.workloads if report is not None else ())
    return [
        *workload_metrics,
        GaugeMetricFamily(
            "evenkeel_report_series_left_out",
            "Number of series that are left out, because there would be too many.",
            _leave_out(workload_metrics),
        ),
        GaugeMetricFamily(
            "evenkeel_report_timestamp_seconds", "Unix time at which the cluster was last read.", seconds
        ),
        CounterMetricFamily("evenkeel_report_failures", "Number of times the cluster could not be read.", failures),
    ]


def _of_workloads(workloads: Sequence[ReportedWorkload]) -> list[Metric]:
    """Return the metrics of workloads; if there are too many series, the first metrics stay."""
    pending = GaugeMetricFamily(
        "evenkeel_pods_pending",
        "Pods without a node and without scheduling gates, by workload.",
        labels=WORKLOAD_LABELS,
    )
    skew = GaugeMetricFamily(
        "evenkeel_workload_skew",
        "Skew of a constraint, by workload: the most Pods in a domain minus the fewest.",
        labels=CONSTRAINT_LABELS,
    )
    max_skew = GaugeMetricFamily("evenkeel_workload_max_skew", "maxSkew of that constraint.", labels=CONSTRAINT_LABELS)
    findings = GaugeMetricFamily(
        "evenkeel_workload_findings",
        "Findings of rules in a workload, by its Kind/name, rule and severity.",
        labels=("namespace", "workload", "rule", "severity"),
    )
    gated = GaugeMetricFamily(
        "evenkeel_pods_gated",
        "Pods that wait for the removal of their scheduling gates, by workload.",
        labels=WORKLOAD_LABELS,
    )
    domain_pods = GaugeMetricFamily(
        "evenkeel_workload_domain_pods",
        "Pods that a constraint counts in a domain, by workload. Constraints on kubernetes.io/hostname are left out.",
        labels=(*CONSTRAINT_LABELS, "domain"),
    )
    for finding_labels, number in Counter(
        finding_labels for workload in workloads for finding_labels in _findings(workload)
    ).items():
        findings.add_metric(finding_labels, number)
    for workload in workloads:
        names = _names(workload)
        if waiting := workload.live.waiting - workload.live.gated:
            pending.add_metric(names, waiting)
        if workload.live.gated:
            gated.add_metric(names, workload.live.gated)
        for spread in workload.spreads:
            labels = (*names, *_constraint(spread))
            max_skew.add_metric(labels, spread.constraint.max_skew)
            if spread.counted is None or spread.skew is None:
                continue
            skew.add_metric(labels, spread.skew)
            if spread.constraint.topology_key != HOSTNAME:
                for domain in sorted(spread.counted.eligible):
                    domain_pods.add_metric((*labels, domain), spread.counted.match_num(domain))
    return [pending, skew, max_skew, findings, gated, domain_pods]


def _findings(workload: ReportedWorkload) -> Iterator[tuple[str, str, str, str]]:
    """Yield the labels of each finding; workloads of one kind and name in several groups have the same."""
    ref = workload.live.ref
    for finding in workload.findings:
        yield ref.namespace, f"{ref.kind}/{ref.name}", finding.rule, str(finding.severity)


def _names(workload: ReportedWorkload) -> tuple[str, str, str, str]:
    ref = workload.live.ref
    return ref.namespace, ref.api_version.rpartition("/")[0], ref.kind, ref.name


def _constraint(spread: Spread) -> tuple[str, str, str, str, str]:
    constraint = spread.constraint
    return (
        str(spread.template),
        str(constraint.index),
        constraint.topology_key,
        constraint.when_unsatisfiable,
        spread.source,
    )


def _leave_out(metrics: Sequence[Metric]) -> int:
    """
    Leave out the last samples, so that MOST_SERIES stay; return how many were left out.

    Of the domains of a constraint all stay or none, since some would be taken for all.
    """
    room, left_out = MOST_SERIES, 0
    for metric in metrics:
        samples, metric.samples = metric.samples, metric.samples[:room]
        while 0 < len(metric.samples) < len(samples) and _is_cut(metric.samples[-1], samples[len(metric.samples)]):
            metric.samples.pop()
        room -= len(metric.samples)
        left_out += len(samples) - len(metric.samples)
    return left_out


def _is_cut(last: Sample, following: Sample) -> bool:
    """Return whether a cut between these samples parts the domains of one constraint."""
    return {**last.labels, "domain": ""} == {**following.labels, "domain": ""}


class _Collector(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics
