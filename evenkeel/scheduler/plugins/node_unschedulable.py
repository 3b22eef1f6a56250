"""NodeUnschedulable: a cordoned node takes no Pod that does not tolerate it."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.scheduler.plugins.plugin import Plugin, Reason, Refusal
from evenkeel.scheduler.profile import NODE_UNSCHEDULABLE
from webhook.spread.nodes import NodeSet

UNSCHEDULABLE = Reason("node(s) were unschedulable", "cordoned")


class NodeUnschedulable(Plugin):
    name = NODE_UNSCHEDULABLE

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the cordoned nodes, unless the Pod tolerates the taint of these.

        upstream: node_unschedulable.go:NodeUnschedulable.Filter (v1.37)
        """
        yield Refusal(self.name, (UNSCHEDULABLE,), remaining & self.cycle.reach.cordoned)
