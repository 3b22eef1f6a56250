"""The inputs of a decision besides the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webhook.policy.policy import Policy
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Terms:
    """The policy, one view of the cluster (None where no cluster is known), and the features of its version."""

    policy: Policy
    snapshot: Snapshot | None
    features: Features

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        """The labels of a namespace; None where they are not known."""
        return None if self.snapshot is None else self.snapshot.namespaces.get(namespace)
