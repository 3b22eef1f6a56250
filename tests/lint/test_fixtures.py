"""A folder of tests or of others' code is known by its name, wherever it is."""

from __future__ import annotations

import re

import pytest

from evenkeel.lint.fixtures import FIXTURE_FOLDERS, fixture_folders
from tests.support import ROOT

FOLDERS = [
    ("a.yaml", ()),
    ("testdata", ()),
    ("x/testdata.yaml", ()),
    ("my-vendor/a.yaml", ()),
    ("testdata/a.yaml", ("testdata",)),
    ("x/.chainsaw-test/y/a.yaml", ("x/.chainsaw-test",)),
    ("/x/vendor/y/testdata/a.yaml", ("/x/vendor", "/x/vendor/y/testdata")),
]


@pytest.mark.parametrize(("file", "folders"), FOLDERS)
def test_the_folders_of_a_file(file, folders):
    assert folders == fixture_folders(file)


def test_the_documentation_names_them():
    lines = (ROOT / "docs" / "lint.md").read_text("utf-8").splitlines()
    line = next(line for line in lines if line.startswith("| a folder named"))

    assert FIXTURE_FOLDERS == set(re.findall("`([^`]+)`", line))
