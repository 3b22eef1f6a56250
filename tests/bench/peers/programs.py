"""Where the peers come from: Go modules, of which each is built once on a machine; kube-linter is taken as found."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.support.kubernetes_source import MissingError, cache, run


class Peer(NamedTuple):
    """A program in a Go module: its package, and the folder of the module that has its CustomResourceDefinitions."""

    name: str
    namespace: str
    version: str
    module: str
    package: str
    crds: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


KYVERNO = Peer("Kyverno", "kyverno", "v1.19.1", "github.com/kyverno/kyverno", "./cmd/kyverno", "config/crds")
GATEKEEPER = Peer(
    *("Gatekeeper", "gatekeeper-system", "v3.23.1", "github.com/open-policy-agent/gatekeeper/v3", "."),
    "charts/gatekeeper/crds",
)


def built(peer: Peer) -> Path:
    """The folder that has the `program` of a peer and its `crds`, outside the tree; built now if it is not there."""
    target = cache() / f"{peer.name.lower()}-{peer.version}"
    if not target.exists():
        _build(peer, target)
    return target


def _build(peer: Peer, target: Path) -> None:
    """Make `target`, whole or not at all."""
    go, begin = shutil.which("go"), time.monotonic()
    if go is None:
        raise MissingError(f"{peer} is built with Go: install it from https://go.dev/dl/")
    print(f"building {peer} from source, once on this machine: this takes minutes", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
        made = Path(temporary, "made")
        try:
            downloaded = json.loads(run([go, "mod", "download", "-json", f"{peer.module}@{peer.version}"], made.parent))
            source = Path(downloaded["Dir"])
            options = ["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=-s -w"]
            run([go, "build", *options, f"-o={made / 'program'}", peer.package], source)
        except MissingError as error:
            raise MissingError(f"{peer}: {error}") from None
        shutil.copytree(source / peer.crds, made / "crds")
        if not target.exists():  # Another build may have been faster.
            made.rename(target)
    print(f"built {target} in {time.monotonic() - begin:.0f} s", flush=True)


def kube_linter() -> str:
    """KUBE_LINTER if it is set, or the kube-linter of the PATH."""
    found = shutil.which(os.environ.get("KUBE_LINTER") or "kube-linter")
    if found is None:
        raise MissingError("kube-linter is not on the PATH: install it, or set KUBE_LINTER to it")
    return found
