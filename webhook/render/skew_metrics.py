"""
How workloads are spread, and what the rules find in them, as metrics, in the text format of Prometheus.

The workload's name is a label of these metrics, not of the webhook's own (serving/metrics.py).  So the number of series
is bounded, and those left out are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Metric, generate_latest

from webhook.objects.names import HOSTNAME
from webhook.report.report import Report, ReportedWorkload
from webhook.report.spread import Spread

MOST_SERIES = 20_000
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]


class SkewMetric(NamedTuple):
    """A metric: its type, and the line of help."""

    name: str
    type: str
    help: str


SKEW = SkewMetric(
    "evenkeel_workload_skew", "gauge", "Skew of a constraint, by workload: the most Pods in a domain minus the fewest."
)
MAX_SKEW = SkewMetric("evenkeel_workload_max_skew", "gauge", "maxSkew of that constraint.")
DOMAIN_PODS = SkewMetric(
    "evenkeel_workload_domain_pods",
    "gauge",
    "Pods that a constraint counts in a domain, by workload. Constraints on kubernetes.io/hostname are left out.",
)
FINDINGS = SkewMetric(
    "evenkeel_workload_findings", "gauge", "Findings of rules in a workload, by its Kind/name, rule and severity."
)
PENDING = SkewMetric("evenkeel_pods_pending", "gauge", "Pods without a node and without scheduling gates, by workload.")
GATED = SkewMetric(
    "evenkeel_pods_gated",
    "gauge",
    "Pods that wait for the removal of their scheduling gates, by workload.",
)
SERIES_LEFT_OUT = SkewMetric(
    "evenkeel_report_series_left_out", "gauge", "Number of series that are left out, because there would be too many."
)
TIME = SkewMetric("evenkeel_report_timestamp_seconds", "gauge", "Unix time at which the cluster was last read.")
FAILURES = SkewMetric("evenkeel_report_failures_total", "counter", "Number of times the cluster could not be read.")
OF_WORKLOADS = (PENDING, SKEW, MAX_SKEW, FINDINGS, GATED, DOMAIN_PODS)  # The first stay where there are too many.
SKEW_METRICS = (*OF_WORKLOADS, SERIES_LEFT_OUT, TIME, FAILURES)


class MetricSample(NamedTuple):
    metric: SkewMetric
    labels: Labels
    value: int


def text(report: Report | None, seconds: int, failures: int) -> bytes:
    """Return all metrics as text; `report` is None, and `seconds` 0, before the cluster was read for the first time."""
    samples = (
        sorted(_samples(report), key=lambda sample: OF_WORKLOADS.index(sample.metric)) if report is not None else []
    )
    shown = samples[: _bound(samples)]
    left_out = len(samples) - len(shown)
    shown += [
        MetricSample(SERIES_LEFT_OUT, {}, left_out),
        MetricSample(TIME, {}, seconds),
        MetricSample(FAILURES, {}, failures),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(shown))
    return generate_latest(registry)


def _bound(samples: Sequence[MetricSample]) -> int:
    """Return how many samples to show; of a constraint all domains or none, since some would be taken for all."""
    bound = min(MOST_SERIES, len(samples))
    while 0 < bound < len(samples) and _series_of(samples[bound - 1]) == _series_of(samples[bound]):
        bound -= 1
    return bound


def _series_of(sample: MetricSample) -> tuple[SkewMetric, Labels]:
    return sample.metric, {name: value for name, value in sample.labels.items() if name != "domain"}


def _samples(report: Report) -> Iterator[MetricSample]:
    yield from _findings(report)
    for reported in report.workloads:
        workload = _workload(reported)
        waiting = {PENDING: reported.live.waiting - reported.live.gated, GATED: reported.live.gated}
        yield from (MetricSample(metric, workload, number) for metric, number in waiting.items() if number)
        for spread in reported.spreads:
            constraint = {**workload, **_constraint(spread)}
            yield MetricSample(MAX_SKEW, constraint, spread.constraint.max_skew)
            if spread.counted is None or spread.skew is None:
                continue
            yield MetricSample(SKEW, constraint, spread.skew)
            if spread.constraint.topology_key != HOSTNAME:
                for domain in sorted(spread.counted.eligible):
                    yield MetricSample(DOMAIN_PODS, {**constraint, "domain": domain}, spread.counted.match_num(domain))


def _findings(report: Report) -> Iterator[MetricSample]:
    """Yield the number of findings of each rule; workloads of one kind and name in several groups are added up."""
    counted = Counter(
        (
            workload.live.ref.namespace,
            f"{workload.live.ref.kind}/{workload.live.ref.name}",
            finding.rule,
            str(finding.severity),
        )
        for workload in report.workloads
        for finding in workload.findings
    )
    for labels, number in counted.items():
        yield MetricSample(
            FINDINGS, dict(zip(("namespace", "workload", "rule", "severity"), labels, strict=True)), number
        )


def _workload(workload: ReportedWorkload) -> Labels:
    ref = workload.live.ref
    group = ref.api_version.rpartition("/")[0]
    return {"namespace": ref.namespace, "group": group, "kind": ref.kind, "workload": ref.name}


def _constraint(spread: Spread) -> Labels:
    constraint = spread.constraint
    return {
        "template": str(spread.template),
        "constraint": str(constraint.index),
        "topology_key": constraint.topology_key,
        "when_unsatisfiable": constraint.when_unsatisfiable,
        "source": spread.source,
    }


class _Collected:
    """The samples by their metrics, as prometheus_client collects them."""

    def __init__(self, samples: Sequence[MetricSample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        """Yield every metric, also one without samples."""
        for described in SKEW_METRICS:
            metric = Metric(described.name.removesuffix("_total"), described.help, described.type)
            for sample in self._samples:
                if sample.metric is described:
                    metric.add_sample(described.name, dict(sample.labels), sample.value)
            yield metric
