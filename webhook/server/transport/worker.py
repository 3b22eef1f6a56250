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
# On these gunicorn scales, reloads or reopens files. Here is one worker, and changed files are read without a signal.
IGNORED = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH)
LAST_SECONDS = 1.0  # Left of graceful_timeout, so that the worker ends before gunicorn's arbiter kills it.
# Parameters of glibc's mallopt, and the values that the image sets, too.  Blocks of this size and more go back to the
# kernel once they are free; else glibc raises the threshold with the first large block, and keeps those that follow.
# Each arena keeps free memory of its own, so there are at most two.
MMAP_THRESHOLD, ARENA_MAX = (-3, 1 << 20), (-8, 2)


def ignore_signals() -> None:
    """Ignore the signals on which gunicorn scales, reloads or reopens files; in the arbiter and in the worker."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)


def block_signals() -> None:
    """Hold signals back from before a fork until the worker has its own handlers, so that none is lost."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)


def unblock_signals() -> None:
    """Let signals through again."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


def give_memory_back() -> None:
    """Have glibc return large blocks to the kernel, before any thread starts; another libc has no mallopt."""
    with suppress(OSError, AttributeError):
        for parameter, value in (MMAP_THRESHOLD, ARENA_MAX):
            ctypes.CDLL(None).mallopt(parameter, value)


class Worker(WsgiService, BaseWorker):
    """
    gunicorn's worker with one loop, and threads for what must not keep it waiting: one of them for large requests.

    The loop serves the first socket.  A subclass sets `tls_context`; it may set `limits` and `client_names`, and
    override `refusal` and `refused_client`.
    """

    alive: bool  # Set by gunicorn; False while the worker stops.

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
        """Whether to serve on; called so often that the arbiter sees that the loop turns."""
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
