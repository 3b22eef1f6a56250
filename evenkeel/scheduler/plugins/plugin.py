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
    """Why nodes are refused: the `text` of kube-scheduler, and plain words for one node, such as `is cordoned`."""

    text: str
    words: str = ""

    def of_nodes(self, number: int) -> str:
        """Return the words for so many nodes; where there are none, the text of kube-scheduler."""
        words = self.words or f"is refused: {self.text}"
        verb, _, rest = words.partition(" ")
        return words if number == 1 else f"{_VERBS_OF_SEVERAL[verb]} {rest}"


_VERBS_OF_SEVERAL = {"is": "are", "has": "have", "does": "do"}


class PreFilterResult(NamedTuple):
    """Why the Pod is `rejected` on all nodes, or ""; and the `names` of the nodes that are left, None for all."""

    rejected: str = ""
    names: frozenset[str] | None = None


EVERY_NODE = PreFilterResult()


class Refusal(NamedTuple):
    """
    Nodes that one plugin refuses, and all of its reasons; `plugin` is "" where PreFilter left the nodes out.

    It is `resolvable` if it may end when Pods of the node are preempted: upstream's code is then Unschedulable, else
    UnschedulableAndUnresolvable.
    """

    plugin: str
    reasons: tuple[Reason, ...]
    nodes: NodeSet
    resolvable: bool = False


class Plugin:
    """
    One plugin for one attempt to place a Pod; a subclass implements the extension points that upstream's plugin has.

    One that `counts_pods` answers by the Pods that are there.  It follows Pods that come and go, in its own copy.
    One that `scores_usage` scores each node by what is allocatable and used there: by `usage_score`, not by `scores`.
    """

    name = ""
    counts_pods = False
    scores_usage = False

    def __init__(self, cycle: Cycle) -> None:
        self.cycle, self.nodes = cycle, cycle.snapshot.nodes

    def pre_filter(self) -> PreFilterResult:
        """Return whether the Pod is rejected, or which nodes are left."""
        return EVERY_NODE

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """Yield the nodes that the plugin refuses, of those that the plugins before it let pass, with the reasons."""
        yield from ()

    def passing(self, remaining: NodeSet) -> NodeSet:
        """Return the nodes that the plugin does not refuse."""
        passing = remaining
        for refusal in self.refusals(remaining):
            passing &= ~refusal.nodes
        return passing

    @property
    def skipped(self) -> bool:
        """Whether PreFilter skips the plugin for the Pods that are there, so that it heeds none that are tried."""
        return False

    def kept_off(self) -> NodeSet:
        """Return the nodes that it refuses for as long as the Pods that are there stay, however many more come."""
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
        """Count Pods of a node that are only tried, as AddPod and RemovePod of upstream's PreFilterExtensions do."""
        self.add_pods(info, node, number)

    def follow_usage(self, usage: ChangingUsage) -> None:
        """Answer by what is used of the nodes from now on."""

    def try_usage(self, node: SchedulerNode, usage: Usage) -> None:
        """Answer for a node by a usage that is only tried."""

    def heeds(self, info: PodInfo) -> bool:
        """Return whether Pods like this one matter where they are, or may matter."""
        return False

    def of(self, cycle: Cycle) -> Plugin:
        """Return the plugin for a Pod that differs in its volumes alone; it follows no Pods."""
        return self

    def set_storage(self, storage: Storage) -> None:
        """Set what there is of volumes, by which the Pods that follow are counted."""

    def copy(self) -> Plugin:
        """
        Return an independent copy, but for the usage that it is to follow; a plugin that counts no Pods never changes,
        and is its own.
        """
        if self.counts_pods:
            raise NotImplementedError(f"{self.name}.copy")
        return self


def normalized(parts: Iterable[tuple[NodeSet, int]], candidates: NodeSet, *, reverse: bool = False) -> Parts:
    """
    Return the candidates by their raw score as a share of the largest, 0 to 100; with `reverse` the largest has 0.

    upstream: normalize_score.go:DefaultNormalizeScore (v1.37)
    """
    raw = [(nodes & candidates, score) for nodes, score in parts if nodes & candidates]
    largest = max([score for _, score in raw], default=0)
    shares = [(nodes, MAX_NODE_SCORE * score // largest if largest else 0) for nodes, score in raw]
    return [(nodes, MAX_NODE_SCORE - share) for nodes, share in shares] if reverse else shares
