"""One client: its socket, the bytes received, the bytes still to send, and its deadline."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator, Set
from contextlib import suppress
from math import inf
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic
from typing import Any, Protocol, TypeVar

from webhook.server.transport.limits import RECORD, Limits
from webhook.server.transport.tls import PIECE, Tls

Result = TypeVar("Result")
Script = Generator[int, None, Result]  # Yields EVENT_READ, EVENT_WRITE or NO_EVENT until it has its result.
NO_EVENT = 0  # No event of the socket: the code that ends the wait resumes the connection.
READS = 8  # In a row in a turn, 128 KiB: a large body must not wait for a turn of all others after each record.


class Host(Protocol):
    """What a connection uses of its loop."""

    limits: Limits

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        """What new connections speak TLS with; None for plain HTTP."""

    @property
    def client_names(self) -> Set[str]:
        """Names of clients that are accepted; empty for any."""

    def hold(self, connection: Connection, count: int) -> None:
        """Count received bytes. Refused if all requests together hold too many."""

    def converse(self, connection: Connection) -> Script[None]:
        """Serve the connection from its first byte to its end."""

    def give_way(self, connection: Connection) -> Script[None]:
        """Let others have their turns, and go on at the next turn of the connection."""


class Outbox(bytearray):
    """Stands in for the socket when gunicorn writes a response: it never blocks, and an error can clear it."""

    sendall = send = bytearray.extend


class Connection:
    """One client; `script` is a generator that yields the event it waits for."""

    def __init__(self, host: Host, sock: socket.socket, client: Any, server: Any, peer: str) -> None:
        self.host, self.limits = host, host.limits
        self.sock = sock  # The non-blocking socket.
        self.client, self.server = client, server  # The addresses of its two ends.
        self.peer = peer  # Whose load the client is; see peers.peer_of.
        self.secure = host.tls_context is not None
        self.tls: Tls | None = None
        self.inbox, self.outbox, self.unsent = bytearray(), Outbox(), bytearray()
        self.held = 0  # Bytes received and not yet answered.
        self.granted = inf  # When a large body was given its turn.
        self.came = 0  # How many bytes of it have come since.
        self.heard = monotonic()  # When the last bytes arrived.
        self.begun = self.heard  # When this request began.
        self.deadline = inf  # For the client; inf while the client waits for the server.
        self.refusal: int | None = None  # The status for a missed deadline; None: close without a response.
        self.reads = 0  # How many times in this turn the socket gave all that was asked for, most of it content.
        self.idle = True  # No byte of the next request has arrived.
        self.served = False  # At least one request was answered.
        self.closing = False
        self.request: Any = None  # The request that is being answered, or about to be.
        self.queued = inf  # When the request came into line for a thread.
        self.taken = False  # A thread answers it.
        self.wanted = NO_EVENT  # The event that the script waits for.
        self.watched = NO_EVENT  # The event that the poller watches.
        self.script = host.converse(self)

    def allow(self, seconds: float, refusal: int | None = None) -> None:
        """Set the deadline, and the status for a client that misses it."""
        self.deadline, self.refusal = monotonic() + seconds, refusal

    @property
    def droppable(self) -> bool:
        """Whether no thread works on it, and its script is not running: it may have resumed another's, which drops."""
        return not self.taken and not self.script.gi_running  # type: ignore[attr-defined]

    @property
    def may_have_asked(self) -> bool:
        """Whether it is new and without TLS: its request may have arrived while it waited to be accepted."""
        return not self.secure and self.idle and not self.served

    @property
    def handshaking(self) -> bool:
        return self.secure and not (self.tls and self.tls.established)

    @property
    def outdated(self) -> bool:
        """Whether other CAs may be in use than those by which the client's certificate was accepted."""
        tls = self.tls
        return tls is not None and tls.demanding and tls.session.context is not self.host.tls_context

    @property
    def behind(self) -> int:
        """Bytes that have arrived, and are not decrypted yet."""
        return self.tls.behind if self.tls else 0

    def read(self, size: int = RECORD, at_once: bool = False) -> Script[bytes]:
        """Read at most `size` bytes; empty at the end.  With `at_once`, try before waiting for an event."""
        if not at_once:
            yield EVENT_READ
        while True:
            with suppress(BlockingIOError):
                return self.sock.recv(size)
            yield EVENT_READ

    def more(self) -> Script[None]:
        """Wait for more bytes in the inbox. ConnectionAbortedError if the client has closed, or ended TLS."""
        content, before = b"", self.behind
        while not content:
            if self.tls and self.tls.ended:  # The end came together with the last bytes.
                raise ConnectionAbortedError("ended by the client")
            size = PIECE if self.handshaking or (self.tls and self.tls.mute) else RECORD
            data = b""
            if self.behind:  # Decrypt these before reading more.
                yield from self.host.give_way(self)
            elif not (data := (yield from self.read(size, at_once=self.reads > 0 or self.may_have_asked))):
                raise ConnectionAbortedError("closed by the client")
            content = data
            if self.secure and not self.tls and (context := self.host.tls_context):
                # Created with the first bytes, so that a silent client costs a descriptor but no TLS session.
                self.tls = Tls(context, self.host.client_names)
            if self.tls:
                content = self.tls.decrypt(data)
                yield from self.push()
            is_full = len(data) == size and size <= 2 * len(content)
            self.reads = (self.reads + 1) % READS if is_full else 0
        self.inbox += content
        self.heard = monotonic()
        if self.idle:
            self.begun = self.heard
        self.host.hold(self, len(content) + self.behind - before)

    def seal(self) -> None:
        """Move the outbox to the unsent bytes, encrypted if the connection is."""
        self.unsent += self.tls.encrypt(self.outbox) if self.tls else self.outbox
        self.outbox.clear()

    def push(self) -> Script[None]:
        """Send the outbox and all unsent bytes."""
        self.seal()
        while self.unsent:
            try:
                del self.unsent[: self.sock.send(self.unsent)]
            except BlockingIOError:
                yield EVENT_WRITE

    def allow_sending(self) -> None:
        """Set the deadline for what is left to send of the response; it grows with its size."""
        self.allow(self.limits.body + (len(self.outbox) + len(self.unsent)) / self.limits.rate)

    def part(self) -> Script[None]:
        """
        End the connection, then throw away what still comes, for as long as that keeps up the least rate.

        Closing with unread bytes sends a RST, and the client loses the response.
        """
        self.idle = False
        self.allow(self.limits.linger)
        if self.tls:
            self.tls.end()
            yield from self.push()
        self.sock.shutdown(socket.SHUT_WR)
        remaining = self.limits.linger_bytes
        while remaining > 0 and (data := (yield from self.read(16 * RECORD))):
            remaining -= len(data)
            self.deadline += len(data) / self.limits.rate

    def close(self) -> None:
        """Close the socket at once; TLS may have an alert to send: close_notify, or an error."""
        with suppress(OSError):
            if self.tls:
                self.tls.end()
            self.seal()
            if self.unsent:
                self.sock.send(self.unsent)
        with suppress(OSError):
            self.sock.close()
        for buffer in (self.inbox, self.outbox, self.unsent):
            buffer.clear()
