"""
The program that is asked: Kubernetes of a version, with the Go of this folder, built once on a machine.

    go/*.go           our main package, which reads cases and writes decisions
    go/overlay/…      files of ours for packages of Kubernetes, to see what those do not export (go build -overlay)

What differs between versions stands under build tags like Go's own: kubernetes1.34 holds for 1.34 and all later ones.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.kubernetes_source import OLDEST, MissingError, Version, build, cache, write_module

SOURCE = Path(__file__).parent / "go"
BASE = "k8s.io/component-base"


def program(version: Version) -> Path:
    """In the cache of the machine; built now if it is not there."""
    target = built(version)
    if not target.exists():
        _build(version, target)
    return target


def built(version: Version) -> Path:
    """Outside the tree, and another file as soon as version, source or linking are others."""
    files = sorted(SOURCE.rglob("*.go"))
    named = [part for file in files for part in (str(file.relative_to(SOURCE)).encode(), file.read_bytes())]
    made_of = b"".join([*named, linking(version).encode()])
    return cache() / f"oracle-{version}-{hashlib.sha256(made_of).hexdigest()[:12]}"


def tags(version: Version) -> str:
    """A tag for its minor version and each before."""
    return ",".join(f"kubernetes1.{minor}" for minor in range(OLDEST, version.minor + 1))


def linking(version: Version) -> str:
    """Flags of the linker, by which the program knows its version as a released one does: NodeDeclaredFeatures asks."""
    return f"-s -w -X {BASE}/version.gitVersion={version}"


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
        flags = (f"-ldflags={linking(version)}", f"-tags={tags(version)}", "-overlay=overlay.json", "-o=oracle")
        build(SOURCE, folder, go, *flags)
        if not target.exists():  # another build may have been faster
            (folder / "oracle").rename(target)
    print(f"built {target}: {target.stat().st_size >> 20} MiB in {time.monotonic() - begin:.0f} s")


def _lay_out(folder: Path, version: Version, go: str) -> None:
    """Our source, copied as it is now, and a link to Kubernetes: go refuses to overlay its own cache of modules."""
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    kubernetes, overlay = folder / "kubernetes", folder / "overlay"
    kubernetes.symlink_to(write_module(folder, version, go, local="./kubernetes"))
    laid = {str(kubernetes / file.relative_to(overlay)): str(file) for file in overlay.rglob("*.go")}
    (folder / "overlay.json").write_text(json.dumps({"Replace": laid}), "utf-8")
