"""
`python -m tests.release.lock [--upgrade]` rewrites the locked requirements: a version of each, and its files' hashes.

They hold for every Python and platform that setup.cfg allows. What is locked already stays, unless setup.cfg says
otherwise or `--upgrade` asks for the newest.
"""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from tests.support import ROOT

RUN, BUILD = ROOT / "requirements.lock", ROOT / "requirements-build.lock"
_PIN = re.compile(r"^(\S+)==([^\s;]+)(?: ; (.+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


class Pin(NamedTuple):
    """One version of a package, where its marker applies, and the hashes of its files."""

    name: str
    version: str
    marker: str  # Empty if it always applies.
    hashes: tuple[str, ...]

    def line(self) -> str:
        """The requirement, as pip and uv read it."""
        marker = f" ; {self.marker}" if self.marker else ""
        return f"{self.name}=={self.version}{marker} {' '.join(f'--hash={digest}' for digest in self.hashes)}\n"


def pins(text: str) -> list[Pin]:
    """What a lock holds; ValueError if any of its lines is no part of a pin."""
    if odd := [line for line in _PIN.sub("", text).splitlines() if line and not line.startswith("#")]:
        raise ValueError(f"{odd[0]}: wanted NAME==VERSION, with a marker or without, and its hashes")
    found = _PIN.findall(text)
    return [
        Pin(name, version, marker, (*re.findall(r"sha256:\w+", hashes),)) for name, version, marker, hashes in found
    ]


def wanted_to_run() -> list[Requirement]:
    """install_requires of setup.cfg."""
    return [Requirement(line) for line in _options()["install_requires"].strip().splitlines()]


def wanted_to_build() -> list[Requirement]:
    """What pyproject.toml says is needed to build a wheel."""
    return [*map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"])]


def oldest_python() -> str:
    return _options()["python_requires"].removeprefix(">=")


def header(wanted: list[Requirement]) -> str:
    """What a lock begins with: all that it was made of, so that it can be told whether that has changed since."""
    made_of = [f"Python >={oldest_python()}", *map(str, wanted)]
    return "".join(f"# {line}\n" for line in ("`make lock` makes this of", *(f"  {one}" for one in made_of)))


def _options() -> configparser.SectionProxy:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser["options"]


def lock(target: Path, wanted: list[Requirement], *options: str) -> None:
    """Rewrite `target` with what `wanted` needs; `options` are uv's."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "--output-file", str(target), *options]
    command += ["--universal", "--python-version", oldest_python(), "--generate-hashes", "--no-annotate", "--no-header"]
    subprocess.run([*command, "--quiet"], input="\n".join(map(str, wanted)), text=True, check=True)
    target.write_text(header(wanted) + target.read_text("utf-8"), "utf-8")


def main(*options: str) -> None:
    lock(RUN, wanted_to_run(), *options)
    lock(BUILD, wanted_to_build(), *options)


if __name__ == "__main__":
    main(*sys.argv[1:])
