"""
Text in which what has exactly one right answer is put right, and everything else stays as it was written.

    Edit(path, value) ──places──> Change ──read again──> the same objects, with that value there
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass

from webhook.documents.positions import spans
from webhook.documents.reading import read_documents
from webhook.documents.scalars import DocumentError
from webhook.findings.finding import Edit, Severity
from webhook.lint.judging import judge
from webhook.lint.results import Address, Judged, Located, Named
from webhook.lint.rewriting import Change, Text, with_changes
from webhook.lint.terms import Terms
from webhook.objects.fields import FieldPath, value_at, with_value

MOST_ROUNDS = 100  # an object has fewer findings that can be repaired


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of a text: how many findings were repaired, and what is left to be said."""

    text: str
    count: int
    left: Judged


def repair(file: str, text: str, terms: Terms, meant: Callable[[Judged], Sequence[Located]]) -> Repaired:
    """
    `text` with every repair that can be made safely, of the findings that are `meant`.

    A mere remark that only comes of another repair is left for a person to read first.
    """
    count, refused, judged = 0, set[tuple[str, FieldPath]](), judge(file, text, terms)
    announced = {_place(one) for one in meant(judged)}
    for _ in range(MOST_ROUNDS):
        by_chunk = defaultdict[tuple[int, int], list[_Repair]](list)
        told = [one for one in meant(judged) if one.finding.severity is not Severity.INFO or _place(one) in announced]
        for one in _one_per_object(told, refused):
            by_chunk[one.address.start, one.address.end].append(one)
        if not by_chunk:
            break
        for (start, end), repairs in sorted(by_chunk.items(), reverse=True):  # from the end, so that offsets hold
            changed, left = _rewritten(text[start:end], repairs)
            refused |= {one.known_by for one in left}
            text, count = text[:start] + changed + text[end:], count + len(repairs) - len(left)
        judged = judge(file, text, terms)
    return Repaired(text, count, judged)


def _place(one: Located) -> tuple[Named | None, str, FieldPath]:
    """By what a finding is known again while others are repaired: even the topology key may be."""
    return one.object, one.finding.rule, one.finding.path


@dataclass(frozen=True, slots=True)
class _Repair:
    """One repair: `edit`, of the object at `address`."""

    address: Address
    edit: Edit
    identity: str

    @property
    def path(self) -> FieldPath:
        """In the document."""
        return (*self.address.path, *self.edit.path)

    @property
    def known_by(self) -> tuple[str, FieldPath]:
        """Addresses move with every repair."""
        return self.identity, self.edit.path


def _one_per_object(found: Iterable[Located], refused: Set[tuple[str, FieldPath]]) -> Iterable[_Repair]:
    """Those in different objects do not bear on each other."""
    first: dict[Address, _Repair] = {}
    for one in found:
        if one.address is not None and one.finding.edit is not None:
            repair = _Repair(one.address, one.finding.edit, one.identity)
            if repair.known_by not in refused:
                first.setdefault(one.address, repair)
    return first.values()


def _rewritten(text: str, repairs: Sequence[_Repair]) -> tuple[str, Sequence[_Repair]]:
    """`text` with the repairs that there is a safe change for, and the others; with none, if it would say more."""
    documents, roots = read_documents(text), spans(text, [one.path[:-1] for one in repairs])
    whole, wanted = Text(text, _is_json(text)), list(documents)
    changes, left = list[Change](), list[_Repair]()
    for one in repairs:
        number = one.address.document
        change = whole.change(roots[number], one.path, value_at(documents[number], one.path), one.edit.value)
        if change is None:
            left.append(one)
        else:
            changes.append(change)
            wanted[number] = with_value(wanted[number], one.path, one.edit.value)
    changed = with_changes(text, changes)
    return (changed, left) if _says(changed, wanted) else (text, repairs)


def _says(text: str, documents: Sequence[object]) -> bool:
    try:
        return list(read_documents(text)) == list(documents)
    except (DocumentError, RecursionError):
        return False


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
