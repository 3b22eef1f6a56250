"""
Keeps objects of evenkeel's own in a cluster as they should be, by server-side apply.

    wanted ──apply what differs──> API server        there, and not wanted ──delete──> gone
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from webhook.cluster.client import NOT_FOUND, Client, ClusterError
from webhook.cluster.informer import pages
from webhook.cluster.watched_resources import Watched
from webhook.objects.fields import texts_at
from webhook.render.openreports import (
    MANAGED_BY,
    OPENREPORTS_KIND,
    OPENREPORTS_RESOURCE,
    OPENREPORTS_VERSION,
    SOURCE,
    same,
)

REPORT_RESOURCE = Watched(
    *(OPENREPORTS_VERSION, OPENREPORTS_KIND, OPENREPORTS_RESOURCE, "what the rules find"),
    query={"labelSelector": f"{MANAGED_BY}={SOURCE}"},
)
PUBLISH_SECONDS, PAGE_SECONDS = 30.0, 60.0
FORCED = {"fieldManager": "evenkeel", "force": "true"}
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML.

ReportObject = Mapping[str, object]
Key = tuple[str, str]  # namespace, name


class Published(NamedTuple):
    """How many objects were written, were as they should be, and were deleted."""

    written: int
    unchanged: int
    deleted: int


def publish_reports(
    client: Client, reports: Iterable[ReportObject], namespace: str, about: frozenset[str] | None
) -> Published:
    """
    Write the reports, and delete those of evenkeel that are no longer wanted, in one namespace or in all ("").

    `about` limits which reports are deleted to those on workloads with these uids; None means no limit.
    """

    def may_go(report: ReportObject) -> bool:
        return about is None or texts_at(report, "scope.uid")[0] in about

    return publish(client, REPORT_RESOURCE, reports, namespace, same, may_go)


def publish(
    client: Client,
    kind: Watched,
    wanted: Iterable[ReportObject],
    namespace: str,
    same: Callable[[ReportObject, ReportObject], bool],
    may_go: Callable[[ReportObject], bool],
) -> Published:
    """
    Make the objects of a kind that `kind.query` selects, in one namespace or in all (""), those that are `wanted`.

    What says the `same` is not written again.  Of the others, those go that `may_go`.  ClusterError if the API server
    refuses; what was written until then stays.
    """
    listed = pages(client, kind, PAGE_SECONDS, namespace, json.loads)
    there = {_key(report): report for page in listed for report in page.get("items") or ()}
    written = unchanged = deleted = 0
    for obj in wanted:
        before = there.pop(_key(obj), None)
        if before is not None and same(before, obj):
            unchanged += 1
            continue
        path = kind.path(*_key(obj))
        client.send("PATCH", path, obj, PUBLISH_SECONDS, FORCED, APPLY_PATCH)
        written += 1
    for key, obj in there.items():
        if may_go(obj):
            deleted += _delete(client, kind.path(*key))
    return Published(written, unchanged, deleted)


def _key(obj: ReportObject) -> Key:
    namespace, name = texts_at(obj, "metadata.namespace", "metadata.name")
    return namespace, name


def _delete(client: Client, path: str) -> bool:
    """Delete a report; False if it is gone already, as with its owner."""
    try:
        client.send("DELETE", path, None, PUBLISH_SECONDS)
    except ClusterError as error:
        if error.status != NOT_FOUND:
            raise
        return False
    return True
