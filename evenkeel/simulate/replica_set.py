"""
The ReplicaSet controller: makes Pods up to a number, and chooses those that go.

    unassigned < not ready < lower deletion cost < more Pods on the node < ready for less time < more restarts < newer
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from evenkeel.simulate.pod import Maker, Pod
from evenkeel.simulate.state import State

NANOSECONDS = 1e9  # Ages are compared by the logarithm of their nanoseconds.


class ReplicaSet:
    """One ReplicaSet, or a ReplicationController: the Pods that are there, and how many there should be."""

    def __init__(self, maker: Maker, revision: int, desired: int, pods: Iterable[Pod] = (), most: int = 0) -> None:
        self.maker, self.revision, self.desired = maker, revision, desired
        self.most = most  # Pods that its Deployment could have when it was last scaled; 0 if not known
        self.pods: list[Pod] = list(pods)

    @property
    def active(self) -> list[Pod]:
        """The Pods that are not being deleted."""
        return [pod for pod in self.pods if pod.active]

    @property
    def available(self) -> int:
        return sum([pod.available for pod in self.pods])


def sync(replica_set: ReplicaSet, siblings: Sequence[ReplicaSet], state: State) -> bool:
    """
    Make or delete Pods up to the desired number; return whether there was anything to do.

    `siblings`: all ReplicaSets of the same Deployment; none for a ReplicaSet without a controller.

    upstream: replica_set.go:ReplicaSetController.manageReplicas (v1.37)
    """
    active = replica_set.active if state.terminating else replica_set.pods  # fast, since it runs after each binding
    missing = replica_set.desired - len(active)
    for _ in range(missing):
        replica_set.pods.append(state.make(replica_set.maker, replica_set.revision))
    if missing < 0:
        of_deployment = [pod for sibling in siblings for pod in sibling.pods if pod.active]
        for pod in to_delete(active, of_deployment, -missing, state.now):
            state.delete(pod)
            if not pod.node:
                replica_set.pods.remove(pod)
    return missing != 0


def to_delete(pods: Sequence[Pod], of_deployment: Iterable[Pod], number: int, now: float) -> Sequence[Pod]:
    """
    Return the `number` Pods that are deleted first.

    `of_deployment`: all active Pods of the same Deployment, which decide how many are on a node.

    upstream: controller_utils.go:ActivePodsWithRanks.Less, replica_set.go:getPodsToDelete (v1.37)
    """
    on_node = Counter(pod.node for pod in of_deployment)
    # Where a time is not known, the uid decides.
    all_times_known = all(pod.ready_at is not None for pod in pods if pod.ready)

    def rank(pod: Pod) -> tuple[bool, bool, int, int, int, int, float]:
        age = _bucket(now, pod.ready_at) if pod.ready and all_times_known else 0
        return pod.node != "", pod.ready, pod.cost, -on_node[pod.node], age, -pod.restarts, pod.luck

    return sorted(pods, key=rank)[:number]


def _bucket(now: float, since: float | None) -> int:
    """
    Return the binary logarithm of an age in nanoseconds: ages with the same logarithm count as equal.

    upstream: controller_utils.go:logarithmicRankDiff (v1.37)
    """
    age = (now - since) * NANOSECONDS if since is not None else 0
    return int(math.log2(age)) if age > 0 else -1
