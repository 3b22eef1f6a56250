"""
What was not judged, or not in full, so that nothing is passed over in silence.

    Note, Note, Note ──alike──> [Note, Note], [Note] ──together──> 2 templates passed over: a.yaml, b.yaml; lint …
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from webhook.findings.wording import first_of, number_of

UNRENDERED_TEMPLATE, PATCH, SYSTEM_NAMESPACE, KIND_NOT_JUDGED = "template", "patch", "systemNamespace", "kind"
REPEATED_KEY, UNREAD, NOT_BUILT = "duplicateKey", "unreadable", "build"
VALUES, BUILT, LABELS_UNKNOWN = "values", "kustomization", "namespaceLabels"
SKIPPED_NAMESPACE, OWNED = "skippedNamespace", "owned"
_NOTED = {  # one, and several
    UNRENDERED_TEMPLATE: ("template", "templates"),
    PATCH: ("kustomize patch", "kustomize patches"),
    SYSTEM_NAMESPACE: ("object in a system namespace", "objects in system namespaces"),
    SKIPPED_NAMESPACE: ("object in a namespace that evenkeel skips", "objects in namespaces that evenkeel skips"),
    OWNED: ("object of a controller", "objects of controllers"),
    REPEATED_KEY: ("duplicate key", "duplicate keys"),
    NOT_BUILT: ("build", "builds"),
    UNREAD: ("unreadable text", "unreadable texts"),
    VALUES: ("set of values", "sets of values"),
    BUILT: ("object changed by a kustomization", "objects changed by kustomizations"),
    LABELS_UNKNOWN: (
        "object in a namespace with unknown labels",
        "objects in namespaces with unknown labels",
    ),
}


class Note(NamedTuple):
    """What was not judged, or not in full; line and column count from 1."""

    file: str
    line: int
    column: int
    why: str  # KIND_NOT_JUDGED, or one of the keys of _NOTED
    what: str  # names it, such as "kustomize patch"
    done: str  # how it was treated, such as "judged in part"
    advice: str

    @property
    def message(self) -> str:
        return f"{self.what} {self.done}; {self.advice}"


def alike(notes: Iterable[Note]) -> list[list[Note]]:
    """Group the notes that one line can report: a repository may have very many templates."""
    by_words: dict[tuple[str, ...], list[Note]] = {}
    for note in notes:
        kind = note.what if note.why == KIND_NOT_JUDGED else ""
        by_words.setdefault((note.why, kind, note.done, note.advice), []).append(note)
    return list(by_words.values())


def together(notes: Sequence[Note]) -> str:
    """Return one line for notes that are alike: how many, the first files, and what to do."""
    first, count = notes[0], len(notes)
    is_named = first.why == KIND_NOT_JUDGED or (first.why == NOT_BUILT and count == 1)
    counted = f"{count} {first.what}" if is_named else number_of(count, *_NOTED[first.why])
    files = dict.fromkeys("<stdin>" if note.file == "-" else note.file for note in notes)
    return f"{counted} {first.done}: {first_of(files)}; {first.advice}"
