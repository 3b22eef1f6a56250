"""
Recorded decisions of Kubernetes, compared with ours.

    python -m tests.conformance MODE [FILE] [--kubernetes-version 1.X]

    FILE, a case a line --> ours, recorded --> the first differences, and N agree, M differ

Without FILE, all recordings in tests/data/ are compared, each by its version.  The version of a FILE is that of the
option, or the name of its folder, or else the newest.  A mode is a module beside this one: RECORDED, which matches the
names of its recordings, and differences(case, features).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from tests.conformance import configured, defaults, placement, preemption, profile, validation
from tests.conformance.cases import Difference, IllFormed, read
from tests.support import DATA
from webhook.kubernetes.features import LATEST, Features, parse_version

MODES = {
    "validation": validation,
    "defaults": defaults,
    "placement": placement,
    "profile": profile,
    "configured": configured,
    "preemption": preemption,
}
SHOWN = 5


class _Parser(argparse.ArgumentParser):
    """Fails in one line."""

    def error(self, message: str) -> NoReturn:
        raise IllFormed(f"{message}; {self.format_usage().strip()}")


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0 if all cases agree, 1 if any differ, 2 if there is nothing to compare."""
    parser = _Parser(prog="python -m tests.conformance", add_help=False)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
    parser.add_argument("--kubernetes-version", metavar="1.X")
    try:
        given = parser.parse_args(arguments)
        mode, version = MODES[given.mode], given.kubernetes_version
        if given.file is not None:
            return _compare(mode, given.file, _features(version or given.file.resolve().parent.name, version is None))
        found = recordings(mode)
        if version is not None:
            wanted = _features(version, False)
            found = {path: one for path, one in found.items() if one == wanted}
            if not found:
                raise IllFormed(f"--kubernetes-version: found no recording of {given.mode} for 1.{wanted.minor}")
        return max([_compare(mode, path, features, _label(path, mode)) for path, features in found.items()])
    except IllFormed as error:
        # Whatever the message quotes from the file, it stays one line that any terminal can show.
        print(str(error).encode("unicode_escape").decode(), file=sys.stderr)
        return 2


def recordings(mode: ModuleType) -> dict[Path, Features]:
    """The recordings of a mode, the oldest version first, each with the features of its version."""
    found = {path: parse_version(path.parent.name) for path in DATA.glob(f"1.*/{mode.RECORDED}")}
    return dict(sorted(found.items(), key=lambda one: (one[1].minor, one[0].name)))


def _label(path: Path, mode: ModuleType) -> str:
    """Name the version of a recording, and what it is of, if the mode has others of that version."""
    kind = path.name.partition(".")[0]
    return f"{path.parent.name} {kind}" if "*" in mode.RECORDED else path.parent.name


def _features(version: str, perhaps: bool) -> Features:
    """Those of a version; those of the newest if the text is only `perhaps` one, and is none."""
    try:
        return parse_version(version)
    except ValueError as error:
        if perhaps and not re.fullmatch(r"v?1\.\d+.*", version):
            return LATEST
        raise IllFormed(f"--kubernetes-version: {error}") from error


def _compare(mode: ModuleType, path: Path, features: Features, version: str = "") -> int:
    try:
        found = [(case["id"], _differences(mode, case, features)) for case in read(path)]
    except IllFormed as error:
        raise IllFormed(f"{path}: {error}") from error
    lines = [f"{name}: {difference}" for name, differences in found for difference in differences]
    differ = sum(bool(differences) for _, differences in found)
    label = f"{version}: " if version else ""
    print(*lines[:SHOWN], f"{label}{len(found) - differ} agree, {differ} differ", sep="\n")
    return 1 if differ else 0


def _differences(mode: ModuleType, case: Mapping[str, object], features: Features) -> list[Difference]:
    try:
        return list(mode.differences(case, features))
    except IllFormed as error:
        raise IllFormed(f"{case['id']}: {error}") from error
