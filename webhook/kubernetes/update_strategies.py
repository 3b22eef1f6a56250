"""How Deployments, StatefulSets and DaemonSets replace their Pods."""

from __future__ import annotations

from typing import NamedTuple

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import IntOrPercent, Raw, as_mapping, int_or_percent, integer, mappings_at, scaled
from webhook.kubernetes.workload import DEFAULT_SURGE

ROLLING_UPDATE, RECREATE, ON_DELETE = "RollingUpdate", "Recreate", "OnDelete"


class Strategies(NamedTuple):
    """The strategies of a kind."""

    field: str  # of its spec
    types: tuple[str, ...]


class DeploymentStrategy(NamedTuple):
    """How a Deployment is updated."""

    recreate: bool = False
    max_surge: IntOrPercent = DEFAULT_SURGE
    max_unavailable: IntOrPercent = "25%"

    def fenceposts(self, replicas: int) -> tuple[int, int]:
        """
        Return how many Pods there may be above `replicas`, and how many may be unavailable; never 0 for both.

        upstream: deployment_util.go:ResolveFenceposts (v1.37)
        """
        surge, unavailable = scaled(self.max_surge, replicas, up=True), scaled(self.max_unavailable, replicas, up=False)
        return (surge, unavailable) if surge or unavailable else (0, 1)


class StatefulSetUpdate(NamedTuple):
    """How the Pods of a StatefulSet are replaced."""

    ordered: bool = True  # podManagementPolicy is not Parallel
    on_delete: bool = False
    partition: int = 0
    max_unavailable: IntOrPercent = 1
    first: int = 0  # the ordinal of the first Pod
    recreate: bool = False

    def is_updated(self, ordinal: int) -> bool:
        """
        Return whether a new Pod with this ordinal gets the current template, and not that of the revision before.

        upstream: stateful_set_utils.go:newVersionedStatefulSetPod (v1.37)
        """
        return self.on_delete or self.recreate or ordinal >= self.first + self.partition


class DaemonSetUpdate(NamedTuple):
    """How the Pods of a DaemonSet are replaced."""

    on_delete: bool = False
    max_surge: IntOrPercent = 0
    max_unavailable: IntOrPercent = 1

    def fenceposts(self, nodes: int) -> tuple[int, int]:
        """
        Return on how many of the nodes there may be a second Pod, and on how many no available one; never 0 for both.

        upstream: update.go:DaemonSetsController.updatedDesiredNodeCounts (v1.37)
        """
        surge, unavailable = (scaled(limit, nodes, up=True) for limit in (self.max_surge, self.max_unavailable))
        return (surge, unavailable) if surge or unavailable else (0, 1)


def strategies(kind: str, features: Features) -> Strategies | None:
    """Return the strategies of a kind of workload, the default one first; None for a kind without any."""
    if kind == "Deployment":
        return Strategies("strategy", (ROLLING_UPDATE, RECREATE))
    if kind == "StatefulSet" and features.stateful_set_recreate:
        return Strategies("updateStrategy", (ROLLING_UPDATE, RECREATE, ON_DELETE))
    return Strategies("updateStrategy", (ROLLING_UPDATE, ON_DELETE)) if kind in ("StatefulSet", "DaemonSet") else None


def read_deployment_strategy(strategy: Raw) -> DeploymentStrategy:
    """Read `spec.strategy` of a Deployment."""
    rolling = as_mapping(strategy.get("rollingUpdate"))
    defaults = DeploymentStrategy()
    surge, unavailable = int_or_percent(rolling.get("maxSurge")), int_or_percent(rolling.get("maxUnavailable"))
    return DeploymentStrategy(
        strategy.get("type") == RECREATE,
        defaults.max_surge if surge is None else surge,
        defaults.max_unavailable if unavailable is None else unavailable,
    )


def read_stateful_set_update(spec: Raw) -> StatefulSetUpdate:
    """Read the spec of a StatefulSet."""
    strategy, rolling, ordinals = mappings_at(
        spec, ("updateStrategy",), ("updateStrategy", "rollingUpdate"), ("ordinals",)
    )
    unavailable = int_or_percent(rolling.get("maxUnavailable"))
    return StatefulSetUpdate(
        spec.get("podManagementPolicy") != "Parallel",
        strategy.get("type") == ON_DELETE,
        integer(rolling.get("partition")) or 0,
        1 if unavailable is None else unavailable,
        integer(ordinals.get("start")) or 0,
        strategy.get("type") == RECREATE,
    )


def read_daemon_set_update(spec: Raw) -> DaemonSetUpdate:
    """Read the spec of a DaemonSet."""
    strategy, rolling = mappings_at(spec, ("updateStrategy",), ("updateStrategy", "rollingUpdate"))
    surge, unavailable = int_or_percent(rolling.get("maxSurge")), int_or_percent(rolling.get("maxUnavailable"))
    return DaemonSetUpdate(
        strategy.get("type") == ON_DELETE,
        0 if surge is None else surge,
        1 if unavailable is None else unavailable,
    )
