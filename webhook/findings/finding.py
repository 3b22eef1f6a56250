"""What a rule finds, and how grave it is."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from webhook.kubernetes.fields import FieldPath

UNUSED_SUPPRESSION = "unused-suppression"  # found by lint, not by a rule


class Severity(StrEnum):
    """What a finding does: an error denies, a warning warns, info only shows in reports."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    IGNORE = "ignore"

    def __init__(self, _: str) -> None:
        self.rank = len(type(self).__members__)  # The members so far: 0 is the gravest.


TOLD = (Severity.ERROR, Severity.WARNING)  # of findings that whoever applies the object reads


class Edit(NamedTuple):
    """A change that repairs a finding: write `value` at `path`.  Only where one value can be right."""

    path: FieldPath
    value: object
    caution: str = ""  # what else comes of it; whoever lets it be written is told


class Cause(NamedTuple):
    """What a rule yields: one fault, at one path."""

    path: FieldPath
    message: str  # what must hold
    found: str
    wanted: str
    fix: str | None = None  # None: the rule's
    edit: Edit | None = None
    at_most: Severity = Severity.ERROR  # lowers the severity, never raises it
    # How bad it is, a number for each constraint that it is about.  An update that raises one, or adds one, is not
    # excused by what the old object had.  None: 1 for a hard constraint, otherwise 0.
    extents: tuple[int, ...] | None = None
    said_by_api_server: bool = False  # kube-apiserver itself warns of it, in objects of built-in kinds
    alone: bool = False  # the constraints should not be there, so that nothing else about them matters
    idle: str = ""  # why the constraint does nothing; "" if it does something


class Finding(NamedTuple):
    """A cause, with the rule that found it and the severity that the policy gives it."""

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
    said_by_api_server: bool = False  # kube-apiserver warns of this object, so that a warning would say it twice
    rejected_by_api_server: bool = False  # it rejects the object, or the Pods made from it
    alone: bool = False
    idle: str = ""
    help: str = ""  # what the policy adds to the rule's findings: a line or a URL
    notice: str = ""  # from when on the rule denies, and whom to ask


class Skipped(NamedTuple):
    """A rule that could not be run, and why."""

    rule: str
    reason: str


class Evaluation(NamedTuple):
    """The findings on one workload, in the order of their fields, and the rules that could not be run."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
