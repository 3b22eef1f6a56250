"""Checks that the webhook configurations send everything the policy needs; a new policy does not change them."""

from __future__ import annotations

import logging

from webhook.cluster.ca_bundle import Registration
from webhook.cluster.client import ClusterError
from webhook.manifests.configurations import ignoring, unsent
from webhook.server.health import Check
from webhook.server.logs import log
from webhook.server.reviewer import Reviewer

FIX = "apply what evenkeel manifests prints for this policy, or upgrade the chart with it"

FAILING = "use evenkeel manifests --failure-policy-enforced Fail, or set failurePolicyEnforced: Fail in the chart"


class SentCalls:
    """Compares the policy in force with the webhook configurations as they were last read."""

    def __init__(self, reviewer: Reviewer, registration: Registration) -> None:
        self.reviewer, self.registration = reviewer, registration
        self.problem = ""
        # The policy and the entries that were compared last, and the names of the missing entries.
        self._compared: tuple[object, tuple[str, ...]] = None, ()
        self._logged: tuple[str, ...] = ()
        reviewer.metrics.unsent.samples = self._samples

    @property
    def missing(self) -> tuple[str, ...] | None:
        """The entries, by name, that the policy in force needs and the cluster lacks; None while that is not known."""
        policy, seen = self.reviewer.policy, self.registration.seen
        if seen is None:
            return None
        compared, missing = self._compared
        if compared != (policy, seen):
            missing = unsent(policy, seen)
            self._compared = (policy, seen), missing
        return missing

    def read(self) -> None:
        """Read the configurations, if no `Renewal` does; log the first of several failures."""
        try:
            self.registration.read()
        except ClusterError as error:
            if not self.problem:
                log(logging.WARNING, "cannot read the webhook configurations", problem=str(error))
            self.problem = str(error)
        else:
            self.problem = ""

    def look(self) -> None:
        """Log the missing webhook entries when they change."""
        missing = self.missing or ()
        if missing and missing != self._logged:
            log(
                logging.WARNING,
                "webhook configurations lack entries that the policy needs",
                entries=list(missing),
                fix=FIX,
            )
        self._logged = missing

    def _samples(self) -> dict[tuple[str, ...], float]:
        missing = self.missing
        return {} if missing is None else {(): len(missing)}

    def check(self) -> Check:
        """Always ready: missing entries do not affect the other reviews."""
        missing = self.missing
        if missing is None:
            return Check("calls", True, f"not known: {self.problem}" if self.problem else "not known yet")
        needed = (
            f"the webhook configurations lack {', '.join(missing)}: {FIX}" if missing else "all that the policy needs"
        )
        return Check("calls", True, needed + self._past_enforced())

    def _past_enforced(self) -> str:
        """Say which requests pass while no replica answers, although a rule is enforced; "" if none does."""
        policy, seen = self.reviewer.policy, self.registration.seen
        names = ignoring(policy, seen) if policy.enforced and seen is not None else ()
        if not names:
            return ""
        return (
            f"; while no replica answers, the webhook entries {', '.join(names)} let everything pass, also what breaks "
            f"enforced rules. To deny then: {FAILING}"
        )
