"""
The gunicorn worker: a loop for all clients, and threads for the few requests that must not keep the others waiting.

    main thread:  loop ──> a small request ──────────> application ──> loop
                      ├──> one that steps aside ┐                       ↑
    some threads:     │                         └────> application ─────┤
                      └──> a large one ┐                                │
    one thread:                        └─────────────> application ─────┘

gunicorn's arbiter forks the process, passes signals on, and replaces a worker that dies or hangs.
"""

from __future__ import annotations

import ctypes
import os
import signal
import ssl
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Barrier
from time import monotonic
from types import FrameType

from gunicorn.http import wsgi
from gunicorn.workers.base import Worker as BaseWorker

from webhook.transport import aside
from webhook.transport.aside import StepAside
from webhook.transport.connection import Connection
from webhook.transport.limits import Limits, last_response
from webhook.transport.loop import Loop
from webhook.transport.peers import Turns

__all__ = ["Limits", "Worker"]

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


def give_memory_back() -> None:
    """Have what a large request took go back to the kernel, where libc can be told; before any thread starts."""
    with suppress(OSError, AttributeError):
        for parameter, value in (MMAP_THRESHOLD, ARENA_MAX):
            ctypes.CDLL(None).mallopt(parameter, value)


@dataclass
class Line:
    """Requests that wait for one of some threads, of which so many are free; each peer in turn is given one."""

    free: int
    waiting: Turns[Connection] = field(default_factory=Turns)


class Worker(BaseWorker):
    """
    gunicorn's worker with one loop, and threads for what must not keep it waiting: one of them for large requests.

    The loop serves the first of its sockets.  A subclass sets `tls_context`, may set `limits` and `client_names`, and
    may override `refusal_body` and `refused_client`.
    """

    limits = Limits()
    tls_context: ssl.SSLContext | None = None
    client_names: Set[str] = frozenset()
    loop: Loop

    def refusal_body(self, status: int, reason: str) -> bytes:
        """The JSON body of the response to a refused request, or nothing."""
        return b""

    def refused_client(self, reason: str) -> None:
        """Called when the certificate of a client is not accepted, for one of `tls.REASONS`."""

    def init_process(self) -> None:
        """Called in the process that serves: load the application, and serve."""
        give_memory_back()
        self.begin()
        super().init_process()

    def begin(self) -> None:
        """Make the loop and the threads."""
        self.loop = Loop(self, self.sockets[:1])
        # Large ones take much memory and time: one at a time, so that a peer waits for one of each other peer.
        self.small, self.large = Line(self.cfg.threads), Line(1)
        threads = self.small.free + self.large.free
        self.pool, all_run = ThreadPoolExecutor(threads), Barrier(threads)
        for _ in range(threads):  # Now, since later there might be no room for another.
            self.pool.submit(all_run.wait)

    def run(self) -> None:
        """Serve until a signal, and then answer what has arrived."""
        self.loop.run(self.goes_on)
        self.loop.stop(self.cfg.graceful_timeout - LAST_SECONDS)
        self.pool.shutdown(wait=False)

    def goes_on(self) -> bool:
        """Whether to serve on; called often enough that the arbiter sees that the loop turns."""
        self.notify()
        return bool(self.alive and self.ppid == os.getppid())

    def answer(self, connection: Connection) -> None:
        """Answer a small request at once, in the loop's thread, unless that would wait; any other in a thread."""
        is_small = connection.request.body.getbuffer().nbytes <= self.limits.small_bytes
        if is_small:
            try:
                self.respond(connection)
                connection.request = None
                return
            except StepAside:
                connection.request.body.seek(0)
        connection.queued = monotonic()
        line = self.small if is_small else self.large
        line.waiting.add(connection)
        self._give(line)

    def dropped(self, connection: Connection) -> None:
        """Give no thread to a connection that is closed."""
        for line in (self.small, self.large):
            line.waiting.discard(connection)

    def _give(self, line: Line) -> None:
        """Give free threads to the requests that wait for one."""
        while line.waiting and line.free:
            line.free -= 1
            connection = line.waiting.next()
            connection.taken = True
            self.pool.submit(self._work, line, connection)

    def _work(self, line: Line, connection: Connection) -> None:
        """Answer a request, in a thread."""
        aside.begin_job(connection.queued)
        try:
            self.respond(connection)
        finally:
            self.loop.defer(self._done, line, connection)

    def _done(self, line: Line, connection: Connection) -> None:
        line.free += 1
        connection.request, connection.taken = None, False
        self._give(line)
        self.loop.resume(connection)

    def respond(self, connection: Connection) -> None:
        """Write the application's response to the outbox; status 500 if it fails, whatever it raises."""
        try:
            connection.closing = not self._call(connection)
        except StepAside:
            raise
        except BaseException:  # Not even SystemExit may end the worker.
            self.log.exception("Error handling request")
            connection.outbox[:] = last_response(500)
            connection.closing = True

    def _call(self, connection: Connection) -> bool:
        """Call the WSGI application; whether the connection can take another request."""
        request, outbox = connection.request, connection.outbox
        response, environ = wsgi.create(request, outbox, connection.client, connection.server, self.cfg)
        environ["wsgi.multithread"] = True
        if not self.alive:
            response.force_close()
        content = self.wsgi(environ, response.start_response)
        try:
            for part in content:
                response.write(part)
            response.close()
        finally:
            if hasattr(content, "close"):
                content.close()
        return not response.should_close()

    def init_signals(self) -> None:
        super().init_signals()
        ignore_signals()

    def handle_exit(self, _sig: int, _frame: FrameType | None) -> None:
        """Answer what has arrived, and end; end at once if it does not serve yet."""
        if not self.booted:
            os._exit(0)
        self.alive = False
        self.loop.end()

    def handle_quit(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once; `sys.exit` would wait for the threads."""
        os._exit(0)
