"""
What would keep the loop waiting steps aside: its request is answered again, in a thread of the pool.

The pool's line may be long.  Who has waited in it for LINE_SECONDS must answer without waiting for anything else.
"""

from __future__ import annotations

from threading import get_ident, local
from time import monotonic

LINE_SECONDS = 1.0
# Idents of threads that run a loop; each adds only its own.
LOOPS: set[int] = set()
_job = local()


class StepAside(BaseException):
    """The request cannot be answered without waiting.  No `except Exception` of the application may catch it."""


def begin_job(queued: float) -> None:
    """Note when the request that this thread answers came into line, in seconds of `time.monotonic()`."""
    _job.late = monotonic() > queued + LINE_SECONDS


def may_wait() -> bool:
    """
    To be asked before waiting for anything, such as another server.

    StepAside in the thread of a loop; False in a thread whose request has waited long enough; else True.
    """
    if get_ident() in LOOPS:
        raise StepAside
    return not getattr(_job, "late", False)
