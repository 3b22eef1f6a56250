"""
How much of the lines and branches the tests run: what `make test-all` prints, and the floors below which it fails.

The files below the total are named; `.venv/bin/coverage html` shows in build/coverage which lines they are.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any, NamedTuple

import coverage


class Share(NamedTuple):
    """In percent, rounded down to one decimal: no run passes by rounding."""

    lines: float
    branches: float

    def __str__(self) -> str:
        return f"{self.lines:5.1f} % of lines, {self.branches:5.1f} % of branches"


# Raised when more is covered, never lowered.  What runs only where a signal or a client happens to come first, three
# lines and four branches of webhook/server/transport, is not counted on.
FLOORS = Share(lines=98.6, branches=96.6)


def share(summary: Mapping[str, int]) -> Share:
    """What coverage.py's JSON calls a summary."""
    return Share(
        percent(summary["covered_lines"], summary["num_statements"]),
        percent(summary["covered_branches"], summary["num_branches"]),
    )


def percent(covered: int, count: int) -> float:
    return 1000 * covered // count / 10 if count else 100.0


def below(found: Share, wanted: Share) -> list[str]:
    """Which of the two figures fall short."""
    return [name for name in Share._fields if getattr(found, name) < getattr(wanted, name)]


def measured() -> dict[str, Any]:
    """What coverage.py tells of the last run."""
    printed, data = io.StringIO(), coverage.Coverage()
    data.load()
    with redirect_stdout(printed):
        data.json_report(outfile="-")
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def main(found: Mapping[str, Any], floors: Share) -> int:
    """Print the total, the files below it, and the floors it is below; exit code 1 then."""
    total = share(found["totals"])
    files = {name: share(file["summary"]) for name, file in found["files"].items()}
    for name, one in sorted(files.items()):
        if below(one, total):
            print(f"{one}: {name}")
    print(f"{total}: total of {len(files)} files, those above it not listed")
    for name in below(total, floors):
        print(f"coverage of {name}: found {getattr(total, name)} %, wanted at least {getattr(floors, name)} %")
    return 1 if below(total, floors) else 0


if __name__ == "__main__":
    sys.exit(main(measured(), FLOORS))
