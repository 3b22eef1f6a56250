"""
A baseline: a file of accepted findings.  A finding stays accepted when lines move.

One finding a line, so that changes to the file can be reviewed:

    {"file": "web.yaml", "object": "Deployment shop/web", "rule": "empty-selector", "id": "3f0c…"}
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from webhook.documents.positions import spans
from webhook.findings.finding import Finding, Severity
from webhook.lint.chunks import Lines
from webhook.lint.results import UNUSED_SUPPRESSION, Located
from webhook.objects.fields import as_list, as_mapping

VERSION = 1
_FIELDS = ("file", "object", "rule", "id")


class BaselineError(ValueError):
    """A baseline that cannot be read; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted finding; `line` is its line in the baseline, from 1, and `quoted` the text of that line."""

    file: str
    object: str
    rule: str
    id: str
    line: int
    quoted: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The new findings in a file, the number of accepted ones, and the entries that accept nothing."""

    new: list[Located]
    count: int
    unused: list[Entry]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries by file, relative to the folder of the baseline."""

    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)

    def accept(self, file: str, found: Iterable[Located]) -> Accepted:
        """Match the findings in `file` with its entries.  Each entry accepts one finding."""
        entries = self.entries.get(file, ())
        left, new, count, unused = Counter(entry.id for entry in entries), list[Located](), 0, list[Entry]()
        for located in found:
            if left[key := fingerprint(located)] > 0:
                left[key] -= 1
                count += 1
            else:
                new.append(located)
        for entry in entries:
            if left[entry.id] > 0:
                left[entry.id] -= 1
                unused.append(entry)
        return Accepted(new, count, unused)


def fingerprint(located: Located) -> str:
    """24 hexadecimal digits that identify the object, the rule and the field, but neither the file nor the line."""
    return hashlib.sha256(located.identity.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def unused_entry(entry: Entry, name: str, severity: Severity) -> Located:
    """The finding for an entry of the baseline `name` that accepts nothing."""
    what = f"{entry.rule} on {entry.object}" if entry.object else entry.rule
    message = f"accepts nothing: {entry.file} no longer has {what}"
    fix = "rewrite the baseline with --write-baseline"
    finding = Finding(UNUSED_SUPPRESSION, severity, (), message, entry.rule, "a finding to accept", fix)
    column = len(entry.quoted) - len(entry.quoted.lstrip()) + 1
    return Located(name, entry.line, column, len(entry.quoted.rstrip(",")) + 1, entry.quoted, finding, None, entry.id)


def baseline_text(found: Iterable[tuple[str, Located]]) -> str:
    """The text of a baseline that accepts all of `found`: pairs of a file's name in the baseline and a finding."""
    entries = sorted(
        (file, str(located.object or ""), located.finding.rule, fingerprint(located)) for file, located in found
    )
    lines = (json.dumps(dict(zip(_FIELDS, entry, strict=True)), ensure_ascii=False) for entry in entries)
    return "\n".join((f'{{"version": {VERSION}, "findings": [', ",\n".join(f"  {line}" for line in lines), "]}", ""))


def read_baseline(text: str) -> Baseline:
    """The baseline in `text`.  BaselineError if it is not a baseline."""
    try:
        document = as_mapping(json.loads(text))
        (root,) = spans(text, [("findings",)])
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"is not JSON: {error}") from error
    if document.get("version") != VERSION:
        raise BaselineError(f"version: found {json.dumps(document.get('version'))}, wanted {VERSION}")
    entries: dict[str, list[Entry]] = defaultdict(list)
    lines = Lines(text)
    for number, raw in enumerate(map(as_mapping, as_list(document.get("findings")))):
        texts = [raw.get(name) for name in _FIELDS]
        if not all(isinstance(text, str) for text in texts):
            raise BaselineError(f"findings[{number}]: must have {', '.join(_FIELDS)}, each of them a string")
        line, _ = lines.position(root.spans_to(("findings", number))[-1].start)
        file, named, rule, identity = map(str, texts)
        entry = Entry(file, named, rule, identity, line, lines.line(line))
        entries[entry.file].append(entry)
    return Baseline(dict(entries))
