"""docs/README.md: the list of pages in the README, as it is linked from the folder of the pages."""

from __future__ import annotations

import re

from tests.support import ROOT

TITLE, END = "## Documentation\n", "\n`make run` runs"
INTRODUCTION = """\
# Documentation

[The README](../README.md) says what evenkeel is and shows what it answers. These are its pages.
"""


def page() -> str:
    """The whole page."""
    listed = (ROOT / "README.md").read_text("utf-8").partition(TITLE)[2].partition(END)[0]
    from_docs = re.sub(r"(?<=]\()", "../", listed).replace("(../docs/", "(")
    return f"{INTRODUCTION}{from_docs}"
