"""Asks an API server what it serves.  The ClusterRole system:discovery lets everybody ask."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from webhook.cluster.client import Client, ClusterError
from webhook.kubernetes.fields import as_list, as_mapping, texts_at
from webhook.kubernetes.kinds import Served
from webhook.spread.cluster_view import NODE_POOL

SECONDS = 10.0


def read_served(client: Client, groups: Collection[str]) -> Served:
    """Read which API groups the API server has, and the kinds of these `groups`.  ClusterError if it does not say."""
    versions = {
        texts_at(group, "name")[0]: tuple(texts_at(version, "version")[0] for version in as_list(group.get("versions")))
        for group in _items(client, "/apis", "groups")
    }
    api_versions = [f"{group}/{version}" for group in groups for version in versions.get(group, ())]
    return Served(versions, {api_version: read_resources(client, api_version) for api_version in api_versions})


def serves_node_pools(client: Client) -> bool:
    """Whether the API server has Karpenter's NodePools; False if it does not say."""
    group, kind = NODE_POOL
    try:
        return read_served(client, (group,)).has(group, kind)
    except ClusterError:
        return False


def read_resources(client: Client, api_version: str) -> Mapping[str, str]:
    """The kind of each resource that the API server serves in a version of a group, such as apps/v1."""
    resources = (texts_at(resource, "name", "kind") for resource in _items(client, f"/apis/{api_version}", "resources"))
    return {name: kind for name, kind in resources if "/" not in name}  # No subresources, such as pods/status.


def _items(client: Client, path: str, field: str) -> list[Mapping[str, object]]:
    items = client.get(path, {}, SECONDS).get(field)
    if not isinstance(items, list):
        raise ClusterError(f"{path}: the response has no list of {field}")
    return [as_mapping(item) for item in items]
