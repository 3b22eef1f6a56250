"""
What a Pod needs of a kubelet beyond what every kubelet does: a node declares such features by name.

A further feature is a function more in FEATURES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw, as_list, as_mapping


def _restarts_all_containers(spec: Raw) -> bool:
    """
    Whether the exit of one container restarts all of them.

    upstream: restart_all_containers.go:restartAllContainersFeature.InferForScheduling (v1.37)
    """
    rules = [rule for container in _containers(spec) for rule in as_list(container.get("restartPolicyRules"))]
    return any(as_mapping(rule).get("action") == "RestartAllContainers" for rule in rules)


def _shares_network_as_other_users(spec: Raw) -> bool:
    """
    Whether the Pod is on the host's network, with users of its own.

    upstream: user_namespaces_host_network.go:userNamespacesHostNetworkFeature.InferForScheduling (v1.37)
    """
    return spec.get("hostNetwork") is True and spec.get("hostUsers") is False


def _has_mount_options(spec: Raw) -> bool:
    """
    Whether a container mounts a volume with bindMountOptions.

    upstream: feature.go:volumeBindMountOptionsFeature.InferForScheduling (v1.37)
    """
    mounts = [mount for container in _containers(spec) for mount in as_list(container.get("volumeMounts"))]
    return any(as_mapping(mount).get("bindMountOptions") for mount in mounts)


def _containers(spec: Raw) -> list[Mapping[str, object]]:
    return [as_mapping(raw) for name in ("initContainers", "containers") for raw in as_list(spec.get(name))]


class DeclaredFeature(NamedTuple):
    """A feature that nodes declare."""

    name: str
    since: int  # The minor version since which kube-scheduler knows it.
    needed: Callable[[Raw], bool]  # Whether a Pod with this spec needs it.


# upstream: nodedeclaredfeatures/features/registry.go:AllFeatures (v1.37), those that matter to a Pod without a node
FEATURES = (
    DeclaredFeature("RestartAllContainersOnContainerExits", 36, _restarts_all_containers),
    DeclaredFeature("UserNamespacesHostNetworkSupport", 36, _shares_network_as_other_users),
    DeclaredFeature("VolumeBindMountOptions", 37, _has_mount_options),
)


def required_features(spec: Raw, features: Features) -> frozenset[str]:
    """
    Return the features that a node must declare to run the Pod; none before Kubernetes 1.36.

    upstream: framework.go:Framework.InferForPodScheduling (v1.37)
    """
    return frozenset([feature.name for feature in FEATURES if features.minor >= feature.since and feature.needed(spec)])
