"""
The selector of default constraints, which kube-scheduler derives for each Pod.

    selector = selectors of all Services that select the Pod + the selector of its controller
"""

from __future__ import annotations

from typing import NamedTuple

from webhook.kubernetes.kinds import APPS, CORE
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.references import Owner
from webhook.spread.cluster_view import ClusterView
from webhook.spread.selectors import Selector, selecting

SELECTOR_KINDS = ((CORE, "ReplicationController"), (APPS, "ReplicaSet"), (APPS, "StatefulSet"))


class DefaultSelector(NamedTuple):
    """The selector, and the objects it was derived from, as `Kind/name`."""

    selector: Selector
    sources: tuple[str, ...]


def default_selector(namespace: str, labels: Labels, owner: Owner | None, snapshot: ClusterView) -> DefaultSelector:
    """
    Return the selector for a Pod with `labels` and the controller `owner`; it is empty if nothing selects or owns the
    Pod. The owner counts only if it is one of SELECTOR_KINDS and exists in `snapshot`.

    upstream: spread.go:DefaultSelector (v1.37)
    """
    services = snapshot.services_of(namespace, labels)
    sources = tuple(f"Service/{service.name}" for service in services)
    asked = {key: value for service in services for key, value in service.selector.items()}
    controller = snapshot.controller(namespace, owner) if owner is not None and _has_selector(owner) else None
    own = controller.selector if controller is not None else None
    if controller is None or own is None or own.empty:
        return DefaultSelector(selecting(asked), sources)
    if controller.kind == "ReplicationController":  # Its selector is a label map, and is merged as one.
        asked = {key: value for key, value in asked.items() if key not in own.keys}
    return DefaultSelector(selecting(asked, own.requirements), (*sources, f"{controller.kind}/{controller.name}"))


def _has_selector(owner: Owner) -> bool:
    return (owner.api_version, owner.kind) in SELECTOR_KINDS
