"""Logs decisions: one line for each that may need a person."""

from __future__ import annotations

import logging

from webhook.admission.decision import Decision, Outcome
from webhook.admission.defaulting import ACTIONABLE_REASONS, Defaults, Undefaulted
from webhook.admission.request import AdmissionRequest
from webhook.kubernetes.fields import texts_at
from webhook.server.logs import log, logger

# The level and message of each outcome.
MESSAGES = {
    Outcome.ALLOWED: (logging.DEBUG, "allowed"),
    Outcome.WARNED: (logging.DEBUG, "warned"),
    Outcome.DEFAULTED: (logging.INFO, "defaulted"),
    Outcome.WOULD_BE_DEFAULTED: (logging.INFO, "would be defaulted"),
    Outcome.DENIED: (logging.INFO, "denied"),
    Outcome.WOULD_BE_DENIED: (logging.INFO, "would be denied"),
    Outcome.NOT_JUDGED: (logging.INFO, "not judged"),
    Outcome.ERROR: (logging.INFO, "not judged"),
}
LEFT_OUT_MESSAGE = (logging.INFO, "defaults left out")


def log_decision(request: AdmissionRequest, decision: Decision) -> None:
    """
    Log one line for each request that was or would be denied, given defaults or not judged.

    Other requests are logged at debug.
    """
    defaulted = decision.defaulted
    no_defaults = isinstance(defaulted, Undefaulted) and defaulted.reason in ACTIONABLE_REASONS
    level, message = LEFT_OUT_MESSAGE if no_defaults else MESSAGES[decision.outcome]
    if not logger.isEnabledFor(level):
        return
    name, generate_name = texts_at(request.obj, "metadata.name", "metadata.generateName")
    log(
        level,
        message,
        uid=request.uid,
        user=request.user or None,
        dryRun=request.dry_run or None,
        phase=request.phase,
        namespace=request.namespace or None,
        name=name or request.name or None,
        generateName=generate_name or None,
        owner=request.owner.kind if request.owner is not None else "none",
        kind=request.kind[1] or None,
        operation=request.operation or None,
        allowed=None if decision.allowed else False,
        rules=sorted({finding.rule for finding in decision.findings}) or None,
        defaulted=list(defaulted.source) if isinstance(defaulted, Defaults) else None,
        defaults=defaulted.summary if isinstance(defaulted, Defaults) and not decision.patch else None,
        leftOut=list(defaulted.left_out) or None if isinstance(defaulted, Defaults) else None,
        error=decision.error or (str(defaulted) if no_defaults else None),
    )
