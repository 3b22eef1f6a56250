"""What `evenkeel policy check` prints: errors in a policy, notes on it, and how a copy of its defaults differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evenkeel.policy.export import KARPENTER, KUBE_SCHEDULER
from evenkeel.terminal.json_forms import dumped, fields, form
from webhook.findings.wording import LINE_LIMIT, one_line

APPLIED = {
    KUBE_SCHEDULER: "merge its profiles into this file, and restart kube-scheduler",
    KARPENTER: "replace this file by what it prints, and restart Karpenter",
}


class ComparedCopy(NamedTuple):
    """A copy of default constraints, the notes on it, and how it differs from a policy."""

    file: str
    program: str  # That reads it: KUBE_SCHEDULER or KARPENTER.
    notes: Sequence[str]
    differences: Sequence[str]


def text(file: str, errors: Sequence[str], notes: Sequence[str], copy: ComparedCopy | None = None) -> str:
    """Return a line for each error and note on a policy, note on a copy, and difference; `ok` without errors."""
    return "\n".join(one_line(line, LINE_LIMIT) for line in _lines(file, errors, notes, copy))


def _lines(file: str, errors: Sequence[str], notes: Sequence[str], copy: ComparedCopy | None) -> Iterator[str]:
    yield from (f"{file}: error: {error}" for error in errors)
    yield from (f"{file}: note: {note}" for note in notes)
    if copy is not None:
        yield from (f"{copy.file}: note: {note}" for note in copy.notes)
        yield from (f"{copy.file}: {difference}" for difference in copy.differences)
        if copy.differences:
            yield f"{copy.file}: run evenkeel policy export --for {copy.program}, {APPLIED[copy.program]}"
            return
    if not errors:
        yield f"{file}: ok"


def as_json(file: str, errors: Sequence[str], notes: Sequence[str], copy: ComparedCopy | None = None) -> str:
    """Return the form `PolicyCheck`, for programs."""
    against = fields(copy, *copy._fields) if copy is not None else None
    return dumped(form("PolicyCheck", {"file": file, "errors": errors, "notes": notes, "against": against}))
