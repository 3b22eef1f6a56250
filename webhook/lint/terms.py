"""What manifests are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from webhook.findings.finding import Severity
from webhook.lint.passing_over import for_patches
from webhook.policy.policy import Policy
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot


@dataclass(frozen=True)
class Terms:
    """
    What manifests are judged by.

    `unused` is the severity of suppressions that suppress nothing; `patches` are the files that a kustomization names
    as such.
    """

    policy: Policy
    features: Features
    snapshot: Snapshot | None = None
    namespace: str = "default"
    unused: Severity = Severity.WARNING
    patches: frozenset[str] = frozenset()

    @cached_property
    def policy_for_patches(self) -> Policy:
        return for_patches(self.policy)
