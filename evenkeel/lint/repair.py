"""
Repairs findings that have exactly one fix, and leaves the rest of the text unchanged.

    Edit(path, value) ──spans──> Change ──read again──> the same objects, with that value at that path
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass

from evenkeel.lint.results import Address, JudgedFile, Located
from evenkeel.lint.rewriting import Replacement, Text, with_changes
from evenkeel.lint.yaml_positions import spans
from webhook.findings.finding import Edit
from webhook.kubernetes.documents import is_json, read_documents
from webhook.kubernetes.fields import FieldPath, value_at, with_value
from webhook.kubernetes.scalars import DocumentError

MOST_ROUNDS = 100  # more than the repairable findings of any object


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired text."""

    text: str
    cautions: list[str]  # of each repaired finding, "" if its repair has none
    left: JudgedFile  # with the findings that are left

    @property
    def count(self) -> int:
        """How many findings are repaired."""
        return len(self.cautions)


FileJudge = Callable[[str, str], JudgedFile]


def repair(file: str, text: str, judge: FileJudge, selected: Callable[[JudgedFile], Sequence[Located]]) -> Repaired:
    """
    Repair every finding that `selected` returns and that has a safe repair, also findings that a repair brings about.
    """
    cautions, refused, judged = list[str](), set[tuple[str, FieldPath]](), judge(file, text)
    for _ in range(MOST_ROUNDS):
        repairs = [*_one_per_object(selected(judged), refused)]
        if not repairs:
            break
        text, skipped = _with_repairs(text, repairs)
        refused |= {placed.key for placed in skipped}
        cautions += [placed.edit.caution for placed in repairs if placed not in skipped]
        judged = judge(file, text)
    return Repaired(text, cautions, judged)


def repair_once(judged: JudgedFile, text: str, selected: Sequence[Located]) -> Repaired:
    """Repair one finding of each object, as far as that is safe.  The caller builds and judges again."""
    repairs = [*_one_per_object(selected, frozenset())]
    text, skipped = _with_repairs(text, repairs)
    return Repaired(text, [placed.edit.caution for placed in repairs if placed not in skipped], judged)


@dataclass(frozen=True, slots=True)
class _PlacedRepair:
    """An edit of the object at an address."""

    address: Address
    edit: Edit
    identity: str

    @property
    def path(self) -> FieldPath:
        """The path of the edit in the document."""
        return (*self.address.path, *self.edit.path)

    @property
    def key(self) -> tuple[str, FieldPath]:
        """Identifies the repair; unlike an address, it does not change with other repairs."""
        return self.identity, self.edit.path


def _one_per_object(
    located_findings: Iterable[Located], refused: Set[tuple[str, FieldPath]]
) -> Iterable[_PlacedRepair]:
    """
    Yield a repair of each object that was not refused; repairs of different objects are independent.

    The one nearest to the root comes first: to rename a field may change what is wrong below it.
    """
    by_address: dict[Address, _PlacedRepair] = {}
    for located in located_findings:
        if located.address is not None and located.finding.edit is not None:
            repair = _PlacedRepair(located.address, located.finding.edit, located.identity)
            if repair.key in refused:
                continue
            before = by_address.setdefault(located.address, repair)
            if len(repair.path) < len(before.path):
                by_address[located.address] = repair
    return by_address.values()


def _with_repairs(text: str, repairs: Iterable[_PlacedRepair]) -> tuple[str, Sequence[_PlacedRepair]]:
    """Return the text with the repairs of its objects, and those that are left out."""
    by_chunk, skipped = defaultdict[tuple[int, int], list[_PlacedRepair]](list), list[_PlacedRepair]()
    for placed in repairs:
        by_chunk[placed.address.start, placed.address.end].append(placed)
    for (start, end), in_chunk in sorted(by_chunk.items(), reverse=True):  # from the end, so that offsets hold
        changed, skipped_in_chunk = _rewritten(text[start:end], in_chunk)
        skipped += skipped_in_chunk
        text = text[:start] + changed + text[end:]
    return text, skipped


def _rewritten(text: str, repairs: Sequence[_PlacedRepair]) -> tuple[str, Sequence[_PlacedRepair]]:
    """
    Return `text` with the repairs that can be written in place, and the repairs left out.

    If the new text does not parse to exactly the wanted values, return the old text, and leave out all repairs.
    """
    documents, roots = read_documents(text, []), spans(text, [repair.path[:-1] for repair in repairs])
    whole, wanted = Text(text, is_json(text)), list(documents)
    changes, skipped = list[Replacement](), list[_PlacedRepair]()
    for repair in repairs:
        number, path, value = repair.address.document, repair.path, repair.edit.value
        change = whole.change(roots[number], path, value_at(documents[number], path), value)
        if change is None:
            skipped.append(repair)
        else:
            changes.append(change)
            wanted[number] = with_value(wanted[number], path, value)
    changed = with_changes(text, changes)
    return (changed, skipped) if _reads_as(changed, wanted) else (text, repairs)


def _reads_as(text: str, documents: Sequence[object]) -> bool:
    try:
        return list(read_documents(text, [])) == list(documents)
    except (DocumentError, RecursionError):
        return False
