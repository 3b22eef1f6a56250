"""
The results of lint: findings, problems and counts, of one file and of all.

    text ──chunks──> documents ──> objects ──admission.review──> findings ──positions──> Located
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from evenkeel.lint.declarations import NOTHING_STATED, Declarations
from evenkeel.lint.notes import Note
from webhook.findings.finding import Finding, Severity, Skipped
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.references import ObjectRef

PROBLEM = "problem"


class Address(NamedTuple):
    """The place of an object: the offsets of the chunk, the index of its document, and the path in the document."""

    start: int
    end: int
    document: int
    path: FieldPath


class Located(NamedTuple):
    """
    A finding and its place: line and columns count from 1, `end_column` is the first column after it.

    `quoted` is the whole line.  `identity` stays the same when lines move.  `object` is None if the finding is on the
    file.  `source` is the template that helm rendered the object from, or the command that built it, or "" if neither
    is known.  `absent` is the part of the finding's field that is not there; the place is then that of what lacks it.
    """

    file: str
    line: int
    column: int
    end_column: int
    quoted: str
    finding: Finding
    object: ObjectRef | None
    identity: str
    address: Address | None = None
    source: str = ""
    absent: str = ""

    @property
    def told(self) -> Finding:
        """The finding as people are told it: where the field is absent, that is what was found, and not its default."""
        return self.finding._replace(found=f"no {self.absent}") if self.absent else self.finding


class Problem(NamedTuple):
    """
    Why a file could not be read or an object not be judged; line and column count from 1.

    `lasting` is False where there is no such file, or what failed may not fail again: a baseline cannot accept that.
    """

    file: str
    line: int
    column: int
    message: str
    lasting: bool = True

    @property
    def identity(self) -> str:
        """What identifies the problem although lines move; baselines have it, so other words are another problem."""
        return f"{PROBLEM}\n{self.message}"


class JudgedPlaces(NamedTuple):
    """How many places have constraints, how many of them were judged in full, and how many without their labels."""

    total: int = 0
    in_full: int = 0
    without_labels: int = 0

    def and_also(self, other: JudgedPlaces) -> JudgedPlaces:
        """Return the sum of both."""
        return JudgedPlaces(*map(sum, zip(self, other, strict=True)))


NO_PLACES = JudgedPlaces()


@dataclass(slots=True)
class JudgedFile:
    """The result of one file, and what it `states` for others."""

    file: str
    documents: int = 0
    objects: int = 0
    found: list[Located] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[Skipped, None] = field(default_factory=dict)
    suppressed: int = 0
    notes: list[Note] = field(default_factory=list)
    places: JudgedPlaces = NO_PLACES
    states: Declarations = NOTHING_STATED


@dataclass(slots=True)
class LintSummary:
    """
    The result of all files; `accepted`, `before` and `repaired` count findings that it no longer includes.

    `before` are those that were there before the change.
    """

    files: int = 0
    objects: int = 0
    found: list[Located] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[Skipped, None] = field(default_factory=dict)
    suppressed: int = 0
    accepted: int = 0
    before: int = 0
    repaired: int = 0
    notes: list[Note] = field(default_factory=list)
    places: JudgedPlaces = NO_PLACES

    def add(self, judged: JudgedFile, files: int = 1) -> None:
        """Add a result; `files` is the number of manifests that it counts as."""
        self.files += files
        self.objects += judged.objects
        self.found += judged.found
        self.problems += judged.problems
        self.skipped |= judged.skipped
        self.suppressed += judged.suppressed
        self.notes += judged.notes
        self.places = self.places.and_also(judged.places)

    def noted(self, why: str) -> Counter[str]:
        """Return how many notes there are for a reason, by what they name."""
        return Counter(note.what for note in self.notes if note.why == why)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of this severity."""
        return sum(located.finding.severity is severity for located in self.found)
