"""The code of other commits."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from tests.support import ROOT

OURS = ("certs", "evenkeel", "webhook")  # Not all commits have each.


def checked_out(commit: str, folder: Path) -> Path:
    """The code of a commit."""
    listed = subprocess.run(["git", "ls-tree", "--name-only", commit, *OURS], cwd=ROOT, check=True, capture_output=True)
    command = ["git", "archive", commit, *listed.stdout.decode().split()]
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder
