"""
The DaemonSet controller: a Pod on each node that should run one, replaced node by node.

    node without a Pod ──> Pod made for it ──old──> deleted, then made anew; with maxSurge the other way round
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from evenkeel.simulate.node_changes import Ground
from evenkeel.simulate.pod import Maker, Pod, PodClass
from evenkeel.simulate.state import State
from webhook.kubernetes.update_strategies import DaemonSetUpdate
from webhook.spread.nodes import Nodes
from webhook.spread.taints import NO_EXECUTE, untolerated_taint

Names = dict[str, None]  # of nodes, a set that keeps its order


class DaemonSet:
    """
    The Pods of a DaemonSet.

    To be fast in a large cluster, each round looks only at nodes where there may be something to do: see `_move_to`.
    """

    def __init__(self, update: DaemonSetUpdate, makers: Sequence[Maker], pods: Iterable[Pod], ground: Ground) -> None:
        self.update, self._makers = update, list(makers)  # one for each revision, that of the current template last
        self._node_of = {pod: pod.node or pod.of_class.own_node for pod in pods}
        self._on: dict[str, list[Pod]] = {}
        for pod, node in self._node_of.items():
            self._on.setdefault(node, []).append(pod)
        self._move_to(ground)

    def _move_to(self, ground: Ground) -> None:
        """Look at all nodes: they have changed, or the template has."""
        self._ground = ground
        self._running, self._keeping = nodes_of(self.maker.of_class, ground.nodes)
        # Nodes where the controller may have something to do.  Any other node has what it should: no Pod or one,
        # which is available.
        self._open: Names = dict.fromkeys([*self._running, *self._on])
        self._outdated: Names = {}  # nodes that are not open, and whose Pod is of an older template

    @property
    def pods(self) -> Collection[Pod]:
        return self._node_of.keys()

    @property
    def maker(self) -> Maker:
        return self._makers[-1]

    @property
    def revision(self) -> int:
        """The number of the current template."""
        return len(self._makers) - 1

    @property
    def replicas(self) -> int:
        """How many Pods it should have."""
        return len(self._running)

    @property
    def old(self) -> list[Pod]:
        """The Pods that are to be replaced."""
        return [] if self.update.on_delete else [pod for pod in self.pods if pod.active and self.is_outdated(pod)]

    @property
    def complete(self) -> bool:
        """
        Whether a Pod is available on each node that should run one, and none is to be replaced.

        upstream: rollout_status.go:DaemonSetStatusViewer.Status (v1.37)
        """
        return not self.old and all(any(pod.available for pod in self._on.get(node, ())) for node in self._running)

    def is_outdated(self, pod: Pod) -> bool:
        """Return whether a Pod made in place of this one would be of another template."""
        return pod.revision != self.revision

    def roll_out(self, maker: Maker) -> None:
        self._makers.append(maker)
        self._move_to(self._ground)

    def undo(self) -> None:
        """Roll back to the template before, if there is one; Pods that have it count as updated again."""
        before, new = max(0, self.revision - 1), self.revision + 1
        for pod in self.pods:
            if pod.revision == before:
                pod.revision = new
        self.roll_out(self._makers[before])

    def scale(self, replicas: int) -> None:
        """Do nothing: a DaemonSet has no number of replicas."""

    def sync(self, state: State) -> bool:
        """
        Run the controller for a round; return whether there was anything to do.

        upstream: daemon_controller.go:DaemonSetsController.updateDaemonSet (v1.37)
        """
        if state.ground is not self._ground:
            self._move_to(state.ground)
        self._open.update(dict.fromkeys([self._node_of[pod] for pod in state.terminating if pod in self._node_of]))
        if not self._open and not self._outdated:
            return False
        surge, unavailable = self.update.fenceposts(len(self._running))
        if self._manage(surge > 0, state):
            return True
        self._close()
        if self.update.on_delete:
            return False
        return self._surge(surge, state) if surge else self._replace(unavailable, state)

    def _manage(self, surges: bool, state: State) -> bool:
        """
        Make the Pods that nodes lack, and delete those that are too many; return whether there were any.

        upstream: daemon_controller.go:DaemonSetsController.podsShouldBeOnNode (v1.37)
        """
        to_make_on, to_delete = list[str](), list[Pod]()
        for node in self._open:
            on_node = self._on.get(node, [])
            active = sorted([pod for pod in on_node if pod.active], key=_age)
            if node not in self._keeping:
                to_delete += active
            elif node in self._running and not (active if surges else on_node):
                to_make_on.append(node)
            elif not surges:
                to_delete += active[1:]
            elif len(active) > 1:
                # With maxSurge the old Pod goes once the new one is available, or at once if the old one is not ready.
                new, old = self._by_template(active)
                old_may_go = new and old and (new[0].available or not old[0].ready)
                to_delete += [*new[1:], *(old if old_may_go else old[1:])]
        return self._change(to_make_on, to_delete, state)

    def _close(self) -> None:
        """Close the nodes that have what they should: one Pod, which is available, or none."""
        for node in list(self._open):
            on_node = self._on.get(node, [])
            if not on_node or (len(on_node) == 1 and on_node[0].available):
                del self._open[node]
                if on_node and self.is_outdated(on_node[0]):
                    self._outdated[node] = None

    def _replace(self, max_unavailable: int, state: State) -> bool:
        """
        Delete old Pods: those on nodes without an available Pod, and others until `max_unavailable` nodes lack one.

        Returns whether there were any.

        upstream: update.go:DaemonSetsController.rollingUpdate (v1.37)
        """
        to_delete, unavailable = list[Pod](), 0
        for node in self._open:
            new, old = self._by_template(pod for pod in self._on[node] if pod.active)
            if not any(pod.available for pod in (*new, *old)):
                unavailable += 1
                to_delete += old
        drawn = self._drawn(self._outdated, max_unavailable - unavailable, state)
        return self._change((), [*to_delete, *(self._on[node][0] for node in drawn)], state)

    def _surge(self, max_surge: int, state: State) -> bool:
        """
        Make new Pods beside old ones: where these are not available, and on others until `max_surge` nodes have both.

        Old Pods on nodes that should not run any go as long as enough others are available.  Returns whether there
        were any changes.

        upstream: update.go:DaemonSetsController.rollingUpdate (v1.37)
        """
        to_make_on, to_delete, surging = list[str](), list[Pod](), 0
        for node in self._open:
            new, old = self._by_template(pod for pod in self._on[node] if pod.active)
            if old and new:
                surging += 1
            elif old and node not in self._running:
                to_delete += old
            elif old and not old[0].available:
                to_make_on.append(node)
        candidates = [node for node in self._outdated if node in self._running]
        to_make_on += self._drawn(candidates, max_surge - surging, state)
        if len(candidates) < len(self._outdated):
            available = sum(any(pod.available for pod in pods) for pods in self._on.values())
            leaving = [node for node in self._outdated if node not in self._running]
            to_delete += [self._on[node][0] for node in self._drawn(leaving, available - len(self._running), state)]
        return self._change(to_make_on, to_delete, state)

    def _drawn(self, nodes: Iterable[str], number: int, state: State) -> list[str]:
        """Return `number` of the nodes at random, or all: the controller takes them in any order."""
        if number <= 0:
            return []
        candidates = list(nodes)
        return state.random.sample(candidates, min(number, len(candidates)))

    def _by_template(self, pods: Iterable[Pod]) -> tuple[list[Pod], list[Pod]]:
        """Return the Pods of the current template, and the others."""
        all_pods = list(pods)
        new = [pod for pod in all_pods if not self.is_outdated(pod)]
        old = [pod for pod in all_pods if self.is_outdated(pod)]
        return new, old

    def _change(self, to_make_on: Iterable[str], to_delete: Iterable[Pod], state: State) -> bool:
        """Delete Pods, and make others on nodes; return whether there were any."""
        changed = False
        for pod in to_delete:
            self._open_node(self._node_of[pod])
            state.delete(pod)
            if not pod.node:
                self.gone(pod)
            changed = True
        for node in to_make_on:
            self._open_node(node)
            pod = state.make(self.maker.on(node), self.revision)
            self._node_of[pod] = node
            self._on.setdefault(node, []).append(pod)
            changed = True
        return changed

    def _open_node(self, node: str) -> None:
        self._open[node] = None
        self._outdated.pop(node, None)

    def gone(self, pod: Pod) -> None:
        """Forget a Pod whose object is gone."""
        if (node := self._node_of.pop(pod, None)) is not None:
            self._on[node].remove(pod)
            self._open_node(node)


def nodes_of(of_class: PodClass, nodes: Nodes) -> tuple[Names, Names]:
    """
    Return the nodes that should run such a Pod, and those that keep one they have.

    upstream: daemon_controller.go:NodeShouldRunDaemonPod (v1.37)
    """
    pod = of_class.pod
    matching = pod.affinity.matching(nodes)
    running = matching & nodes.tolerated(pod.tolerations)
    closed = nodes.members(matching & ~running)
    keeping = [node.name for node in closed if not untolerated_taint(node.taints, pod.tolerations, [NO_EXECUTE])]
    names = list(nodes.names(running))
    return dict.fromkeys(names), dict.fromkeys([*names, *keeping])


def _age(pod: Pod) -> tuple[bool, float, int]:
    """
    Return the sort key of the Pods of a node; the first one stays.

    upstream: daemon_controller.go:podByCreationTimestampAndPhase.Less (v1.37)
    """
    return not pod.node, pod.created or 0.0, pod.serial
