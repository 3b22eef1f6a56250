"""Whether a word is probably a typo of another one, such as a well-known topology key."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from webhook.kubernetes.names import ARCH, BETA_REGION, BETA_ZONE, HOSTNAME, INSTANCE_TYPE, OS, REGION, ZONE

MEANT = "; did you mean "
LONGEST_COMPARED = 100  # characters; a longer text is like no word
WELL_KNOWN = (HOSTNAME, ZONE, REGION, INSTANCE_TYPE, ARCH, OS)
# Deprecated labels of nodes, and what has replaced each (pkg/api/node/util.go:deprecatedNodeLabels).
REPLACED = {
    BETA_ZONE: ZONE,
    BETA_REGION: REGION,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
}
MISTAKES = {  # what people write for well-known keys, too different from them to be a typo
    "hostname": HOSTNAME,
    "topology.kubernetes.io/hostname": HOSTNAME,
    "topology.kubernetes.io/node": HOSTNAME,
    "failure-domain.beta.kubernetes.io/hostname": HOSTNAME,
    "beta.kubernetes.io/hostname": HOSTNAME,
    "node.kubernetes.io/hostname": HOSTNAME,
    "kubernetes.io/host": HOSTNAME,
    "kubernetes.io/zone": ZONE,
    "failure-domain.kubernetes.io/zone": ZONE,
    "node.kubernetes.io/zone": ZONE,
    "kubernetes.io/region": REGION,
    "failure-domain.kubernetes.io/region": REGION,
    "node.kubernetes.io/region": REGION,
}


def nearest(text: str, known: Iterable[str]) -> str | None:
    """
    Return the known word that is at most two edits away from `text`, or None; letter case does not matter.

    There may be one edit for every three letters of the word.  The word with the fewest edits is taken.
    """
    if len(text) > LONGEST_COMPARED:
        return None
    text, words = text.strip().lower(), sorted(known)
    tries = ((word, edits) for edits in range(3) for word in words if edits <= len(word) // 3)
    return next((word for word, edits in tries if within(edits, text, word.lower())), None)


def most_like(text: str, known: Iterable[str]) -> str:
    """
    Return the known word that a person may have meant, or "".  It is a hint: more may differ than in `nearest`.

    Neither letter case nor the hyphens before an option matter.
    """
    from difflib import get_close_matches  # Only an error needs it.

    by_comparable = {_comparable(word): word for word in known}
    return next((by_comparable[word] for word in get_close_matches(_comparable(text), by_comparable, 1)), "")


def _comparable(word: str) -> str:
    return word[:LONGEST_COMPARED].lower().lstrip("-")


def meant(text: str, known: Iterable[str]) -> str:
    """Return the end of an error about a text that is none of the known words; "" if it is like none of them."""
    word = most_like(text, known)
    return f"{MEANT}{word}?" if word else ""


def within(edits: int, text: str, other: str) -> bool:
    """Return whether the Levenshtein distance of two texts is at most `edits`, which must be small."""
    if edits == 0 or text == other:
        return text == other
    if abs(len(text) - len(other)) > edits:
        return False
    common = 0  # the length of the beginning that both share
    for char, other_char in zip(text, other, strict=False):
        if char != other_char:
            break
        common += 1
    text, other, edits = text[common:], other[common:], edits - 1
    replaced, dropped, added = (text[1:], other[1:]), (text[1:], other), (text, other[1:])
    return within(edits, *replaced) or within(edits, *dropped) or within(edits, *added)


def likely_meant(key: str) -> str | None:
    """Return the well-known key that `key` was probably meant to be; None if nodes may carry it as it is written."""
    if key in WELL_KNOWN or key in REPLACED or len(key) > 60:
        return None
    lowered = key.lower().strip()
    return MISTAKES.get(lowered) or REPLACED.get(lowered) or (_near(key) if "/" in key else None)


@lru_cache(maxsize=1024)
def _near(key: str) -> str | None:
    return next((word for word in WELL_KNOWN if within(2 if len(word) > 16 else 1, key.lower(), word)), None)
