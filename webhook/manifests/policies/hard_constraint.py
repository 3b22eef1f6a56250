"""hard-constraint in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.check import Check, Seen, concerns
from webhook.scheduler.constraint import HARD, SOFT


def checks(seen: Seen) -> Iterator[Check]:
    """Yield the check of whenUnsatisfiable."""
    yield Check(
        field="whenUnsatisfiable",
        items=seen.constraints_where(f"c.whenUnsatisfiable == '{HARD}' && {concerns(seen)}"),
        message=f"'must be {SOFT} by this cluster\\'s policy'",
        found=f"'{HARD}'",
        fix=f"'write whenUnsatisfiable: {SOFT}'",
    )
