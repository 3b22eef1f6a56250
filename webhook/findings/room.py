"""What rules may ask of the room that a cluster has for the replicas of a workload; only commands know it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from webhook.spread.constraint import Constraint
from webhook.spread.nodes import NodeSet


class Bound(NamedTuple):
    """How many more Pods can be placed at most, and what limits them."""

    number: int
    constraint: Constraint | None = None  # the one that allows no more; None if only room is lacking
    scarce: str = ""  # the domain that keeps the minimum down; "" with fewer eligible domains than minDomains
    takes: int = 0  # how many more Pods the scarce domain has room for
    kept_off: NodeSet = 0  # closed by the anti-affinity or the host ports of Pods that run
    together: tuple[Constraint, ...] = ()  # allow no more together, though each by itself does; `constraint` is a part

    @property
    def named(self) -> Constraint:
        """The first constraint of `together` that is written as one; there is always one."""
        return next(constraint for constraint in self.together if constraint.index >= 0)


class Tie(NamedTuple):
    """A claim that leaves a Pod one domain, whatever nodes join."""

    claim: str
    domain: str


class Room(Protocol):
    """The room of a cluster whose Pods are known, for one workload."""

    @property
    def may_preempt(self) -> bool:
        """Whether its Pods may preempt others, as far as priorities are known."""

    @property
    def running_pods(self) -> int:
        """How many Pods of the workload run."""

    def anti_affinity(self) -> Iterable[Constraint]:
        """
        Return the required anti-affinity of its Pods against each other, as constraints with one Pod per domain.

        Each is as a constraint with fewer domains than minDomains: the minimum stays 0.
        """

    def tied(self, topology_key: str) -> Tie | None:
        """Return a claim of all its Pods that leaves them one domain of a topology key; None if there is none."""

    def joint_limit(self, constraints: Iterable[Constraint]) -> Bound | None:
        """
        Return the constraints that together never let in all replicas, in any order and whatever room there is.

        `number` has the Pods that run.  None if all may fit, if they are placed anew, or if those that run stay.
        """

    def most_replicas(self, constraints: Iterable[Constraint], wanted: int, others_affinity: bool) -> Bound:
        """
        Return how many more replicas can be placed in any order, up to `wanted`, while other Pods stay where they are.

        With `others_affinity`, the anti-affinity of other Pods counts.
        """
