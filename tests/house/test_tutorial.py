"""The reader who follows docs/tutorial.md; tests/house/test_documents.py compares the page with what they see."""

from __future__ import annotations

import subprocess

import pytest

from tests.e2e.tutorial import BEGIN
from tests.generate.tutorial import INSTALL, PAGE, blocks, changed, shown
from tests.support import ROOT


@pytest.mark.parametrize(("command", "run"), [(INSTALL, "-m venv"), (BEGIN, "-m tests.e2e.demo")])
def test_what_a_reader_is_not_waited_for_can_be_made(command, run):
    assert any(block.text.startswith(f"{command}\n") for block in blocks(PAGE.read_text("utf-8")))
    always = subprocess.run(
        [*command.split(), "--dry-run", "--always-make"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run in always.stdout


def test_an_output_that_is_cut_is_compared_as_far_as_it_goes():
    assert "a\n…\n" == shown("a\nb\nc\n", "x\n…\n")
    assert "a\nb\n" == shown("a\nb\n", "x\n")


def test_a_change_that_fits_no_file_or_several_is_an_error(tmp_path):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("x: 1\n")

    for change in ("-x: 1\n+x: 2\n", "-y: 1\n+y: 2\n"):
        with pytest.raises(ValueError, match="to unpack"):
            changed(change, tmp_path)
