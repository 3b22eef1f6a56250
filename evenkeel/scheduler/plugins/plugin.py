"""What a plugin of kube-scheduler may say of the nodes for one Pod: a PreFilter, a Filter and a Score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evenkeel.scheduler.plugins.nodes_by_usage import ChangingUsage, OfUsage
from evenkeel.scheduler.pod_counts import PodInfo, Usage
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resource_fit import MAX_NODE_SCORE
from evenkeel.scheduler.scheduler_nodes import SchedulerNode
from evenkeel.scheduler.storage import Storage
from webhook.spread.nodes import NodeSet

Parts = list[tuple[NodeSet, int]]  # Disjoint sets of nodes, each with a number that holds for all of its nodes.


class Reason(NamedTuple):
    """Why nodes are refused."""

    text: str  # As kube-scheduler says it.
    words: str = ""  # In plain words that may stand after the names of nodes, such as `cordoned`.

    @property
    def in_words(self) -> str:
        """The plain words, or kube-scheduler's text where there are none."""
        return self.words or f"refused: {self.text}"


class PreFilterResult(NamedTuple):
    """What PreFilter of one plugin says."""

    rejected: str = ""  # Why the Pod is rejected on all nodes; "" if it is not.
    names: frozenset[str] | None = None  # Only these nodes are left; None: all.


EVERY_NODE = PreFilterResult()


class Refusal(NamedTuple):
    """Nodes that one plugin refuses, and all of its reasons."""

    plugin: str  # "" where PreFilter left the nodes out.
    reasons: tuple[Reason, ...]
    nodes: NodeSet
    resolvable: bool = False  # Preemption may help: upstream's Unschedulable, not UnschedulableAndUnresolvable.


class Plugin:
    """One plugin for one attempt to place a Pod; a subclass has the extension points of upstream's plugin."""

    name = ""
    counts_pods = False  # It answers by the Pods on nodes, so it follows those that come and go; a copy is independent.
    scores_usage = False  # It scores nodes by what is allocatable and used there: `usage_score`, not `scores`.

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.nodes = cycle, cycle.snapshot.nodes

    def pre_filter(self) -> PreFilterResult:
        """Whether the Pod is rejected, or which nodes are left."""
        return EVERY_NODE

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """Yield which of the remaining nodes, that earlier plugins let pass, the plugin refuses, and why."""
        yield from ()

    def passing(self, remaining: NodeSet) -> NodeSet:
        """Return the nodes that the plugin does not refuse."""
        passing = remaining
        for refusal in self.refusals(remaining):
            passing &= ~refusal.nodes
        return passing

    @property
    def skipped(self) -> bool:
        """Whether PreFilter skips the plugin with the Pods as they are, so that it does not heed Pods of a DryRun."""
        return False

    def kept_off(self) -> NodeSet:
        """Return the nodes that it refuses as long as the Pods on nodes stay, however many more come."""
        return 0

    def scores(self, candidates: NodeSet) -> Parts | None:
        """Return the candidates by their score, 0 to 100, or None if the plugin does not score this Pod."""
        return None

    def usage_score(self) -> OfUsage[int] | None:
        """Return the function that scores a node by its usage, or None if the plugin does not score this Pod."""
        return None

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        """Count `number` more Pods that are alike on a node, fewer if it is negative."""

    def try_pods(self, info: PodInfo, node: str, number: int) -> None:
        """Count Pods for a DryRun, as AddPod and RemovePod of upstream's PreFilterExtensions do."""
        self.add_pods(info, node, number)

    def follow_usage(self, usage: ChangingUsage) -> None:
        """From now on answer by this usage of the nodes."""

    def try_usage(self, node: SchedulerNode, usage: Usage) -> None:
        """Answer for a node by the usage of a DryRun."""

    def heeds(self, info: PodInfo) -> bool:
        """Whether it may matter where Pods like this one are."""
        return False

    def of(self, cycle: Cycle) -> Plugin:
        """Return the plugin for a Pod that differs only in its volumes; it need not follow Pods."""
        return self

    def set_storage(self, storage: Storage) -> None:
        """Set the storage by which Pods are counted from now on."""

    def copy(self) -> Plugin:
        """
        Return an independent copy; follow_usage comes next.

        A plugin that counts no Pods never changes, so it is its own copy.
        """
        if self.counts_pods:
            raise NotImplementedError(f"{self.name}.copy")
        return self


def normalized(parts: Iterable[tuple[NodeSet, int]], candidates: NodeSet, *, reverse: bool = False) -> Parts:
    """
    Scale raw scores to shares of the largest, 0 to 100; with `reverse` the largest has 0.

    upstream: normalize_score.go:DefaultNormalizeScore (v1.37)
    """
    raw = [(nodes & candidates, score) for nodes, score in parts if nodes & candidates]
    largest = max([score for _, score in raw], default=0)
    shares = [(nodes, MAX_NODE_SCORE * score // largest if largest else 0) for nodes, score in raw]
    return [(nodes, MAX_NODE_SCORE - share) for nodes, share in shares] if reverse else shares
