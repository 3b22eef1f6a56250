"""What /readyz reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One line of /readyz: where `ok` is False, this replica is not ready for reviews."""

    name: str
    ok: bool
    detail: str
