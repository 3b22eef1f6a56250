"""The generated documents: written by `make docs`, compared by test_docs.py."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

from webhook import cli
from webhook.render import catalogue

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"(<!-- output of: (?P<command>.+?) -->\n```[a-z]*\n)(?P<output>.*?)(```\n)", re.DOTALL)


def generated() -> dict[Path, str]:
    """Every document that is generated, whole or in part, and what it should hold."""
    return {
        ROOT / "docs" / "rules.md": catalogue.page(),
        **{path: fill((path).read_text("utf-8")) for path in (ROOT / "README.md", ROOT / "docs" / "policy.md")},
    }


def fill(text: str) -> str:
    """`text` with the output of the command above each marked block, as it is today, in that block."""
    return _BLOCK.sub(lambda block: f"{block[1]}$ {block['command']}\n{output(block['command'])}{block[4]}", text)


def output(command: str) -> str:
    """What a command prints: the CLI's own, or a target of the Makefile."""
    words = shlex.split(command)
    if words[0] == "make":
        return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    printed = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        os.environ["COLUMNS"] = "100"
        cli.main(words[1:])
    return printed.getvalue()


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, "utf-8")
