"""Where cert-manager comes from: `python -m tests.e2e.cert_manager` builds what a webhook needs of its Go module."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.component import Component
from tests.e2e.plane import ControlPlane
from tests.e2e.programs import provide
from tests.support.kubernetes_source import MissingError, cache, run
from tests.support.kubernetes_source import build as go_build

VERSION = "v1.21.2"
MODULE = "github.com/cert-manager/cert-manager"
SOURCE = Path(__file__).parent / "certmanager"
FIX = "make cert-manager-check"


def program() -> Path:
    """What `build` made before, beside the folder `crds`."""
    found = built() / "certmanager"
    if not os.access(found, os.X_OK):
        raise MissingError(f"{found}: is no program; {FIX}")
    return found


def built() -> Path:
    """Outside the tree, and another folder as soon as version or source are others."""
    digest = hashlib.sha256((SOURCE / "main.go").read_bytes()).hexdigest()
    return cache() / f"cert-manager-{VERSION}-{digest[:12]}"


def build() -> None:
    """Make `built()`, whole or not at all."""
    go, target, begin = shutil.which("go"), built(), time.monotonic()
    if go is None:
        raise MissingError("cert-manager is built with Go: install it from https://go.dev/dl/")
    print(f"building cert-manager {VERSION} from source, once on this machine: this takes minutes", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
        folder, made = Path(temporary), Path(temporary, "made")
        shutil.copy(SOURCE / "main.go", folder)
        source = _write_module(folder, go)
        go_build(SOURCE, folder, go, "-ldflags=-s -w", f"-o={made / 'certmanager'}")
        shutil.copytree(source / "deploy" / "crds", made / "crds", ignore=shutil.ignore_patterns("[!c]*"))
        if not target.exists():  # another build may have been faster
            made.rename(target)
    print(f"built {target}: {program().stat().st_size >> 20} MiB in {time.monotonic() - begin:.0f} s")


def _write_module(folder: Path, go: str) -> Path:
    """Write the go.mod of our program, which takes all from cert-manager's own; the folder of its source."""
    found = json.loads(run([go, "mod", "download", "-json", f"{MODULE}@{VERSION}"], folder))
    language = re.search(r"^go (\S+)$", Path(found["GoMod"]).read_text("utf-8"), re.MULTILINE)
    text = f"module evenkeel.dev/built\n\ngo {language[1]}\n\nrequire {MODULE} {VERSION}\n"
    (folder / "go.mod").write_text(text, "utf-8")
    return Path(found["Dir"])


def cert_manager(plane: ControlPlane) -> Component:
    """Its controllers and its injector, with the rights of an admin, not yet started; its kinds are there."""
    output = plane.kubectl("apply", "--server-side", "-f", str(built() / "crds"))
    assert 0 == output.code, output
    flags = {"kubeconfig": plane.kubeconfig}
    return Component(program(), flags, plane.folder / "certmanager.log", lambda: True)


def main() -> int:
    return provide(None, built, build, program)


if __name__ == "__main__":
    sys.exit(main())
