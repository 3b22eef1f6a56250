"""Lists what commands read of a live cluster, once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from math import floor
from time import time
from typing import Any

from evenkeel.clusters import reduction
from evenkeel.clusters.contents import Contents
from webhook.cluster.client import FORBIDDEN_STATUS, NOT_FOUND, Client, ClusterError
from webhook.cluster.discovery import read_resources, serves_node_pools
from webhook.cluster.informer import pages
from webhook.cluster.listed_resources import LISTED_RESOURCES, custom
from webhook.cluster.watched_resources import WATCHED_NAMESPACES, Watched
from webhook.kubernetes.kinds import NO_KINDS, Kinds

PAGE_SECONDS = 60.0
WITHHELD = (FORBIDDEN_STATUS, NOT_FOUND)  # it may not be listed, or the API server does not have it


def read_contents(
    client: Client,
    namespace: str = "",
    kinds: Kinds = NO_KINDS,
) -> Contents:
    """
    Return the objects of LISTED_RESOURCES, of one namespace or of all; nodes and namespaces are always whole.

    Custom resources of these `kinds` are read, too, if the API server has them.

    A kind that may not be listed is named in `missing`.  A kind that the server does not have is absent, as DeviceClass
    is before 1.34.  Any other failure is a ClusterError, also while the objects are gone through.  They come kind by
    kind and page by page, so that no more than a page is in memory.
    """
    missing: dict[str, str] = {}
    objects = chain(_objects(client, namespace, missing), _custom(client, namespace, kinds, missing))
    return Contents(objects, missing, namespace, _version(client), time_at(time()), serves_node_pools(client))


def time_at(seconds: float) -> str:
    """Return the time so many seconds after 1970, as `2026-01-31T10:00:00Z`."""
    return datetime.fromtimestamp(floor(seconds), UTC).isoformat().replace("+00:00", "Z")


def _version(client: Client) -> str:
    try:
        return client.version()
    except ClusterError as error:
        if error.status not in WITHHELD:
            raise
        return ""


def _objects(client: Client, namespace: str, missing: dict[str, str]) -> Iterator[Mapping[str, object]]:
    for kind in LISTED_RESOURCES:
        decode = reduction.namespaces_page if kind.gvk == WATCHED_NAMESPACES.gvk else reduction.page
        yield from _of_kind(client, kind, namespace, decode, missing)


def _custom(client: Client, namespace: str, kinds: Kinds, missing: dict[str, str]) -> Iterator[Mapping[str, object]]:
    """Yield custom resources, each in the newest version that the API server has."""
    listed: set[tuple[str, str]] = set()
    for api_version, resources in custom(kinds).items():
        wanted = [kind for kind in resources if (kind.api_group, kind.resource) not in listed]
        served = _served(client, api_version) if wanted else ()
        for kind in wanted:
            if kind.resource in served:
                listed.add((kind.api_group, kind.resource))
                decode = partial(reduction.custom_page, kinds=kinds.by_name[kind.gvk])
                yield from _of_kind(client, kind, namespace, decode, missing)


def _served(client: Client, api_version: str) -> Collection[str]:
    """Return the resources of an API version that the API server has."""
    try:
        return read_resources(client, api_version)
    except ClusterError as error:
        if error.status not in WITHHELD:
            raise
        return ()


def _of_kind(
    client: Client,
    kind: Watched,
    namespace: str,
    decode: Callable[[bytes], Any],
    missing: dict[str, str],
) -> Iterator[Mapping[str, object]]:
    try:
        for page in pages(client, kind, PAGE_SECONDS, decode, namespace):
            for raw in page.get("items") or ():
                yield {"apiVersion": kind.api_version, "kind": kind.kind, **raw}
    except ClusterError as error:
        if error.status not in WITHHELD:
            raise
        if error.status == FORBIDDEN_STATUS or not kind.api_group:  # Every API server has the core group.
            missing[kind.name] = str(error)
