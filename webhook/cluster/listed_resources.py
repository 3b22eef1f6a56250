"""
The kinds that commands list in a cluster: all that is watched, and the rest of what has Pods, scales or disrupts them.

The RBAC for people, the table in docs/dump.md and the order of a dump are made from LISTED_RESOURCES.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webhook.cluster.watched_resources import Watched
from webhook.objects.kinds import APPS, BATCH, CORE, Kinds

LIST_VERBS = ("get", "list")
WORKLOADS = "their Pod templates, replicas and strategies: where their next Pods may go"
LISTED_RESOURCES = (
    Watched(BATCH, "CronJob", "cronjobs", WORKLOADS),
    Watched(APPS, "DaemonSet", "daemonsets", WORKLOADS),
    Watched(APPS, "Deployment", "deployments", WORKLOADS),
    Watched(
        "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "how many Pods a workload may get"
    ),
    Watched(BATCH, "Job", "jobs", WORKLOADS),
    Watched(CORE, "Namespace", "namespaces", "labels, for overrides of the policy", namespaced=False),
    Watched(CORE, "Node", "nodes", "labels, taints and what they have for Pods: where Pods may go", namespaced=False),
    Watched(CORE, "Pod", "pods", "where they are, what they request, and why they wait"),
    Watched("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "how many Pods may be disrupted"),
    Watched(APPS, "ReplicaSet", "replicasets", WORKLOADS),
    Watched(CORE, "ReplicationController", "replicationcontrollers", WORKLOADS),
    Watched(CORE, "Service", "services", "their selectors, to derive the selector of default constraints"),
    Watched(APPS, "StatefulSet", "statefulsets", WORKLOADS),
)


def custom(kinds: Kinds) -> Mapping[str, Sequence[Watched]]:
    """Return the custom resources among `kinds`, by their API version, of each group the newest first."""
    by_version: dict[str, dict[str, Watched]] = {}
    for kind in reversed(kinds):
        if not kind.built_in:
            listed = Watched(kind.api_version, kind.kind, kind.resource, WORKLOADS)
            by_version.setdefault(kind.api_version, {})[kind.resource] = listed
    return {api_version: tuple(resources.values()) for api_version, resources in by_version.items()}
