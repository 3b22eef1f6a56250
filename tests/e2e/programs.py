"""Where etcd, Kubernetes' components and kubectl come from: `python -m tests.e2e.programs` builds them if need be."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.kubernetes_source import NEWEST, MissingError, Version, cache, parse, write_module
from tests.support.kubernetes_source import build as go_build

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
SOURCE = Path(__file__).parent / "controlplane"
FIX = f"set KUBEBUILDER_ASSETS to a folder that has {', '.join(NAMES)}"


def version() -> Version:
    """KUBERNETES if it is set, or the newest; ValueError if it is none."""
    return parse(os.environ.get("KUBERNETES") or str(NEWEST))


def folder() -> Path:
    """The folder that has all of NAMES: KUBEBUILDER_ASSETS if it is set, or what `build` made before."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    found = Path(given) if given else built()
    if missing := [name for name in NAMES if not os.access(found / name, os.X_OK)]:
        fix = f"put them there from https://dl.k8s.io/{version()}, or unset it" if given else "make controlplane"
        raise MissingError(f"{'KUBEBUILDER_ASSETS=' if given else ''}{found}: has no {', '.join(missing)}: {fix}")
    return found


def built() -> Path:
    """Outside the tree, and another folder as soon as version or source are others."""
    digest = hashlib.sha256((SOURCE / "main.go").read_bytes()).hexdigest()
    return cache() / f"controlplane-{version()}-{digest[:12]}"


def build() -> None:
    """Make `built()`, whole or not at all: one program, and a link to it for each of NAMES."""
    go, target, begin = shutil.which("go"), built(), time.monotonic()
    if go is None:
        raise MissingError(f"a control plane to test against needs Go: install it from https://go.dev/dl/, or {FIX}")
    print(f"building Kubernetes {version()} from source, once on this machine: this takes minutes", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
        program = Path(temporary, "programs", "controlplane")
        compile_to(program, go, Path(temporary))
        for name in NAMES:
            program.with_name(name).symlink_to(program.name)
        size = program.stat().st_size >> 20
        if not target.exists():  # another build may have been faster
            program.parent.rename(target)
    print(f"built {target}: {size} MiB in {time.monotonic() - begin:.0f} s")


def compile_to(program: Path, go: str, folder: Path) -> None:
    """In an empty folder, with a go.mod for the version."""
    try:
        shutil.copy(SOURCE / "main.go", folder)
        write_module(folder, version(), go)
        go_build(SOURCE, folder, go, f"-ldflags=-s -w {version_flags(version())}", f"-o={program}")
    except MissingError as error:
        raise MissingError(f"{error}; {FIX} to do without") from None


def version_flags(version: Version) -> str:
    """What makes the programs call themselves by their version, as Kubernetes' own build does."""
    values = {"gitVersion": version, "gitMajor": 1, "gitMinor": version.minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{key}={value}" for package in packages for key, value in values.items())


def provide(variable: str | None, built: Callable[[], Path], build: Callable[[], None], use: Callable[[], Path]) -> int:
    """Build what is not there yet, unless `variable` names it; an exit status, and errors are one line."""
    try:
        if not (variable and os.environ.get(variable)) and not built().exists():
            build()
        use()
    except (MissingError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def main() -> int:
    return provide("KUBEBUILDER_ASSETS", built, build, folder)


if __name__ == "__main__":
    sys.exit(main())
