"""The number of CPUs that this process may use, which limits how many processes a command starts."""

from __future__ import annotations

import os


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
