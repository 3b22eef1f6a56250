"""The metrics and alerts in docs/operate.md, from the registry and the file of rules."""

from __future__ import annotations

from tests.generate.markdown import table as markdown_table
from tests.support.monitoring import Family, alerts_of, described
from webhook.admission.defaulting import REASONS
from webhook.cluster.live import LOOKUP_KINDS, LOOKUP_RESULTS
from webhook.cluster.watched_resources import WATCHED
from webhook.policy.policy import AUDIT, DENY, WARN
from webhook.server.metrics import ClusterMetrics, Metrics


def families() -> list[Family]:
    """All that a server exposes that watches a cluster."""
    metrics = Metrics()
    kinds = tuple(one.kind for one in WATCHED)
    metrics.unsent.samples = metrics.unserved.samples = lambda: {(): 0}
    metrics.policy_info.samples = lambda: {("12 digits", enforcement): 1 for enforcement in (DENY, WARN, AUDIT)}
    ClusterMetrics(metrics, kinds, (LOOKUP_KINDS, LOOKUP_RESULTS), lambda: dict.fromkeys(kinds, (False, 0.0)))
    return described(metrics.registry.collect())


def table() -> str:
    rows = ((f"`{family.name}`", _shown(family), family.help) for family in families())
    return markdown_table(("metric", "labels", "description"), rows)


def _shown(family: Family) -> str:
    return ", ".join(f"`{name}`" for name in family.labels if name != "le") or "–"


def reasons() -> str:
    return markdown_table(("reason", "why"), ((f"`{reason}`", text) for reason, text in REASONS.items()))


def alerts() -> str:
    """The table of the webhook's alerts."""
    rows = (
        (rule["alert"], rule["labels"]["severity"], rule["annotations"]["runbook"])
        for rule in alerts_of("alerts.yaml")
    )
    return markdown_table(("alert", "severity", "what to do"), rows)
