"""Reads what the controllers and evictions need of raw objects: numbers, strategies, tolerations, readiness."""

from __future__ import annotations

import re

from webhook.objects.fields import as_list, as_mapping, texts_at, value_at
from webhook.objects.names import DELETION_COST_ANNOTATION
from webhook.objects.times import seconds_at
from webhook.placement.subject import Raw
from webhook.scheduler.taints import (
    NO_EXECUTE,
    RESERVED,
    TOLERATION_EXISTS,
    LimitedToleration,
    LimitedTolerations,
    Taint,
    Toleration,
)
from webhook.simulation.deployment import DeploymentStrategy
from webhook.simulation.stateful import Update

_PERCENT = re.compile("[0-9]{1,9}%")
DEFAULT_TOLERATION_SECONDS = 300  # For which a Pod tolerates a lost node, unless it says otherwise.
GRACES = tuple(
    LimitedToleration(Toleration(f"{RESERVED}{key}", TOLERATION_EXISTS, "", NO_EXECUTE), DEFAULT_TOLERATION_SECONDS)
    for key in ("not-ready", "unreachable")
)


def replicas_of(raw: Raw, absent: int) -> int:
    """The replicas that a workload wants."""
    found = value_at(raw, ("spec", "replicas"))
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else absent


def min_ready_seconds_of(raw: Raw) -> int:
    """For how many seconds a Pod of a workload must be ready until it is available."""
    found = value_at(raw, ("spec", "minReadySeconds"))
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0


def strategy_of(raw: Raw) -> DeploymentStrategy:
    """The strategy of a Deployment."""
    rolling = as_mapping(raw.get("rollingUpdate"))
    usual = DeploymentStrategy()
    surge, unavailable = int_or_percent(rolling.get("maxSurge")), int_or_percent(rolling.get("maxUnavailable"))
    return DeploymentStrategy(
        raw.get("type") == "Recreate",
        usual.max_surge if surge is None else surge,
        usual.max_unavailable if unavailable is None else unavailable,
    )


def update_of(spec: Raw) -> Update:
    """How a StatefulSet is updated, by its spec."""
    strategy = as_mapping(spec.get("updateStrategy"))
    rolling = as_mapping(strategy.get("rollingUpdate"))
    partition, start = rolling.get("partition"), value_at(spec, ("ordinals", "start"))
    unavailable = int_or_percent(rolling.get("maxUnavailable"))
    return Update(
        spec.get("podManagementPolicy") != "Parallel",
        strategy.get("type") == "OnDelete",
        partition if isinstance(partition, int) else 0,
        1 if unavailable is None else unavailable,
        start if isinstance(start, int) else 0,
    )


def int_or_percent(value: object) -> int | str | None:
    """A number, or a percentage such as `25%`; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value if isinstance(value, str) and _PERCENT.fullmatch(value) else None


def tolerations_of(spec: Raw) -> LimitedTolerations:
    """
    upstream: defaulttolerationseconds/admission.go:Plugin.Admit (v1.37)

    The tolerations of a Pod, with those that the API server adds to one that says nothing of lost nodes.
    """
    found = []
    for one in map(as_mapping, as_list(spec.get("tolerations"))):
        seconds = one.get("tolerationSeconds")
        toleration = Toleration(*texts_at(one, *Toleration._fields))
        found.append(LimitedToleration(toleration, seconds if isinstance(seconds, int) else None))
    for grace in GRACES:
        taint = Taint(grace.toleration.key, "", NO_EXECUTE)
        if not any(one.toleration.tolerates(taint) for one in found):
            found.append(grace)
    return tuple(found)


def readiness(status: Raw, phase: str) -> tuple[bool, float | None]:
    """Whether a Pod is ready, or about to be, and since when."""
    for condition in map(as_mapping, as_list(status.get("conditions"))):
        if condition.get("type") == "Ready":
            since = seconds_at(condition.get("lastTransitionTime"))
            return condition.get("status") == "True" or phase == "Pending", since
    return True, None


def deletion_cost(annotations: Raw) -> int:
    """upstream: helpers.go:GetDeletionCostFromPodAnnotations (v1.37)"""
    written = annotations.get(DELETION_COST_ANNOTATION)
    try:
        return int(written) if isinstance(written, str) and len(written) < 12 else 0
    except ValueError:
        return 0


def restarts(status: Raw) -> int:
    """The most restarts of any container."""
    counts = [as_mapping(one).get("restartCount") for one in as_list(status.get("containerStatuses"))]
    return max((one for one in counts if isinstance(one, int)), default=0)


def ordinal_of(name: str) -> int:
    """The number at the end of the name of a StatefulSet's Pod; -1 if there is none."""
    written = name.rpartition("-")[2]
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 10 else -1
