"""docs/tutorial.md shows what its commands print at the control plane of `make demo`, after all that goes before."""

from __future__ import annotations

from difflib import unified_diff

import pytest

from tests.e2e import programs
from tests.e2e.tutorial import BEGIN, masked, tutorial
from tests.generate.tutorial import COMMANDS, EXTRA, PAGE, blocks
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


def test_the_extra_starts_the_control_plane_of_the_demo():
    _, _, extra = PAGE.read_text("utf-8").partition(EXTRA)

    assert f"{BEGIN}\n" == next(block.text for block in blocks(extra) if block.language == COMMANDS)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [("jtgxl8nn", "x2x5p", True), ("admin", "viewer", False), ("KUBECONFIG", "CONFIG", False)],
)
def test_the_folder_is_masked_and_nothing_else(old, new, same):
    text = "  export KUBECONFIG=/tmp/evenkeel-demo-jtgxl8nn/admin.kubeconfig\n"

    assert same == (masked(text) == masked(text.replace(old, new)))
