"""Lists what commands read of a live cluster, once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from webhook.cluster import fields
from webhook.cluster.client import FORBIDDEN, NOT_FOUND, Client, ClusterError
from webhook.cluster.cluster import Contents
from webhook.cluster.informer import pages
from webhook.cluster.listed import LISTED

PAGE_SECONDS = 60.0
WITHHELD = (FORBIDDEN, NOT_FOUND)


def read_contents(client: Client, namespace: str = "") -> Contents:
    """
    The objects of LISTED, of one namespace or of all; nodes and namespaces are always whole.

    A kind that may not be listed is named in `missing`; any other failure is a ClusterError, also while the objects are
    gone through.  They come kind by kind and page by page, so that no more than a page is in memory.
    """
    missing: dict[str, str] = {}
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Contents(_objects(client, namespace, missing), missing, namespace, _version(client), now)


def _version(client: Client) -> str:
    try:
        return client.version()
    except ClusterError as error:
        if error.status not in WITHHELD:
            raise
        return ""


def _objects(client: Client, namespace: str, missing: dict[str, str]) -> Iterator[Mapping[str, object]]:
    for kind in LISTED:
        try:
            for page in pages(client, kind, PAGE_SECONDS, namespace, fields.page):
                for raw in page.get("items") or ():
                    yield {"apiVersion": kind.api_version, "kind": kind.kind, **raw}
        except ClusterError as error:
            if error.status not in WITHHELD:
                raise
            missing[kind.resource] = str(error)
