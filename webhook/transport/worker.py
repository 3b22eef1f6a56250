"""
The gunicorn worker: a thread runs only for a complete request.

    main thread:      accept → handshake → head → body ┐             ┌ rest of the response → head …
    pool of threads:                                   └ application ┘

The main thread waits for all clients at once: no socket blocks, a connection is a generator that yields the event it
waits for, and every wait has a deadline.  A slow or hostile client costs a descriptor and some memory, never a thread;
`Limits` bounds both.

It depends on these parts of gunicorn: ThreadWorker's `accept`, `run`, `init_signals` and `handle_quit` to replace; its
`alive`, `app`, `cfg`, `log`, `handle_exit`, `handle_request`, `is_parent_alive`, `method_queue`, `notify`, `poller`,
`set_accept_enabled`, `sockets`, `tpool`, `wait_for_and_dispatch_events` and `worker_connections`; a request's `body`,
`headers`, `force_close` and `_expected_100_continue`; `http.get_parser`, `sock.ssl_context`.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Set
from contextlib import suppress
from functools import partial
from math import inf
from selectors import EVENT_READ
from time import monotonic
from types import FrameType
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from webhook.transport.arbiter import settle_signals
from webhook.transport.connection import Connection
from webhook.transport.limits import Limits, Refused, last_response
from webhook.transport.memory import Memory
from webhook.transport.request import receive
from webhook.transport.tls import ClientRefused
from webhook.transport.waiting import NOTHING, Waiting

__all__ = ["Limits", "Worker"]

SWEEP_SECONDS = 0.25  # The most time between a missed deadline and its detection.
# How long a client may take, when the server stops, to send
NEXT_REQUEST_SECONDS = 0.25  # another request after a response,
FIRST_REQUEST_SECONDS = 1.0  # its first on a new connection, which it would not retry as it does on a reused one.


class Worker(ThreadWorker):
    """
    One poller for all connections, and gunicorn's pool of threads for complete requests.

    A subclass may set `limits` and `client_names`, and override `refusal_body` and `refused_client`.
    """

    limits = Limits()
    client_names: Set[str] = frozenset()

    def refusal_body(self, status: int, reason: str) -> bytes:
        """The JSON body of the response to a refused request, or nothing."""
        return b""

    def refused_client(self, reason: str) -> None:
        """Called when the certificate of a client is not accepted, for one of `tls.REASONS`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections: set[Connection] = set()
        self.memory = Memory(
            self.limits, self.connections, drop=self.drop, resume=self.resume, defer=self.method_queue.defer
        )
        self.hold = self.memory.hold
        self.handshakes = 0  # Handshake steps left in this turn.
        self.swept = 0.0
        self.turned = monotonic()  # When the last turn began; a thread that is asked for the worker's health reads it.

    def run(self) -> None:
        self.poller.register(self.method_queue, EVENT_READ, self.method_queue.run_callbacks)
        while self.alive and self.is_parent_alive():
            self.set_accept_enabled(len(self.connections) < self.worker_connections)
            self.turn(SWEEP_SECONDS)
        self.stop()

    def turn(self, seconds: float) -> None:
        """Resume every connection whose event comes within `seconds`."""
        self.notify()
        self.turned = monotonic()
        self.handshakes = self.limits.handshakes
        self.wait_for_and_dispatch_events(seconds)
        if monotonic() > self.swept + SWEEP_SECONDS:
            self.sweep()

    def stop(self) -> None:
        """Answer the requests that have arrived or begun so far, and no others."""
        self.alive = False
        self.set_accept_enabled(False)
        for listener in self.sockets:
            for _ in range(self.worker_connections - len(self.connections)):
                if not self.accept(listener):
                    break
            listener.close()
        for _ in range(2):  # The first finishes responses, the second reads requests that came meanwhile.
            self.turn(0)
        for connection in self.connections:
            if request := connection.request:
                request.force_close()  # gunicorn would still announce keep-alive.
            if connection.idle:
                grace = 0.0 if connection.served else FIRST_REQUEST_SECONDS
                connection.deadline = min(connection.deadline, monotonic() + grace)
        self.sweep()
        limit = monotonic() + self.cfg.graceful_timeout
        while self.connections and monotonic() < limit:
            self.turn(SWEEP_SECONDS)
        self.tpool.shutdown(wait=False)
        self.poller.close()
        self.method_queue.close()

    def accept(self, listener: Any) -> bool:
        """Accept one client, if one waits. If it takes the last place, drop another."""
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
        """Drop the connection that was silent longest; connections without a complete request go first."""
        waiting = [connection for connection in self.connections if connection.deadline < inf]
        if waiting:
            self.drop(min(waiting, key=lambda connection: (connection.served, connection.heard)), "to make room")

    def converse(self, connection: Connection) -> Waiting[None]:
        """Serve a connection: requests and their responses, then the end."""
        connection.allow(self.limits.greeting)
        try:
            while not connection.closing:
                connection.request = yield from receive(connection, self.memory, self.cfg)
                connection.allow(inf)
                self.tpool.submit(self.serve, connection, connection.request)
                while connection.request:
                    yield NOTHING
                yield from self.send(connection)
                connection.served = connection.idle = True
                connection.allow(self.cfg.keepalive if self.alive else NEXT_REQUEST_SECONDS)
        except Refused as refusal:
            self.log.debug("Refused %s: %s", connection.client, refusal)
            connection.sock[:] = last_response(refusal.status, self.refusal_body(refusal.status, refusal.reason))
        yield from self.send(connection)
        yield from connection.part()

    def send(self, connection: Connection) -> Waiting[None]:
        """Send an answer; until it is sent it counts as held, as its request did."""
        connection.allow_sending()
        self.memory.release(connection)
        yield from connection.push()
        self.memory.release(connection)

    def resume(self, connection: Connection, refusal: Refused | None = None) -> None:
        """Run the connection's script up to its next wait; raise `refusal` in it, if there is one."""
        if connection not in self.connections:
            return  # It was dropped after this call was deferred.
        try:
            wanted = connection.script.throw(refusal) if refusal else next(connection.script)
            if wanted and wanted != connection.watched:
                watch = self.poller.modify if connection.watched else self.poller.register
                watch(connection.peer, wanted, partial(self.on_event, connection))
                connection.watched = wanted
            connection.wanted = wanted
        except StopIteration:
            self.drop(connection, "done")
        except ClientRefused as error:
            self.refused_client(error.reason)
            self.drop(connection, error)
        except OSError as error:  # Not TLS, a RST, or an end in the middle of a request.
            self.drop(connection, error)
        except Exception:
            self.log.exception("Connection failed")
            self.drop(connection, "failed")

    def on_event(self, connection: Connection, _peer: socket.socket) -> None:
        """Called by the poller: the client has sent bytes, or the socket can take more."""
        if connection.wanted:
            self.resume(connection)
        elif connection.watched:
            # The client sends while a thread answers; stop polling, or it wakes the loop repeatedly.
            self.poller.unregister(connection.peer)
            connection.watched = NOTHING

    def serve(self, connection: Connection, request: Any) -> None:
        """Answer a request, in a thread, and send as much as the socket takes at once."""
        try:
            connection.closing = not self.handle_request(request, connection)
        except BaseException:  # Not even SystemExit may end the worker.
            self.log.exception("Error handling request")
            connection.sock[:] = last_response(500)
            connection.closing = True
        try:
            connection.seal()
            del connection.unsent[: connection.peer.send(connection.unsent)]
        except OSError:
            pass  # The main thread gets the same error and handles it.
        finally:
            connection.request = None
            self.method_queue.defer(self.resume, connection)

    def sweep(self) -> None:
        """Refuse or drop connections that missed their deadline, and large bodies too slow while others wait."""
        self.swept = now = monotonic()
        late = {connection for connection in self.connections if connection.deadline <= now}
        for connection in late | self.memory.in_the_way(now):
            if connection.refusal:
                self.resume(connection, Refused(connection.refusal, "too slow"))
            else:
                self.drop(connection, "too slow")

    def drop(self, connection: Connection, why: object) -> None:
        """Close a connection at once, and stop counting its bytes."""
        self.log.debug("Closing %s: %s", connection.client, why)
        self.connections.discard(connection)
        connection.script.close()
        if connection.watched:
            self.poller.unregister(connection.peer)
            connection.watched = NOTHING
        with suppress(OSError):  # TLS may have an alert to send: close_notify, or an error.
            if connection.tls:
                connection.tls.end()
            connection.seal()
            connection.peer.send(connection.unsent)
        with suppress(OSError):
            connection.peer.close()
        for buffer in (connection.inbox, connection.sock, connection.unsent):
            buffer.clear()
        self.memory.release(connection)

    def init_signals(self) -> None:
        super().init_signals()
        settle_signals()

    def handle_quit(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once; `sys.exit` would wait for the threads."""
        self.cfg.worker_int(self)
        os._exit(0)
