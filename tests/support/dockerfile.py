"""The Dockerfile as instructions, stage by stage."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.support import ROOT

FILE = ROOT / "Dockerfile"


class Instruction(NamedTuple):
    """`RUN`, say, and all that follows it, with its lines joined."""

    name: str
    rest: str


def stages() -> dict[str, list[Instruction]]:
    """The instructions from each FROM to the next, by its name; arguments before the first are left out."""
    text = re.sub(r"^#.*\n", "", FILE.read_text("utf-8"), flags=re.MULTILINE).replace("\\\n", "")
    found: dict[str, list[Instruction]] = {}
    for name, rest in re.findall(r"^([A-Z]+) +(.+)$", text, re.MULTILINE):
        if name == "FROM":
            stage = found[rest.split()[-1]] = []
        if found:
            stage.append(Instruction(name, " ".join(rest.split())))
    return found


def of(stage: list[Instruction], name: str) -> list[str]:
    """What follows each instruction of this name."""
    return [one.rest for one in stage if one.name == name]
