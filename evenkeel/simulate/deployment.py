"""
The Deployment controller: a rolling update or a recreation, and a scale in proportion while one goes on.

    new ReplicaSet up to replicas + maxSurge ──> old ones down, as far as replicas - maxUnavailable stay available
"""

from __future__ import annotations

from collections.abc import Iterable

from evenkeel.simulate.pod import Maker, Pod
from evenkeel.simulate.replica_set import ReplicaSet, sync
from evenkeel.simulate.state import State
from webhook.kubernetes.update_strategies import DeploymentStrategy


class Deployment:
    """The ReplicaSets of a Deployment, or one ReplicaSet by itself."""

    def __init__(
        self,
        replicas: int,
        strategy: DeploymentStrategy,
        sets: Iterable[ReplicaSet],  # the oldest first; the last has the current template
        *,
        controlled: bool = True,  # False for a ReplicaSet without a controller
        paused: bool = False,  # scaled, but not rolled out
    ) -> None:
        self.replicas, self.strategy, self.sets = replicas, strategy, list(sets)
        self.controlled, self.paused = controlled, paused

    @property
    def pods(self) -> list[Pod]:
        return [pod for replica_set in self.sets for pod in replica_set.pods]

    @property
    def maker(self) -> Maker:
        return self.sets[-1].maker

    @property
    def revision(self) -> int:
        """The revision of the current template."""
        return self.sets[-1].revision

    @property
    def old(self) -> list[Pod]:
        """The Pods that are to be replaced."""
        return [pod for replica_set in self.sets[:-1] for pod in replica_set.active]

    def is_outdated(self, pod: Pod) -> bool:
        """Return whether a Pod made in place of this one would be of another template."""
        return pod.revision != self.revision

    @property
    def complete(self) -> bool:
        """
        Whether every Pod is new and available.

        upstream: deployment_util.go:DeploymentComplete (v1.37)
        """
        return self.sets[-1].available == self.replicas and not self.old

    def roll_out(self, maker: Maker) -> None:
        self.sets.append(ReplicaSet(maker, len(self.sets), 0))

    def undo(self) -> None:
        """Roll back to the template before, if there is one."""
        self.sets.append(self.sets.pop(-2 if len(self.sets) > 1 else -1))

    def scale(self, replicas: int) -> None:
        """
        Set another number of replicas: of the one active ReplicaSet, or amid a rollout of all in proportion.

        upstream: sync.go:DeploymentController.scale (v1.37)
        """
        before, self.replicas = self.replicas, replicas
        active = [replica_set for replica_set in self.sets if replica_set.desired > 0]
        if len(active) <= 1 or self.strategy.recreate:
            (active or self.sets)[-1].desired = replicas
            return
        surge = self.strategy.fenceposts(before)[0]
        allowed = replicas + self.strategy.fenceposts(replicas)[0] if replicas else 0
        to_add = allowed - sum(replica_set.desired for replica_set in active)
        newest_first = to_add > 0
        by_size = sorted(
            active,
            key=lambda replica_set: (
                -replica_set.desired,
                -replica_set.revision if newest_first else replica_set.revision,
            ),
        )
        added, sizes = 0, dict[int, int]()
        for replica_set in by_size:
            size = _rounded(replica_set.desired * allowed, replica_set.most or before + surge) if replicas else 0
            share = size - replica_set.desired
            rest = to_add - added
            if to_add > 0:
                share = min(share, rest)
            elif to_add < 0:
                share = max(share, rest)
            else:
                share = 0
            sizes[replica_set.revision], added = replica_set.desired + share, added + share
        # What rounding leaves goes to the largest.
        sizes[by_size[0].revision] = max(0, sizes[by_size[0].revision] + to_add - added)
        for replica_set in by_size:
            replica_set.desired, replica_set.most = sizes[replica_set.revision], allowed

    def sync(self, state: State) -> bool:
        """Run both controllers for a round; return whether there was anything to do."""
        if self.paused:
            changed = self._hold()
        elif self.strategy.recreate:
            changed = self._recreate()
        else:
            changed = self._roll()
        for replica_set in self.sets:
            changed |= sync(replica_set, self.sets if self.controlled else (), state)
        return changed

    def _hold(self) -> bool:
        """
        Scale the one active ReplicaSet of a paused Deployment; make no new one.

        upstream: sync.go:DeploymentController.sync (v1.37)
        """
        active = [replica_set for replica_set in self.sets if replica_set.desired]
        if len(active) != 1 or active[0].desired == self.replicas:
            return False
        active[0].desired = self.replicas
        return True

    def _recreate(self) -> bool:
        """
        Scale the old ReplicaSets to 0, then the new one up once their Pods are gone; return whether anything changed.

        upstream: recreate.go:DeploymentController.rolloutRecreate (v1.37)
        """
        *old, new = self.sets
        changed = any(replica_set.desired for replica_set in old)
        for replica_set in old:
            replica_set.desired = 0
        if changed or any(replica_set.pods for replica_set in old) or new.desired == self.replicas:
            return changed
        new.desired = self.replicas
        return True

    def _roll(self) -> bool:
        """
        Scale the new ReplicaSet up, or the old ones down, as far as the strategy allows; return whether anything
        changed.

        upstream: rolling.go:DeploymentController.rolloutRolling (v1.37)
        """
        *old, new = self.sets
        surge, unavailable = self.strategy.fenceposts(self.replicas)
        total = sum(replica_set.desired for replica_set in self.sets)
        if new.desired > self.replicas:
            new.desired = self.replicas
            return True
        if new.desired < self.replicas and (room := self.replicas + surge - total) > 0:
            new.desired += min(room, self.replicas - new.desired)
            return True
        active = [replica_set for replica_set in old if replica_set.desired]
        if not active:
            return False
        least_available = self.replicas - min(unavailable, self.replicas)
        most_to_go = total - least_available - (new.desired - new.available)
        if most_to_go <= 0:
            return False
        return self._clean_up(active, most_to_go) | self._scale_down(active, least_available)

    def _clean_up(self, old: Iterable[ReplicaSet], most: int) -> bool:
        """
        Lower old ReplicaSets by their unavailable Pods, by `most` in all; return whether any was lowered.

        upstream: rolling.go:DeploymentController.cleanupUnhealthyReplicas (v1.37)
        """
        to_go = most
        for replica_set in old:
            unavailable = max(0, min(to_go, replica_set.desired - replica_set.available))
            replica_set.desired -= unavailable
            to_go -= unavailable
        return to_go < most

    def _scale_down(self, old: Iterable[ReplicaSet], least: int) -> bool:
        """
        Lower old ReplicaSets until only `least` Pods are available; return whether any was lowered.

        upstream: rolling.go:DeploymentController.scaleDownOldReplicaSetsForRollingUpdate (v1.37)
        """
        most = to_go = max(0, sum(replica_set.available for replica_set in self.sets) - least)
        for replica_set in old:
            fewer = min(to_go, replica_set.desired)
            replica_set.desired -= fewer
            to_go -= fewer
        return to_go < most

    def gone(self, pod: Pod) -> None:
        """Forget a Pod whose object is gone."""
        for replica_set in self.sets:
            if pod in replica_set.pods:
                replica_set.pods.remove(pod)


def _rounded(product: int, divisor: int) -> int:
    """
    Return `product / divisor`, rounded to the nearest integer; 0 if `divisor` is 0.

    upstream: integer.go:RoundToInt32 (v1.37)
    """
    return (2 * product + divisor) // (2 * divisor) if divisor else 0
