"""
Print a script that completes commands, options, rules and names of objects in your shell.

For names of objects, the script asks kubectl and waits at most a fifth of a second.
kubectl completes `kubectl evenkeel` by itself: it needs no script.
Exit code 0: printed, 2: there is no such shell.
"""

from __future__ import annotations

import argparse

from webhook.render.shells import SHELLS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    print(SHELLS[args.shell], end="")
    return 0
