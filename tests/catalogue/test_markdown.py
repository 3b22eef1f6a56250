"""The catalogue: a table of all rules, and a section for each, always under the same headings."""

from __future__ import annotations

import re

import pytest

from evenkeel.catalogue.markdown import page, section, table
from webhook.findings.finding import Severity
from webhook.rules import RULES

ALWAYS = ["Why", "Bad (-) and good (+)", "Fix"]
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)


def headings(rule):
    return [line.removeprefix("### ") for line in section(rule) if line.startswith("### ")]


@every_rule
def test_a_section_has_the_headings_that_the_rule_has_a_use_for(rule):
    more = {
        "Parameters": bool(rule.parameters),
        "Switch it on": rule.severity is Severity.IGNORE,
        "Yields to": bool(rule.yields_to),
    }

    why, *examples = ALWAYS
    beside = ["Beside"] if rule.context else []
    assert [why, *beside, *examples, *(name for name, there in more.items() if there)] == headings(rule)


def test_every_heading_is_of_use_somewhere_and_not_everywhere():
    found = [set(headings(rule)) - set(ALWAYS) for rule in RULES.values()]

    assert {"Beside", "Parameters", "Switch it on", "Yields to"} == set().union(*found)
    assert set() in found


@every_rule
def test_a_section_shows_the_examples(rule):
    lines = "\n".join(section(rule))

    assert lines.startswith(f"## {rule.id}\n")
    (difference,) = re.findall("```diff\n(.*?)```", lines, re.DOTALL)
    assert rule.bad == re.sub(r"^\+.*\n|^[ -]", "", difference, flags=re.MULTILINE)
    assert rule.good == re.sub(r"^-.*\n|^[ +]", "", difference, flags=re.MULTILINE)
    assert f"Default severity: `{rule.severity}`." in lines
    assert f"```yaml\n{rule.context}```" in lines or not rule.context
    assert ("This rule is advice: at most a `warning`" in lines) is rule.advice


@every_rule
def test_the_catalogue_tells_every_parameter(rule):
    found = page().split(f"## {rule.id}\n")[1].split("\n## ")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", found, re.MULTILINE)) == set(rule.parameters)


def test_a_parameter_that_is_needed_has_no_default():
    needed = {
        rule.id: re.findall(r"\| (needed|one of \w+ and \w+) \|", "\n".join(section(rule))) for rule in RULES.values()
    }

    assert {rule.id for rule in RULES.values() if rule.required} == {id for id, found in needed.items() if found}
    assert {"needed"} == {found[0] for id, found in needed.items() if len(RULES[id].required) == 1}


def test_the_page_links_to_every_section():
    found = page()

    assert list(RULES) == re.findall(r"^\| \[`.+`\]\(#(.+?)\)", found, re.MULTILINE)
    assert list(RULES) == re.findall("^## (.+)$", found, re.MULTILINE)


@pytest.mark.parametrize(("rule", "in_table"), [("pinned-pod", "in CEL"), ("tainted-domain", "not in CEL")])
def test_the_table_says_which_rules_cel_can_express(rule, in_table):
    (line,) = (line for line in table().splitlines() if line.startswith(f"{rule} "))

    assert in_table == re.split("  +", line)[2]
