"""Tests of a policy: the results as text with a diff, as JSON, as JUnit's XML; and a test as a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from textwrap import indent
from typing import NamedTuple
from xml.sax.saxutils import escape

from evenkeel.admit import text as render
from evenkeel.lint.junit import DECLARATION, attribute
from evenkeel.policy_test.form import COUNTED_AS, TEST_KIND, CaseResult
from evenkeel.terminal.diff import unified
from evenkeel.terminal.json_forms import dumped, fields, form
from webhook.findings.wording import number_of
from webhook.kubernetes.fields import as_list, as_mapping
from webhook.kubernetes.reader import printable

RESULT_MARKS = dict(zip(COUNTED_AS, ("ok", "FAIL", "error"), strict=True))
YAML_WIDTH = 1_000  # characters of a line of YAML: a warning is not broken


class FileResults(NamedTuple):
    """The results of one file."""

    file: str
    results: tuple[CaseResult, ...] = ()  # () if its cases cannot be read
    problems: tuple[str, ...] = ()  # all that is wrong with the file or its cases

    @property
    def failed(self) -> bool:
        return any(result.counted_as == "failed" for result in self.results)

    @property
    def unread(self) -> tuple[str, ...]:
        """Why not even its cases can be read."""
        return () if self.results else self.problems


def text(tested: Sequence[FileResults]) -> str:
    """Render results for a person: each case, and of one that failed what differs, and the answer."""
    return "\n".join(printable(line) for line in _lines(tested))


def _lines(tested: Sequence[FileResults]) -> Iterator[str]:
    read = [file for file in tested if file.results]
    for file in read:
        yield file.file
        for result in file.results:
            yield f"  {RESULT_MARKS[result.counted_as]:<5} {result.name}"
            if result.counted_as == "failed":
                yield from _failure(result, file)
    cases = sum(len(file.results) for file in read)
    yield f"{number_of(cases, 'case')} in {number_of(len(read), 'file')}, {_summary(_totals(read), cases)}"


def _totals(tested: Sequence[FileResults]) -> dict[str, int]:
    """Return how many cases there are of each of COUNTED_AS."""
    times = Counter(result.counted_as for file in tested for result in file.results)
    return {what: times[what] for what in COUNTED_AS}


def _summary(totals: Mapping[str, int], cases: int) -> str:
    if totals["passed"] == cases:
        return "all passed"
    first = "failed" if totals["failed"] else "passed"
    words_of = {first: first, "unusable": "could not be judged"}
    return ", ".join(f"{totals[kind]} {words}" for kind, words in words_of.items() if totals[kind])


def _failure(result: CaseResult, file: FileResults) -> Iterator[str]:
    yield from indent(diff(result), 6 * " ").splitlines()
    yield "      the answer:"
    if result.applied is None:
        return
    yield from indent(render.text(result.applied, file.file), 8 * " ").splitlines()
    expected = {*as_list(result.expected.get("rules")), *as_list(result.expected.get("exactly"))}
    for rule, reason in result.applied.validate.skipped:
        if rule in expected:
            yield f"          {rule} did not run: {reason}"


def diff(result: CaseResult) -> str:
    """Return what differs between what was expected and what was found."""
    return unified(_yaml(result.expected), _yaml(result.found), "expected", "found")


def _yaml(value: Mapping[str, object]) -> str:
    """Return YAML in which equal objects are written alike, whatever the order of their fields."""
    return render.dump(json.loads(json.dumps(value, sort_keys=True)), YAML_WIDTH) if value else ""


def as_json(tested: Sequence[FileResults]) -> str:
    """Render all results as one JSON document."""
    members = {
        "summary": {
            "files": len(tested),
            "cases": sum(len(file.results) for file in tested),
            **_totals(tested),
            "problems": sum(len(file.problems) for file in tested),
        },
        "files": [
            {"file": file.file, "cases": [*map(_case, file.results)], "problems": file.problems} for file in tested
        ],
    }
    return dumped(form(f"{TEST_KIND}Results", members))


def _case(result: CaseResult) -> dict[str, object]:
    return {
        "name": result.name,
        "passed": result.counted_as == "passed",
        **fields(result, "expected", "found"),
        "diff": diff(result),
        "problem": result.problem or None,
    }


def as_xml(tested: Sequence[FileResults]) -> str:
    """Render JUnit's XML: each file is a suite, and each case a case; what could not be judged is an error."""
    counts = _xml_counts(tested)
    suites = (line for file in tested for line in _suite(file))
    return "\n".join((DECLARATION, f'<testsuites name="evenkeel policy test" {counts}>', *suites, "</testsuites>"))


def _xml_counts(tested: Sequence[FileResults]) -> str:
    totals, unread = _totals(tested), sum(len(file.unread) for file in tested)
    return (
        f'tests="{sum(totals.values()) + unread}" failures="{totals["failed"]}" errors="{totals["unusable"] + unread}"'
    )


def _suite(file: FileResults) -> Iterator[str]:
    yield f"  <testsuite name={attribute(file.file)} {_xml_counts([file])}>"
    for result in file.results:
        case = f"    <testcase name={attribute(result.name)} classname={attribute(file.file)}"
        if result.problem:
            yield f"{case}><error message={attribute(result.problem)}/></testcase>"
        else:
            yield f"{case}/>" if result.passed else f"{case}>{_xml_failure(result)}</testcase>"
    for problem in file.unread:
        error = f"<error message={attribute(problem)}/>"
        yield f'    <testcase name="problem" classname={attribute(file.file)}>{error}</testcase>'
    yield "  </testsuite>"


def _xml_failure(result: CaseResult) -> str:
    differ = ", ".join(key for key in {**result.expected, **result.found} if _differs(result, key))
    shown = "\n".join(map(printable, diff(result).splitlines()))
    return f"<failure message={attribute(f'not as expected: {differ}')}>{escape(shown)}</failure>"


def _differs(result: CaseResult, key: str) -> bool:
    alone = result._replace(expected={key: result.expected.get(key)}, found={key: result.found.get(key)})
    return not alone.passed


def as_file(comment: str, head: Mapping[str, object], cases: Iterable[Mapping[str, object]]) -> str:
    """Return a test as a person would write it: a comment, what holds for all cases, each case after an empty line."""
    dump = partial(render.dump, width=YAML_WIDTH)
    first = f"# {printable(comment)}\n{dump({'kind': TEST_KIND, **head})}cases:"
    return "\n\n".join((first, *(dump([_short(case)]).rstrip("\n") for case in cases))) + "\n"


def _short(case: Mapping[str, object]) -> Mapping[str, object]:
    """Return the case, with the ids of rules in one line."""
    expect = as_mapping(case["expect"])
    if "rules" not in expect:
        return case
    return {**case, "expect": {**expect, "rules": render.InLine(as_list(expect["rules"]))}}
