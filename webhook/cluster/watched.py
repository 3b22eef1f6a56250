"""
The kinds that evenkeel watches in a cluster: get, list and watch on these, and on nothing else.

RBAC and its table in docs/install.md are generated from WATCHED, and the informers follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.objects.kinds import APPS, CORE

VERBS = ("get", "list", "watch")
ALWAYS, WATCH_PODS = "always", "watchPods"


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind, and what it is looked at for; `needed` is ALWAYS, or the field of the policy that asks for it."""

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
        """As RBAC writes it: the core group is ""."""
        return self.api_version.rpartition("/")[0]

    def path(self, namespace: str = "", name: str = "") -> str:
        """Where it is listed and watched in all namespaces, or where one object of it is."""
        parts = ["apis" if self.api_group else "api", self.api_version]
        parts += ["namespaces", namespace] if name and self.namespaced else []
        return "/" + "/".join([*parts, self.resource, *([name] if name else [])])


SELECTOR = "selectors, from which that of a Pod's defaults is derived"
CONTROLLER = f"{SELECTOR}, and to check that an owner is real"
UNREAD = "no rule reads them yet"
NODE = Watched(
    CORE, "Node", "nodes", "label keys: `misspelt-topology-key` accepts a key that a node carries", namespaced=False
)
NAMESPACE = Watched(CORE, "Namespace", "namespaces", "labels, for overrides and `evenkeel.dev/skip`", namespaced=False)
SERVICE = Watched(CORE, "Service", "services", SELECTOR)
POD = Watched(
    CORE,
    "Pod",
    "pods",
    f"labels and nodes, which are counted; {UNREAD}",
    needed=WATCH_PODS,
    query={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
)
WATCHED = (
    NODE,
    NAMESPACE,
    SERVICE,
    Watched(CORE, "ReplicationController", "replicationcontrollers", CONTROLLER),
    Watched(APPS, "ReplicaSet", "replicasets", CONTROLLER),
    Watched(APPS, "StatefulSet", "statefulsets", CONTROLLER),
    POD,
)
BY_KIND = {one.gvk: one for one in WATCHED}


def watched(watch_pods: bool) -> tuple[Watched, ...]:
    """The kinds that are watched under a policy."""
    return tuple(one for one in WATCHED if one.needed == ALWAYS or watch_pods)
