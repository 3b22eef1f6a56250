"""Follows content that others write, such as a mounted file, without taking it half-written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Content = TypeVar("Content")


class Followed(Generic[Content]):
    """Content that is read again and again, and given out when it has changed and two readings in a row agree."""

    def __init__(self, content: Content, read: Callable[[], Content]) -> None:
        """`content` is in use already; `read` reads it as it is now, or raises an error."""
        self._read = read
        self._seen: Content | None = content
        self._given: Content | None = content

    def changed(self) -> Content | None:
        """
        New content, once; None where it is the same as before, or differs from the last reading.

        Content that differs from the last reading may still be being written, and half of it may look whole.
        What `read` raises is raised; content that can be read after that is new.
        """
        before, self._seen = self._seen, None
        try:
            self._seen = self._read()
        except Exception:
            self._given = None
            raise
        if self._seen == self._given or self._seen != before:
            return None
        self._given = self._seen
        return self._seen

    def again(self) -> None:
        """Return the same content once more: it could not be used for a reason outside of it."""
        self._given = None
