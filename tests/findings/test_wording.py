"""Findings are said in lines that a terminal, an HTTP header and a log can hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.build import constraint
from webhook.findings import wording
from webhook.findings.finding import Finding, Severity
from webhook.kubernetes.features import LATEST
from webhook.spread.constraint import parse_constraints

ABOUT = "Deployment shop/web"
PATH = ("spec", "template", "spec", "topologySpreadConstraints", 0, "labelSelector")


def finding(path=PATH, severity=Severity.ERROR, **fields):
    texts = {"rule": "a-rule", "message": "must hold", "found": "x", "wanted": "y", "fix": "write y"} | fields
    return Finding(severity=severity, path=path, **texts)


def test_lint_and_json_say_the_full_path():
    assert "spec.template.spec.topologySpreadConstraints[0].labelSelector: must hold (a-rule)" == wording.line(
        finding()
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [(PATH, "a-rule topologySpreadConstraints[0].labelSelector: must hold"), ((), "a-rule must hold")],
)
def test_a_line_by_itself_names_the_field(path, said):
    assert said == wording.concise(finding(path=path))


def test_a_warning_begins_with_the_object_and_cuts_the_path_to_where_it_starts_to_tell():
    in_a_set, whole = ("spec", "sets", 1, *PATH[1:]), "must hold; found x; write y (evenkeel a-rule)"
    of_all = wording.warning(finding(path=PATH[:4]), ABOUT)

    assert f"{ABOUT}: topologySpreadConstraints[0].labelSelector: {whole}" == wording.warning(finding(), ABOUT)
    assert f"{ABOUT}: topologySpreadConstraints: {whole}" == of_all
    assert "sets[1].template.spec.topologySpreadConstraints[0].labelSelector" == wording.short_path(in_a_set)


def test_a_denial_has_the_form_of_a_warning_with_the_full_path():
    lines = wording.denial([finding(), finding(rule="b-rule")], ABOUT).message.splitlines()
    at = "spec.template.spec.topologySpreadConstraints[0].labelSelector"

    assert f"{ABOUT}: {at}: must hold; found x; write y (evenkeel a-rule)" == lines[0]
    assert 2 == len(lines)


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({}, "found x"),
        ({"found": '"x"', "message": '"x" must hold'}, ""),
        ({"found": '"x"', "message": "topology-x must hold"}, 'found "x"'),
        ({"found": "y"}, ""),
    ],
)
def test_a_value_that_message_or_fix_name_is_not_said_again(fields, values):
    found = finding(**fields)

    assert f"p: {'; '.join(filter(None, (found.message, values, found.fix)))} (a-rule)" == wording.in_full(found, "p")


@pytest.mark.parametrize(
    ("length", "rest"), [(60, "; found x; write y"), (65, "; write y"), (79, "")], ids=["all", "no values", "no fix"]
)
def test_what_is_known_otherwise_goes_first_where_there_is_no_room(length, rest):
    message = "m" * length

    assert f"p: {message}{rest} (a-rule)" == wording.in_full(finding(message=message), "p", limit=91)


HELP = "see https://wiki.example.com/spread"


def test_the_help_of_a_policy_comes_last():
    helped = finding(help=HELP)

    assert wording.warning(helped) == f"{wording.warning(finding())}; {HELP}"
    assert wording.denial([helped], ABOUT).message == f"{wording.denial([finding()], ABOUT).message}; {HELP}"


def test_the_help_for_all_rules_is_a_line_of_its_own_of_the_five():
    """It is the same for all objects: kubectl prints it once."""
    many, said = [finding(message=f"m{i}", severity=Severity.WARNING) for i in range(7)], f"{HELP} (evenkeel)"
    *lines, more, last = wording.warnings(many, ABOUT, help_line=HELP)

    assert (4, said) == (len(lines), last)
    assert more.startswith(f"{ABOUT}: 3 more")
    assert [said] == wording.denial([finding()], ABOUT, HELP).message.splitlines()[1:]
    assert ((), "") == (wording.warnings([], ABOUT, help_line=HELP), wording.denial([], ABOUT, HELP).message)


def test_the_longest_help_leaves_a_message_its_room():
    """What is longer is cut, and neither the rule nor the help."""
    helped = finding(message="x" * 10_000, help="h" * wording.HELP_LIMIT)
    warning, line = wording.warning(helped), wording.denial([helped], "").message
    text, _, help = warning.rpartition("; ")

    assert (wording.WARNING_LIMIT, wording.LINE_LIMIT) == (len(warning), len(line))
    assert (134, helped.help) == (len(text), help)
    assert line.endswith(f"… (a-rule); {helped.help}")


def test_a_line_stays_one_line_whatever_is_in_it():
    evil = "a\nb\x00c\x7fd\x85e\u2028f\ud800g\x1b[31mh"
    line = wording.warning(finding(message=evil))

    assert line.isprintable() and line.encode()
    assert r"a\u000ab\u0000c\u007fd\u0085e\u2028f\ud800g\u001b[31mh" in line


def test_a_line_ends_in_time():
    assert wording.WARNING_LIMIT == len(wording.warning(finding(message="x" * 10_000)))


def test_five_warnings_then_how_many_more_the_gravest_first():
    many = [finding(message=f"m{i}", severity=Severity.WARNING) for i in range(7)]
    lines = wording.warnings([*many, finding(message="grave")], ABOUT)

    assert 6 == len(lines)
    assert "grave" in lines[0]
    assert lines[-1].startswith(f"{ABOUT}: 3 more")


def test_all_warnings_together_stay_below_what_the_api_server_cuts():
    """Beyond 4,096 characters in all it cuts each at 256."""
    lines = wording.warnings([finding(message="x" * 300 + str(i)) for i in range(500)], ABOUT)

    assert sum(map(len, lines)) < 4096 / 2


def test_a_denial_of_hundreds_of_errors_ends_too():
    lines = wording.denial([finding(message=str(i)) for i in range(500)], ABOUT).message.splitlines()

    assert "and 400 more" == lines[-1]
    assert wording.MOST_LINES == len(wording.denial([finding()] * 500, ABOUT).causes)


LONG = f"Deployment {'n' * 63}/{'w' * 200}-7"


def test_a_long_name_leaves_room_for_the_message_and_keeps_its_end():
    helped = finding(help="h" * wording.HELP_LIMIT)
    warning = wording.warning(helped, wording.object_name(LONG))
    about, field, *_ = warning.split(": ")

    assert len(warning) <= wording.WARNING_LIMIT
    assert about.startswith("Deployment n") and about.endswith("w-7")
    assert "topologySpreadConstraints[0].labelSelector" == field


def test_a_long_name_leaves_room_for_the_notice():
    notice = f"will be denied from 2027-01-15; ask {'c' * 40}, {'u' * 80}"
    (_, line) = wording.warnings([finding()], wording.object_name(LONG), [finding(notice=notice)])

    assert line.endswith(f"w-7: {notice} (evenkeel a-rule)")


def test_what_has_no_name_is_an_object():
    assert "an object" == wording.object_name("")


def test_a_number_has_its_noun_and_a_range_both_ends_if_they_differ():
    assert ["0 files", "1 file", "2,000 files"] == [wording.number_of(number, "file") for number in (0, 1, 2000)]
    assert "2 patches" == wording.number_of(2, "patch", "patches")
    assert ["2", "2–5,000"] == [wording.range_of(2, most) for most in (2, 5000)]


def test_constraints_have_their_numbers_and_anti_affinity_its_name():
    constraints = parse_constraints(
        [constraint(), constraint(topologyKey="rack"), constraint(topologyKey="row")], {}, LATEST
    )
    first, second, third = constraints

    assert "constraints 0 and 1" == wording.constraint_names([first, second])
    assert "constraints 0, 1 and 2" == wording.constraint_names(constraints)
    assert "constraint 1 and podAntiAffinity" == wording.constraint_names([replace(first, index=-1), second])
    assert "constraints 0, 2 and podAntiAffinity" == wording.constraint_names([first, third, replace(first, index=-1)])
