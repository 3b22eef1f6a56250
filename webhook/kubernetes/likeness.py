"""Whether a word is nearly another one, such as a well-known topology key: a typo is told from a word of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from webhook.kubernetes.names import BETA_REGION, BETA_ZONE, HOSTNAME, REGION, ZONE

LONGEST_COMPARED = 100  # What is longer is like no word.
WELL_KNOWN = (HOSTNAME, ZONE, REGION, "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os")
MISTAKES = {
    "hostname": HOSTNAME,
    "topology.kubernetes.io/hostname": HOSTNAME,
    "topology.kubernetes.io/node": HOSTNAME,
    "failure-domain.beta.kubernetes.io/hostname": HOSTNAME,
    "beta.kubernetes.io/hostname": HOSTNAME,
    "node.kubernetes.io/hostname": HOSTNAME,
    "kubernetes.io/host": HOSTNAME,
    "kubernetes.io/zone": ZONE,
    BETA_ZONE: ZONE,
    "failure-domain.kubernetes.io/zone": ZONE,
    "node.kubernetes.io/zone": ZONE,
    "kubernetes.io/region": REGION,
    BETA_REGION: REGION,
    "failure-domain.kubernetes.io/region": REGION,
    "node.kubernetes.io/region": REGION,
}


def nearest(text: str, known: Iterable[str]) -> str | None:
    """Return the known word that at most two edits, fewer if it is short, and another case make of `text`, or None."""
    if len(text) > LONGEST_COMPARED:
        return None
    text, words = text.strip().lower(), sorted(known)
    near = ((word, edits) for edits in range(3) for word in words if edits <= len(word) // 3)
    return next((word for word, edits in near if within(edits, text, word.lower())), None)


def most_like(text: str, known: Iterable[str]) -> str:
    """Return the known word that a person may have meant, for a hint: more may differ than in `nearest`; else ""."""
    from difflib import get_close_matches  # which only an error needs

    return next(iter(get_close_matches(text[:LONGEST_COMPARED], list(known), 1)), "")


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


def likely_meant(key: str) -> str | None:
    """Return the well-known key that `key` was probably meant to be; None if it is one itself, or a key of its own."""
    if key in WELL_KNOWN or len(key) > 60:
        return None
    return MISTAKES.get(key.lower().strip()) or (_near(key) if "/" in key else None)


@lru_cache(maxsize=1024)
def _near(key: str) -> str | None:
    return next((known for known in WELL_KNOWN if within(2 if len(known) > 16 else 1, key.lower(), known)), None)
