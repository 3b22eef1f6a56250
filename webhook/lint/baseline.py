"""
A baseline: the findings that are accepted as they are today, known again when lines have moved.

One finding a line, so that a change to it can be read:

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
    """A baseline that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding that is accepted, and the line of the baseline that says so."""

    file: str
    object: str
    rule: str
    id: str
    line: int
    quoted: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a baseline makes of the findings in a file."""

    new: list[Located]
    count: int
    unused: list[Entry]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries, by the file that they are about."""

    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)

    def accept(self, file: str, found: Iterable[Located]) -> Accepted:
        """Of what was found in a file: what is new, how much is accepted, and which entries accept nothing."""
        entries = self.entries.get(file, ())
        left, new, count, unused = Counter(entry.id for entry in entries), list[Located](), 0, list[Entry]()
        for one in found:
            if left[key := fingerprint(one)] > 0:
                left[key] -= 1
                count += 1
            else:
                new.append(one)
        for entry in entries:
            if left[entry.id] > 0:
                left[entry.id] -= 1
                unused.append(entry)
        return Accepted(new, count, unused)


def fingerprint(one: Located) -> str:
    """Of the object, the rule and the field, and of nothing that moves; whoever keeps it adds the file."""
    return hashlib.sha256(one.identity.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def unused_entry(entry: Entry, name: str, severity: Severity) -> Located:
    """The finding on an entry of the baseline `name` that accepts nothing."""
    what = f"{entry.rule} on {entry.object}" if entry.object else entry.rule
    message = f"accepts nothing: {entry.file} has no {what} any more"
    fix = "write the baseline anew with --write-baseline"
    finding = Finding(UNUSED_SUPPRESSION, severity, (), message, entry.rule, "what silences a finding", fix)
    column = len(entry.quoted) - len(entry.quoted.lstrip()) + 1
    return Located(name, entry.line, column, len(entry.quoted.rstrip(",")) + 1, entry.quoted, finding, None, entry.id)


def baseline_text(found: Iterable[tuple[str, Located]]) -> str:
    """The text of a baseline that accepts all of `found`, each with its file as the baseline is to name it."""
    entries = sorted((file, str(one.object or ""), one.finding.rule, fingerprint(one)) for file, one in found)
    lines = (json.dumps(dict(zip(_FIELDS, entry, strict=True)), ensure_ascii=False) for entry in entries)
    return "\n".join((f'{{"version": {VERSION}, "findings": [', ",\n".join(f"  {line}" for line in lines), "]}", ""))


def read_baseline(text: str) -> Baseline:
    """The baseline in `text`; BaselineError says what is wrong with it."""
    try:
        document = as_mapping(json.loads(text))
        (root,) = spans(text, [("findings",)])
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"is no JSON: {error}") from error
    if document.get("version") != VERSION:
        raise BaselineError(f"version: found {json.dumps(document.get('version'))}, wanted {VERSION}")
    entries: dict[str, list[Entry]] = defaultdict(list)
    lines = Lines(text)
    for number, raw in enumerate(map(as_mapping, as_list(document.get("findings")))):
        texts = [raw.get(name) for name in _FIELDS]
        if not all(isinstance(one, str) for one in texts):
            raise BaselineError(f"findings[{number}]: must have {', '.join(_FIELDS)}, each of them a string")
        line, _ = lines.position(root.spans_to(("findings", number))[-1].start)
        file, named, rule, known_by = map(str, texts)
        entry = Entry(file, named, rule, known_by, line, lines.line(line))
        entries[entry.file].append(entry)
    return Baseline(dict(entries))
