"""
The program that is asked: Kubernetes of a version, with the Go of this folder, built once on a machine.

    go/*.go           our main package, which reads cases and writes decisions
    go/overlay/…      files of ours for packages of Kubernetes, to see what those do not export (go build -overlay)

What differs between versions stands under build tags like Go's own: kubernetes1.34 holds for 1.34 and all later ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.programs import MissingError, cache

SOURCE = Path(__file__).parent / "go"
OLDEST = 32  # Before, the scheduler's cache may not be imported.
KUBERNETES = "k8s.io/kubernetes"


@dataclass(frozen=True, slots=True)
class Version:
    """One of Kubernetes: v1.37.1; its staging modules are v0.37.1."""

    minor: int
    patch: int

    def __str__(self) -> str:
        return f"v1.{self.minor}.{self.patch}"

    @property
    def folder(self) -> str:
        """That of its recordings in tests/data."""
        return f"1.{self.minor}"

    @property
    def tags(self) -> str:
        return ",".join(f"kubernetes1.{minor}" for minor in range(OLDEST, self.minor + 1))


def parse(text: str) -> Version:
    """ValueError if it is no version, or too old a one."""
    found = re.fullmatch(r"v1\.(\d+)\.(\d+)", text, re.ASCII)
    if found is None:
        raise ValueError(f'KUBERNETES is "{text}", must be a version of Kubernetes such as v1.37.1')
    version = Version(int(found[1]), int(found[2]))
    if version.minor < OLDEST:
        raise ValueError(f'KUBERNETES is "{text}", must be v1.{OLDEST}.0 or newer: older ones cannot be asked')
    return version


def program(version: Version) -> Path:
    """In the cache of the machine; built now if it is not there."""
    target = built(version)
    if not target.exists():
        _build(version, target)
    return target


def built(version: Version) -> Path:
    """Outside the tree, and another file as soon as version or source are others."""
    files = sorted(SOURCE.rglob("*.go"))
    named = (part for file in files for part in (str(file.relative_to(SOURCE)).encode(), file.read_bytes()))
    return cache() / f"oracle-{version}-{hashlib.sha256(b''.join(named)).hexdigest()[:12]}"


def staged(go_mod: str) -> list[str]:
    """The modules that Kubernetes' own go.mod takes from its folder staging/, which no release of it has."""
    return re.findall(r"^\s*(?:replace )?(k8s\.io/\S+) => \./staging/", go_mod, re.MULTILINE)


def module(version: Version, go_mod: str, versions: Mapping[str, str]) -> str:
    """Our go.mod: Kubernetes from a folder beside it, its staging modules in these versions, and its version of Go."""
    go = re.search(r"^go (\S+)$", go_mod, re.MULTILINE)
    replaced = "".join(f"\t{name} => {name} {staging}\n" for name, staging in versions.items())
    return (
        f"module evenkeel.dev/oracle\n\ngo {go[1] if go else '1.23.0'}\n\nrequire {KUBERNETES} {version}\n\n"
        f"replace (\n\t{KUBERNETES} => ./kubernetes\n{replaced})\n"
    )


def _build(version: Version, target: Path) -> None:
    """Make `target`, whole or not at all."""
    go, begin = shutil.which("go"), time.monotonic()
    if go is None:
        raise MissingError("the oracle needs Go: install it from https://go.dev/dl/")
    print(f"building the oracle of Kubernetes {version}, once on this machine: this takes minutes", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
        folder = Path(temporary)
        _lay_out(folder, version, go)
        flags = ["-trimpath", "-buildvcs=false", "-mod=mod", "-ldflags=-s -w", f"-tags={version.tags}"]
        _run([go, "build", *flags, "-overlay=overlay.json", "-o=oracle", "."], folder)
        if not target.exists():  # another build may have been faster
            (folder / "oracle").rename(target)
    print(f"built {target}: {target.stat().st_size >> 20} MiB in {time.monotonic() - begin:.0f} s")


def _lay_out(folder: Path, version: Version, go: str) -> None:
    """Our source, copied as it is now, and a link to Kubernetes: go refuses to overlay its own cache of modules."""
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    downloaded = json.loads(_run([go, "mod", "download", "-json", f"{KUBERNETES}@{version}"], folder))
    go_mod = Path(downloaded["GoMod"]).read_text("utf-8")
    (folder / "go.mod").write_text(module(version, go_mod, _versions(staged(go_mod), version, go, folder)), "utf-8")
    kubernetes, overlay = folder / "kubernetes", folder / "overlay"
    kubernetes.symlink_to(downloaded["Dir"])
    laid = {str(kubernetes / file.relative_to(overlay)): str(file) for file in overlay.rglob("*.go")}
    (folder / "overlay.json").write_text(json.dumps({"Replace": laid}), "utf-8")


def _versions(modules: list[str], version: Version, go: str, folder: Path) -> dict[str, str]:
    """The staging modules of a version; where one was not released with that patch, the newest before."""
    found: dict[str, str] = {}
    for patch in range(version.patch, -1, -1):
        wanted = [f"{name}@v0.{version.minor}.{patch}" for name in modules if name not in found]
        if not wanted:
            break
        query = ["list", "-m", "-e", "-f={{if not .Error}}{{.Path}} {{.Version}}{{end}}"]
        lines = _run([go, *query, *wanted], folder).splitlines()
        found |= dict(line.split() for line in lines if line)
    if missing := [name for name in modules if name not in found]:
        raise MissingError(f"{', '.join(missing)}: no v0.{version.minor}.0 to v0.{version.minor}.{version.patch}")
    return found


def _run(command: list[str], folder: Path) -> str:
    """What it prints; silent unless it fails: go names every module that it downloads."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": ""}
    done = subprocess.run(["nice", *command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr or done.stdout)
        raise MissingError(f"{SOURCE}: go {command[1]} failed, see above")
    return done.stdout
