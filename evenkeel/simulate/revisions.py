"""
The revisions of a StatefulSet or DaemonSet amid a rollout.

    status, labels of Pods ──> the one that they are updated to, and the one before
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from evenkeel.objects.pod_object import PodObject
from evenkeel.objects.workload_object import WorkloadObject


class Revisions(NamedTuple):
    """
    The revisions by name, which Pods have as a label.

    After a rollback both are the same, and Pods of other revisions are replaced.
    """

    updated: str = ""  # the one to which Pods are updated
    current: str = ""  # the one before; "" if all Pods are updated
    like: PodObject | None = None  # a Pod of the current revision, from which its template is guessed

    @property
    def lost(self) -> bool:
        """Whether the current revision is not known, since none of its Pods is left."""
        return self.current not in ("", self.updated) and self.like is None

    def number(self, pod: PodObject) -> int:
        """Return 1 for a Pod that is updated in a rollout, 0 for any other."""
        return int(self.current != "" and pod.revision_hash == self.updated)


def read_revisions(stateful_set: WorkloadObject, pods: Collection[PodObject]) -> Revisions:
    """
    Return the revisions of a StatefulSet with these Pods.

    upstream: stateful_set_control.go:defaultStatefulSetControl.getStatefulSetRevisions (v1.37)
    """
    updated, current = stateful_set.update_revision, stateful_set.current_revision
    earlier = {pod.revision_hash for pod in pods} - {updated}
    if not updated or (not earlier and current in ("", updated)):
        return Revisions(updated)
    current = current or min(earlier)
    like = None if current == updated else next((pod for pod in pods if pod.revision_hash == current), None)
    return Revisions(updated, current, like)


def read_daemon_revisions(daemon_set: WorkloadObject, pods: Collection[PodObject]) -> Revisions:
    """
    Return the revisions of a DaemonSet with these Pods: the newest Pods have its template, unless a file has another.

    upstream: daemonset_util.go:IsPodUpdated (v1.37)
    """
    newest = max(pods, key=lambda pod: pod.template_generation, default=None)
    updated = daemon_set.update_revision or (newest.revision_hash if newest is not None else "")
    earlier = next((pod for pod in pods if pod.revision_hash != updated), None)
    return Revisions(updated, earlier.revision_hash if earlier is not None else "", earlier)
