"""PodDisruptionBudgets as they are written."""

from __future__ import annotations

from typing import NamedTuple

from webhook.kubernetes.fields import IntOrPercent, Raw, as_mapping, int_or_percent, integer, texts_at
from webhook.kubernetes.kinds import DISRUPTION_BUDGET


class DisruptionBudget(NamedTuple):
    """A PodDisruptionBudget."""

    namespace: str
    name: str
    selector: object  # As it is written.
    min_available: IntOrPercent | None
    max_unavailable: IntOrPercent | None
    always_allow: bool  # A Pod that is not ready may always be evicted.
    allowed: int | None = None  # How many Pods may be disrupted now; None: unknown.
    disrupted: frozenset[str] = frozenset()  # Names of Pods whose eviction the API server has already allowed.

    @property
    def limit(self) -> tuple[str, IntOrPercent | None]:
        """The field that limits disruptions, and its value; "" and None if there is none."""
        if self.max_unavailable is not None:
            return "maxUnavailable", self.max_unavailable
        return ("minAvailable" if self.min_available is not None else ""), self.min_available


def read_disruption_budget(raw: Raw) -> DisruptionBudget | None:
    """Read an object; None if it is no PodDisruptionBudget."""
    api_version, kind = texts_at(raw, "apiVersion", "kind")
    if (api_version.rpartition("/")[0], kind) != DISRUPTION_BUDGET:
        return None
    return disruption_budget(raw)


def disruption_budget(raw: Raw) -> DisruptionBudget:
    namespace, name = texts_at(raw, "metadata.namespace", "metadata.name")
    spec, status = as_mapping(raw.get("spec")), as_mapping(raw.get("status"))
    return DisruptionBudget(
        namespace,
        name,
        spec.get("selector"),
        int_or_percent(spec.get("minAvailable")),
        int_or_percent(spec.get("maxUnavailable")),
        spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
        integer(status.get("disruptionsAllowed")),
        frozenset(map(str, as_mapping(status.get("disruptedPods")))),
    )
