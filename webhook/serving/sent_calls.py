"""Whether the API server sends all that the policy in force needs: a policy that changes cannot widen what it sends."""

from __future__ import annotations

import logging

from webhook.cluster.registration import Registration
from webhook.manifests.configurations import unsent
from webhook.serving.app import Check
from webhook.serving.logs import log
from webhook.serving.reviewer import Reviewer

WAY_OUT = "apply what evenkeel manifests prints for this policy, or upgrade the chart with it"


class SentCalls:
    """Compares the policy with the webhook configurations as they were last seen."""

    def __init__(self, service: Reviewer, registration: Registration) -> None:
        self.service, self.registration = service, registration
        self.missing: tuple[str, ...] = ()

    def look(self) -> None:
        """Tell of what is missing when that changes."""
        if self.registration.seen is None:
            return
        missing = unsent(self.service.policy, self.registration.seen)
        if missing and missing != self.missing:
            log(logging.WARNING, "the policy needs calls that are not sent", entries=list(missing), fix=WAY_OUT)
        self.missing = missing
        self.service.metrics.unsent.set(len(missing))

    def check(self) -> Check:
        """Always ready: what is sent is answered rightly."""
        detail = (
            f"the policy needs {', '.join(self.missing)}: {WAY_OUT}" if self.missing else "all that the policy needs"
        )
        return Check("calls", True, detail)
