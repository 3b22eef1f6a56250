"""Every metric, its labels and its help; labels come from closed sets, and every series is there from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from webhook.admission.decision import Decision, Outcome
from webhook.admission.defaulting import REASONS, Defaults, Undefaulted
from webhook.admission.request import CREATE, MUTATE, UPDATE, VALIDATE, AdmissionRequest
from webhook.findings.finding import Severity
from webhook.rules import RULES

PHASES = (MUTATE, VALIDATE)
OPERATIONS = (CREATE, UPDATE, "other")
RESULT_OF = {
    Outcome.ALLOWED: "allowed",
    Outcome.WARNED: "allowed",
    Outcome.DEFAULTED: "allowed",
    Outcome.WOULD_BE_DENIED: "allowed",
    Outcome.DENIED: "denied",
    Outcome.NOT_JUDGED: "error",
    Outcome.ERROR: "error",
}
RESULTS = tuple(dict.fromkeys(RESULT_OF.values()))
OWNERS = ("none", "ReplicationController", "ReplicaSet", "StatefulSet", "Job", "other")
SEVERITIES = tuple(str(severity) for severity in Severity if severity is not Severity.IGNORE)
REFUSALS = ("400", "404", "405", "408", "413", "414", "415", "417", "431", "501", "503")
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


disable_created_metrics()


class Metrics:
    """The registry of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self.counter(
            "requests", "Reviews that were answered.", phase=PHASES, operation=OPERATIONS, result=RESULTS
        )
        self.latency = Histogram(
            "evenkeel_request_latency_seconds",
            "Time to answer a review, from the whole body to the answer.",
            ["phase"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._latency = {phase: self.latency.labels(phase) for phase in PHASES}
        self._requests = {labels: self.requests.labels(*labels) for labels in product(PHASES, OPERATIONS, RESULTS)}
        self.answering: set[int] = set()  # of threads: adding one and taking it away again needs no lock
        self._gauge("requests_in_flight", "Reviews that are being answered.").set_function(lambda: len(self.answering))
        self.findings = self.counter(
            "findings", "Findings, whatever became of them.", rule=tuple(RULES), severity=SEVERITIES
        )
        self.defaulted = self.counter("defaulted_pods", "Pods that were given default constraints.", owner_kind=OWNERS)
        self.undefaulted = self.counter(
            "defaults_not_applied", "Pods without constraints that were given none.", reason=tuple(REASONS)
        )
        self.panics = self.counter("panics", "Unexpected errors, each answered as the policy's onError says.")
        self.refused = self.counter("requests_refused", "HTTP requests that were no review.", code=REFUSALS)
        self.policy_generation = self._gauge("policy_generation", "How often the policy was loaded.")
        self.policy_failures = self.counter("policy_reload_failures", "Policy files that could not be used.")
        self.unsent = self._gauge(
            "entries_not_sent", "Entries that the policy needs and the webhook configurations lack, or have otherwise."
        )
        self.certificate_failures = self.counter(
            "certificate_reload_failures", "Certificate files that could not be used."
        )
        self.renewal_failures = self.counter(
            "certificate_renewal_failures", "Rounds in which the certificate could not be looked after."
        )
        self.certificate_expiry = self._gauge(
            "certificate_expiry_timestamp_seconds", "When the serving certificate expires."
        )

    def counter(self, name: str, text: str, **labels: tuple[str, ...]) -> Counter:
        counter = Counter(f"evenkeel_{name}", text, list(labels), registry=self.registry)
        for values in product(*labels.values()) if labels else ():
            counter.labels(*values)
        return counter

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"evenkeel_{name}", text, registry=self.registry)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)

    def count(self, request: AdmissionRequest, decision: Decision, seconds: float) -> None:
        """Count one answer."""
        operation = request.operation if request.operation in OPERATIONS else "other"
        self._latency[request.phase].observe(seconds)
        self._requests[request.phase, operation, RESULT_OF[decision.outcome]].inc()
        for finding in decision.findings:
            self.findings.labels(finding.rule, finding.severity.value).inc()
        if isinstance(decision.defaulted, Defaults):
            owner = request.owner.kind if request.owner is not None else "none"
            self.defaulted.labels(owner if owner in OWNERS else "other").inc()
        elif isinstance(decision.defaulted, Undefaulted):
            self.undefaulted.labels(decision.defaulted.reason).inc()


class ClusterMetrics(Collector):
    """What is counted of a cluster that is watched, and how well it is known: `caches` says synced and age by kind."""

    def __init__(
        self,
        metrics: Metrics,
        kinds: tuple[str, ...],
        lookups: tuple[tuple[str, ...], tuple[str, ...]],
        caches: Callable[[], Mapping[str, tuple[bool, float]]],
    ) -> None:
        self._caches = caches
        self.relists = metrics.counter(
            "cache_relists", "Lists after the first, where a watch could not go on.", kind=kinds
        )
        self.failures = metrics.counter("cache_watch_failures", "Lists and watches that failed.", kind=kinds)
        self.lookups = metrics.counter(
            "lookups", "Owners and namespaces that no watch had told of yet.", kind=lookups[0], result=lookups[1]
        )
        metrics.registry.register(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges, as they are when they are asked for."""
        synced = GaugeMetricFamily("evenkeel_cache_synced", "Whether a kind was listed once.", labels=["kind"])
        age = GaugeMetricFamily(
            "evenkeel_cache_age_seconds", "Since the API server last said something of a kind.", labels=["kind"]
        )
        for kind, (known, seconds) in self._caches().items():
            synced.add_metric([kind], known)
            age.add_metric([kind], seconds)
        yield from (synced, age)
