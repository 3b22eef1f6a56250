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
    """What a request is judged by."""

    policy: Policy
    snapshot: ClusterView | None  # None if no cluster is known
    features: Features  # of the cluster's version
    labels: Mapping[str, Labels] = field(default_factory=dict)  # assumed for namespaces, by name; "" is all others
    foresees: bool = False  # if the labels of a namespace are not known, judge under each override that may apply

    def on(self, day: str) -> Terms:
        """Return the terms of a day in UTC, such as 2027-01-31; with "", overrides that have ended still apply."""
        return replace(self, policy=self.policy.on(day)) if day else self

    def namespace_labels(self, namespace: str) -> Labels | None:
        """Return the labels of a namespace; None where they are not known."""
        assumed = self.labels.get(namespace, self.labels.get(""))
        if assumed is not None:
            return {NAMESPACE_NAME: namespace, **assumed}  # The API server gives each namespace this label.
        return None if self.snapshot is None else self.snapshot.namespaces.get(namespace)
