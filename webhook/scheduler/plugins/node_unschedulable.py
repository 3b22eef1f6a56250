"""NodeUnschedulable: a cordoned node takes no Pod that does not tolerate it."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.plugins.plugin import Plugin, Refusal
from webhook.scheduler.profile import NODE_UNSCHEDULABLE

UNSCHEDULABLE = "node(s) were unschedulable"


class NodeUnschedulable(Plugin):
    name = NODE_UNSCHEDULABLE

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the cordoned nodes, unless the Pod tolerates that.

        upstream: node_unschedulable.go:NodeUnschedulable.Filter (v1.37)
        """
        yield Refusal(self.name, (UNSCHEDULABLE,), remaining & self.cycle.reach.cordoned)
