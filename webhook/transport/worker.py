"""
The gunicorn worker: a loop for all clients, and threads for the few requests that must not keep the others waiting.

    main thread:  loop ──> a small request ─────────────────────────> application ──> loop
                      └──> a large one, or one that steps aside ┐                      ↑
    pool of threads:                                            └──> application ──────┘

It depends on these parts of gunicorn: the base Worker's `init_process`, `run`, `init_signals`, `handle_exit` and
`handle_quit` to replace; its `alive`, `app`, `cfg`, `log`, `notify`, `ppid`, `sockets` and `wsgi`; gthread's
PollableMethodQueue; `http.wsgi.create` and its Response's `write`, `close`, `force_close` and `should_close`; a
request's `body`, `headers`, `force_close` and `_expected_100_continue`; `http.get_parser`, `sock.ssl_context`.
"""

from __future__ import annotations

import os
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import monotonic
from types import FrameType

from gunicorn.http import wsgi
from gunicorn.workers.base import Worker as BaseWorker

from webhook.transport import aside
from webhook.transport.arbiter import settle_signals
from webhook.transport.aside import StepAside
from webhook.transport.connection import Connection
from webhook.transport.limits import Limits, last_response
from webhook.transport.loop import Loop
from webhook.transport.peers import Turns

__all__ = ["Limits", "Worker"]


class Worker(BaseWorker):
    """
    gunicorn's worker with one loop, and a pool of threads of which each peer in turn is given one.

    A subclass may set `limits` and `client_names`, and override `refusal_body` and `refused_client`.
    """

    limits = Limits()
    client_names: Set[str] = frozenset()
    loop: Loop

    def refusal_body(self, status: int, reason: str) -> bytes:
        """The JSON body of the response to a refused request, or nothing."""
        return b""

    def refused_client(self, reason: str) -> None:
        """Called when the certificate of a client is not accepted, for one of `tls.REASONS`."""

    def init_process(self) -> None:
        """Called in the process that serves: load the application, and serve."""
        self.begin()
        super().init_process()

    def begin(self) -> None:
        """Make the loop and the pool."""
        self.loop = Loop(self, self.sockets)
        self.pool, self.free = ThreadPoolExecutor(self.cfg.threads), self.cfg.threads
        all_run = Barrier(self.cfg.threads)  # Now, since later there might be no room for another.
        for _ in range(self.cfg.threads):
            self.pool.submit(all_run.wait)
        self.jobs: Turns[Connection] = Turns()

    def run(self) -> None:
        """Serve until a signal, and then answer what has arrived."""
        self.loop.run(self.goes_on)
        self.loop.stop(self.cfg.graceful_timeout)
        self.pool.shutdown(wait=False)

    def goes_on(self) -> bool:
        """Whether to serve on; called often enough that the arbiter sees that the loop turns."""
        self.notify()
        return bool(self.alive and self.ppid == os.getppid())

    def answer(self, connection: Connection) -> None:
        """Answer a small request at once, in the loop's thread, unless that would wait; any other in a thread."""
        if connection.request.body.getbuffer().nbytes <= self.limits.small_bytes:
            try:
                self.respond(connection)
                connection.request = None
                return
            except StepAside:
                connection.request.body.seek(0)
        connection.queued = monotonic()
        self.jobs.add(connection)
        self._give()

    def dropped(self, connection: Connection) -> None:
        """Give no thread to a connection that is closed."""
        self.jobs.discard(connection)

    def _give(self) -> None:
        """Give free threads to the requests that wait for one."""
        while self.jobs and self.free:
            self.free -= 1
            connection = self.jobs.next()
            connection.taken = True
            self.pool.submit(self._work, connection)

    def _work(self, connection: Connection) -> None:
        """Answer a request, in a thread."""
        aside.begin_job(connection.queued)
        try:
            self.respond(connection)
        finally:
            self.loop.defer(self._done, connection)

    def _done(self, connection: Connection) -> None:
        self.free += 1
        connection.request, connection.taken = None, False
        self._give()
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
        settle_signals()

    def handle_exit(self, _sig: int, _frame: FrameType | None) -> None:
        """Answer what has arrived, and end."""
        self.alive = False
        self.loop.end()

    def handle_quit(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once; `sys.exit` would wait for the threads."""
        self.cfg.worker_int(self)
        os._exit(0)
