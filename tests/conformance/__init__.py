"""
Recorded decisions of Kubernetes, compared with ours: python -m tests.conformance validation|defaults [FILE]

    FILE, a case a line --> ours, recorded --> the first differences, and N agree, M differ

A mode is a module beside this one: RECORDED, its file in tests/data/, and differences(case).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from tests.conformance import defaults, validation
from tests.conformance.cases import Difference, IllFormed, read
from tests.support import DATA

MODES = {"validation": validation, "defaults": defaults}
SHOWN = 5


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0 if all cases agree, 1 if any differ, 2 if there is nothing to compare."""
    match arguments:
        case [mode] if mode in MODES:
            return _run(MODES[mode], DATA / MODES[mode].RECORDED)
        case [mode, file] if mode in MODES:
            return _run(MODES[mode], Path(file))
    return _fail(f"usage: python -m tests.conformance {'|'.join(MODES)} [FILE]")


def _run(mode: ModuleType, path: Path) -> int:
    try:
        found = [(case["id"], _differences(mode, case)) for case in read(path)]
    except IllFormed as error:
        return _fail(f"{path}: {error}")
    lines = [f"{name}: {difference}" for name, differences in found for difference in differences]
    differ = sum(bool(differences) for _, differences in found)
    print(*lines[:SHOWN], f"{len(found) - differ} agree, {differ} differ", sep="\n")
    return 1 if differ else 0


def _differences(mode: ModuleType, case: Mapping[str, object]) -> list[Difference]:
    try:
        return list(mode.differences(case))
    except IllFormed as error:
        raise IllFormed(f"{case['id']}: {error}") from error


def _fail(message: str) -> int:
    # Whatever the message quotes from the file, it stays one line that any terminal can show.
    print(message.encode("unicode_escape").decode(), file=sys.stderr)
    return 2
