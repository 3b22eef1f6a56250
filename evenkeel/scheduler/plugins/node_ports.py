"""NodePorts: a node has free all host ports that the Pod takes."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.plugins.plugin import Plugin, Reason, Refusal
from evenkeel.scheduler.pod_counts import PodInfo
from evenkeel.scheduler.profile import NODE_PORTS, Cycle
from webhook.spread.nodes import NodeSet

NO_FREE_PORTS = Reason("node(s) didn't have free ports for the requested pod ports", "host port taken")


class NodePorts(Plugin):
    """Counts on each node the ports that conflict with those of the Pod."""

    name = NODE_PORTS
    counts_pods = True

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._conflicts: dict[str, int] = {}  # The number of conflicting ports by node.
        self._taken: NodeSet = 0  # The nodes that have any.
        for node, ports in cycle.snapshot.ports.items() if cycle.pod.ports else ():
            for port, number in ports.items():
                self._count(port, node, number)

    @property
    def skipped(self) -> bool:
        return not self.cycle.pod.ports

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes on which a Pod has one of the ports.

        upstream: node_ports.go:NodePorts.Filter (v1.37)
        """
        yield Refusal(self.name, (NO_FREE_PORTS,), remaining & self._taken, True)

    def kept_off(self) -> NodeSet:
        return self._taken

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        for port in info.ports:
            self._count(port, node, number)

    def heeds(self, info: PodInfo) -> bool:
        return bool(info.ports and self.cycle.pod.ports)

    def _count(self, port: HostPort, node: str, number: int) -> None:
        if self.nodes.get(node) is None or not any(port.conflicts(wanted) for wanted in self.cycle.pod.ports):
            return
        self._conflicts[node] = self._conflicts.get(node, 0) + number
        bit = self.nodes.named_one(node)
        self._taken = self._taken | bit if self._conflicts[node] > 0 else self._taken & ~bit

    def copy(self) -> NodePorts:
        new = NodePorts.__new__(NodePorts)
        Plugin.__init__(new, self.cycle)
        new._conflicts, new._taken = dict(self._conflicts), self._taken
        return new
