"""Which parts of a text are coloured, who decides, and that nothing but colour comes of it."""

from __future__ import annotations

import re
import sys

import pytest

from evenkeel.terminal.style import PALETTE, UNCOLOURED, Look, Style, Styled, columns, style_of
from tests.support import ROOT
from tests.support.build import namespace, node, pod, workload
from webhook.findings.finding import Severity

CODES = re.compile(r"\x1b\[(?:[0-9]|1;3[136]|1;32)m")
EXAMPLES = ROOT / "docs" / "examples"
REPORT, WAITING, SIMULATE = (EXAMPLES / name for name in ("report", "waiting", "simulate"))
LOST = "lose=topology.kubernetes.io/zone"
COMMANDS = [
    f"explain pod/web-7d4b9c-x2x5p -n shop --cluster {WAITING}/cluster.yaml",
    f"explain deployment/web -n shop --cluster {WAITING}/neighbours.yaml",
    f"pending -A --cluster {WAITING}/cluster.yaml",
    f"report -A --cluster {REPORT}/cluster.yaml --policy {REPORT}/new.yaml --compare {REPORT}/old.yaml",
    f"report -A --cluster {REPORT}/cluster.yaml --by namespace",
    f"simulate deploy/web -n shop --runs 2 --cluster {SIMULATE}/cluster.yaml {LOST}=a drain=b1 rollout",
    f"simulate -A --runs 2 --cluster {SIMULATE}/whole.yaml {LOST}=a",
    f"lint {EXAMPLES}/reject.yaml",
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_colour_changes_nothing_else(run, command):
    """Also no column of a table: widths are those of what is seen."""
    plain, never, coloured = (run(f"{command}{color}") for color in ("", " --color never", " --color always"))

    assert plain == never
    assert "\x1b" not in plain.out
    assert (plain.code, plain.out, plain.err) == (coloured.code, CODES.sub("", coloured.out), coloured.err)
    assert "\x1b[0m" in coloured.out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_a_form_for_programs_has_no_colour(run, command):
    assert "\x1b" not in run(f"{command} --color always -o json").out


COLOURED = [
    (COMMANDS[0], "\x1b[1;31mno node passes\x1b[0m"),
    (COMMANDS[0], "\x1b[1;31mrefused\x1b[0m\n"),
    (COMMANDS[2], "\x1b[1;31m2 Pods could not be placed.\x1b[0m"),
    (COMMANDS[2], "\x1b[1mDeployment/web in shop\x1b[0m, 2 Pods: "),
    (COMMANDS[3], "\x1b[1;31mdenied \x1b[0m   \x1b[1;33mwarned "),
    (COMMANDS[3], "\x1b[1;31m3 + 1 waiting\x1b[0m"),
    (COMMANDS[5], "\x1b[1;31mthe rollout does not finish on the nodes that are there: "),
    (COMMANDS[5], "\x1b[1;33mskew 2 by topology.kubernetes.io/zone, more than maxSkew 1\x1b[0m"),
    (COMMANDS[6], "\x1b[1;31m6 Pods are lost: 3 find room, 1 more waits than before all steps, 2 are missing.\x1b[0m"),
    (
        f"pending --cluster {REPORT}/uneven.yaml",
        "\x1b[1;32mNo Pod waits for lack of a node; looked at 9 Pods.\x1b[0m",
    ),
]


@pytest.mark.parametrize(("command", "text"), COLOURED, ids=lambda value: value[:20])
def test_what_is_red_yellow_and_green(run, command, text):
    assert text in run(f"{command} --color always").out


DECISIONS = [
    ("auto", {}, True, True),
    ("auto", {}, False, False),
    ("auto", {"NO_COLOR": "1"}, True, False),
    ("auto", {"NO_COLOR": ""}, True, True),
    ("auto", {"FORCE_COLOR": "1"}, False, True),
    ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True),
    ("auto", {"FORCE_COLOR": ""}, False, False),
    ("auto", {"TERM": "dumb"}, True, False),
    ("auto", {"TERM": "dumb", "FORCE_COLOR": "1"}, False, True),
    ("always", {"NO_COLOR": "1"}, False, True),
    ("never", {"FORCE_COLOR": "1"}, True, False),
]


@pytest.mark.parametrize(("color", "variables", "terminal", "coloured"), DECISIONS)
def test_who_decides(monkeypatch, color, variables, terminal, coloured):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)

    assert Style(coloured) == style_of(color)


def test_standard_output_that_is_closed_is_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)

    assert UNCOLOURED == style_of("auto")


def test_what_a_file_says_cannot_colour_anything(run):
    """Not even where the text around it is coloured, and with the codes that are in use."""
    red = "\x1b[1;31mred\x1b[0m"
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": red}
    waiting = pod(name="w") | {"status": {"phase": "Pending", "conditions": [waits]}}
    objects = [node("n1", zone=red), namespace(), workload("Deployment", name=red), waiting]
    for command in ("report -A", "explain pod/w -n shop"):
        out = run(f"{command} --cluster dump --color always", dump=objects).out
        assert red not in out
        assert "\\u001b[1;31mred\\u001b[0m" in out


def test_each_severity_has_a_look_and_each_look_a_colour():
    assert {str(severity) for severity in Severity} - {"ignore"} <= PALETTE.keys() == {*Look}


def test_a_column_is_as_wide_as_its_widest_cell_and_nothing_follows_the_last():
    row = columns([Styled(Look.ERROR, "a"), "1", Styled(Look.GOOD, "")], [3, 2, 4], "<><")

    assert "a      1" == UNCOLOURED.lines([row])
    assert "\x1b[1;31ma  \x1b[0m    1" == Style(True).lines([row])
    assert () == columns(["", ""], [2, 2], "<<")
