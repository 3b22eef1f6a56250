"""Commands of evenkeel, run here or as a shell would run them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from webhook.cli.main import COMMANDS, parser

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


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser of each command, and of each action of a command."""
    for command in COMMANDS:
        (top,) = _choices(parser([command]))
        yield command, top[command]
        for actions in _choices(top[command]):
            yield from ((f"{command} {action}", one) for action, one in actions.items())


def _choices(found):
    return [one.choices for one in found._actions if isinstance(one, argparse._SubParsersAction)]
