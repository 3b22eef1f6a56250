"""Each line is a workflow command, escaped as GitHub's runner unescapes it."""

from __future__ import annotations

import json
import re

from tests.support.build import constraint, workload
from tests.support.lint import summary
from webhook.render.github import as_commands, command


def test_github_commands_are_escaped(everything):
    lines = as_commands(everything).splitlines()
    first = next(line for line in lines if "malformed" in line)

    assert 6 == len(lines)
    assert all(line.isprintable() for line in lines)
    assert first.startswith("::error file=a b%2Cc%25é.yaml,line=25,endLine=25,col=7,")
    assert "%3A%3Aerror" not in first.split("::")[2]
    assert [] == [line for line in lines if not re.match(r"::(error|warning|notice) [^:]*::", line)]


def test_a_github_command_names_no_file_for_standard_input():
    wrong = json.dumps(workload("StatefulSet", constraint(labelSelector={})))

    assert as_commands(summary(**{"-": wrong})).startswith("::error title=empty-selector%3A StatefulSet shop/")
    assert as_commands(summary(**{"-": "apiVersion: v1\nkind: ["})).startswith("::error title=evenkeel::cannot be read")


def test_rules_that_were_skipped_for_one_reason_are_one_notice(skipping):
    lines = as_commands(skipping).splitlines()

    assert len({skipped.reason for skipped in skipping.skipped}) == len(lines)
    assert all(re.match(r"::notice title=\d+ rules? skipped::[a-z-]+[,:]", line) for line in lines)
    assert all(any(skipped.rule in line for line in lines) for skipped in skipping.skipped)


def test_a_note_is_a_notice_at_its_place_and_many_are_one():
    place, two = "file=a.yaml,line=1,col=1,", {"a.yaml": "{{ a", "b.yaml": "{{ b"}
    many = {f"{i}.yaml": "{{ a" for i in range(4)}

    assert f"::notice {place}title=evenkeel::template passed over; lint" in as_commands(summary(**two))
    assert "::notice title=evenkeel::4 templates passed over: 0.yaml, 1.yaml," in as_commands(summary(**many))
    assert [2, 1] == [len(as_commands(summary(**files)).splitlines()) for files in (two, many)]


def test_nothing_is_no_command():
    assert "" == as_commands(summary())


def test_a_command_escapes_its_properties_and_its_message():
    assert "::error file=a%3Ab%2Cc%25::50%25\\u000ab" == command("error", "50%\nb", file="a:b,c%")
