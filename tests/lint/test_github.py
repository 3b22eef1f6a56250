"""Each line is a workflow command, escaped as GitHub's runner unescapes it."""

from __future__ import annotations

import json
import re

from evenkeel.lint.github import as_commands
from evenkeel.lint.results import LintSummary, Problem
from tests.support.build import constraint, workload
from tests.support.lint import MISSPELT, WEB, judged, summary
from webhook.findings.finding import TOLD


def test_github_commands_are_escaped(everything):
    lines = as_commands(everything).splitlines()
    first = next(line for line in lines if "malformed" in line)

    assert 4 == len(lines)
    assert all(line.isprintable() for line in lines)
    assert first.startswith("::error file=a b%2Cc%25é.yaml,line=25,endLine=25,col=7,")
    assert "%3A%3Aerror" not in first.split("::")[2]
    assert [] == [line for line in lines if not re.match(r"::(error|warning|notice) [^:]*::", line)]


def test_a_github_command_names_no_file_for_standard_input():
    wrong = json.dumps(workload("StatefulSet", constraint(labelSelector={})))

    assert as_commands(summary(**{"-": wrong})).startswith("::error title=empty-selector%3A StatefulSet shop/")
    assert as_commands(summary(**{"-": "apiVersion: v1\nkind: ["})).startswith("::error title=evenkeel::cannot be read")


def test_as_many_are_annotations_as_github_shows_the_gravest_and_the_others_are_lines():
    misspelt = judged(f"{WEB}{MISSPELT.format('')}").found
    wrong, milder = (
        [one._replace(finding=one.finding._replace(severity=severity)) for one in misspelt] for severity in TOLD
    )
    lines = as_commands(LintSummary(problems=[Problem("p", 1, 1, "x")], found=[*milder * 8, *wrong * 3])).splitlines()

    assert ["::error"] * 4 + ["::warning"] * 6 == [line.split()[0] for line in lines[:10]]
    assert ["a.yaml:13:9: warning misspelt-topology-key"] * 2 == [" ".join(line.split()[:3]) for line in lines[10:]]


def test_notes_and_skipped_rules_are_no_annotations(skipping):
    assert "" == as_commands(skipping)
    assert "" == as_commands(summary(**{"a.yaml": "{{ a"}))
