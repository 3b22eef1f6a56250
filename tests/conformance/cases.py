"""
A file of recorded cases: one JSON object a line, gzipped or not; `expected` holds what Kubernetes decided.

Of a case that is as in the file of another minor version, only its id and that version stand there: {"id", "as"}.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import eq
from pathlib import Path

from webhook.kubernetes.fields import as_mapping

CONSTRAINTS = ("spec", "topologySpreadConstraints")


class IllFormed(ValueError):
    """What keeps a file, or a case in it, from being compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What of a case differs; `recorded` is None where nothing was."""

    what: str
    ours: object
    recorded: object

    def __str__(self) -> str:
        recorded = "nothing" if self.recorded is None else json.dumps(self.recorded)
        return f"{self.what}: ours {json.dumps(self.ours)}, recorded {recorded}"


def read(path: Path) -> Iterator[dict[str, object]]:
    """Each case, which has an `id`, a `pod` and what is `expected`."""
    lines = [(number, line) for number, line in enumerate(_content(path).splitlines(), 1) if line.strip()]
    if not lines:
        raise IllFormed("holds no case")
    others: dict[str, dict[object, dict[str, object]]] = {}  # by version and id
    for number, line in lines:
        case = _object(line, number)
        version = case.get("as")
        if isinstance(version, str):
            if version not in others:
                file = path.parent.parent / version / path.name
                others[version] = {other["id"]: other for other in read(file)}
            case = others[version].get(case.get("id"), {})
        if not all(isinstance(case.get(name), dict) for name in ("pod", "expected")):
            raise IllFormed(f"line {number}: must be an object that holds the objects pod and expected")
        yield {"id": f"line {number}", **case}


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise IllFormed(getattr(error, "strerror", None) or str(error)) from error


def _object(line: bytes, number: int) -> Mapping[str, object]:
    try:
        return as_mapping(json.loads(line))
    except (ValueError, RecursionError) as error:
        raise IllFormed(f"line {number}: not JSON: {error}") from error


def objects(value: object, what: str) -> list[Mapping[str, object]]:
    """An array of objects; null is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise IllFormed(f"{what}: must be an array of objects")
    return value


def compared(
    case: Mapping[str, object],
    what: str,
    ours: object,
    decoded: Callable[[object, str], object] = lambda recorded, what: recorded,
    same: Callable[[object, object], bool] = eq,
) -> Iterator[Difference]:
    """The difference to what was recorded, if any: null is an empty list or object, absent agrees with nothing."""
    expected = as_mapping(case["expected"])
    if what not in expected:
        yield Difference(what, ours, None)
        return
    empty: object = {} if isinstance(ours, dict) else []
    recorded = decoded(empty if expected[what] is None else expected[what], what)
    if not same(ours, recorded):
        yield Difference(what, ours, recorded)
