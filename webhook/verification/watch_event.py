"""One event of a watch."""

from __future__ import annotations

from typing import NamedTuple

from webhook.objects.fields import Raw

ADDED_EVENT, MODIFIED_EVENT, DELETED_EVENT = "ADDED", "MODIFIED", "DELETED"
BOOKMARK_EVENT, ERROR_EVENT = "BOOKMARK", "ERROR"  # They tell of no object: how far a watch is, and why it ends.


class WatchEvent(NamedTuple):
    """
    A change of an object, which is heard of so many `seconds` after the log has begun.

    `version` is its resourceVersion: events of all kinds are in its order, since one etcd has them all.  `raw` has the
    fields of a dump, `apiVersion` and `kind` among them; for a DELETED_EVENT it is the last state.
    """

    seconds: float
    type: str
    version: int
    raw: Raw
