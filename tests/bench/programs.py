"""The Go programs that measure: a load, and a null webhook to compare with; built from tests/bench/go where Go is."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.kubernetes_source import MissingError, cache

SOURCE = Path(__file__).parent / "go"
# The standard library is all that they use: nothing is downloaded.
OFFLINE = {"CGO_ENABLED": "0", "GOPROXY": "off", "GOWORK": "off", "GOFLAGS": "-mod=mod"}


def built() -> Path:
    """The folder of `load` and `null`, in the cache of the machine; built now if it is not there."""
    files = sorted(file for file in SOURCE.rglob("*") if file.is_file())
    target = cache() / f"bench-{hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:12]}"
    if not target.exists():
        _build(target)
    return target


def _build(target: Path) -> None:
    """Make `target`, whole or not at all."""
    go = shutil.which("go")
    if go is None:
        raise MissingError("it needs Go, for the load and the webhook beside: install it from https://go.dev/dl/")
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
        programs = Path(temporary, "programs")
        programs.mkdir()
        done = subprocess.run(
            [go, "build", "-trimpath", "-buildvcs=false", "-o", f"{programs}/", "./..."],
            cwd=SOURCE,
            env={**os.environ, **OFFLINE},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise MissingError(f"{SOURCE}: go build failed:\n{done.stderr}")
        if not target.exists():  # Another build may have been faster.
            programs.rename(target)
