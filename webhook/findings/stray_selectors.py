"""Parts of a selector that stand beside labelSelector, where the API ignores them, and what puts them below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.findings.finding import Edit
from webhook.findings.rule import Subject
from webhook.kubernetes.fields import FieldPath, as_mapping
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import IN_SELECTOR, Constraint, read_selector
from webhook.spread.selectors import Match, as_selector
from webhook.spread.validation import validate

SELECTOR = "labelSelector"


class StraySelector(NamedTuple):
    """A field of a constraint that was meant to be in its labelSelector."""

    name: str
    part: str  # of a labelSelector
    fix: str
    edit: Edit | None


def stray_selector(subject: Subject, constraint: Constraint, name: str = "") -> StraySelector | None:
    """Return how to put a field of a constraint below labelSelector: the one `name`, or the first; None without any."""
    raw = _raw(subject, constraint)
    known = sorted(IN_SELECTOR)
    names = [field.path[1] for field in subject.reading.unknown if field.path[:-1] == (constraint.index,)]
    for stray in map(str, names):
        if name in ("", stray) and (part := nearest(stray, known)) is not None:
            fix, after = _repaired(subject, constraint, raw, stray, part)
            edit = None if after is None else Edit(subject.at(constraint), after)
            return StraySelector(stray, part, fix, edit)
    return None


def _raw(subject: Subject, constraint: Constraint) -> Mapping[str, object]:
    raw = subject.workload.raw_constraints
    return as_mapping(raw[constraint.index]) if isinstance(raw, list) else {}


def _repaired(
    subject: Subject, constraint: Constraint, raw: Mapping[str, object], stray: str, part: str
) -> tuple[str, Mapping[str, object] | None]:
    """Return the fix in words, and the constraint after it; None if only its author knows what is meant."""
    rest = {name: value for name, value in raw.items() if name != stray}
    selector, value = as_mapping(raw.get(SELECTOR)), raw[stray]
    if selector and (not value or selector.get(part) == value):
        return f"remove {stray}", rest
    moved = {**rest, SELECTOR: {**selector, part: _joined(selector.get(part), value)}}
    if value and _is_right(subject, raw, moved):
        return f"move {stray} below labelSelector", moved
    own, _ = (None, None) if selector else subject.copy_own_selector(constraint)
    if own is not None:
        return f"{own}, and remove {stray}", {**rest, SELECTOR: {"matchLabels": subject.own_selector}}
    return f"move {stray} below labelSelector, and select labels that the Pods carry", None


def _joined(below: object, beside: object) -> object:
    """Return the labels or expressions of both; of a label that both have, the first may be the wrong one."""
    if isinstance(below, list) and isinstance(beside, list):
        return [*below, *(item for item in beside if item not in below)]
    return {**below, **beside} if isinstance(below, dict) and isinstance(beside, dict) else beside


def _is_right(subject: Subject, before: Mapping[str, object], after: Mapping[str, object]) -> bool:
    """Return whether the API server takes the selector, and it may match the workload's own Pods."""
    reader = Reader()
    selector = as_selector(read_selector(reader, after[SELECTOR], ()))
    addable = subject.addable if subject.workload.labels_known else selector.keys
    if reader.errors or selector.match(subject.workload.labels, addable) is Match.NO:
        return False
    return _errors(subject, after) <= _errors(subject, before)


def _errors(subject: Subject, raw: Mapping[str, object]) -> set[tuple[FieldPath, str]]:
    labels, features = subject.workload.pods_labels(), subject.features
    return {
        (error.path, error.detail)
        for merged in (True, False)
        for error in validate([raw], labels, (), merged=merged, features=features)
    }
