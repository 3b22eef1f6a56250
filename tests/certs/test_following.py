"""What is given out of content that others write: each whole version once."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from certs.following import Followed


class Case(NamedTuple):
    name: str
    read: str  # One reading per letter; "-" where there is none.
    given: str  # What each of them gives out, "." for nothing.


CASES = [
    Case("the content in use", "aaa", "..."),
    Case("new content, once two readings agree", "abbb", "..b."),
    Case("content that is still being written", "abcdd", "....d"),
    Case("content that changes back at once", "aba", "..."),
    Case("content that changes back", "abbaa", "..b.a"),
    Case("content that is gone and comes back", "a-aaa", "...a."),
    Case("other content after a gap", "a--bb", "....b"),
    Case("content that is half-written after a gap", "a-bcc", "....c"),
    Case("a gap between two readings that agree", "ab-bb", "....b"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_given_out(case):
    readings = iter(case.read)

    def read():
        if (content := next(readings)) == "-":
            raise OSError("gone")
        return content

    followed, given = Followed("a", read), ""
    for content in case.read:
        if content == "-":
            with pytest.raises(OSError, match="gone"):
                followed.changed()
            given += "."
        else:
            given += followed.changed() or "."

    assert case.given == given
