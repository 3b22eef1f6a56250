"""NodeDeclaredFeatures: the kubelet of a node declares what the Pod needs of it."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.plugins.plugin import Plugin, Reason, Refusal
from webhook.scheduler.profile import NODE_DECLARED_FEATURES

FEATURES_MISSING = Reason("node(s) didn't match Pod's required features", "does not declare a feature that it needs")


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
