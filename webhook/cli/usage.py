"""Input that a command cannot use, and notes on a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable

LONGEST_LINE = 10_000  # characters of an error


class UsageError(Exception):
    """Input that cannot be used; each line of the message names the input and the reason.  Exit code 2."""


def not_among(value: str, choices: Iterable[str]) -> str:
    """Say what is wrong with a value that is none of the choices."""
    from webhook.kubernetes.likeness import meant  # which only an error needs

    return f'found "{value}", wanted {", ".join(map(str, choices))}{meant(value, map(str, choices))}'


TOO_DEEP = UsageError("the input is nested too deep")


def print_error(error: UsageError, by: str = "evenkeel") -> None:
    """Print each line of the message to stderr; names in it come from files, and must not control the terminal."""
    from webhook.findings.wording import one_line  # which a server that starts does not need

    if sys.stderr is None:
        return
    for line in str(error).split("\n"):
        print(f"{by}: {one_line(line, LONGEST_LINE)}", file=sys.stderr, flush=True)


def print_notes(notes: Iterable[str], quiet: bool = False) -> None:
    """Print notes to stderr, as errors are printed; none if `quiet`."""
    from webhook.findings.wording import one_line

    if quiet or sys.stderr is None:
        return
    for note in notes:
        print(f"note: {one_line(note, LONGEST_LINE)}", file=sys.stderr, flush=True)
