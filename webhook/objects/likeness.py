"""Whether a word is nearly another one, so that a typo can be told from a word of one's own."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_COMPARED = 100  # What is longer is like no word.


def nearest(text: str, known: Iterable[str]) -> str | None:
    """Return the known word that at most two edits, fewer if it is short, and another case make of `text`, or None."""
    if len(text) > LONGEST_COMPARED:
        return None
    text, words = text.strip().lower(), sorted(known)
    near = ((word, edits) for edits in range(3) for word in words if edits <= len(word) // 3)
    return next((word for word, edits in near if within(edits, text, word.lower())), None)


def within(edits: int, text: str, other: str) -> bool:
    """Return whether so many edits turn one text into the other: their Levenshtein distance is not larger."""
    if edits == 0 or text == other:
        return text == other
    if abs(len(text) - len(other)) > edits:
        return False
    alike = 0
    for left, right in zip(text, other, strict=False):
        if left != right:
            break
        alike += 1
    text, other, left_over = text[alike:], other[alike:], edits - 1
    replaced, dropped, added = (text[1:], other[1:]), (text[1:], other), (text, other[1:])
    return within(left_over, *replaced) or within(left_over, *dropped) or within(left_over, *added)
