"""Input that a command cannot use."""

from __future__ import annotations


class UsageError(Exception):
    """Input that cannot be used; each line of the message names the input and the reason.  Exit code 2."""
