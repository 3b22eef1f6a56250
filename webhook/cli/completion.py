"""
Print a script by which a shell completes commands, options, rules, and what is in the cluster.

What is in the cluster is asked of kubectl, for a fifth of a second; kubectl completes `kubectl evenkeel` without it.
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
