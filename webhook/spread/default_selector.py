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
    """The selector for one Pod, and where it comes from."""

    selector: Selector
    sources: tuple[str, ...]  # the objects it was derived from, as `Kind/name`


def default_selector(namespace: str, labels: Labels, owner: Owner | None, snapshot: ClusterView) -> DefaultSelector:
    """
    Return the selector for a Pod with `labels` and the controller `owner`; it is empty if nothing selects or owns it.

    The owner counts only if it is one of SELECTOR_KINDS and exists in `snapshot`.

    upstream: spread.go:DefaultSelector (v1.37)
    """
    services = snapshot.services_of(namespace, labels)
    sources = tuple(f"Service/{service.name}" for service in services)
    service_labels = {key: value for service in services for key, value in service.selector.items()}
    controller = snapshot.controller(namespace, owner) if owner is not None and _has_selector(owner) else None
    controller_selector = controller.selector if controller is not None else None
    if controller is None or controller_selector is None or controller_selector.empty:
        return DefaultSelector(selecting(service_labels), sources)
    # The selector of a ReplicationController is a label map: its values replace those of the Services.
    if controller.kind == "ReplicationController":
        service_labels = {key: value for key, value in service_labels.items() if key not in controller_selector.keys}
    source = f"{controller.kind}/{controller.name}"
    return DefaultSelector(selecting(service_labels, controller_selector.requirements), (*sources, source))


def _has_selector(owner: Owner) -> bool:
    return (owner.api_version, owner.kind) in SELECTOR_KINDS
