"""The inputs of a decision besides the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webhook.objects.labels import Labels
from webhook.objects.references import Scaling, Target
from webhook.policy.policy import NAMESPACE_NAME, Policy
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot

if TYPE_CHECKING:
    from webhook.findings.others import Others


@dataclass(frozen=True, slots=True)
class Terms:
    """
    The policy, one view of the cluster (None where no cluster is known), and the features of its version.

    `others` are the other workloads of the input that the object is from; None for an API server's request.
    `scalings` are what the autoscalers in that input give workloads, and `labels` those that namespaces are taken to
    have, by name; "" stands for all others.  It `foresees` what each override may do that applies only if a namespace
    has labels that are not known.
    """

    policy: Policy
    snapshot: Snapshot | None
    features: Features
    others: Others | None = None
    scalings: Mapping[Target, Scaling] = field(default_factory=dict)
    labels: Mapping[str, Labels] = field(default_factory=dict)
    foresees: bool = False

    def namespace_labels(self, namespace: str) -> Labels | None:
        """Return the labels of a namespace; None where they are not known."""
        known = {} if self.snapshot is None else self.snapshot.namespaces
        for found in (self.labels.get(namespace), self.labels.get(""), known.get(namespace)):
            if found is not None:  # The API server gives each the label with its name.
                return found if NAMESPACE_NAME in found else {**found, NAMESPACE_NAME: namespace}
        return None
