"""The inputs of a decision besides the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webhook.objects.references import Scaling, Target
from webhook.policy.policy import Policy
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot

if TYPE_CHECKING:
    from webhook.findings.others import Others


@dataclass(frozen=True, slots=True)
class Terms:
    """
    The policy, one view of the cluster (None where no cluster is known), and the features of its version.

    `others` are the other workloads of the input that the object is from; None for an API server's request.
    `scalings` are what the autoscalers in that input give workloads.
    """

    policy: Policy
    snapshot: Snapshot | None
    features: Features
    others: Others | None = None
    scalings: Mapping[Target, Scaling] = field(default_factory=dict)

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        """The labels of a namespace; None where they are not known."""
        return None if self.snapshot is None else self.snapshot.namespaces.get(namespace)
