"""
Which recorded cases differ between two minor versions, and in what: `python -m tests.oracle.diff 1.33 1.37 [CASE]`.

    1.33 --> 1.37 profile: 753 of 1000 cases differ
    message: 186 cases, as in f3: "0/12 nodes are available: 1 …" --> "0/12 nodes are available: 3 …"
        f3 f14 f15 …

What differs at one place is one line, whatever the node: * stands for it.  With CASE, all that differs there is shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.cases import read
from tests.oracle.recording import KINDS, comparable, file_of
from tests.support import DATA


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of a decision that is another; null where there is none."""

    case: str
    path: tuple[str, ...]
    old: object
    new: object

    @property
    def place(self) -> str:
        """Its path, for any node: where a decision has an object, its names are those of nodes."""
        return ".".join("*" if depth == 1 else name for depth, name in enumerate(self.path))

    @property
    def values(self) -> str:
        return f"{json.dumps(self.old)} --> {json.dumps(self.new)}"


def main(arguments: Sequence[str], data: Path = DATA) -> int:
    """The exit status: 0 if there was anything to compare, whatever came of it; 2 if not, as for an unknown case."""
    if len(arguments) not in (2, 3):
        print("two minor versions must be given: make oracle-diff A=1.36 B=1.37", file=sys.stderr)
        return 2
    old, new, *only = arguments
    kinds = [kind for kind in KINDS if all(file_of(data, version, kind).exists() for version in (old, new))]
    if not kinds:
        there = ", ".join(sorted(path.name for path in data.glob("1.*")))
        print(f"{old} and {new} have no recordings of one kind: {data} has some of {there}", file=sys.stderr)
        return 2
    decisions = {kind: tuple(_decisions(data, version, kind) for version in (old, new)) for kind in kinds}
    if only and not any(only[0] in before and only[0] in after for before, after in decisions.values()):
        print(f"CASE {only[0]}: {old} and {new} have no such case; all that differ: without CASE", file=sys.stderr)
        return 2
    for kind, (before, after) in decisions.items():
        both = [name for name in after if name in before]
        found = [one for name in both for one in differences(name, before[name], after[name])]
        if only:
            lines = [f"{'.'.join(one.path)}: {one.values}" for one in found if one.case in only]
        else:
            differing = len({one.case for one in found})
            lines = [f"{old} --> {new} {kind}: {differing} of {len(both)} cases differ", *summed_up(found)]
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def differences(case: str, old: object, new: object, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Objects are gone into; of lists only what the other has not is shown."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            yield from differences(case, old.get(name), new.get(name), (*path, name))
    elif old != new:
        yield Difference(case, path, *_apart(old, new))


def summed_up(found: Iterable[Difference]) -> Iterator[str]:
    """Two lines a place, the commonest first: how many cases, with an example; and which."""
    places: dict[str, dict[str, Difference]] = {}
    for one in found:
        places.setdefault(one.place, {}).setdefault(one.case, one)
    for place, cases in sorted(places.items(), key=lambda item: -len(item[1])):
        example = next(iter(cases.values()))
        yield f"{place}: {len(cases)} case{'s'[: len(cases) > 1]}, as in {example.case}: {example.values}"
        yield f"    {' '.join(cases)}"


def _apart(old: object, new: object) -> tuple[object, object]:
    if isinstance(old, list) and isinstance(new, list):
        gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
        return (gone, come) if gone or come else (old, new)
    return old, new


def _decisions(data: Path, version: str, kind: str) -> dict[str, object]:
    return {str(case["id"]): comparable(case["expected"]) for case in read(file_of(data, version, kind))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
