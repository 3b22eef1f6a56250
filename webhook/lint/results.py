"""
Manifests judged before anything reaches a cluster: what the webhook would say, at the line it would say it of.

    text ──chunks──> documents ──> objects ──admission.review──> findings ──positions──> Located
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from webhook.findings.finding import Finding, Severity, Skipped
from webhook.objects.fields import FieldPath

UNUSED_SUPPRESSION = "unused-suppression"
TEMPLATE, PATCH, SYSTEM = "template", "patch", "systemNamespace"


@dataclass(frozen=True, slots=True)
class Named:
    """By what a person knows an object; `namespace` is empty where it names none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Address:
    """Where in a text an object stands: a part of the text, the number of the document in it, the path in that."""

    start: int
    end: int
    document: int
    path: FieldPath


@dataclass(frozen=True, slots=True)
class Located:
    """
    A finding and where it stands: line and columns count from 1, `end_column` is the first beyond it.

    `identity` is by what it is known again when lines have moved; `object` is None for what is about a file; `source`
    is the template that helm made the object of, if that is known.
    """

    file: str
    line: int
    column: int
    end_column: int
    quoted: str
    finding: Finding
    object: Named | None
    identity: str
    address: Address | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be read or judged, and where."""

    file: str
    line: int
    column: int
    message: str


@dataclass(slots=True)
class Judged:
    """What came of a file; `unjudged` are kinds with constraints of which the policy does not say where they stand."""

    file: str
    documents: int = 0
    objects: int = 0
    found: list[Located] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[Skipped, None] = field(default_factory=dict)
    suppressed: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(slots=True)
class Summary:
    """What came of all files; `accepted` is how many findings a baseline accepts, `repaired` how many are no more."""

    files: int = 0
    objects: int = 0
    found: list[Located] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[Skipped, None] = field(default_factory=dict)
    suppressed: int = 0
    accepted: int = 0
    repaired: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, judged: Judged) -> None:
        """Take in what came of one more file."""
        self.files += 1
        self.objects += judged.objects
        self.found += judged.found
        self.problems += judged.problems
        self.skipped |= judged.skipped
        self.suppressed += judged.suppressed
        self.passed_over += judged.passed_over
        self.unjudged += judged.unjudged

    def count(self, severity: Severity) -> int:
        """How many findings of this severity there are."""
        return sum(one.finding.severity is severity for one in self.found)
