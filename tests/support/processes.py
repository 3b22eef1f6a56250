"""The processes of this machine, by /proc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path


def with_descendants(pid: int) -> Iterator[int]:
    """Yield a process, and all that it and its children have started and that still run."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split():
        yield from with_descendants(int(child))


def pss_megabytes(pid: int) -> float:
    """Return the memory of a process and its descendants; what several of them share is counted once."""
    rolled = (Path(f"/proc/{each}/smaps_rollup").read_text("utf-8") for each in with_descendants(pid))
    return sum(int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) for text in rolled) / 1024
