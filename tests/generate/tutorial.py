"""docs/tutorial.md, as a reader follows it in a shell: what its commands print, as far as they need no cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.support import ROOT
from tests.support.serving import PATIENCE

PAGE = ROOT / "docs" / "tutorial.md"
EXTRA = "\n## On a real control plane\n"  # From here on the commands need the one of `make demo`.
INSTALL = "make .venv/test"  # What runs this has it.
COMMANDS, OUTPUT, CHANGE = "sh", "text", "diff"
CUT = "…\n"  # ends an output that is shown in part
END = "-- the end of a command --"
MAY_EXIT_WITH_1 = re.compile("^evenkeel (?:explain|lint) ", re.MULTILINE)
_BLOCK = re.compile(rf"^```({COMMANDS}|{OUTPUT}|{CHANGE})\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of the page, and where its text is."""

    language: str
    text: str
    start: int
    end: int


class Shell:
    """A terminal: its commands share one folder and one environment."""

    def __init__(self, home: Path, *programs: Path):
        path = os.pathsep.join((*map(str, programs), str(Path(sys.executable).parent), os.environ["PATH"]))
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            env={"PATH": path, "HOME": str(home), "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str) -> str:
        """Return what a command prints to both streams, in its order.  Only `explain` and `lint` may exit with 1."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{{ {command}\n}} < /dev/null\nprintf '\\n%s %s\\n' '{END}' $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                code = line.removeprefix(END).strip()
                assert code == "0" or (code == "1" and MAY_EXIT_WITH_1.search(command)), f"{code}: {command}"
                return "".join(lines).removesuffix("\n")
            lines.append(line)
        raise AssertionError(f"the shell ended: {command}")

    def close(self) -> None:
        self.process.communicate(timeout=PATIENCE)


@contextmanager
def shell(home: Path, *programs: Path) -> Iterator[Shell]:
    opened = Shell(home, *programs)
    try:
        yield opened
    finally:
        opened.close()


def page() -> str:
    """The page with what its commands print today; what needs a control plane stays."""
    text, extra, more = PAGE.read_text("utf-8").partition(EXTRA)
    with TemporaryDirectory() as home, shell(Path(home)) as terminal:
        return "".join((follow(text, terminal, terminal.run), extra, more))


def follow(text: str, terminal: Shell, run: Callable[[str], str]) -> str:
    """Do what a text says; return it with what the commands print."""
    parts, at, printed = [], 0, ""
    for block in blocks(text):
        assert not printed or block.language == OUTPUT, f"the page lacks an output:\n{printed}"
        now = block.text
        if block.language == COMMANDS:
            printed = run(block.text.removeprefix(INSTALL).strip("\n"))
        elif block.language == OUTPUT:
            now, printed = shown(printed, block.text), ""
        else:
            changed(block.text, Path(terminal.run("pwd").strip()))
        parts += [text[at : block.start], now]
        at = block.end
    assert not printed, f"the page lacks an output:\n{printed}"
    return "".join((*parts, text[at:]))


def changed(change: str, folder: Path) -> Path:
    """Edit the file that has the lines of a change without `+`, as the lines without `-` say; return its path."""
    lines = change.splitlines(keepends=True)
    old, new = ("".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")
    (file,) = (path for path in folder.glob("*.yaml") if path.read_text("utf-8").count(old) == 1)
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
    return file


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text that are typed, printed or edited."""
    for match in _BLOCK.finditer(text):
        yield Block(match[1], match[2], match.start(2), match.end(2))


def shown(printed: str, before: str) -> str:
    """Return of an output as many lines as the page has shown before."""
    if not before.endswith(CUT):
        return printed
    return "".join((*printed.splitlines(keepends=True)[: before.count("\n") - 1], CUT))
