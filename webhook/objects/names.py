"""The names under `evenkeel.dev` that people write into their objects."""

from __future__ import annotations

IGNORE_ANNOTATION = "evenkeel.dev/ignore"
SKIP_LABEL = "evenkeel.dev/skip"
