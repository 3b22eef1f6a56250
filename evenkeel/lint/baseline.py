"""
A baseline: a file of accepted findings and problems.  What is accepted stays so when lines move.

One finding a line, so that changes to the file can be reviewed:

    {"file": "web.yaml", "object": "Deployment shop/web", "rule": "empty-selector", "id": "3f0c…"}
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from evenkeel.lint.chunks import NumberedLines
from evenkeel.lint.results import PROBLEM, Located, Problem
from evenkeel.lint.yaml_positions import spans
from webhook.findings.finding import UNUSED_SUPPRESSION, Finding, Severity
from webhook.kubernetes.fields import as_list, as_mapping

VERSION = 1
LocatedOrProblem = TypeVar("LocatedOrProblem", Located, Problem)
_BASELINE_FIELDS = ("file", "object", "rule", "id")


class BaselineError(ValueError):
    """A baseline that cannot be read; the message is the reason."""


class Entry(NamedTuple):
    """A finding or problem that is accepted."""

    file: str  # relative to the folder of the baseline
    object: str  # "" for a problem
    rule: str
    id: str  # the fingerprint
    line: int  # in the baseline, from 1
    quoted: str  # the text of that line


@dataclass(frozen=True, slots=True)
class Accepted:
    """What is new in a file, and how much a baseline accepts of the rest."""

    new: list[Located]
    problems: list[Problem]  # new ones
    count: int  # findings and problems that the baseline accepts
    unused: list[Entry]
    before: int = 0  # findings and problems that were there before the change

    def since(self, before: Accepted) -> Accepted:
        """Return what the same file did not have before the change; each result from `before` accepts one."""
        unmatched = Counter(map(fingerprint, acceptable(before.new, before.problems)))
        new, problems = list(_not_in(unmatched, self.new)), list(_not_in(unmatched, self.problems))
        unused = [entry for entry in self.unused if entry not in before.unused]
        accepted = len(self.new) + len(self.problems) - len(new) - len(problems)
        return Accepted(new, problems, self.count, unused, accepted)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries by file, relative to the folder of the baseline."""

    entries: Mapping[str, Sequence[Entry]] = field(default_factory=dict)

    def accept(self, file: str, located: Iterable[Located], problems: Iterable[Problem] = ()) -> Accepted:
        """Match the findings and problems in `file` with its entries.  Each entry accepts one."""
        entries = self.entries.get(file, ())
        unmatched, unused = Counter(entry.id for entry in entries), list[Entry]()
        new, new_problems = list(_not_in(unmatched, located)), list(_not_in(unmatched, problems))
        for entry in entries:
            if unmatched[entry.id] > 0:
                unmatched[entry.id] -= 1
                unused.append(entry)
        return Accepted(new, new_problems, len(entries) - len(unused), unused)


def _not_in(unmatched: Counter[str], new: Iterable[LocatedOrProblem]) -> Iterator[LocatedOrProblem]:
    """Yield the results that nothing `unmatched` accepts.  Each of the others uses up one fingerprint of it."""
    for result in new:
        if unmatched and unmatched[key := fingerprint(result)] > 0:
            unmatched[key] -= 1
        else:
            yield result


def acceptable(located: Iterable[Located], problems: Iterable[Problem]) -> list[Located | Problem]:
    """Return what a baseline may accept: all findings, and the problems that last."""
    return [*located, *(problem for problem in problems if problem.lasting)]


def fingerprint(result: Located | Problem) -> str:
    """Return 24 hexadecimal digits for the object, the rule and the field, whatever the file and the line."""
    import hashlib  # It loads OpenSSL, and without a baseline nothing is hashed.

    return hashlib.sha256(result.identity.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def unused_entry(entry: Entry, name: str, severity: Severity) -> Located:
    """Return the finding for an entry of the baseline `name` that accepts nothing."""
    accepted = "a problem" if entry.rule == PROBLEM else entry.rule
    subject = f"{accepted} on {entry.object}" if entry.object else accepted
    message = f"this entry accepts nothing: {entry.file} no longer has {subject}"
    fix = "delete this entry, or write the baseline again with --write-baseline, which accepts all that it finds then"
    finding = Finding(UNUSED_SUPPRESSION, severity, (), message, entry.rule, "a finding to accept", fix)
    column = len(entry.quoted) - len(entry.quoted.lstrip()) + 1
    end_column = len(entry.quoted.rstrip(",")) + 1
    return Located(name, entry.line, column, end_column, entry.quoted, finding, object=None, identity=entry.id)


def baseline_text(results: Iterable[tuple[str, Located | Problem]]) -> str:
    """Return a baseline that accepts `results`, each with its file as the baseline names it."""
    entries = sorted((file, *_named(result), fingerprint(result)) for file, result in results)
    lines = (json.dumps(dict(zip(_BASELINE_FIELDS, entry, strict=True)), ensure_ascii=False) for entry in entries)
    return "\n".join((f'{{"version": {VERSION}, "findings": [', ",\n".join(f"  {line}" for line in lines), "]}", ""))


def _named(result: Located | Problem) -> tuple[str, str]:
    """Return the object and the rule, as an entry has them."""
    return ("", PROBLEM) if isinstance(result, Problem) else (str(result.object or ""), result.finding.rule)


def read_baseline(text: str) -> Baseline:
    """BaselineError if the text is not a baseline."""
    try:
        document = as_mapping(json.loads(text))
        (root,) = spans(text, [("findings",)])
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"is not JSON: {error}") from error
    if document.get("version") != VERSION:
        raise BaselineError(f"version: found {json.dumps(document.get('version'))}, wanted {VERSION}")
    entries: dict[str, list[Entry]] = defaultdict(list)
    lines = NumberedLines(text)
    for number, raw in enumerate(map(as_mapping, as_list(document.get("findings")))):
        texts = [raw.get(name) for name in _BASELINE_FIELDS]
        if not all(isinstance(text, str) for text in texts):
            raise BaselineError(f"findings[{number}]: must have {', '.join(_BASELINE_FIELDS)}, each of them a string")
        line, _ = lines.position(root.spans_to(("findings", number))[-1].start)
        file, obj, rule, identity = map(str, texts)
        entry = Entry(file, obj, rule, identity, line, lines.line(line))
        entries[entry.file].append(entry)
    return Baseline(dict(entries))
