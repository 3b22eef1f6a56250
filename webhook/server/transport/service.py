"""
What answers the requests of a loop: a WSGI application, at once, or in a thread if others would have to wait.

    loop ──> a small request ──────────> application ──> loop
        ├──> one that steps aside ┐                       ↑
        │    some threads         └────> application ─────┤
        └──> a large one ┐                                │
             one thread  └─────────────> application ─────┘
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf
from threading import Barrier
from time import monotonic
from typing import Any
from wsgiref.types import WSGIApplication

from webhook.server.transport import http, thread_role
from webhook.server.transport.connection import Connection
from webhook.server.transport.limits import Limits, last_response
from webhook.server.transport.loop import SWEEP_SECONDS, Loop
from webhook.server.transport.peers import Turns
from webhook.server.transport.thread_role import StepAside

REST = 1.0  # Seconds of rest for each second of processor time.
OPEN = Limits(
    connections=64,  # A kubelet and a Prometheus need one each, for milliseconds; a kubelet may make several probes.
    brief=True,
    greeting=2.0,
    head=1.0,
    body=1.0,
    linger=1.0,
    linger_bytes=64 << 10,
    head_bytes=8 << 10,  # Prometheus sends less than 1 KiB.
    body_bytes=0,
    slice=0.0005,  # A client that is not accepted in time asks again after a second.
    held_bytes=16 << 20,  # In answers that nobody reads.
)


@dataclass
class Line:
    """Requests that wait for a thread; each peer in turn is given one."""

    free: int  # Threads without a request.
    waiting: Turns[Connection] = field(default_factory=Turns)


class WsgiService:
    """Serves the clients of a loop with the application `wsgi`; `log` is gunicorn's, or any other logger."""

    wsgi: WSGIApplication
    log: Any
    limits = Limits()
    tls_context: ssl.SSLContext | None = None
    client_names: Set[str] = frozenset()
    loop: Loop

    @property
    def parting(self) -> bool:
        """Whether each response ends its connection."""
        return False

    def refusal(self, status: int, reason: str) -> bytes:
        """The whole response to a request that is refused."""
        return last_response(status)

    def refused_client(self, reason: str) -> None:
        """Note that the certificate of a client is not accepted; `reason` is one of `tls.NOT_ACCEPTED`."""

    def begin(self, listeners: Sequence[socket.socket], small: int, large: int) -> None:
        """Make the loop, and so many threads for small and for large requests."""
        self.loop = Loop(self, listeners)
        self.small, self.large = Line(small), Line(large)
        self.pool, all_started = ThreadPoolExecutor(small + large), Barrier(small + large)
        # Start all threads now: later there might be no memory for another.  With the barrier, none takes two calls.
        for _ in range(small + large):
            self.pool.submit(all_started.wait)

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
        self._start_waiting(line)

    def dropped(self, connection: Connection) -> None:
        """Give no thread to a connection that is closed."""
        for line in (self.small, self.large):
            line.waiting.discard(connection)

    def _start_waiting(self, line: Line) -> None:
        """Give free threads to the requests that wait for one."""
        while line.waiting and line.free:
            line.free -= 1
            connection = line.waiting.next()
            connection.taken = True
            self.pool.submit(self._work, line, connection)

    def _work(self, line: Line, connection: Connection) -> None:
        """Answer a request, in a thread."""
        thread_role.begin_job(connection.queued)
        try:
            self.respond(connection)
        finally:
            self.loop.defer(self._done, line, connection)

    def _done(self, line: Line, connection: Connection) -> None:
        line.free += 1
        connection.request, connection.taken, connection.queued = None, False, inf
        self._start_waiting(line)
        self.loop.resume(connection)

    def respond(self, connection: Connection) -> None:
        """Write the application's response to the outbox; status 500 if it fails, whatever it raises."""
        try:
            connection.closing = not http.respond(self.wsgi, connection, self.parting)
        except StepAside:
            raise
        except BaseException:  # Not even SystemExit may end the worker.
            self.log.exception("Error handling request")
            connection.outbox[:] = last_response(500)
            connection.closing = True


class OpenPort(WsgiService):
    """
    A port for probes and metrics: plain HTTP in a thread of its own, a request without a body to a connection.

    Any client may reach it, so connections are few and short: none can keep others waiting.  The thread rests for as
    long as it has worked, so that a flood of requests leaves at least half a processor to reviews.
    """

    limits = OPEN
    parting = True  # Each response ends its connection: the few places are for others.

    def __init__(self, listener: socket.socket, wsgi: WSGIApplication, log: Any) -> None:
        self.wsgi, self.log = wsgi, log
        self.begin([listener], small=1, large=0)

    def refusal(self, status: int, reason: str) -> bytes:
        return last_response(status, f"{reason}\n".encode("utf-8", "backslashreplace"), "text/plain; charset=utf-8")

    def start(self) -> None:
        """Serve until the process ends."""
        threading.Thread(target=self._run, name="health", daemon=True).start()

    def _run(self) -> None:
        thread_role.enter_loop()
        while True:
            begun = time.thread_time()
            try:
                self.loop.turn(SWEEP_SECONDS)
            except Exception:
                self.log.exception("Health port failed")
                time.sleep(SWEEP_SECONDS)
            time.sleep(REST * (time.thread_time() - begun))
