"""docs/tutorial.md shows what its commands print, one after the other, at the control plane of `make demo`."""

from __future__ import annotations

import subprocess
from difflib import unified_diff

import pytest

from tests.e2e import programs
from tests.e2e.tutorial import BEGIN, PAGE, changed, masked, shown, tutorial
from tests.support import ROOT
from tests.support.kubernetes_source import NEWEST


def test_the_page_shows_what_its_commands_print(tmp_path):
    """`make transcripts` rewrites it."""
    if (version := programs.version()) != NEWEST:
        pytest.skip(f"the page shows Kubernetes {NEWEST}, not {version}")
    page = PAGE.read_text("utf-8")

    with tutorial(tmp_path) as reader:
        now = reader.follow(page)

    lines = unified_diff(masked(page).splitlines(), masked(now).splitlines(), "page", "printed now", lineterm="")
    assert not (differs := "\n".join(lines)), differs


def test_the_page_starts_the_control_plane_of_the_demo():
    assert BEGIN == PAGE.read_text("utf-8").partition("```sh\n")[2].partition("\n```")[0]
    made = subprocess.run([*BEGIN.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "-m tests.e2e.demo" in made.stdout


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("dv75p", "x2x5p", True),
        ("6898cdcdb4", "7898cdcdb4", True),
        ("6 s at least", "2 min at least", True),
        ("2 of 6", "3 of 6", False),
        ("web", "search", False),
        ("at least", "at most", False),
        ("evicted", "deleted", False),
    ],
)
def test_names_and_times_are_masked_and_nothing_else(old, new, same):
    text = "pod/web-6898cdcdb4-dv75p evicted; app=web,pod-template-hash=6898cdcdb4; 2 of 6 wait for 6 s at least\n"

    assert same == (masked(text) == masked(text.replace(old, new)))


def test_an_output_that_is_cut_is_compared_as_far_as_it_goes():
    assert "a\n…\n" == shown("a\nb\nc\n", "x\n…\n")
    assert "a\nb\n" == shown("a\nb\n", "x\n")


def test_a_change_that_fits_no_file_or_several_is_an_error(tmp_path):
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("x: 1\n")

    for change in ("-x: 1\n+x: 2\n", "-y: 1\n+y: 2\n"):
        with pytest.raises(ValueError, match="to unpack"):
            changed(change, tmp_path)
