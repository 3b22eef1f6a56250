"""
The gunicorn worker: its main thread runs the loop of a WSGI service.

gunicorn's arbiter forks the process, passes signals on, and replaces a worker that dies or hangs.
"""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from dataclasses import replace
from types import FrameType

from gunicorn.workers.base import Worker as BaseWorker

from webhook.server.transport.service import WsgiService

HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
# gunicorn scales, reloads or reopens files on these. There is one worker, and changed files are read without a signal.
IGNORED = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH)
LAST_SECONDS = 1.0  # Of graceful_timeout, after which gunicorn's arbiter kills the worker: enough to end by itself.
# mallopt's parameters of glibc, and their values, as the image sets them.  A block of so many bytes goes back to the
# kernel once it is free; else glibc raises the threshold with the first large one, and keeps all that come later.
MMAP_THRESHOLD, ARENA_MAX = (-3, 1 << 20), (-8, 2)


def ignore_signals() -> None:
    """Ignore the signals on which gunicorn scales, reloads or reopens files; in the arbiter and in the worker."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)


def block_signals() -> None:
    """Have signals wait, from before a fork until the worker has handlers of its own: else one could be lost."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)


def unblock_signals() -> None:
    """Have signals come again."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


def give_memory_back() -> None:
    """Have what a large request took go back to the kernel, where libc can be told; before any thread starts."""
    with suppress(OSError, AttributeError):
        for parameter, value in (MMAP_THRESHOLD, ARENA_MAX):
            ctypes.CDLL(None).mallopt(parameter, value)


class Worker(WsgiService, BaseWorker):
    """
    gunicorn's worker with one loop, and threads for what must not keep it waiting: one of them for large requests.

    The loop serves the first of its sockets.  A subclass sets `tls_context`, may set `limits` and `client_names`, and
    may override `refusal` and `refused_client`.
    """

    alive: bool  # Set by gunicorn; not while it stops.

    @property
    def parting(self) -> bool:
        return not self.alive

    def init_process(self) -> None:
        """Load the application, and serve; called in the process that serves."""
        give_memory_back()
        self.limits = replace(self.limits, connections=self.cfg.worker_connections)
        # Large requests take much memory and time: one at a time, so that a peer waits for one of each other peer.
        self.begin(self.sockets[:1], small=self.cfg.threads, large=1)
        super().init_process()

    def run(self) -> None:
        """Serve until a signal, and then answer what has arrived."""
        self.loop.run(self.goes_on)
        self.loop.stop(self.cfg.graceful_timeout - LAST_SECONDS)
        self.pool.shutdown(wait=False)

    def goes_on(self) -> bool:
        """Return whether to serve on; called often enough that the arbiter sees that the loop turns."""
        self.notify()
        return bool(self.alive and self.ppid == os.getppid())

    def init_signals(self) -> None:
        super().init_signals()
        ignore_signals()
        unblock_signals()

    def handle_exit(self, _sig: int, _frame: FrameType | None) -> None:
        """Answer what has arrived, and end; end at once if it does not serve yet."""
        if not self.booted:
            os._exit(0)
        if self.alive:  # The loop of a worker that ends may be closed.
            self.alive = False
            self.loop.end()

    def handle_abort(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once: gunicorn's arbiter has found that the worker hangs."""
        os._exit(1)

    def handle_quit(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once; `sys.exit` would wait for the threads."""
        os._exit(0)
