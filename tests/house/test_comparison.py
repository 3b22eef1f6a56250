"""The page on other tools: each row of its tables rests on a test that there is, or on a source of a named version."""

from __future__ import annotations

import re

import pytest

from tests.house.cited_tests import cited_tests, is_test
from tests.support import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text("utf-8")
SOURCES = (ROOT / "tests" / "house" / "comparison.md").read_text("utf-8")
TABLES = ("When an object is applied", "In CI", "When Pods are placed, and later")


def rows(title: str, page: str = PAGE) -> list[list[str]]:
    """The cells of the table in the section of this title, without its head."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines[2:]]


VERSIONS = {cells[0]: cells[1:] for cells in rows("Versions")}
GROUNDS = {cells[0]: cells[1:] for cells in rows("Rows", SOURCES)}
NEEDS = {cells[0]: cells[1:] for title in TABLES for cells in rows(title)}


def test_every_row_has_its_grounds():
    assert {*NEEDS} == {*GROUNDS}
    assert all(any(cells) for cells in GROUNDS.values())


@pytest.mark.parametrize("need", GROUNDS)
def test_what_evenkeel_is_said_to_do_is_tested(need):
    tested, _ = GROUNDS[need]
    named = cited_tests(tested)

    assert named or NEEDS[need][-1] == "no"
    for file, test in named:
        assert is_test(file, test), f"{file}::{test}"


@pytest.mark.parametrize("need", GROUNDS)
def test_a_source_is_of_a_version_that_is_named(need):
    _, sources = GROUNDS[need]

    for source in filter(None, sources.split(", ")):
        tool = max((name for name in VERSIONS if source.startswith(f"{name} ")), key=len, default=None)
        assert tool is not None, source


@pytest.mark.parametrize("tool", VERSIONS)
def test_a_version_is_exact(tool):
    version, date, repository = VERSIONS[tool]

    assert re.fullmatch(r"\d+\.\d+\.\d+|[0-9a-f]{7}", version)
    assert re.fullmatch(r"2\d{3}-\d\d-\d\d", date)
    assert re.fullmatch(r"[\w-]+/[\w-]+", repository)
