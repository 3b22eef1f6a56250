"""Reads and writes the recorded outputs, one file for each group of commands."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.outputs.commands import Output

FOLDER = Path(__file__).parent / "recorded"


def read(group: str) -> dict[str, Output]:
    """Return the recorded outputs of a group by their command lines."""
    with gzip.open(FOLDER / f"{group}.json.gz", "rt") as file:
        return {line: Output(*fields) for line, fields in json.load(file).items()}


def write(group: str, outputs: dict[str, Output]) -> None:
    """Write the outputs of a group; equal outputs give equal bytes."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(outputs, indent=0)
    (FOLDER / f"{group}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
