"""
Print a script that completes commands, options, their values and files in your shell.

Print it again after an update of evenkeel: the script has the words of this version.
Exit code 0: printed, 2: there is no such shell.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import shtab

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    args.top.prog = "evenkeel"  # also for kubectl's plugin
    for action in _actions(args.top):
        if re.search("FILE|PATH", str(action.metavar)):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    print(shtab.complete(args.top, args.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser, and of the commands below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
