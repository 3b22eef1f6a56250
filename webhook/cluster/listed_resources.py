"""
The kinds that commands list in a cluster: all that is watched, and the rest of what has Pods, scales or disrupts them.

The RBAC for people, and the order of a dump are made from LISTED_RESOURCES.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webhook.cluster.watched_resources import SELECTOR, Watched
from webhook.kubernetes.kinds import APPS, BATCH, CORE, STORAGE_V1, Kinds

LIST_VERBS = ("get", "list")
WORKLOADS = "Pod templates, replicas and strategies: where the next Pods may go"
VOLUMES = "which nodes the volumes and claims of a Pod allow"
NEW_PODS = "what the API server adds to a new Pod, such as requests, a priority and tolerations"
LISTED_RESOURCES = (
    Watched(STORAGE_V1, "CSIDriver", "csidrivers", VOLUMES, namespaced=False),
    Watched(STORAGE_V1, "CSINode", "csinodes", VOLUMES, namespaced=False),
    Watched(STORAGE_V1, "CSIStorageCapacity", "csistoragecapacities", VOLUMES),
    Watched(BATCH, "CronJob", "cronjobs", WORKLOADS),
    Watched(APPS, "DaemonSet", "daemonsets", WORKLOADS),
    Watched(APPS, "Deployment", "deployments", WORKLOADS),
    Watched(
        "resource.k8s.io/v1",
        "DeviceClass",
        "deviceclasses",
        "which extended resources are devices",
        namespaced=False,
    ),
    Watched(
        "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "how many Pods a workload may get"
    ),
    Watched(BATCH, "Job", "jobs", WORKLOADS),
    Watched(CORE, "LimitRange", "limitranges", NEW_PODS),
    Watched(CORE, "Namespace", "namespaces", "labels, for overrides of the policy", namespaced=False),
    Watched(CORE, "Node", "nodes", "labels, taints and capacity: where Pods may go", namespaced=False),
    Watched(CORE, "PersistentVolume", "persistentvolumes", VOLUMES, namespaced=False),
    Watched(CORE, "PersistentVolumeClaim", "persistentvolumeclaims", VOLUMES),
    Watched(CORE, "Pod", "pods", "where Pods run, what they request, and why they wait"),
    Watched("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "how many Pods may be disrupted"),
    Watched("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", NEW_PODS, namespaced=False),
    Watched(APPS, "ReplicaSet", "replicasets", WORKLOADS),
    Watched(CORE, "ReplicationController", "replicationcontrollers", WORKLOADS),
    Watched("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", NEW_PODS, namespaced=False),
    Watched(CORE, "Service", "services", SELECTOR),
    Watched(APPS, "StatefulSet", "statefulsets", WORKLOADS),
    Watched(STORAGE_V1, "StorageClass", "storageclasses", VOLUMES, namespaced=False),
    Watched(STORAGE_V1, "VolumeAttachment", "volumeattachments", VOLUMES, namespaced=False),
)


def custom(kinds: Kinds) -> Mapping[str, Sequence[Watched]]:
    """The custom resources among `kinds`, by API version; within a group, the newest version comes first."""
    by_version: dict[str, dict[str, Watched]] = {}
    for kind in reversed(kinds):
        if not kind.built_in:
            watched = Watched(kind.api_version, kind.kind, kind.resource, WORKLOADS)
            by_version.setdefault(kind.api_version, {})[kind.resource] = watched
    return {api_version: tuple(resources.values()) for api_version, resources in by_version.items()}
