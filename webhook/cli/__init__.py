"""The command line: `evenkeel`, and `kubectl evenkeel`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from webhook import __version__

COMMANDS = ("admit", "policy")


class UsageError(Exception):
    """Input that cannot be used; each line of the message says what, where and why.  Exit code 2."""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; a command is a module here with `add_arguments` and `run`."""
    name = "kubectl evenkeel" if os.path.basename(sys.argv[0]).startswith("kubectl") else "evenkeel"
    top = argparse.ArgumentParser(
        prog=name, description="Pods that spread across zones and nodes as their owners meant."
    )
    top.add_argument("--version", action="version", version=f"evenkeel {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        module = import_module(f"webhook.cli.{command}")
        summary = str(module.__doc__).splitlines()[0]
        one = commands.add_parser(command, help=summary, description=module.__doc__)
        module.add_arguments(one)
        one.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    args = parser().parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except UsageError as error:
        for line in str(error).splitlines():
            print(f"evenkeel: {line}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the output has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except KeyboardInterrupt:
        return 130
