"""What rules may ask of the room that a cluster has for the replicas of a workload; only commands know of any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from webhook.spread.constraint import Constraint
from webhook.spread.nodes import NodeSet


class Bound(NamedTuple):
    """
    At most `number` more Pods; `constraint` is the one that allows no more, None if it is only room that lacks.

    Its `scarce` domain keeps the minimum down, because it `takes` only so many more Pods; it is "" where the constraint
    has fewer eligible domains than minDomains.  `kept_off` are the nodes that the anti-affinity and the ports of Pods
    that are there close to it.
    """

    number: int
    constraint: Constraint | None = None
    scarce: str = ""
    takes: int = 0
    kept_off: NodeSet = 0


class Room(Protocol):
    """The room of a cluster whose Pods are known, for one workload."""

    @property
    def may_preempt(self) -> bool:
        """Whether Pods of lower priority may be taken away for its Pods, as far as priorities are known."""

    @property
    def running_pods(self) -> int:
        """How many Pods of the workload run."""

    def anti_affinity(self) -> Iterable[Constraint]:
        """
        Return the required anti-affinity by which its Pods keep away from each other, as constraints that allow a
        domain one Pod: as if there were fewer domains than minDomains.
        """

    def most_replicas(self, constraints: Iterable[Constraint], wanted: int, others_affinity: bool) -> Bound:
        """
        Return how many more replicas can be placed, up to `wanted`, whatever their order; others keep their nodes.

        The anti-affinity of other Pods counts with `others_affinity`.
        """
