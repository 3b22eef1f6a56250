"""The form of what a command prints, and the notes on it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from webhook.cli.usage import print_notes

TEXT, JSON, HTML = "text", "json", "html"


def add_output_argument(parser: argparse.ArgumentParser, *more: str) -> None:
    parser.add_argument(
        "-o",
        "--output",
        choices=(TEXT, JSON, *more),
        default=TEXT,
        help="the output format (default: %(default)s)",
    )


def noted(args: argparse.Namespace, notes: Iterable[str]) -> tuple[str, ...]:
    """Return the notes on a run that the form of the output holds; none of text, which has them on stderr."""
    if args.output != TEXT:
        return tuple(notes)
    print_notes(notes, args.quiet)
    return ()
