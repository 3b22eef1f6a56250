"""
The Job controller: makes Pods up to a number, in place of those that are deleted, until too many were.

    unassigned < pending < not ready < ready for less time < more restarts < newer: so they go if there are too many
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenkeel.objects.jobs import JobProgress, JobReplacement
from evenkeel.simulate.pod import Maker, Pod
from evenkeel.simulate.state import State


class Job:
    """The Pods of a Job."""

    revision = 0  # Its template cannot be changed.

    def __init__(self, progress: JobProgress, replacement: JobReplacement, maker: Maker, pods: Iterable[Pod]) -> None:
        self.progress, self.replacement, self.maker, self.pods = progress, replacement, maker, list(pods)
        self.failures = 0
        self.lost = list[Pod]()  # deleted, and not made anew, since the Job has failed
        # Pods that are not to be counted as failures: it has deleted them itself, or counted them already.
        self._counted = set() if replacement.waits else {pod for pod in self.pods if pod.terminating}

    @property
    def active(self) -> list[Pod]:
        """The Pods that are not being deleted."""
        return [pod for pod in self.pods if pod.active]

    @property
    def replicas(self) -> int:
        """How many Pods it should have."""
        return 0 if self.failed else self.progress.wanted(len(self.active))

    @property
    def failed(self) -> bool:
        """Whether more Pods were deleted than it replaces."""
        return self.replacement.retries is not None and self.failures > self.replacement.retries

    @property
    def old(self) -> list[Pod]:
        """No Pod: its template cannot be changed."""
        return []

    @property
    def complete(self) -> bool:
        """Whether every Pod that it should have is available."""
        return sum(pod.available for pod in self.pods) == self.replicas

    def is_outdated(self, pod: Pod) -> bool:
        """Return False: there is one template only."""
        return False

    def scale(self, replicas: int) -> None:
        """Set another parallelism."""
        self.progress = self.progress._replace(parallelism=replicas)

    def sync(self, state: State) -> bool:
        """
        Run the controller for a round; return whether there was anything to do.

        upstream: job_controller.go:Controller.syncJob, Controller.manageJob (v1.37)
        """
        terminating = [pod for pod in self.pods if pod.terminating] if state.terminating else []
        if not self.replacement.waits:
            self._fail(terminating)
        active = self.active if terminating else self.pods
        missing = self.replicas - len(active)
        if missing < 0:
            for pod in to_delete(active, -missing):
                self._counted.add(pod)
                if self.failed:
                    self.lost.append(pod)
                state.delete(pod)
                if not pod.node:
                    self.pods.remove(pod)
            return True
        if self.replacement.waits:
            missing -= len(terminating)
        for _ in range(missing):
            self.pods.append(state.make(self.maker, self.revision))
        return missing > 0

    def _fail(self, pods: Iterable[Pod]) -> None:
        """Count Pods that others than the Job have deleted as failures, each once."""
        failed = [pod for pod in pods if pod not in self._counted]
        self._counted.update(failed)
        self.failures += len(failed)
        if self.failed:
            self.lost += failed

    def gone(self, pod: Pod) -> None:
        """Forget a Pod whose object is gone."""
        if pod in self.pods:
            self._fail([pod])
            self.pods.remove(pod)


def to_delete(pods: Sequence[Pod], number: int) -> Sequence[Pod]:
    """
    Return the `number` Pods that are deleted first.

    upstream: job_controller.go:activePodsForRemoval, controller_utils.go:ActivePods.Less (v1.37)
    """
    # Where a time is not known, the uid decides.
    all_times_known = all(pod.ready_at is not None for pod in pods if pod.ready)

    def rank(pod: Pod) -> tuple[bool, bool, bool, float, int, float, float]:
        ready_since = pod.ready_at if pod.ready and all_times_known and pod.ready_at is not None else 0.0
        return pod.node != "", not pod.pending, pod.ready, -ready_since, -pod.restarts, -(pod.created or 0.0), pod.luck

    return sorted(pods, key=rank)[:number]
