"""Where etcd, Kubernetes' components and kubectl come from: `python -m tests.e2e.programs` builds them if need be."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
SOURCE = Path(__file__).parent / "controlplane"
VERSION = re.search(r"k8s\.io/kubernetes (v\S+)", (SOURCE / "go.mod").read_text("utf-8"))[1]
FIX = f"set KUBEBUILDER_ASSETS to a folder that has {', '.join(NAMES)}"


class MissingError(Exception):
    """There are no programs to run, and here is how to get them."""


def folder() -> Path:
    """The folder that has all of NAMES: KUBEBUILDER_ASSETS if it is set, or what `build` made before."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    found = Path(given) if given else built()
    if missing := [name for name in NAMES if not os.access(found / name, os.X_OK)]:
        fix = f"put them there from https://dl.k8s.io/{VERSION}, or unset it" if given else "make controlplane"
        raise MissingError(f"{'KUBEBUILDER_ASSETS=' if given else ''}{found}: has no {', '.join(missing)}: {fix}")
    return found


def built() -> Path:
    """Outside the tree, and another folder as soon as version or source are others."""
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in ("go.mod", "go.sum", "main.go")))
    return cache() / f"controlplane-{VERSION}-{digest.hexdigest()[:12]}"


def cache() -> Path:
    """Where what is built once on a machine is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenkeel"


def build() -> None:
    """Make `built()`, whole or not at all: one program, and a link to it for each of NAMES."""
    go, target, begin = shutil.which("go"), built(), time.monotonic()
    if go is None:
        raise MissingError(f"a control plane to test against needs Go: install it from https://go.dev/dl/, or {FIX}")
    print(f"building Kubernetes {VERSION} from source, once on this machine: this takes minutes", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
        program = Path(temporary, "programs", "controlplane")
        compile_to(program, go)
        for name in NAMES:
            program.with_name(name).symlink_to(program.name)
        size = program.stat().st_size >> 20
        if not target.exists():  # another build may have been faster
            program.parent.rename(target)
    print(f"built {target}: {size} MiB in {time.monotonic() - begin:.0f} s")


def compile_to(program: Path, go: str) -> None:
    """Static, so that any Linux runs it, and silent unless it fails: go names every module that it downloads."""
    flags = ["-trimpath", "-buildvcs=false", "-ldflags", f"-s -w {version_flags()}"]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    done = subprocess.run(
        [go, "build", *flags, "-o", program, "."], cwd=SOURCE, env=environment, stderr=subprocess.PIPE
    )
    if done.returncode:
        sys.stderr.write(done.stderr.decode("utf-8", "replace"))
        raise MissingError(f"{SOURCE}: go build failed, see above; {FIX} to do without")


def version_flags() -> str:
    """What makes the programs call themselves VERSION, as Kubernetes' own build does."""
    major, minor, _ = VERSION.removeprefix("v").split(".")
    values = {"gitVersion": VERSION, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{key}={value}" for package in packages for key, value in values.items())


def provide(variable: str, built: Callable[[], Path], build: Callable[[], None], use: Callable[[], Path]) -> int:
    """Build what is not there yet, unless `variable` names it; an exit status, and errors are one line."""
    try:
        if not os.environ.get(variable) and not built().exists():
            build()
        use()
    except MissingError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def main() -> int:
    return provide("KUBEBUILDER_ASSETS", built, build, folder)


if __name__ == "__main__":
    sys.exit(main())
