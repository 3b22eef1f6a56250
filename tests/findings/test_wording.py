"""Findings are said in lines that a terminal, an HTTP header and a log can hold."""

from __future__ import annotations

from webhook.findings import wording
from webhook.findings.finding import Finding, Severity

PATH = ("spec", "template", "spec", "topologySpreadConstraints", 0, "labelSelector")


def finding(path=PATH, severity=Severity.ERROR, **fields):
    texts = {"rule": "a-rule", "message": "must hold", "found": "x", "wanted": "y", "fix": "write y"} | fields
    return Finding(severity=severity, path=path, **texts)


def test_lint_and_json_say_the_full_path():
    assert "spec.template.spec.topologySpreadConstraints[0].labelSelector: must hold (a-rule)" == wording.line(
        finding()
    )


def test_a_warning_cuts_the_path_to_where_it_starts_to_tell():
    in_a_set = ("spec", "sets", 1, *PATH[1:])

    assert "a-rule: topologySpreadConstraints[0].labelSelector: must hold" == wording.warning(finding())
    assert "a-rule: topologySpreadConstraints: must hold" == wording.warning(finding(path=PATH[:4]))
    assert "sets[1].template.spec.topologySpreadConstraints[0].labelSelector" == wording.short_path(in_a_set)


def test_a_denial_says_what_was_found_what_is_wanted_and_the_fix():
    lines = wording.denial([finding(), finding(rule="b-rule")]).message.splitlines()

    assert f"{wording.line(finding())}: found x, wanted y; write y" == lines[0]
    assert 2 == len(lines)


HELP = "see https://wiki.example.com/spread"


def test_the_help_of_a_policy_comes_last():
    helped = finding(help=HELP)

    assert wording.warning(helped) == f"{wording.warning(finding())}; {HELP}"
    assert wording.denial([helped]).message == f"{wording.denial([finding()]).message}; {HELP}"


def test_the_longest_help_leaves_a_message_its_room():
    """A message has 120 characters as a target; what is longer is cut, and not the help."""
    helped = finding(message="x" * 10_000, help="h" * wording.HELP_LIMIT)
    warning, line = wording.warning(helped), wording.denial([helped]).message
    text, _, help = warning.rpartition("; ")

    assert (wording.WARNING_LIMIT, wording.LINE_LIMIT) == (len(warning), len(line))
    assert (134, helped.help) == (len(text), help)
    assert line.endswith(f"…; {helped.help}")


def test_a_line_stays_one_line_whatever_is_in_it():
    evil = "a\nb\x00c\x7fd\x85e\u2028f\ud800g\x1b[31mh"
    line = wording.warning(finding(message=evil))

    assert line.isprintable() and line.encode()
    assert r"a\u000ab\u0000c\u007fd\u0085e\u2028f\ud800g\u001b[31mh" in line


def test_a_line_ends_in_time():
    assert wording.WARNING_LIMIT == len(wording.warning(finding(message="x" * 10_000)))


def test_five_warnings_then_how_many_more_the_gravest_first():
    many = [finding(message=f"m{i}", severity=Severity.WARNING) for i in range(7)]
    lines = wording.warnings([*many, finding(message="grave")])

    assert 6 == len(lines)
    assert "grave" in lines[0]
    assert lines[-1].startswith("evenkeel: 3 more")


def test_all_warnings_together_stay_below_what_the_api_server_cuts():
    """Beyond 4,096 characters in all it cuts each at 256."""
    lines = wording.warnings([finding(message="x" * 300 + str(i)) for i in range(500)])

    assert sum(map(len, lines)) < 4096 / 2


def test_a_denial_of_hundreds_of_errors_ends_too():
    lines = wording.denial([finding(message=str(i)) for i in range(500)]).message.splitlines()

    assert "and 400 more" == lines[-1]
    assert wording.MOST_LINES == len(wording.denial([finding()] * 500).causes)
