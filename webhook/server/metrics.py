"""Every metric, its labels and its help. Label values come from closed sets, and every series exists from the start."""

from __future__ import annotations

from collections import Counter as CountOf
from collections.abc import Callable, Iterator, Mapping
from functools import partial
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
from webhook.policy.policy import STATES
from webhook.rules import RULES
from webhook.server.transport.tls import NOT_ACCEPTED as CLIENT_REASONS

PHASES = (MUTATE, VALIDATE)
OPERATION_VALUES = (CREATE, UPDATE, "other")
RESULT_OF = {
    Outcome.ALLOWED: "allowed",
    Outcome.WARNED: "allowed",
    Outcome.DEFAULTED: "allowed",
    Outcome.WOULD_BE_DEFAULTED: "allowed",
    Outcome.WOULD_BE_DENIED: "allowed",
    Outcome.DENIED: "denied",
    Outcome.NOT_JUDGED: "error",
    Outcome.ERROR: "error",
}
DRY_RUN = "dry-run"  # The result of a dry run that was judged: nothing was denied or changed.
RESULT_VALUES = (*dict.fromkeys(RESULT_OF.values()), DRY_RUN)
OWNER_VALUES = ("none", "ReplicationController", "ReplicaSet", "StatefulSet", "Job", "other")
SEVERITY_VALUES = tuple(str(severity) for severity in Severity if severity is not Severity.IGNORE)
REFUSALS = ("400", "404", "405", "408", "413", "414", "415", "417", "429", "431", "500", "501", "503")
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


disable_created_metrics()  # Else each counter has a second series, with the time at which it was made.


class Metrics:
    """The registry of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self.counter(
            "requests",
            "Number of admission reviews answered. A dry run counts only here and in the latency.",
            phase=PHASES,
            operation=OPERATION_VALUES,
            result=RESULT_VALUES,
        )
        self.latency = Histogram(
            "evenkeel_request_latency_seconds",
            "Time from receiving the whole body to having the response, in seconds.",
            ["phase"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._latency = {phase: self.latency.labels(phase) for phase in PHASES}
        self._requests = {
            labels: self.requests.labels(*labels) for labels in product(PHASES, OPERATION_VALUES, RESULT_VALUES)
        }
        self.answering: set[int] = set()  # Ids of threads at work on a review; adding and removing one needs no lock.
        in_flight = self._gauge("requests_in_flight", "Number of admission reviews in progress.")
        in_flight.set_function(lambda: len(self.answering))
        self.findings = self.counter(
            "findings",
            "Number of findings, including those that neither denied nor warned; each review counts its own.",
            rule=tuple(RULES),
            severity=SEVERITY_VALUES,
        )
        self.defaulted = self.counter(
            "defaulted_pods", "Number of Pods that got default constraints.", owner_kind=OWNER_VALUES
        )
        self.would_be_defaulted = self.counter(
            "would_be_defaulted_pods",
            "Number of Pods that would have got default constraints if defaultingMode were Apply.",
            owner_kind=OWNER_VALUES,
        )
        self.undefaulted = self.counter(
            "defaults_not_applied",
            "Number of Pods without constraints that got no defaults, by reason.",
            reason=tuple(REASONS),
        )
        self.reduced = self.counter(
            "defaults_reduced",
            "Number of Pods that got only some of the built-in default constraints: no node that they could run on has "
            "the topology key of the others.",
        )
        self._defaulted = {owner: self.defaulted.labels(owner) for owner in OWNER_VALUES}
        self._would_be_defaulted = {owner: self.would_be_defaulted.labels(owner) for owner in OWNER_VALUES}
        self._undefaulted = {reason: self.undefaulted.labels(reason) for reason in REASONS}
        self.panics = self.counter("panics", "Number of unexpected errors. Each is answered with the policy's onError.")
        self.refused = self.counter(
            "requests_refused",
            "Number of HTTP requests rejected: not a valid review, too large, too slow, or too many at once.",
            code=REFUSALS,
        )
        self.refused_clients = self.counter(
            "clients_refused",
            "Number of connections closed because of the client's certificate, by reason. 0 without --client-ca.",
            reason=CLIENT_REASONS,
        )
        self.policy_generation = self._gauge("policy_generation", "Number of times the policy was loaded.")
        self.policy_info = Computed(
            "policy_info",
            "1 for the policy in force, by a hash of its file, or of the built-in policy, and by its enforcement.",
            "hash",
            "enforcement",
        )
        self.registry.register(self.policy_info)
        self.policy_failures = self.counter("policy_reload_failures", "Number of failed policy reloads.")
        self.overrides_ending = self._gauge(
            "policy_overrides_ending",
            "Number of overrides of the policy that have ended, or that end within 30 days, by state.",
            state=STATES,
        )
        self.unsent = Computed(
            "entries_not_sent",
            "Number of webhook entries that the policy needs and the cluster's configurations do not have, "
            "or have with different rules or conditions. Absent while the configurations cannot be read.",
        )
        self.registry.register(self.unsent)
        self.unserved = Computed(
            "kinds_not_served",
            "Number of kinds that the policy names and the cluster does not serve. Absent while that is not known.",
        )
        self.registry.register(self.unserved)
        self.certificate_failures = self.counter(
            "certificate_reload_failures", "Number of failed reloads of the certificate, or of the CAs of clients."
        )
        self.renewal_failures = self.counter(
            "certificate_renewal_failures", "Number of failed attempts to check and renew the certificate."
        )
        self.certificate_expiry = self._gauge(
            "certificate_expiry_timestamp_seconds", "Unix time at which the serving certificate expires."
        )

    def counter(self, name: str, text: str, **labels: tuple[str, ...]) -> Counter:
        counter = Counter(f"evenkeel_{name}", text, list(labels), registry=self.registry)
        for values in product(*labels.values()) if labels else ():
            counter.labels(*values)
        return counter

    def _gauge(self, name: str, text: str, **labels: tuple[str, ...]) -> Gauge:
        gauge = Gauge(f"evenkeel_{name}", text, list(labels), registry=self.registry)
        for values in product(*labels.values()) if labels else ():
            gauge.labels(*values)
        return gauge

    def text(self) -> bytes:
        """All metrics in Prometheus' exposition format."""
        return generate_latest(self.registry)

    def count(self, request: AdmissionRequest, decision: Decision, seconds: float) -> None:
        """Count one review and its decision."""
        operation = request.operation if request.operation in OPERATION_VALUES else "other"
        self._latency[request.phase].observe(seconds)
        result = RESULT_OF[decision.outcome]
        if request.dry_run:
            self._requests[request.phase, operation, result if result == "error" else DRY_RUN].inc()
            return
        self._requests[request.phase, operation, result].inc()
        if decision.findings:
            counts = CountOf([(finding.rule, finding.severity) for finding in decision.findings])
            for (rule, severity), number in counts.items():
                self.findings.labels(rule, severity.value).inc(number)
        if isinstance(decision.defaulted, Defaults):
            owner = request.owner.kind if request.owner is not None else "none"
            only_audited = decision.outcome is Outcome.WOULD_BE_DEFAULTED
            counters = self._would_be_defaulted if only_audited else self._defaulted
            counters[owner if owner in OWNER_VALUES else "other"].inc()
            if decision.defaulted.lacking and not only_audited:
                self.reduced.inc()
        elif isinstance(decision.defaulted, Undefaulted):
            self._undefaulted[decision.defaulted.reason].inc()


class Computed(Collector):
    """A gauge whose values are computed when Prometheus scrapes."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self._family = partial(GaugeMetricFamily, f"evenkeel_{name}", text, labels=labels)
        # Returns values by label values; none until somebody sets it.
        self.samples: Callable[[], Mapping[tuple[str, ...], float]] = dict

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = self._family()
        for labels, value in self.samples().items():
            family.add_metric(labels, value)
        yield family


class ClusterMetrics(Collector):
    """Metrics of a watched cluster."""

    def __init__(
        self,
        metrics: Metrics,
        kinds: tuple[str, ...],
        lookups: tuple[tuple[str, ...], tuple[str, ...]],
        caches: Callable[[], Mapping[str, tuple[bool, float]]],
    ) -> None:
        """`lookups`: the kinds and the results of look-ups; `caches` returns synced and age in seconds, by kind."""
        self._caches = caches
        self.relists = metrics.counter(
            "cache_relists", "Number of times a kind was listed again because its watch could not resume.", kind=kinds
        )
        self.failures = metrics.counter("cache_watch_failures", "Number of lists and watches that failed.", kind=kinds)
        self.lookups = metrics.counter(
            "lookups",
            "Number of look-ups of an owner or namespace not yet in the cache. "
            "With result busy, no request was sent, because the review had waited too long for others.",
            kind=lookups[0],
            result=lookups[1],
        )
        metrics.registry.register(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges, computed when Prometheus scrapes."""
        synced = GaugeMetricFamily("evenkeel_cache_synced", "1 if the kind has been listed, else 0.", labels=["kind"])
        age = GaugeMetricFamily(
            "evenkeel_cache_age_seconds",
            "Seconds since the last response or event from the API server for the kind.",
            labels=["kind"],
        )
        for kind, (is_synced, seconds) in self._caches().items():
            synced.add_metric([kind], is_synced)
            age.add_metric([kind], seconds)
        yield from (synced, age)
