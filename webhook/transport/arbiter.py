"""gunicorn's master process, for one worker that is never reloaded."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import gunicorn.arbiter

# To gunicorn they mean more workers, fewer, new ones or a second master; unhandled, most would end the process.
IGNORED = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH)


HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def settle_signals() -> None:
    """There is one worker, and what changes is read again without a signal."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


class Arbiter(gunicorn.arbiter.Arbiter):
    """gunicorn's own, for which the second signal means now; while it stops it looks out for SIGINT only."""

    SIGNALS = HEARD
    stopping = hurried = False

    def init_signals(self) -> None:
        super().init_signals()
        settle_signals()

    def spawn_worker(self) -> Any:
        """Fork; a signal waits until the child has handlers of its own."""
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)

    def signal(self, sig: int, frame: FrameType | None) -> None:
        self.hurried, self.stopping = self.stopping, True
        super().signal(signal.SIGINT if self.hurried else sig, frame)

    def stop(self, graceful: bool = True) -> None:
        """Stop the worker; a second signal may have come before the first one was heard."""
        super().stop(graceful and not self.hurried)
