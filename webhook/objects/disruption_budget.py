"""PodDisruptionBudgets as they are written."""

from __future__ import annotations

from typing import NamedTuple

from webhook.objects.fields import IntOrPercent, Raw, as_mapping, int_or_percent, texts_at


class DisruptionBudget(NamedTuple):
    """A PodDisruptionBudget; with `always_allow` a Pod that is not ready may always be evicted."""

    namespace: str
    name: str
    selector: object
    min_available: IntOrPercent | None
    max_unavailable: IntOrPercent | None
    always_allow: bool


def read_disruption_budget(raw: Raw) -> DisruptionBudget | None:
    """Return the PodDisruptionBudget that an object is, None if it is none."""
    api_version, kind, namespace, name = texts_at(raw, "apiVersion", "kind", "metadata.namespace", "metadata.name")
    if (api_version.rpartition("/")[0], kind) != ("policy", "PodDisruptionBudget"):
        return None
    spec = as_mapping(raw.get("spec"))
    return DisruptionBudget(
        namespace,
        name,
        spec.get("selector"),
        int_or_percent(spec.get("minAvailable")),
        int_or_percent(spec.get("maxUnavailable")),
        spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )
