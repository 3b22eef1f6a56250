"""hard-constraint in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.check import CelCheck, CelObject, concerns
from webhook.scheduler.constraint import HARD, SOFT


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of whenUnsatisfiable."""
    yield CelCheck(
        field="whenUnsatisfiable",
        items=obj.constraints_where(f"c.whenUnsatisfiable == '{HARD}' && {concerns(obj)}"),
        message=f"'must be {SOFT} by this cluster\\'s policy'",
        found=f"'{HARD}'",
        fix=f"'write whenUnsatisfiable: {SOFT}'",
    )
