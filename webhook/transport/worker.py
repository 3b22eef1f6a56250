"""The gunicorn worker: a thread is lent only to a request that has arrived whole.

    main thread:      accept → handshake → head → body ┐             ┌ rest of the response → head …
    pool of threads:                                   └ application ┘

The main thread waits for all clients at once and for none in particular: no socket blocks, a connection is a generator
that yields the event it waits for, and every wait has a deadline.  What a slow or hostile client takes is a descriptor
and some memory, never a thread; `Limits` bounds both.

Inside gunicorn this relies on: ThreadWorker's `accept`, `run`, `init_signals` and `handle_quit` to replace; its
`alive`, `cfg`, `log`, `handle_exit`, `handle_request`, `is_parent_alive`, `method_queue`, `notify`, `poller`,
`set_accept_enabled`, `sockets`, `tpool`, `wait_for_and_dispatch_events` and `worker_connections`; a request's `body`,
`headers`, `force_close` and `_expected_100_continue`; `http.get_parser`, `sock.ssl_context`; Arbiter's `SIGNALS`,
`init_signals`, `signal`, `spawn_worker` and `stop`.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from functools import partial
from math import inf
from selectors import EVENT_READ
from time import monotonic
from types import FrameType
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from webhook.transport.arbiter import Arbiter, settle_signals
from webhook.transport.connection import Connection
from webhook.transport.limits import Limits, Refused, last_response
from webhook.transport.memory import Memory
from webhook.transport.waiting import NOTHING

__all__ = ["Arbiter", "Limits", "Worker"]

SWEEP_SECONDS = 0.25  # How late a deadline may be noticed.
STOPPING_SECONDS = 1.0  # To a client that has just connected: unlike on a reused connection, it would not try again.


class Worker(ThreadWorker):
    """One poller for all connections, and gunicorn's pool of threads for whole requests."""

    limits = Limits()

    def explain(self, status: int, reason: str) -> bytes:
        """The body of a refusal; the server may know a better one."""
        return b""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections: set[Connection] = set()
        self.memory = Memory(self)
        self.handshakes = 0  # Steps of them left in this turn.
        self.swept = 0.0

    def run(self) -> None:
        self.poller.register(self.method_queue, EVENT_READ, self.method_queue.run_callbacks)
        while self.alive and self.is_parent_alive():
            self.set_accept_enabled(len(self.connections) < self.worker_connections)
            self.turn(SWEEP_SECONDS)
        self.stop()

    def turn(self, seconds: float) -> None:
        """Let every connection go on that can."""
        self.notify()
        self.handshakes = self.limits.handshakes
        self.wait_for_and_dispatch_events(seconds)
        if monotonic() > self.swept + SWEEP_SECONDS:
            self.sweep()

    def stop(self) -> None:
        """Finish what has arrived by now, and nothing else."""
        self.alive = False
        self.set_accept_enabled(False)
        for listener in self.sockets:
            for _ in range(self.worker_connections - len(self.connections)):
                if not self.accept(listener):
                    break
            listener.close()
        for _ in range(2):  # The first may finish a response, the second sees what its client has said since.
            self.turn(0)
        for connection in self.connections:
            if request := connection.request:
                request.force_close()  # gunicorn would still promise to keep the connection.
            if connection.idle:
                grace = 0.0 if connection.served else STOPPING_SECONDS
                connection.deadline = min(connection.deadline, monotonic() + grace)
        self.sweep()
        limit = monotonic() + self.cfg.graceful_timeout
        while self.connections and monotonic() < limit:
            self.turn(SWEEP_SECONDS)
        self.tpool.shutdown(wait=False)
        self.poller.close()
        self.method_queue.close()

    def accept(self, listener: Any) -> bool:
        """Let one client in; when it takes the last place, another has to go."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                self.evict()
            return False
        if len(self.connections) + 1 >= self.worker_connections:
            self.evict()
        sock.setblocking(False)
        connection = Connection(self, sock, client, listener.getsockname())
        self.connections.add(connection)
        self.resume(connection)
        return True

    def evict(self) -> None:
        """Drop who has been silent longest, rather one that has never sent a whole request."""
        waiting = [connection for connection in self.connections if connection.deadline < inf]
        if waiting:
            self.drop(min(waiting, key=lambda connection: (connection.served, connection.heard)), "to make room")

    def resume(self, connection: Connection, refusal: Refused | None = None) -> None:
        """Go on with a conversation up to its next wait."""
        if connection not in self.connections:
            return  # Dropped since this was arranged.
        try:
            wanted = connection.script.throw(refusal) if refusal else next(connection.script)
            if wanted and wanted != connection.watched:
                watch = self.poller.modify if connection.watched else self.poller.register
                watch(connection.wire, wanted, partial(self.on_event, connection))
                connection.watched = wanted
            connection.wanted = wanted
        except StopIteration:
            self.drop(connection, "done")
        except OSError as error:  # No TLS, a reset, an end in the middle: nobody else's affair.
            self.drop(connection, error)
        except Exception:
            self.log.exception("Connection failed")
            self.drop(connection, "failed")

    def on_event(self, connection: Connection, _wire: socket.socket) -> None:
        if connection.wanted:
            self.resume(connection)
        elif connection.watched:  # It sends while a thread is at work: not to be woken for over and over.
            self.poller.unregister(connection.wire)
            connection.watched = NOTHING

    def serve(self, connection: Connection, request: Any) -> None:
        """Answer a request, in a thread, and send what the socket takes at once."""
        try:
            connection.closing = not self.handle_request(request, connection)
        except BaseException:  # SystemExit, too, must not end the worker.
            self.log.exception("Error handling request")
            connection.sock[:] = last_response(500)
            connection.closing = True
        try:
            connection.seal()
            del connection.unsent[: connection.wire.send(connection.unsent)]
        except OSError:
            pass  # The main thread will meet it again.
        finally:
            connection.request = None
            self.method_queue.defer(self.resume, connection)

    def sweep(self) -> None:
        """End what is late, and while others queue also the large bodies that come too slowly."""
        self.swept = now = monotonic()
        late = {connection for connection in self.connections if connection.deadline <= now}
        for connection in late | self.memory.in_the_way(now):
            if connection.refusal:
                self.resume(connection, Refused(connection.refusal, "too slow"))
            else:
                self.drop(connection, "too slow")

    def drop(self, connection: Connection, why: object) -> None:
        self.log.debug("Closing %s: %s", connection.client, why)
        self.connections.discard(connection)
        connection.script.close()
        connection.inbox.clear()
        self.memory.release(connection)
        if connection.watched:
            self.poller.unregister(connection.wire)
            connection.watched = NOTHING
        with suppress(OSError):  # What TLS has to say: goodbye, or a complaint.
            if connection.tls:
                connection.tls.end()
            connection.seal()
            connection.wire.send(connection.unsent)
        with suppress(OSError):
            connection.wire.close()

    def init_signals(self) -> None:
        super().init_signals()
        settle_signals()

    def handle_quit(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once: the interpreter's own way out waits for the threads."""
        self.cfg.worker_int(self)
        os._exit(0)
