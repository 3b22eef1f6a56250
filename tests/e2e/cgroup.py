"""A cgroup with a memory limit, as a container's: what runs in it and takes more is killed."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

NUMBERS = count(1)
JOIN = """
import os
from pathlib import Path
Path(os.environ["CGROUP"], "cgroup.procs").write_text("0")
"""


class Cgroup:
    """A child of this process's own cgroup, of version 1 or 2; removed on exit, when what ran in it has ended."""

    def __init__(self, limit: int) -> None:
        """`limit` in bytes. OSError if there is no memory controller here, or none that may be used."""
        own = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
        name, root = f"evenkeel-{os.getpid()}-{next(NUMBERS)}", Path("/sys/fs/cgroup")
        self.old = "memory" in own
        self.path = (root / "memory" if self.old else root) / own["memory" if self.old else ""].strip("/") / name
        self.path.mkdir()
        try:
            self._write("memory.limit_in_bytes" if self.old else "memory.max", limit)
            with suppress(OSError):  # Where swap is not accounted for.
                self._write("memory.memsw.limit_in_bytes" if self.old else "memory.swap.max", limit if self.old else 0)
        except OSError:
            self.path.rmdir()
            raise

    def __enter__(self) -> Cgroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.path.rmdir()

    def _write(self, file: str, value: int) -> None:
        (self.path / file).write_text(str(value))

    def kills(self) -> int:
        """How many processes were killed for the memory that they took."""
        text = (self.path / ("memory.oom_control" if self.old else "memory.events")).read_text()
        return int(dict(line.split() for line in text.splitlines())["oom_kill"])

    def peak(self) -> int:
        """The most bytes that were in use since `forget`, without the pages of files that could be given back."""
        return int((self.path / ("memory.max_usage_in_bytes" if self.old else "memory.peak")).read_text())

    def forget(self) -> None:
        """Let `peak` begin anew, where the kernel can."""
        with suppress(OSError):
            self._write("memory.max_usage_in_bytes" if self.old else "memory.peak", 0)


def limited(limit: int) -> Cgroup:
    """The cgroup; the test is skipped where none can be made."""
    try:
        return Cgroup(limit)
    except (OSError, KeyError) as error:
        pytest.skip(f"no cgroup with a memory limit can be made here: {error!r}")
