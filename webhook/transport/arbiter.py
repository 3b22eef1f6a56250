"""gunicorn's master process, for one worker that is never reloaded."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import gunicorn.arbiter

HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
# gunicorn scales or reloads on these. Without a handler most would end the process.
IGNORED = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH)


def settle_signals() -> None:
    """Ignore the signals to scale or reload: there is one worker, and changed files are read without a signal."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


class Arbiter(gunicorn.arbiter.Arbiter):
    """gunicorn's arbiter, except that a second signal stops it at once; a stopping gunicorn handles only SIGINT."""

    SIGNALS = HEARD
    stopping = hurried = False

    def init_signals(self) -> None:
        super().init_signals()
        settle_signals()

    def spawn_worker(self) -> Any:
        """Fork, and block signals until the child has its own handlers."""
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)

    def signal(self, sig: int, frame: FrameType | None) -> None:
        """Queue the signal, or SIGINT if it is not the first."""
        self.hurried, self.stopping = self.stopping, True
        super().signal(signal.SIGINT if self.hurried else sig, frame)

    def stop(self, graceful: bool = True) -> None:
        """Stop the worker; at once if a second signal came before the first was handled."""
        super().stop(graceful and not self.hurried)
