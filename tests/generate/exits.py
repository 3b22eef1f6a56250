"""The table of exit codes in docs/programs.md, from the help of each command."""

from __future__ import annotations

import re

from tests.generate.markdown import table as markdown_table
from tests.support.commands import commands

CODES = "0123"
CODE = re.compile(rf"\b([{CODES}]): (.*?)(?=, [{CODES}]: |\.?$)")


def codes(description: str) -> dict[str, str]:
    """What each exit code means, by the last sentence of a description."""
    _, _, sentence = description.strip().rpartition("Exit code ")
    return dict(CODE.findall(" ".join(sentence.split())))


def table() -> str:
    """A row for each command or action that may exit with 1."""
    rows = {name: codes(found.description or "") for name, found in commands()}
    lines = (
        (f"`evenkeel {name}`", *(meaning.get(code, "") for code in CODES))
        for name, meaning in rows.items()
        if "1" in meaning
    )
    return markdown_table(("command", *CODES), lines)
