"""
The kinds that evenkeel watches in a cluster, with the verbs get, list and watch, and no others.

RBAC, the table in docs/access.md and the informers are made from WATCHED.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.objects.kinds import APPS, CORE

WATCH_VERBS = ("get", "list", "watch")
ALWAYS, WATCH_PODS = "always", "watchPods"


@dataclass(frozen=True, slots=True)
class Watched:
    """
    One kind and its `purpose`; `needed` is ALWAYS, or the policy field that turns it on.

    `query` restricts what is listed and watched.
    """

    api_version: str
    kind: str
    resource: str
    purpose: str
    namespaced: bool = True
    needed: str = ALWAYS
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def gvk(self) -> tuple[str, str]:
        return self.api_version, self.kind

    @property
    def api_group(self) -> str:
        """The API group as RBAC writes it: "" is the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def name(self) -> str:
        """As kubectl names it: `pods`, `rollouts.argoproj.io`; the groups of Kubernetes itself go without saying."""
        ours = "." not in self.api_group or self.api_group.endswith(".k8s.io")
        return self.resource if ours else f"{self.resource}.{self.api_group}"

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path to list and watch it, in all namespaces or in one; with `name`, the path of one object."""
        parts = ["apis" if self.api_group else "api", self.api_version]
        parts += ["namespaces", namespace] if namespace and self.namespaced else []
        return "/" + "/".join([*parts, self.resource, *([name] if name else [])])


SELECTOR = "selectors, from which the selector of default constraints is derived"
NODE = Watched(CORE, "Node", "nodes", "labels and taints, for the rules on topology keys and domains", namespaced=False)
WATCHED_NAMESPACES = Watched(
    CORE, "Namespace", "namespaces", "labels, for overrides and `evenkeel.dev/skip`", namespaced=False
)
SERVICE = Watched(CORE, "Service", "services", SELECTOR)
WATCHED_PODS = Watched(
    CORE,
    "Pod",
    "pods",
    "labels, nodes and requests of Pods, for `unschedulable` and `selector-matches-others`",
    needed=WATCH_PODS,
    query={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
)
WATCHED = (
    NODE,
    WATCHED_NAMESPACES,
    SERVICE,
    Watched(CORE, "ReplicationController", "replicationcontrollers", SELECTOR),
    Watched(APPS, "ReplicaSet", "replicasets", SELECTOR),
    Watched(APPS, "StatefulSet", "statefulsets", SELECTOR),
    WATCHED_PODS,
)
BY_KIND = {kind.gvk: kind for kind in WATCHED}


def watched(watch_pods: bool) -> tuple[Watched, ...]:
    """Return the kinds to watch under a policy."""
    return tuple(kind for kind in WATCHED if kind.needed == ALWAYS or watch_pods)
