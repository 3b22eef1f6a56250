"""soft-constraint in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.check import CelCheck, CelObject, concerns
from webhook.scheduler.constraint import HARD, SOFT


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of whenUnsatisfiable."""
    yield CelCheck(
        field="whenUnsatisfiable",
        items=obj.constraints_where(f"c.whenUnsatisfiable == '{SOFT}' && {concerns(obj)}"),
        message=f"'must be {HARD} by this cluster\\'s policy'",
        found=f"'{SOFT}'",
        fix=f"'write whenUnsatisfiable: {HARD}'",
    )
