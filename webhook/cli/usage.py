"""Input that a command cannot use."""

from __future__ import annotations


class UsageError(Exception):
    """Input that cannot be used; each line of the message says what, where and why.  Exit code 2."""
