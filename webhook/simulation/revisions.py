"""
The revisions of a StatefulSet amid a rollout.

    its status, controller-revision-hash of its Pods ──> the one that they are updated to, and the one before
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from webhook.objects.fields import texts_at, value_at
from webhook.objects.labels import labels_of
from webhook.placement.subject import MADE_UP_LABEL, REVISION_HASH, Raw


class Revisions(NamedTuple):
    """
    The names of both, which Pods have as a label; `current` is "" if all are updated, and `like` one of its Pods.

    After a rollback both are the same, and Pods of others are replaced.
    """

    updated: str = ""
    current: str = ""
    like: Raw | None = None

    @property
    def lost(self) -> bool:
        """Whether it is not known what Pods of the current revision are like."""
        return self.current not in ("", self.updated) and self.like is None

    def number(self, pod: Raw) -> int:
        """1 for a Pod that is updated in a rollout, 0 for any other."""
        return int(self.current != "" and _hash_of(pod) == self.updated)


def read_revisions(raw: Raw, pods: Collection[Raw]) -> Revisions:
    """
    upstream: stateful_set_control.go:defaultStatefulSetControl.getStatefulSetRevisions (v1.37)

    Those of a StatefulSet with these Pods.
    """
    updated, current = texts_at(raw, "status.updateRevision", "status.currentRevision")
    earlier = {_hash_of(pod) for pod in pods} - {updated}
    if not updated or (not earlier and current in ("", updated)):
        return Revisions(updated)
    current = current or min(earlier)
    like = None if current == updated else next((pod for pod in pods if _hash_of(pod) == current), None)
    return Revisions(updated, current, like)


def with_new_template(raw: Raw) -> Raw:
    """A StatefulSet once its template has been changed, of which its controller is to make a revision."""
    return {**raw, "status": {"updateRevision": MADE_UP_LABEL}}


def _hash_of(pod: Raw) -> str:
    """upstream: stateful_set_utils.go:getPodRevision (v1.37)"""
    return labels_of(value_at(pod, ("metadata", "labels"))).get(REVISION_HASH, "")
