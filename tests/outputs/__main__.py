"""Write what the commands print today: `python -m tests.outputs`, then read the difference in git."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.outputs.commands import ROOT, groups, outputs
from tests.outputs.recorded import write


def record() -> None:
    """Write the recordings of all groups."""
    os.chdir(ROOT)
    for group in groups():
        with tempfile.TemporaryDirectory() as folder:
            write(group, outputs(group, Path(folder)))


if __name__ == "__main__":
    record()
