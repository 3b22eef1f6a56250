"""What a rule finds, and how grave it is."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from webhook.kubernetes.fields import FieldPath

UNUSED_SUPPRESSION = "unused-suppression"  # No rule finds it, but lint.


class Severity(StrEnum):
    """What a finding does: an error denies, a warning warns, info only shows in reports; `rank` 0 is the gravest."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    IGNORE = "ignore"

    def __init__(self, _: str) -> None:
        self.rank = len(type(self).__members__)  # of those before this one


TOLD = (Severity.ERROR, Severity.WARNING)  # of findings that deny or warn


class Edit(NamedTuple):
    """A change that repairs a finding: write `value` at `path`.  Only where one value can be right."""

    path: FieldPath
    value: object


class Cause(NamedTuple):
    """
    What a rule yields: `message` says what must hold; `at_most` lowers the severity, never raises it.

    `extents` say how bad it is, once for each constraint that it is about: an update that makes any of them worse, or
    adds one, is no longer excused by what was there before.  If they are not given, a hard constraint is the worse one.
    `said_by_api_server` marks what kube-apiserver itself warns of in objects of built-in kinds.
    `alone`: the constraints should not be there at all, so what else is wrong with them does not matter.
    `idle` says why the constraint at the path does nothing, "" if that is not the cause.
    `breaks`: the hard constraint spreads nothing, or lets no Pod be placed.
    """

    path: FieldPath
    message: str
    found: str
    wanted: str
    fix: str | None = None
    edit: Edit | None = None
    at_most: Severity = Severity.ERROR
    extents: tuple[int, ...] | None = None
    said_by_api_server: bool = False
    alone: bool = False
    idle: str = ""
    breaks: bool = False


class Finding(NamedTuple):
    """
    A cause, with the rule that found it and the severity that the policy gives it.

    `said_by_api_server`: kube-apiserver warns of this object in the same review, so a warning would say it twice.
    `rejected_by_api_server`: the API server rejects the object, or the Pods made from it.  `help` is what the policy
    says to it, and `notice` from when on the rule denies, and whom to ask.  `breaks` is the cause's, where no policy
    gives the rule a severity: lint then makes it an error.
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
    extents: tuple[int, ...] = (0,)
    said_by_api_server: bool = False
    rejected_by_api_server: bool = False
    alone: bool = False
    idle: str = ""
    help: str = ""
    notice: str = ""
    breaks: bool = False


class Skipped(NamedTuple):
    """A rule that could not be run, and why."""

    rule: str
    reason: str


class Evaluation(NamedTuple):
    """The findings on one workload, in the order of their fields, and the rules that could not be run."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
