"""evenkeel rules: the catalogue, and the page of a rule."""

from __future__ import annotations

import json

import pytest

from webhook.cli import main as cli
from webhook.rules import RULES


@pytest.mark.parametrize("rule", RULES)
def test_the_page_of_a_rule_can_be_printed(rule, capsys):
    assert 0 == cli.main(["rules", rule])
    assert capsys.readouterr().out.startswith(f"## {rule}\n")


def test_the_catalogue_can_be_printed(capsys):
    assert 0 == cli.main(["rules"])
    assert list(RULES) == [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_a_rule_that_there_is_not(capsys):
    assert 2 == cli.main(["rules", "empty-selektor"])
    assert 'evenkeel: found "empty-selektor", wanted a rule; did you mean empty-selector?\n' == capsys.readouterr().err


def test_both_for_programs(capsys):
    printed = []
    for words in (["rules"], ["rules", "empty-selector"]):
        assert 0 == cli.main([*words, "-o", "json"])
        printed.append(json.loads(capsys.readouterr().out))
    every, single = printed

    assert list(RULES) == [rule["id"] for rule in every["rules"]]
    assert [rule for rule in every["rules"] if rule["id"] == "empty-selector"] == single["rules"]
