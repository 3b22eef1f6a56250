"""Commands of evenkeel, run here or as a shell would run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(sys.executable).parent
POLICY = {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}


class Run(NamedTuple):
    code: int
    out: str
    err: str


def script(*args, name="evenkeel", **options):
    """Run the installed command, as a shell would."""
    command = [SCRIPTS / name, *args]
    return subprocess.run(command, capture_output="stdout" not in options, text=True, check=False, **options)
