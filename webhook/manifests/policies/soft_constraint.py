"""soft-constraint in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.check import CelCheck, CelObject, unwanted_action
from webhook.scheduler.constraint import HARD, SOFT


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of whenUnsatisfiable."""
    yield unwanted_action(obj, SOFT, HARD)
