"""What tests stand on: builders, servers, fakes, and where the files are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
