"""One client, and the conversation with it: a generator that yields the event it waits for."""

from __future__ import annotations

import socket
from contextlib import suppress
from math import inf
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic
from typing import TYPE_CHECKING, Any

from gunicorn.sock import ssl_context

from webhook.transport.limits import RECORD, Refused, last_response
from webhook.transport.request import receive
from webhook.transport.tls import Tls
from webhook.transport.waiting import NOTHING, Waiting

if TYPE_CHECKING:
    from webhook.transport.worker import Worker

STOPPING_SECONDS = 0.25  # To ask once more, when the server has been told to stop while it answered.


class Outbox(bytearray):
    """What gunicorn takes for the socket when it writes a response: it never blocks, and an error can empty it."""

    sendall = bytearray.extend
    close = bytearray.clear

    def shutdown(self, _how: int) -> None:
        raise OSError("not a socket")


class Connection:
    """One client, and the conversation with it."""

    def __init__(self, worker: Worker, wire: socket.socket, client: Any, server: Any) -> None:
        self.worker, self.limits = worker, worker.limits
        self.wire = wire
        self.secure: bool = worker.cfg.is_ssl
        self.tls: Tls | None = None
        self.inbox, self.unsent = bytearray(), bytearray()
        self.sock, self.client, self.server = Outbox(), client, server  # What `handle_request` looks for.
        self.held = 0  # Bytes received and not yet answered.
        self.due = inf  # When a large body, whose turn it is, has to make room for others; each byte puts it off.
        self.heard = self.begun = monotonic()  # When bytes came last, and when the first of this request did.
        self.deadline = inf  # Of the client; inf while it waits for us.
        self.refusal: int | None = None  # What a client is told that misses the deadline; None: it owed us nothing.
        self.idle = True  # No byte of a next request has come.
        self.served = False  # One request at least.
        self.closing = False
        self.request: Any = None  # That a thread is at work on, or will be.
        self.wanted = self.watched = NOTHING  # The event that the script waits for, and that the poller looks out for.
        self.script = self.converse()

    def allow(self, seconds: float, refusal: int | None = None) -> None:
        self.deadline, self.refusal = monotonic() + seconds, refusal

    @property
    def handshaking(self) -> bool:
        return self.secure and not (self.tls and self.tls.established)

    def converse(self) -> Waiting[None]:
        """The whole conversation."""
        self.allow(self.limits.greeting)
        try:
            while not self.closing:
                self.request = yield from receive(self)
                self.allow(inf)
                self.worker.tpool.submit(self.worker.serve, self, self.request)
                while self.request:
                    yield NOTHING
                self.worker.memory.release(self)
                yield from self.send()
                self.served = self.idle = True
                self.allow(self.worker.cfg.keepalive if self.worker.alive else STOPPING_SECONDS)
        except Refused as refusal:
            self.worker.log.debug("Refused %s: %s", self.client, refusal)
            self.sock[:] = last_response(refusal.status, self.worker.explain(refusal.status, refusal.reason))
        self.worker.memory.release(self)
        yield from self.send()
        yield from self.part()

    def read(self, size: int = RECORD) -> Waiting[bytes]:
        """What comes next over the wire, nothing after its end."""
        while True:
            yield EVENT_READ
            if self.handshaking and not self.worker.handshakes:
                continue  # In the next turn.
            with suppress(BlockingIOError):
                return self.wire.recv(size)

    def more(self) -> Waiting[None]:
        """Wait for the client to say something."""
        content = b""
        while not content:
            if not (content := (yield from self.read())):
                raise ConnectionAbortedError("closed by the client")
            if self.secure:
                self.worker.handshakes -= self.handshaking
                self.tls = self.tls or Tls(ssl_context(self.worker.cfg))  # Until then it has cost a descriptor.
                content = self.tls.decrypt(content)
                yield from self.push()
        self.inbox += content
        self.heard = monotonic()
        if self.idle:
            self.begun = self.heard
        self.worker.memory.hold(self, len(content))

    def seal(self) -> None:
        """Make ready to send what has been said."""
        self.unsent += self.tls.encrypt(self.sock) if self.tls else self.sock
        self.sock.clear()

    def push(self) -> Waiting[None]:
        """Send it."""
        self.seal()
        while self.unsent:
            try:
                del self.unsent[: self.wire.send(self.unsent)]
            except BlockingIOError:
                yield EVENT_WRITE

    def send(self) -> Waiting[None]:
        """Send the response, or the rest that it was too long for the thread to send."""
        self.allow(self.limits.body + (len(self.sock) + len(self.unsent)) / self.limits.rate)
        yield from self.push()

    def part(self) -> Waiting[None]:
        """Take leave, and read on for a while: to close on unread bytes is a reset, and loses the response."""
        self.idle = False
        self.allow(self.limits.linger)
        if self.tls:
            self.tls.end()
            yield from self.push()
        self.wire.shutdown(socket.SHUT_WR)
        left = self.limits.linger_bytes
        while left > 0 and (data := (yield from self.read(16 * RECORD))):
            left -= len(data)
