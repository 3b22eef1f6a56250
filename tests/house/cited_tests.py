"""Tests that a page cites, as `folder/test_file.py::test_name`."""

from __future__ import annotations

import re

from tests.support import ROOT

_CITED = re.compile(r"`(\w+/test_\w+\.py)::(\w+)`")


def cited_tests(text: str) -> list[tuple[str, str]]:
    """Return the file, below tests/, and the name of each test that a text cites."""
    return _CITED.findall(text)


def is_test(file: str, name: str) -> bool:
    """Return whether the file has a test of this name."""
    text = (ROOT / "tests" / file).read_text("utf-8")
    return name.startswith("test_") and re.search(rf"^ *def {name}\(", text, re.MULTILINE) is not None
