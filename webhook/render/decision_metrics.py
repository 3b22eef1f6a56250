"""How many decisions of kube-scheduler agree with what is computed, as metrics, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, SummaryMetricFamily
from prometheus_client.registry import Collector

from webhook.verification.decision import NOT_COMPARED
from webhook.verification.tally import Tally


def text(tally: Tally, failures: int) -> bytes:
    """Return all of these metrics as text; `failures` is how often decisions could not be observed any longer."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DecisionMetrics(tally, failures))
    return generate_latest(registry)


class DecisionMetrics(Collector):
    """The metrics, as prometheus_client collects them; every series is there from the start."""

    def __init__(self, tally: Tally, failures: int) -> None:
        self._tally, self._failures = tally, failures

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        tally = self._tally
        compared = CounterMetricFamily(
            "evenkeel_decisions_compared",
            "Decisions of kube-scheduler that were compared with what evenkeel computes.",
            labels=["verdict"],
        )
        compared.add_metric(["agree"], tally.every.agree)
        compared.add_metric(["differ"], tally.every.differ)
        yield compared
        not_compared = CounterMetricFamily(
            "evenkeel_decisions_not_compared", "Decisions that were not compared, by reason.", labels=["reason"]
        )
        for reason in NOT_COMPARED:
            not_compared.add_metric([reason], tally.not_compared[reason])
        yield not_compared
        yield CounterMetricFamily(
            "evenkeel_decisions_skipped",
            "Decisions that were skipped, because evenkeel limits itself to half a CPU.",
            tally.skipped,
        )
        yield SummaryMetricFamily(
            "evenkeel_decisions_power",
            "How strict the comparison of decisions that chose a node was: the share of the passing nodes that would "
            "have counted as wrong. More is stricter.",
            tally.every.chosen,
            tally.every.power,
        )
        yield CounterMetricFamily(
            "evenkeel_verification_failures",
            "Number of times the watch of decisions ended with an error.",
            self._failures,
        )
