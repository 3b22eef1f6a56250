"""Text quotes the line and points at the field; notes say what was not judged; nothing writes to the terminal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evenkeel.lint import text as lint_text
from evenkeel.lint.notes import UNREAD, UNRENDERED_TEMPLATE, Note
from evenkeel.lint.results import JudgedFile, JudgedPlaces, LintSummary, Located, Problem
from evenkeel.lint.text import notes, nothing_to_judge
from evenkeel.terminal.style import UNCOLOURED, Style
from tests.support.build import constraint, workload
from tests.support.lint import KEYS, WEB, judged, summary
from webhook.findings.finding import Severity, Skipped

COLOURED = Style(True)
WRONG = workload("StatefulSet", constraint(labelSelector={}))
TEXT = """\
error: spec.template.spec.topologySpreadConstraints[0].labelSelector: must select Pods: without labels to select, \
the constraint spreads nothing (empty-selector)
  --> a.yaml:27:7  StatefulSet shop/web
   |
27 |       "labelSelector": {}
   |       ^^^^^^^^^^^^^^^^^^^
   = write labelSelector: {matchLabels: {app: web}}
"""


def test_the_line_is_quoted_with_carets_under_the_field():
    assert TEXT == lint_text.file(judged(json.dumps(WRONG, indent=1)), UNCOLOURED)


def test_an_absent_field_is_named_and_the_carets_stand_under_what_lacks_it():
    text = f"{WEB}{KEYS.replace('        topologyKey: zone', '')}        labelSelector: {{matchLabels: {{app: web}}}}\n"
    (quoted, carets) = lint_text.file(judged(text), UNCOLOURED).splitlines()[3:5]

    assert ("12 |       - maxSkew: 1", "   |       ^^^^^^^^^^^^ found no topologyKey") == (
        quoted,
        carets,
    )


def test_colour_changes_nothing_else():
    found = judged(json.dumps(WRONG, indent=1))
    coloured = lint_text.file(found, COLOURED)

    assert "\x1b[1;31merror\x1b[0m: " in coloured
    for code in ("1;31", "1", "2", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert TEXT == coloured


def test_a_file_without_findings_has_no_text():
    assert "" == lint_text.file(JudgedFile("a.yaml"), UNCOLOURED)


def test_a_problem_stands_before_the_findings_and_standard_input_has_a_name():
    found = JudgedFile("-", problems=[Problem("-", 2, 1, "cannot be read: x")])

    assert "error: cannot be read: x\n  --> <stdin>:2:1\n" == lint_text.file(found, UNCOLOURED)


def test_a_long_line_is_cut_around_the_carets():
    found = judged(json.dumps(WRONG | {"status": {"x": "y" * 1000}, "spec": WRONG["spec"]}))
    lines = lint_text.file(found, UNCOLOURED).splitlines()
    start, end = lines[4].index("^"), lines[4].rindex("^") + 1

    assert len(lines[3]) <= lint_text.LONGEST_QUOTED + 5
    assert '"labelSelector": {}' == lines[3][start:end]


def test_wide_characters_take_two_columns():
    finding = judged(json.dumps(WRONG)).found[0].finding
    located = Located("a", 1, 3, 5, "長長x y", finding, None, "")
    quoted, carets = lint_text.file(JudgedFile("a", found=[located]), UNCOLOURED).splitlines()[3:5]

    assert quoted.endswith("長長x y")
    assert " 1 |     ^^ found" in carets.replace("   |", " 1 |", 1)


def test_the_source_and_the_help_of_the_policy_are_shown():
    (found,) = judged(json.dumps(WRONG, indent=1)).found
    told = found._replace(source="templates/web.yaml", finding=found.finding._replace(help="ask us"))
    lines = lint_text.file(JudgedFile("a.yaml", found=[told]), UNCOLOURED).splitlines()

    assert "  --> a.yaml:27:7  StatefulSet shop/web  from templates/web.yaml" == lines[1]
    assert ["   = write labelSelector: {matchLabels: {app: web}}", "   = ask us"] == lines[-2:]


def test_a_long_line_with_the_field_at_its_beginning_is_quoted_from_there():
    (found, *_) = judged(json.dumps(WRONG)).found
    located = Located("a", 1, 3, 5, f"a bc{'d' * lint_text.LONGEST_QUOTED}", found.finding, None, "")
    quoted, carets = lint_text.file(JudgedFile("a", found=[located]), UNCOLOURED).splitlines()[3:5]

    assert (" 1 | a bcd", "   |   ^^ ") == (quoted[:10], carets[:10])


def test_whatever_is_in_a_manifest_text_stays_printable(everything):
    result = JudgedFile(
        "\x1b[31m", found=everything.found, problems=[*everything.problems, Problem("\x1b", 1, 1, "\x1b")]
    )
    text = "\n".join((*lint_text.summary(everything, UNCOLOURED, 0), lint_text.file(result, UNCOLOURED)))

    assert all(line.isprintable() for line in text.split("\n"))


def test_an_unreadable_line_is_quoted():
    found = judged("apiVersion: v1\nkind: Pod\nmetadata: {name: 'x}\n")

    assert """\
error: cannot be read: found unexpected end of stream while scanning a quoted scalar
  --> a.yaml:3:18
   |
 3 | metadata: {name: 'x}
   |                  ^
""" == lint_text.file(found, UNCOLOURED)


@pytest.mark.parametrize(
    ("line", "value", "shown"),
    [
        ("topologyKey: zone", '"app=web"', True),
        ("topologyKey: zone", '"zone"', False),
        ("maxSkew: 1", "labels to select", False),  # is in the message
        ("labelSelector: {matchLabels: {app: web}}", '"app=web"', False),
        ('"labelSelector": {"matchLabels": {"app": "web"}}', '"app=web"', False),
        ("labelSelector:", "null", True),
        ("replicas: 9", "room for 3 replicas", True),
        ("labelSelector: ", '"app=web"', True),
    ],
)
def test_a_value_is_told_beside_the_carets_unless_it_can_be_seen(line, value, shown):
    (found, *_) = judged(json.dumps(WRONG)).found
    located = Located("a", 1, 1, len(line) + 1, line, found.finding._replace(found=value), None, "")

    assert shown == (f"^ found {value}" in lint_text.file(JudgedFile("a", found=[located]), UNCOLOURED))


def test_the_counts():
    def counts(repairable, **fields):
        return next(lint_text.summary(LintSummary(files=2, objects=3, **fields), UNCOLOURED, repairable))

    problem = Problem("a.yaml", 1, 1, "x")
    (error,) = judged(json.dumps(WRONG)).found
    warning, info = (
        error._replace(finding=error.finding._replace(severity=severity))
        for severity in (Severity.WARNING, Severity.INFO)
    )

    assert "no findings in 2 files, 3 objects" == counts(0)
    assert "1 problem" == counts(0, problems=[problem])
    assert "1 error; 1 fixable with --fix" == counts(1, found=[error])
    assert "2 errors, 1 warning, 2 info, 2 problems; 3 fixable with --fix" == counts(
        3, found=[error, warning, error, info, info], problems=[problem, problem]
    )


def test_what_was_not_judged_is_noted(everything):
    assert ["1 example.com/v1 a,b:c%d\\u000a", "1 template passed over: t.yaml"] == [
        note.partition(";")[0].partition("::error")[0] for note in notes(everything)
    ]


def test_what_is_never_sent_to_the_webhook_is_noted():
    there = json.dumps(workload("Deployment", constraint(), namespace="kube-system"))
    (note,) = notes(summary(a=there))

    assert note.startswith("1 object in a system namespace passed over: a; the webhook gets none of them; --include")


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({"repaired": [""]}, "1 finding repaired"),
        ({"suppressed": 2}, "2 findings suppressed by comments or annotations"),
        ({"accepted": 2}, "2 findings accepted by the baseline"),
        ({"before": 2}, "2 findings not counted: they were there before the change"),
    ],
    ids=str,
)
def test_a_note(fields, start):
    result = LintSummary(files=1)
    for name, value in fields.items():
        setattr(result, name, value)
    (note,) = notes(result)

    assert note.startswith(start)


def test_what_else_comes_of_repairs_is_said_once():
    assert ["3 findings repaired", "x"] == [*notes(LintSummary(files=1, repaired=["x", "", "x"]))]


def test_why_nothing_was_judged_is_one_line_with_what_to_do():
    unreadable = LintSummary(files=1, notes=[Note("a.yaml", 1, 1, UNREAD, "text", "passed over", "look at it")])

    assert (
        "judged nothing: 1 file with no Kubernetes object and no constraint; name the files, or give --allow-none"
        == (nothing_to_judge(LintSummary(files=1)))
    )
    assert "; 1 unreadable text passed over: a.yaml; look at it, or" in nothing_to_judge(unreadable)
    assert not summary(**{"a.yaml": "{{ a"}).holds_nothing


def test_that_no_file_was_found_is_a_note():
    assert [
        "judged nothing: there is no YAML or JSON file, or .gitignore or --exclude leaves all out; name the files"
    ] == [*notes(LintSummary())]


def test_rules_that_were_skipped_are_no_note_where_all_is_well():
    well = LintSummary(files=1, skipped=dict.fromkeys([Skipped("a", "b")]), places=JudgedPlaces(2, 2))

    assert [] == [*notes(well)]
    assert ["1 rule skipped: b"] == [*notes(replace(well, places=JudgedPlaces(3, 2)))]
    note = Note("t.yaml", 1, 1, UNRENDERED_TEMPLATE, "template", "passed over", "render it first")
    assert "1 rule skipped: b" == [*notes(replace(well, notes=[note]))][-1]
    two = dict.fromkeys([Skipped("c", "b"), Skipped("a", "b")])
    assert ["2 rules skipped: b"] == [*notes(replace(well, skipped=two, problems=[Problem("a.yaml", 1, 1, "x")]))]


@pytest.mark.parametrize(
    ("places", "lines"),
    [
        (JudgedPlaces(), []),
        (JudgedPlaces(1, 1), []),
        (JudgedPlaces(1, 0), ["judged 0 of 1 place with constraints in full"]),
        (JudgedPlaces(449, 113, 164), ["judged 113 of 449 places with constraints in full"]),
    ],
)
def test_how_much_was_judged_is_said_where_not_all_was(places, lines):
    assert lines == [*lint_text.summary(LintSummary(places=places), UNCOLOURED, 0)][1:]
