"""The inputs of a decision besides the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webhook.kubernetes.features import Features
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import NAMESPACE_NAME
from webhook.policy.policy import Policy
from webhook.spread.cluster_view import ClusterView


@dataclass(frozen=True, slots=True)
class Terms:
    """
    The policy, one view of the cluster (None where no cluster is known), and the features of its version.

    `labels` are those that namespaces are taken to have, by name; "" stands for all others.  It `foresees` what each
    override may do that applies only if a namespace has labels that are not known.
    """

    policy: Policy
    snapshot: ClusterView | None
    features: Features
    labels: Mapping[str, Labels] = field(default_factory=dict)
    foresees: bool = False

    def on(self, day: str) -> Terms:
        """Return the terms of a day, in UTC; of all days if it is empty."""
        return replace(self, policy=self.policy.on(day)) if day else self

    def namespace_labels(self, namespace: str) -> Labels | None:
        """Return the labels of a namespace; None where they are not known."""
        given = self.labels.get(namespace, self.labels.get(""))
        if given is not None:
            return {NAMESPACE_NAME: namespace, **given}  # as the API server labels each namespace
        return None if self.snapshot is None else self.snapshot.namespaces.get(namespace)
