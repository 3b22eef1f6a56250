"""Where Helm comes from, `python -m tests.e2e.helm` builds it from its Go module if need be, and what it renders."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from tests.e2e import programs
from tests.e2e.programs import provide
from tests.generate.chart import FOLDER
from tests.support.kubernetes_source import MissingError, cache

VERSION = "v4.3.1"
MODULE = "helm.sh/helm/v4/cmd/helm"
FIX = "set HELM to a helm of version 3 or 4"
NAMESPACE = "guard"


def program() -> Path:
    """HELM if it is set, or what `build` made before."""
    given = os.environ.get("HELM")
    found = Path(given) if given else built()
    if not os.access(found, os.X_OK):
        raise MissingError(f"{'HELM=' if given else ''}{found}: is no program; {'unset it' if given else 'make helm'}")
    return found


def built() -> Path:
    """Outside the tree, and another folder for another version."""
    return cache() / f"helm-{VERSION}" / "helm"


def build() -> None:
    """Make `built()`, whole or not at all."""
    go, target, begin = shutil.which("go"), built(), time.monotonic()
    if go is None:
        raise MissingError(f"the chart's tests need Go to build Helm: install it from https://go.dev/dl/, or {FIX}")
    print(f"building Helm {VERSION} from source, once on this machine: this takes minutes", flush=True)
    target.parent.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent.parent, prefix=f".helm-{VERSION}-") as temporary:
        bin_folder = Path(temporary, "bin")
        command = ["nice", go, "install", "-trimpath", "-ldflags", "-s -w", f"{MODULE}@{VERSION}"]
        done = subprocess.run(command, env={**os.environ, "GOBIN": str(bin_folder)}, stderr=subprocess.PIPE)
        if done.returncode:
            sys.stderr.write(done.stderr.decode("utf-8", "replace"))
            raise MissingError(f"{MODULE}@{VERSION}: go install failed, see above; {FIX} to do without")
        if not target.exists():  # another build may have been faster
            bin_folder.rename(target.parent)
    print(f"built {target}: {target.stat().st_size >> 20} MiB in {time.monotonic() - begin:.0f} s")


class RefusedError(Exception):
    """What helm says when it refuses."""


def helm(*arguments: object, given: str | None = None) -> str:
    """What a helm command prints; RefusedError if it fails."""
    done = subprocess.run([program(), *map(str, arguments)], input=given, capture_output=True, text=True)
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout


def render(values: Mapping[str, object] | None = None, version: str = "", only: str = "") -> list[dict]:
    """The objects that the chart makes of `values`, for a cluster of this version, or of the control plane's."""
    where = ["--namespace", NAMESPACE, "--kube-version", version or str(programs.version()), "--values", "-"]
    shown = ["--show-only", f"templates/{only}.yaml"] if only else []
    text = helm("template", "evenkeel", FOLDER, *where, *shown, given=json.dumps(values or {}))
    return [one for one in yaml.safe_load_all(text) if one]


def main() -> int:
    return provide("HELM", built, build, program)


if __name__ == "__main__":
    sys.exit(main())
