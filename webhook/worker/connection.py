"""One client, and the conversation with it: a generator that yields the event it waits for."""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Generator
from contextlib import suppress
from math import inf
from selectors import EVENT_READ, EVENT_WRITE
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from gunicorn.http import get_parser
from gunicorn.http.errors import ExpectationFailed, LimitRequestHeaders, LimitRequestLine, UnsupportedTransferCoding
from gunicorn.sock import ssl_context

from webhook.worker.limits import RECORD, Refused, last_response
from webhook.worker.tls import Tls

if TYPE_CHECKING:
    from webhook.worker import Worker

Result = TypeVar("Result")
Waiting = Generator[int, None, Result]  # Yields EVENT_READ, EVENT_WRITE or NOTHING until it has its result.
NOTHING = 0  # No event of the socket: whoever brings what is waited for resumes the connection.

STOPPING_SECONDS = 0.25  # To ask once more, when the server has been told to stop while it answered.

STATUS = {LimitRequestLine: 414, LimitRequestHeaders: 431, ExpectationFailed: 417, UnsupportedTransferCoding: 501}
HEAD_END = re.compile(rb"\n\r?\n")  # Without the CR it is malformed, which gunicorn's parser says.
LINE_END = re.compile(rb"\r\n")
LINE_BYTES = 4096
TRAILERS_END = re.compile(rb"\A\r\n|\r\n\r\n")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t -~\x80-\xff]*)?\r\n")


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
                self.request = yield from self.receive()
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

    def receive(self) -> Waiting[Any]:
        """The next request, with its body in memory."""
        self.begun = monotonic()
        if not self.inbox:
            yield from self.more()
        self.idle = False
        self.allow(self.limits.head, 408)
        head = yield from self.until(HEAD_END, self.limits.head_bytes, 431)
        try:
            request = next(get_parser(self.worker.cfg, [head], self.client))
        except Exception as error:
            raise Refused(STATUS.get(type(error), 400), str(error)) from error
        headers = dict(request.headers)
        length = int(headers.get("CONTENT-LENGTH", 0))
        if length > self.limits.body_bytes:
            raise Refused(413, f"Content-Length {length}")
        if request._expected_100_continue:
            request._expected_100_continue = False  # gunicorn would say it once more.
            self.sock.extend(b"HTTP/1.1 100 Continue\r\n\r\n")
            yield from self.push()
        self.allow(self.limits.body, 408)
        body = io.BytesIO()
        if "TRANSFER-ENCODING" in headers:  # It ends with chunked, or gunicorn's parser would have refused it.
            yield from self.chunks(body)
        else:
            yield from self.take(length, body)
        request.body = io.BytesIO(body.getvalue())  # The two share their bytes, also with a read() of the whole.
        return request

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

    def until(self, end: re.Pattern[bytes], limit: int, status: int) -> Waiting[bytes]:
        """All up to and with an end."""
        searched = 0
        while not (found := end.search(self.inbox, searched)):
            if len(self.inbox) > limit:
                raise Refused(status, f"more than {limit} bytes")
            searched = max(0, len(self.inbox) - 3)
            yield from self.more()
        text = bytes(self.inbox[: found.end()])
        del self.inbox[: found.end()]
        return text

    def take(self, length: int, body: io.BytesIO) -> Waiting[None]:
        """Move so many bytes to the body."""
        while length:
            if not self.inbox:
                yield from self.more()
            part = self.inbox[:length]
            del self.inbox[:length]
            length -= len(part)
            body.write(part)
            self.deadline += len(part) / self.limits.rate
            self.due += len(part) / self.limits.rate
            while body.tell() > self.limits.large_bytes and not self.worker.memory.has_turn(self):
                self.refusal = 503
                yield NOTHING
            self.refusal = 408

    def chunks(self, body: io.BytesIO) -> Waiting[None]:
        """Move all chunks to the body; trailers are dropped."""
        for _ in range(self.limits.chunks):
            line = yield from self.until(LINE_END, LINE_BYTES, 400)
            if not (size := CHUNK_SIZE.fullmatch(line)):
                raise Refused(400, f"chunk size {line!r}")
            length = int(size[1], 16)
            if body.tell() + length > self.limits.body_bytes:
                raise Refused(413, f"{body.tell() + length} bytes in chunks")
            if not length:
                break
            yield from self.take(length, body)
            if (yield from self.until(LINE_END, LINE_BYTES, 400)) != b"\r\n":
                raise Refused(400, "chunk longer than its size")
        else:
            raise Refused(413, f"more than {self.limits.chunks} chunks")
        yield from self.until(TRAILERS_END, self.limits.head_bytes, 431)

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
