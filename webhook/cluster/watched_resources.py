"""
The kinds that evenkeel watches in a cluster, with the verbs get, list and watch, and no others.

RBAC, the table in docs/security.md and the informers are made from WATCHED.
"""

from __future__ import annotations

from dataclasses import dataclass

from webhook.kubernetes.kinds import APPS, CORE

WATCH_VERBS = ("get", "list", "watch")


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind, and what it is read for."""

    api_version: str
    kind: str
    resource: str
    purpose: str
    namespaced: bool = True

    @property
    def gvk(self) -> tuple[str, str]:
        return self.api_version, self.kind

    @property
    def api_group(self) -> str:
        """The API group as RBAC writes it: "" is the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def name(self) -> str:
        """As kubectl names it: `pods`, `rollouts.argoproj.io`; a group of Kubernetes itself is left out."""
        of_kubernetes = "." not in self.api_group or self.api_group.endswith(".k8s.io")
        return self.resource if of_kubernetes else f"{self.resource}.{self.api_group}"

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path to list and watch it, in all namespaces or in one; with `name`, the path of one object."""
        parts = ["apis" if self.api_group else "api", self.api_version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.resource)
        if name:
            parts.append(name)
        return "/" + "/".join(parts)


SELECTOR = "selectors, from which the selector of default constraints is derived"
NODE = Watched(CORE, "Node", "nodes", "labels and taints, for the rules on topology keys and domains", namespaced=False)
WATCHED_NAMESPACES = Watched(
    CORE, "Namespace", "namespaces", "labels, for overrides and `evenkeel.dev/skip`", namespaced=False
)
SERVICE = Watched(CORE, "Service", "services", SELECTOR)
WATCHED = (
    NODE,
    WATCHED_NAMESPACES,
    SERVICE,
    Watched(CORE, "ReplicationController", "replicationcontrollers", SELECTOR),
    Watched(APPS, "ReplicaSet", "replicasets", SELECTOR),
    Watched(APPS, "StatefulSet", "statefulsets", SELECTOR),
)
BY_KIND = {kind.gvk: kind for kind in WATCHED}
