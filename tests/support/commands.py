"""Commands of evenkeel, run here or as a shell would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

SCRIPTS = Path(sys.executable).parent
POLICY = {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}


class Run(NamedTuple):
    code: int
    out: str
    err: str


@contextmanager
def until_closed() -> Iterator[None]:
    """Print for as long as somebody reads: where `head` has closed standard output, the rest is not printed."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # It is flushed at exit.


@contextmanager
def nobody_reads() -> Iterator[BinaryIO]:
    """A pipe that its reader has closed."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        yield closed


def script(*args, name="evenkeel", **options):
    """Run the installed command, as a shell would."""
    command = [SCRIPTS / name, *args]
    return subprocess.run(command, capture_output="stdout" not in options, text=True, check=False, **options)
