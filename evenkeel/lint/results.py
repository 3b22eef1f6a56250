"""
The results of lint: findings, problems and counts, of one file and of all.

    text ──chunks──> documents ──> objects ──admission.review──> findings ──positions──> Located
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from evenkeel.lint.declarations import NOTHING_STATED, Declarations
from evenkeel.lint.notes import UNRENDERED_TEMPLATE, Note
from webhook.findings.finding import Finding, Severity, Skipped
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.references import ObjectRef

PROBLEM = "problem"


class Address(NamedTuple):
    """The place of an object."""

    start: int  # of the chunk, an offset in characters
    end: int  # of the chunk
    document: int  # index in the chunk
    path: FieldPath  # in the document


class Located(NamedTuple):
    """A finding and its place; line and columns count from 1."""

    file: str
    line: int
    column: int
    end_column: int  # the first one after it
    quoted: str  # the whole line
    finding: Finding
    object: ObjectRef | None  # None if it is on the file
    identity: str  # stays the same when lines move
    address: Address | None = None  # None if it cannot be repaired
    source: str = ""  # the template that helm rendered the object from, or the command that built it
    absent: str = ""  # the end of the field's path that does not exist; the place is then that of its parent

    @property
    def told(self) -> Finding:
        """The finding as it is shown: `found` says that a field is absent, and not what its default is."""
        return self.finding._replace(found=f"no {self.absent}") if self.absent else self.finding


class Problem(NamedTuple):
    """Why a file could not be read or an object not be judged; line and column count from 1."""

    file: str
    line: int
    column: int
    message: str
    lasting: bool = True  # False: there is no such file, or it may not fail again, so a baseline cannot accept it
    quoted: str = ""  # the whole line, if the message is about it

    @property
    def identity(self) -> str:
        """Stays the same when lines move.  Baselines have it, so other words make another problem."""
        return f"{PROBLEM}\n{self.message}"


class JudgedPlaces(NamedTuple):
    """Numbers of places with constraints."""

    total: int = 0
    in_full: int = 0
    without_labels: int = 0  # judged, though the labels of their Pods are not known

    def and_also(self, other: JudgedPlaces) -> JudgedPlaces:
        return JudgedPlaces(*map(sum, zip(self, other, strict=True)))


NO_PLACES = JudgedPlaces()


@dataclass(slots=True)
class JudgedFile:
    """The result of one file."""

    file: str
    documents: int = 0
    objects: int = 0
    found: list[Located] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[Skipped, None] = field(default_factory=dict)
    suppressed: int = 0
    notes: list[Note] = field(default_factory=list)
    places: JudgedPlaces = NO_PLACES
    states: Declarations = NOTHING_STATED  # for other files


@dataclass(slots=True)
class LintSummary:
    """The result of all files."""

    files: int = 0
    objects: int = 0
    found: list[Located] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[Skipped, None] = field(default_factory=dict)
    suppressed: int = 0
    # Numbers of findings that are not in `found`:
    accepted: int = 0  # by the baseline
    before: int = 0  # were there before the change
    repaired: list[str] = field(default_factory=list)  # the caution of each repair, "" if it has none
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

    @property
    def holds_nothing(self) -> bool:
        """Whether the files held neither an object, nor a template of one, nor a place with constraints."""
        has_template = any(note.why == UNRENDERED_TEMPLATE for note in self.notes)
        return not (self.objects or self.places.total or self.found or self.problems or has_template)

    def noted(self, why: str) -> Counter[str]:
        """Return how many notes there are for a reason, by what they name."""
        return Counter(note.what for note in self.notes if note.why == why)

    def count(self, severity: Severity) -> int:
        return sum(located.finding.severity is severity for located in self.found)
