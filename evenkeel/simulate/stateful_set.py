"""
The StatefulSet controller: Pods by their ordinals, one after the other or in parallel, updated from the highest on.

    ordinals 0, 1, 2 … made ──> those beyond the number deleted, the highest first ──> old revisions replaced
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenkeel.simulate.pod import Maker, Pod
from evenkeel.simulate.state import State
from webhook.kubernetes.fields import scaled
from webhook.kubernetes.update_strategies import StatefulSetUpdate


class StatefulSet:
    """The Pods of a StatefulSet."""

    def __init__(self, replicas: int, update: StatefulSetUpdate, makers: Sequence[Maker], pods: Iterable[Pod]) -> None:
        self.replicas, self.update, self.pods = replicas, update, list(pods)
        self._makers = list(makers)  # one for each revision, that of the current template last
        # The revision of which Pods below the partition are made: the one to which all Pods were updated last.
        self._current = len(makers) - 1 if makers[0] is makers[-1] else 0

    @property
    def maker(self) -> Maker:
        return self._makers[-1]

    @property
    def revision(self) -> int:
        """The number of the current template."""
        return len(self._makers) - 1

    @property
    def old(self) -> list[Pod]:
        """The Pods that are to be replaced."""
        return [pod for pod in self.pods if self._is_old(pod)]

    @property
    def complete(self) -> bool:
        """Whether every Pod is available, and of the revision that it should have."""
        return len(self.pods) == self.replicas and not self.old and all(pod.available for pod in self.pods)

    def is_outdated(self, pod: Pod) -> bool:
        """Return whether a Pod made in place of this one would be of another template."""
        return self.update.is_updated(pod.ordinal) and pod.revision != self.revision

    def _is_old(self, pod: Pod) -> bool:
        """Return whether the controller is to replace a Pod."""
        return not self.update.on_delete and self.is_outdated(pod)

    def roll_out(self, maker: Maker) -> None:
        self._makers.append(maker)

    def undo(self) -> None:
        """Roll back to the template before, if there is one; Pods that have it count as updated again."""
        before, new = max(0, self.revision - 1), self.revision + 1
        self._makers.append(self._makers[before])
        for pod in self.pods:
            if pod.revision == before:
                pod.revision = new
        if self._current == before:
            self._current = new

    def scale(self, replicas: int) -> None:
        self.replicas = replicas

    def sync(self, state: State) -> bool:
        """
        Run the controller for a round; return whether there was anything to do.

        upstream: stateful_set_control.go:defaultStatefulSetControl.updateStatefulSet (v1.38)
        """
        self._complete_update()
        by_ordinal = {pod.ordinal: pod for pod in self.pods}
        # `condemned` is upstream's word for Pods whose ordinals are beyond the replicas.
        ordinals = range(self.update.first, self.update.first + self.replicas)
        condemned = sorted((pod for pod in self.pods if pod.ordinal not in ordinals), key=lambda pod: -pod.ordinal)
        unhealthy = next((pod for pod in self._in_order(by_ordinal, condemned) if not pod.available), None)
        if self.update.recreate and (outdated := [pod for pod in self.pods if pod.revision != self.revision]):
            return self._recreate(outdated, state)
        deleted, made = False, False
        if not self.update.ordered and state.features.deletes_surplus_first:
            deleted = self._delete_condemned(condemned, unhealthy, state)
        for ordinal in ordinals:
            pod = by_ordinal.get(ordinal)
            if pod is None:
                self._make(ordinal, state)
                made = True
            if self.update.ordered and (pod is None or not pod.available):
                return made
        if made:  # kube-scheduler may place these Pods before the controller deletes others.
            return True
        deleted |= self._delete_condemned(condemned, unhealthy, state)
        if self.update.ordered and condemned:
            return deleted
        return self._replace(by_ordinal, ordinals, state) or deleted

    def _delete_condemned(self, condemned: list[Pod], unhealthy: Pod | None, state: State) -> bool:
        """
        Delete the Pods beyond the replicas, one at a time if they are ordered; return whether there was any.

        upstream: stateful_set_control.go:defaultStatefulSetControl.processCondemnedPods (v1.38)
        """
        deleted = False
        for pod in condemned:
            if self.update.ordered and (pod.terminating or not (pod.available or pod is unhealthy)):
                return deleted
            if not pod.terminating:
                self._delete(pod, state)
                deleted = True
                if self.update.ordered:
                    return deleted
        return deleted

    def _recreate(self, outdated: list[Pod], state: State) -> bool:
        """
        Delete all Pods of other templates, and make none until they are gone; return whether there was any to delete.

        upstream: stateful_set_control.go:defaultStatefulSetControl.recreateDeleteAndWait (v1.38)
        """
        active = [pod for pod in outdated if pod.active]
        for pod in active:
            self._delete(pod, state)
        return bool(active)

    def _complete_update(self) -> None:
        """
        Make the new revision the current one once every Pod is ready and of it.

        upstream: stateful_set_utils.go:completeUpdate (v1.37)
        """
        new = self.revision
        if self._current == new or len(self.pods) != self.replicas:
            return
        if all(pod.ready and pod.active and pod.revision == new for pod in self.pods):
            self._current = new

    def _in_order(self, by_ordinal: dict[int, Pod], condemned: list[Pod]) -> Iterable[Pod]:
        replicas = [pod for ordinal, pod in sorted(by_ordinal.items()) if pod not in condemned]
        return [*replicas, *reversed(condemned)]

    def _make(self, ordinal: int, state: State) -> None:
        """
        Make a Pod of the revision that its ordinal should have.

        upstream: stateful_set_utils.go:newVersionedStatefulSetPod (v1.37)
        """
        revision = self._current if ordinal < self.update.first + self.update.partition else self.revision
        self.pods.append(state.make(self._makers[revision], revision, ordinal))

    def _delete(self, pod: Pod, state: State) -> None:
        state.delete(pod)
        if not pod.node:
            self.pods.remove(pod)

    def _replace(self, by_ordinal: dict[int, Pod], ordinals: range, state: State) -> bool:
        """
        Delete Pods of the old template, as many as maxUnavailable allows; return whether there were any.

        upstream: stateful_set_control.go:updateStatefulSetAfterInvariantEstablished (v1.38)
        """
        if self.update.on_delete or self.update.recreate:
            return False
        targets = [by_ordinal[ordinal] for ordinal in reversed(ordinals)]
        old = [pod for pod in targets if self._is_old(pod) and pod.active]
        if not state.features.stateful_set_max_unavailable:
            return self._replace_one(targets, state)
        counted = targets
        if state.features.stateful_set_update_range:
            counted = [pod for pod in targets if self.update.is_updated(pod.ordinal)]
        max_unavailable = max(1, scaled(self.update.max_unavailable, len(counted), up=False))
        may_be_deleted = max_unavailable - sum(not pod.available for pod in counted)
        if self.update.ordered:
            to_delete = old[: max(0, may_be_deleted)]
        else:
            broken = [pod for pod in old if not pod.available]
            to_delete = [*broken, *[pod for pod in old if pod.available][: max(0, may_be_deleted)]]
        for pod in to_delete:
            self._delete(pod, state)
        return bool(to_delete)

    def _replace_one(self, targets: list[Pod], state: State) -> bool:
        """
        Delete the last Pod of the old template if those after it are available; return whether there was one.

        upstream: stateful_set_control.go:defaultStatefulSetControl.updateStatefulSet (v1.36)
        """
        for pod in targets:
            if pod.ordinal < self.update.first + self.update.partition:
                return False
            if pod.revision != self.revision and pod.active:
                self._delete(pod, state)
                return True
            if not pod.available:
                return False
        return False

    def gone(self, pod: Pod) -> None:
        """Forget a Pod whose object is gone."""
        if pod in self.pods:
            self.pods.remove(pod)
