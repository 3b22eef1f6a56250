"""
A request that would keep the loop waiting steps aside: it is answered again, in a thread of the pool.

The pool's line may be long.  A request that has waited in it for LINE_SECONDS must wait for nothing else.
"""

from __future__ import annotations

from threading import local
from time import monotonic

LINE_SECONDS = 1.0
_thread = local()  # Of the current thread: `loops`, it runs a loop; `late`, its request has waited long enough.


class StepAside(BaseException):
    """The request cannot be answered without waiting.  No `except Exception` of the application may catch it."""


def enter_loop() -> None:
    """Note that this thread runs a loop."""
    _thread.loops = True


def begin_job(queued: float) -> None:
    """Note when the request that this thread answers came into line, in seconds of `time.monotonic()`."""
    _thread.late = monotonic() > queued + LINE_SECONDS


def may_wait() -> bool:
    """
    Whether the thread may wait for anything, such as another server; ask before you wait.

    StepAside in the thread of a loop; False in a thread whose request has waited long enough; else True.
    """
    if getattr(_thread, "loops", False):
        raise StepAside
    return not getattr(_thread, "late", False)
