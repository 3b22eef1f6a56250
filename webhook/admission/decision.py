"""The answer to one request: its outcome, and the response for the API server."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from webhook.admission.defaulting import Defaults, Undefaulted
from webhook.findings import wording
from webhook.findings.finding import Finding, Skipped
from webhook.policy.policy import AUDIT, DENY, Policy, mildest

COULD_NOT_JUDGE = "evenkeel could not judge it"
PASSES_UNJUDGED = f"{COULD_NOT_JUDGE}, so it passes unjudged"
MAKE_SMALLER = "make it smaller: an enforced rule must be able to judge it"


class Outcome(StrEnum):
    ALLOWED = "allowed"
    WARNED = "warned"
    DEFAULTED = "defaulted"
    WOULD_BE_DEFAULTED = "would-be-defaulted"  # Not defaulted only because the policy's `defaultingMode` is Audit.
    DENIED = "denied"
    WOULD_BE_DENIED = "would-be-denied"  # Allowed only because the policy's `enforcement` does not deny.
    NOT_JUDGED = "not-judged"  # Too large, too deep or unreadable: the policy's `onError` answered.
    ERROR = "error"  # Malformed, or a defect of evenkeel's.


NO_ANNOTATIONS: Mapping[str, str] = {}


class Decision(NamedTuple):
    """The outcome of a request, and the reasons for it."""

    outcome: Outcome = Outcome.ALLOWED
    status: Mapping[str, object] | None = None  # a metav1.Status; None if the request is allowed
    patch: tuple[Mapping[str, object], ...] = ()  # a JSON patch
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = NO_ANNOTATIONS
    findings: tuple[Finding, ...] = ()
    defaulted: Defaults | Undefaulted | None = None
    skipped: tuple[Skipped, ...] = ()
    error: str = ""  # why there is no verdict; "" if there is one
    unknown_labels_of: str = ""  # the namespace whose labels decide on some findings, and are not known

    @property
    def allowed(self) -> bool:
        return self.status is None


ALLOWED = Decision()


def bad_request(message: str) -> Decision:
    """Return the answer to a malformed request: status 400."""
    text = wording.one_line(message, wording.LINE_LIMIT)
    return Decision(Outcome.ERROR, _status(400, "BadRequest", text), error=text)


def unexpected(policy: Policy, about: str) -> Decision:
    """Return the answer to the object `about` if evenkeel itself failed: the policy's `onError`."""
    why = "an unexpected error in evenkeel; ask those who run it: its log has the cause"
    return _on_error(mildest(policy.parts), Outcome.ERROR, about, why, policy.on_error, policy.help)


def not_judged(
    policy: Policy, about: str, message: str, enforcement: str = "", *, enforced: bool = False, excused: bool = False
) -> Decision:
    """
    Return the answer to the object `about`, which is too large or too deep to judge: the policy's `onError`.

    enforcement  what is in force for the object; "" if that is not known: then the mildest counts
    enforced     a rule is: the object is denied, or else a developer could evade the rule with a large object
    excused      the update does not change the constraints: the object is allowed
    """
    if enforced:
        why = f"{wording.object_name(about)}: {message}; {MAKE_SMALLER}"
        lines = wording.with_help([wording.one_line(why, wording.LINE_LIMIT)], policy.help)
        return Decision(Outcome.NOT_JUDGED, _status(403, "Forbidden", "\n".join(lines)), error=message)
    on_error = "Allow" if excused else policy.on_error
    return _on_error(enforcement or mildest(policy.parts), Outcome.NOT_JUDGED, about, message, on_error, policy.help)


def _on_error(enforcement: str, outcome: Outcome, about: str, message: str, on_error: str, help_line: str) -> Decision:
    passes = on_error == "Allow" or enforcement != DENY
    why = f"{wording.object_name(about)}: {PASSES_UNJUDGED if passes else COULD_NOT_JUDGE}: {message}"
    lines = wording.with_help([wording.one_line(why, wording.WARNING_LIMIT)], help_line)
    if passes:
        return Decision(outcome, warnings=() if enforcement == AUDIT else lines, error=message)
    return Decision(outcome, _status(500, "InternalError", "\n".join(lines)), error=message)


def _status(code: int, reason: str, message: str) -> Mapping[str, object]:
    return {"status": "Failure", "code": code, "reason": reason, "message": message}
