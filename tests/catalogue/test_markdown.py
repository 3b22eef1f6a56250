"""The catalogue: a table of all rules, and a section for each, always under the same headings."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from evenkeel.catalogue.markdown import page, section, table
from webhook.findings.finding import Severity
from webhook.rules import RULES

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)


@every_rule
def test_a_section_shows_the_lines_in_which_the_examples_differ(rule):
    lines = "\n".join(section(rule))
    bad, good = rule.bad.splitlines(), rule.good.splitlines()

    assert lines.startswith(f"## {rule.id}\n")
    (difference,) = re.findall("```diff\n(.*?)```", lines, re.DOTALL)
    removed, added = (Counter(re.findall(rf"^\{sign}(.*)", difference, re.MULTILINE)) for sign in "-+")
    assert Counter(good) == Counter(bad) - removed + added
    assert set(re.findall("^ (.*)", difference, re.MULTILINE)) <= {*bad} & {*good}
    assert len(difference.splitlines()) < len(bad)


@every_rule
def test_a_section_says_what_the_rule_has(rule):
    lines = "\n".join(section(rule))

    assert f"\n`{rule.severity}`{', advice' * rule.advice}: {rule.title}.\n" in lines
    assert f"\nFix: {rule.fix}.\n" in lines
    assert ("\nTo switch it on: " in lines) is (rule.severity is Severity.IGNORE)
    assert rule.yields_to == tuple(re.findall(r"\(#(.+?)\)", lines.partition("\nYields to ")[2]))
    names = re.findall(r"^metadata: \{name: ([\w-]+)", rule.context, re.MULTILINE)
    assert names == re.findall(r"(?:Node|Pod|StatefulSet) ([\w-]+)", lines.partition("\nBeside ")[2].partition("\n")[0])


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

    index = "".join(re.findall(r"^- `.*", found, re.MULTILINE))
    assert [*RULES] == sorted(re.findall(r"\(#(.+?)\)", index))
    assert list(RULES) == re.findall("^## (.+)$", found, re.MULTILINE)


@pytest.mark.parametrize(("rule", "in_table"), [("pinned-pod", "in CEL"), ("tainted-domain", "not in CEL")])
def test_the_table_says_which_rules_cel_can_express(rule, in_table):
    (line,) = (line for line in table().splitlines() if line.startswith(f"{rule} "))

    assert in_table == re.split("  +", line)[2]
