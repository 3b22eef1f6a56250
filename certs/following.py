"""Follows content that others write, such as a mounted file, but never uses half-written content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Loaded = TypeVar("Loaded")


class Followed(Generic[Loaded]):
    """Content that is polled. A change is returned once two readings in a row are equal."""

    def __init__(self, content: Loaded, read: Callable[[], Loaded]) -> None:
        """`content` is what there is now; `read` reads it again, or raises an error."""
        self._read = read
        self._seen: Loaded | None = content  # The last reading; None if it failed.
        self._returned: Loaded | None = content  # What the caller has already; None to return the next content anyhow.

    def changed(self) -> Loaded | None:
        """
        Return new content, once; None if it is unchanged, or differs from the last reading.

        Content that differs from the last reading may be half-written, and half of it may look complete. Errors of
        `read` are raised; the next content that can be read counts as new.
        """
        before, self._seen = self._seen, None
        try:
            self._seen = self._read()
        except Exception:
            self._returned = None
            raise
        if self._seen == self._returned or self._seen != before:
            return None
        self._returned = self._seen
        return self._seen

    def again(self) -> None:
        """Return the same content once more: it could not be used for a reason outside of it."""
        self._returned = None
