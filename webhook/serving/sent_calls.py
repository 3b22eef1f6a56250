"""Checks that the webhook configurations send everything the policy needs; a new policy does not change them."""

from __future__ import annotations

import logging

from webhook.cluster.registration import Registration
from webhook.manifests.configurations import ignoring, unsent
from webhook.serving.check import Check
from webhook.serving.logs import log
from webhook.serving.reviewer import Reviewer

FIX = "apply what evenkeel manifests prints for this policy, or upgrade the chart with it"

FAILING = "evenkeel manifests --failure-policy-enforced Fail, or the chart's failurePolicyEnforced"


class SentCalls:
    """Compares the policy in force with the webhook configurations as they were last read."""

    def __init__(self, reviewer: Reviewer, registration: Registration) -> None:
        self.reviewer, self.registration = reviewer, registration
        self.missing: tuple[str, ...] = ()

    def look(self) -> None:
        """Count the missing webhook entries, and log them when they change."""
        if self.registration.seen is None:
            return
        missing = unsent(self.reviewer.policy, self.registration.seen)
        if missing and missing != self.missing:
            log(
                logging.WARNING,
                "webhook configurations lack entries that the policy needs",
                entries=list(missing),
                fix=FIX,
            )
        self.missing = missing
        self.reviewer.metrics.unsent.set(len(missing))

    def check(self) -> Check:
        """Always ready: missing entries do not affect the other reviews."""
        missing = f"the policy needs {', '.join(self.missing)}: {FIX}"
        return Check("calls", True, (missing if self.missing else "all that the policy needs") + self._past_enforced())

    def _past_enforced(self) -> str:
        """What passes while no replica answers, although a rule is enforced."""
        policy, seen = self.reviewer.policy, self.registration.seen
        names = ignoring(policy, seen) if policy.enforced and seen is not None else ()
        return f"; while no replica answers, enforced rules do not hold for {', '.join(names)}: {FAILING}" * bool(names)
