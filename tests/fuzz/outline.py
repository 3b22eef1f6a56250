"""What is said, without what is particular to an input: two that are answered alike are of one kind."""

from __future__ import annotations

import re

_PARTICULAR = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|\b[0-9a-f]{4,}\b|-?\d+|\[.*?\]|found .*?(?=, wanted|;|$)')


def outlined(text: str) -> str:
    """The first lines of a message without quoted values, numbers and what was found."""
    return _PARTICULAR.sub("…", text[:400])[:120]
