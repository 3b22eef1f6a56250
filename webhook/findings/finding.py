"""What a rule finds, and how grave it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from webhook.objects.fields import FieldPath


class Severity(StrEnum):
    """What a finding does: an error denies, a warning warns, info shows in lint and reports."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    IGNORE = "ignore"

    def __init__(self, _: str) -> None:
        self.rank = len(type(self).__members__)  # 0 is the gravest


@dataclass(frozen=True, slots=True)
class Edit:
    """A repair where there is exactly one right answer: `value` goes to `path`."""

    path: FieldPath
    value: object


@dataclass(frozen=True, slots=True)
class Cause:
    """
    What a rule yields: `message` says what must hold; `at_most` lowers the severity, never raises it.

    `said_by_api_server` marks what kube-apiserver itself warns of in objects of built-in kinds.
    """

    path: FieldPath
    message: str
    found: str
    wanted: str
    fix: str | None = None
    edit: Edit | None = None
    at_most: Severity = Severity.ERROR
    said_by_api_server: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """
    A cause, with the rule that found it and the severity that the policy gives it.

    `said_by_api_server`: kube-apiserver warns of this object in the same review, so a warning would say it twice.
    `rejected_by_api_server`: the API server rejects the object, or the Pods made from it.
    """

    rule: str
    severity: Severity
    path: FieldPath
    message: str
    found: str
    wanted: str
    fix: str
    edit: Edit | None = None
    enforced: bool = False
    said_by_api_server: bool = False
    rejected_by_api_server: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not be run, and why."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
