"""NodeDeclaredFeatures: the kubelet of a node declares what the Pod needs of it."""

from __future__ import annotations

from collections.abc import Iterator

from evenkeel.scheduler.plugins.plugin import Plugin, Reason, Refusal
from evenkeel.scheduler.profile import NODE_DECLARED_FEATURES
from webhook.spread.nodes import NodeSet

FEATURES_MISSING = Reason("node(s) didn't match Pod's required features", "without a feature that the Pod needs")


class NodeDeclaredFeatures(Plugin):
    name = NODE_DECLARED_FEATURES

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes that lack a feature.

        upstream: nodedeclaredfeatures.go:NodeDeclaredFeatures.Filter (v1.37)
        """
        required = self.cycle.pod.required_features
        if required:
            declaring = self.nodes.grouped(remaining, lambda node: required <= node.declared)
            yield Refusal(self.name, (FEATURES_MISSING,), declaring.get(False, 0))
