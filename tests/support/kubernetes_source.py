"""Kubernetes from source: a version of it, the go.mod of a program of ours that is built with it, and Go."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST = 32  # Before, the scheduler's cache may not be imported, nor is anything of older ones tried.
KUBERNETES = "k8s.io/kubernetes"


class MissingError(Exception):
    """There is no program to run, and here is how to get it."""


@dataclass(frozen=True, slots=True)
class Version:
    """One of Kubernetes: v1.37.1 or v1.38.0-beta.0; its staging modules are v0.37.1 and v0.38.0-beta.0."""

    minor: int
    patch: int
    pre_release: str = ""  # such as -beta.0

    def __str__(self) -> str:
        return f"v1.{self.minor}.{self.patch}{self.pre_release}"

    @property
    def folder(self) -> str:
        """That of its recordings in tests/data."""
        return f"1.{self.minor}"


NEWEST = Version(37, 1)


def parse(text: str) -> Version:
    """ValueError if it is no version, or too old a one."""
    found = re.fullmatch(r"v1\.(\d+)\.(\d+)(-(?:alpha|beta|rc)\.\d+)?", text, re.ASCII)
    if found is None:
        raise ValueError(f'KUBERNETES is "{text}", must be a version of Kubernetes such as {NEWEST}')
    version = Version(int(found[1]), int(found[2]), found[3] or "")
    if version.minor < OLDEST:
        raise ValueError(f'KUBERNETES is "{text}", must be v1.{OLDEST}.0 or newer: older ones are not built')
    return version


def cache() -> Path:
    """Where what is built once on a machine is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenkeel"


def write_module(folder: Path, version: Version, go: str, local: str | None = None) -> Path:
    """Write the go.mod of a program of ours; the folder of Kubernetes' source, which `local` names from there."""
    downloaded = json.loads(run([go, "mod", "download", "-json", f"{KUBERNETES}@{version}"], folder))
    go_mod = Path(downloaded["GoMod"]).read_text("utf-8")
    replaced = {KUBERNETES: local} if local else {}
    replaced |= {name: f"{name} {found}" for name, found in _versions(staged(go_mod), version, go, folder).items()}
    (folder / "go.mod").write_text(module(version, go_mod, replaced), "utf-8")
    return Path(downloaded["Dir"])


def staged(go_mod: str) -> list[str]:
    """The modules that Kubernetes' own go.mod takes from its folder staging/, which no release of it has."""
    return re.findall(r"^\s*(?:replace )?(k8s\.io/\S+) => \./staging/", go_mod, re.MULTILINE)


def module(version: Version, go_mod: str, replaced: Mapping[str, str]) -> str:
    """Our go.mod: Kubernetes, what is replaced by what, and its version of Go; all else is as Kubernetes has it."""
    go = re.search(r"^go (\S+)$", go_mod, re.MULTILINE)
    lines = "".join(f"\t{name} => {target}\n" for name, target in replaced.items())
    return (
        f"module evenkeel.dev/built\n\ngo {go[1] if go else '1.23.0'}\n\nrequire {KUBERNETES} {version}\n\n"
        f"replace (\n{lines})\n"
    )


def build(source: Path, folder: Path, go: str, *arguments: str) -> None:
    """`go build` of a copy of `source`, with a go.mod of ours, in `folder`; static, so that any Linux runs it."""
    try:
        run([go, "build", "-trimpath", "-buildvcs=false", "-mod=mod", *arguments, "."], folder)
    except MissingError as error:
        raise MissingError(f"{source}: {error}") from None


def run(command: list[str], folder: Path) -> str:
    """What it prints; silent unless it fails: go names every module that it downloads."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": ""}
    done = subprocess.run(["nice", *command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr or done.stdout)
        raise MissingError(f"go {command[1]} failed, see above")
    return done.stdout


def _versions(modules: list[str], version: Version, go: str, folder: Path) -> dict[str, str]:
    """The staging modules of a version; where one was not released with that patch, the newest before, or none."""
    found: dict[str, str] = {}
    earlier = [f"{patch}" for patch in range(version.patch - 1, -1, -1)]
    for patch in [f"{version.patch}{version.pre_release}", *earlier]:
        wanted = [f"{name}@v0.{version.minor}.{patch}" for name in modules if name not in found]
        if not wanted:
            break
        query = ["list", "-m", "-e", "-f={{if not .Error}}{{.Path}} {{.Version}}{{end}}"]
        lines = run([go, *query, *wanted], folder).splitlines()
        found |= dict(line.split() for line in lines if line)
    return found
