"""NodeName: a Pod that names its node in `spec.nodeName` may run nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.scheduler.plugins.plugin import EVERY_NODE, Plugin, PreFilterResult, Reason, Refusal
from evenkeel.scheduler.profile import NODE_NAME
from webhook.spread.nodes import NodeSet

OTHER_NAME = Reason("node(s) didn't match the requested node name", "not the node that the Pod names")


class NodeName(Plugin):
    name = NODE_NAME

    def pre_filter(self) -> PreFilterResult:
        """
        Leave only the node that the Pod names; older versions have no PreFilter.

        upstream: node_name.go:NodeName.PreFilter (v1.37)
        """
        name = self.cycle.pod.node_name
        if not name or not self.cycle.features.node_name_in_pre_filter:
            return EVERY_NODE
        return PreFilterResult(names=frozenset({name}))

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield all nodes but the one that the Pod names.

        upstream: node_name.go:NodeName.Filter (v1.37)
        """
        if name := self.cycle.pod.node_name:
            yield Refusal(self.name, (OTHER_NAME,), remaining & ~self.nodes.named((name,)))
