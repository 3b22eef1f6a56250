"""The gunicorn worker: a thread is lent only to a request that has arrived whole.

    main thread:      accept → handshake → head → body ┐             ┌ rest of the response → head …
    pool of threads:                                   └ application ┘

The main thread waits for all clients at once and for none in particular: no socket blocks, a connection is a generator
that yields the event it waits for, and every wait has a deadline.  What a slow or hostile client takes is a descriptor
and some memory, never a thread; `Limits` bounds both.

Inside gunicorn this relies on: ThreadWorker's `accept`, `run` and `handle_quit` to replace; its `alive`, `cfg`, `log`,
`handle_exit`, `handle_request`, `is_parent_alive`, `method_queue`, `notify`, `poller`, `set_accept_enabled`, `sockets`,
`tpool`, `wait_for_and_dispatch_events` and `worker_connections`; a request's `body`, `headers`, `force_close` and
`_expected_100_continue`; `http.get_parser`, `sock.ssl_context`; Arbiter's `signal`.
"""

from __future__ import annotations

import errno
import io
import os
import re
import socket
import ssl
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from math import inf
from selectors import EVENT_READ, EVENT_WRITE
from signal import SIGINT, SIGTERM
from time import monotonic
from types import FrameType
from typing import Any, TypeVar

import gunicorn.arbiter
from gunicorn.http import get_parser
from gunicorn.http.errors import ExpectationFailed, LimitRequestHeaders, LimitRequestLine, UnsupportedTransferCoding
from gunicorn.sock import ssl_context
from gunicorn.workers.gthread import ThreadWorker

Result = TypeVar("Result")
Waiting = Generator[int, None, Result]  # Yields EVENT_READ, EVENT_WRITE or NOTHING until it has its result.
NOTHING = 0  # No event of the socket: whoever brings what is waited for resumes the connection.

RECORD = 16 << 10  # What is read from a connection at a time; TLS sends its content in pieces of this size,
MUTE = 2 * RECORD  # so that as much without any is sent only to keep OpenSSL busy.

SWEEP_SECONDS = 0.25  # How late a deadline may be noticed.
STALLED_SECONDS = 2.0  # From a large body that others wait for.
STOPPING_SECONDS = 1.0  # To a client that has just connected: unlike on a reused connection, it would not try again.

STATUS = {LimitRequestLine: 414, LimitRequestHeaders: 431, ExpectationFailed: 417, UnsupportedTransferCoding: 501}
HEAD_END = re.compile(rb"\n\r?\n")  # Without the CR it is malformed, which gunicorn's parser says.
LINE_END = re.compile(rb"\r\n")
LINE_BYTES = 4096
TRAILERS_END = re.compile(rb"\A\r\n|\r\n\r\n")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t -~\x80-\xff]*)?\r\n")
MAX_CHUNKS = 20_000  # The largest body in chunks of 2 KiB: tiny ones cost the main thread more time than they bring.


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one client may take, and what all of them together."""

    greeting: float = 10.0  # Seconds from accept, through the handshake, to the first byte of a request.
    head: float = 10.0  # Seconds from there through the headers, which kube-apiserver sends in one packet.
    body: float = 10.0  # Seconds for a body or a response, and one more for every `rate` bytes of it:
    rate: int = 1 << 20  # any slower, and kube-apiserver gives up (after 30 s at most) before its largest are through.
    linger: float = 2.0  # Seconds to read on after the last response,
    linger_bytes: int = 44 << 20  # and bytes: a client may send the whole of a body a little too large before it looks.
    head_bytes: int = 32 << 10  # kube-apiserver sends less than 1 KiB.
    body_bytes: int = 40 << 20  # The largest review has about 36 MiB.
    large_bytes: int = 1 << 20  # Bodies beyond this take turns,
    large_bodies: int = 2  # so many at a time, until they are answered.
    held_bytes: int = 128 << 20  # Of all requests not yet answered: two of the largest, and thousands of usual ones.
    handshakes: int = 4  # Begun per turn, up to a millisecond each, so that a crowd at the door delays no review.


class Refused(Exception):
    """This status is the last that the client hears."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason


def last_response(status: int, body: bytes = b"") -> bytes:
    """To a request that the application never saw; a body is JSON."""
    kind = "Content-Type: application/json\r\n" if body else ""
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n{kind}Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


class Outbox(bytearray):
    """What gunicorn takes for the socket when it writes a response: it never blocks, and an error can empty it."""

    sendall = bytearray.extend
    close = bytearray.clear

    def shutdown(self, _how: int) -> None:
        raise OSError("not a socket")


class Tls:
    """A TLS session in memory: on a socket OpenSSL would read on and on, as long as there is anything, unseen by us."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.received, self.to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.received, self.to_send, server_side=True)
        self.established = self.ended = False
        self.mute = 0

    def decrypt(self, data: bytes) -> bytes:
        """What is said in these bytes and those before; at first a handshake, which leaves something to send."""
        self.received.write(data)
        content = b""
        with suppress(ssl.SSLWantReadError):
            if not self.established:
                self.session.do_handshake()
                self.established = True
            while part := self.session.read(RECORD):
                content += part
            self.ended = True  # By the client; to wait for more is an SSLWantReadError.
        self.mute = 0 if content else self.mute + len(data)
        if self.mute > MUTE or (self.ended and not content):
            raise ConnectionAbortedError("TLS without content")
        return content

    def encrypt(self, content: bytearray) -> bytes:
        """All that is to be sent, this content last."""
        if content:
            self.session.write(content)
        return self.to_send.read()

    def end(self) -> None:
        with suppress(ssl.SSLError):  # The client has not said goodbye yet.
            self.session.unwrap()


class Connection:
    """One client, and the conversation with it."""

    def __init__(self, worker: Worker, wire: socket.socket, client: Any, server: Any) -> None:
        self.worker, self.limits = worker, worker.limits
        self.wire = wire
        self.tls: Tls | None = None
        self.inbox, self.unsent = bytearray(), bytearray()
        self.sock, self.client, self.server = Outbox(), client, server  # What `handle_request` looks for.
        self.held = 0  # Bytes received and not yet answered.
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

    def converse(self) -> Waiting[None]:
        """The whole conversation."""
        self.allow(self.limits.greeting)
        yield EVENT_READ  # Until then a client has cost a descriptor.
        if self.worker.cfg.is_ssl:
            while not self.worker.handshakes:
                yield EVENT_READ
            self.worker.handshakes -= 1
            self.tls = Tls(ssl_context(self.worker.cfg))
        try:
            while not self.closing:
                self.request = yield from self.receive()
                self.allow(inf)
                self.worker.tpool.submit(self.worker.serve, self, self.request)
                while self.request:
                    yield NOTHING
                self.worker.release(self)
                yield from self.send()
                self.served = self.idle = True
                self.allow(self.worker.cfg.keepalive if self.worker.alive else SWEEP_SECONDS)
        except Refused as refusal:
            self.worker.log.debug("Refused %s: %s", self.client, refusal)
            self.sock[:] = last_response(refusal.status, self.worker.explain(refusal.status, refusal.reason))
        self.worker.release(self)
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
            with suppress(BlockingIOError):
                return self.wire.recv(size)

    def more(self) -> Waiting[None]:
        """Wait for the client to say something."""
        content = b""
        while not content:
            if not (content := (yield from self.read())):
                raise ConnectionAbortedError("closed by the client")
            if self.tls:
                content = self.tls.decrypt(content)
                yield from self.push()
        self.inbox += content
        self.heard = monotonic()
        if self.idle:
            self.begun = self.heard
        self.worker.hold(self, len(content))

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
            while body.tell() > self.limits.large_bytes and not self.worker.has_turn(self):
                self.refusal = 503
                yield NOTHING
            self.refusal = 408

    def chunks(self, body: io.BytesIO) -> Waiting[None]:
        """Move all chunks to the body; trailers are dropped."""
        for _ in range(MAX_CHUNKS):
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
            raise Refused(413, f"more than {MAX_CHUNKS} chunks")
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


class Worker(ThreadWorker):
    """One poller for all connections, and gunicorn's pool of threads for whole requests."""

    limits = Limits()

    def explain(self, status: int, reason: str) -> bytes:
        """The body of a refusal; the server may know a better one."""
        return b""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections: set[Connection] = set()
        self.held = 0
        self.large: set[Connection] = set()  # Those whose turn it is,
        self.queue: list[Connection] = []  # and those that wait for theirs.
        self.handshakes = 0
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
            while len(self.connections) < self.worker_connections and self.accept(listener):
                pass
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
        with suppress(OSError):  # The main thread will meet it again.
            connection.seal()
            del connection.unsent[: connection.wire.send(connection.unsent)]
        connection.request = None
        self.method_queue.defer(self.resume, connection)

    def hold(self, connection: Connection, count: int) -> None:
        """Count received bytes; of too many, drop the stalled and then the oldest: reviews come within milliseconds."""
        connection.held += count
        self.held += count
        while self.held > self.limits.held_bytes:
            stalled = monotonic() - STALLED_SECONDS
            receiving = (other for other in self.connections if other.held and other.deadline < inf)
            victim = min(receiving, key=lambda other: (other.heard > stalled, other.begun))
            if victim is connection:
                raise Refused(503, "too many bytes held")
            self.drop(victim, "too many bytes held")

    def release(self, connection: Connection) -> None:
        """Forget the bytes of a request that is over; if it was large, another may go on."""
        self.held += len(connection.inbox) - connection.held
        connection.held = len(connection.inbox)
        if connection in self.large:
            self.large.remove(connection)
            while self.queue:  # The last come first: when many queue, the first are the ones that are stuck.
                self.method_queue.defer(self.resume, self.queue.pop())

    def has_turn(self, connection: Connection) -> bool:
        """Whether a large body may go on; if not, it will be resumed to ask again."""
        if connection not in self.large:
            if len(self.large) >= self.limits.large_bodies:
                self.queue.append(connection)
                return False
            self.large.add(connection)
            connection.heard = monotonic()
        return True

    def sweep(self) -> None:
        """End what is late, and while others queue also the large bodies that have stopped coming."""
        self.swept = now = monotonic()
        stalled = now - STALLED_SECONDS if self.queue else -inf
        for connection in [
            connection
            for connection in self.connections
            if connection.deadline <= now
            or (connection in self.large and connection.heard < stalled and connection.deadline < inf)
        ]:
            if connection.refusal:
                self.resume(connection, Refused(connection.refusal, "too slow"))
            else:
                self.drop(connection, "too slow")

    def drop(self, connection: Connection, why: object) -> None:
        self.log.debug("Closing %s: %s", connection.client, why)
        self.connections.discard(connection)
        connection.script.close()
        connection.inbox.clear()
        self.release(connection)
        if connection in self.queue:
            self.queue.remove(connection)
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

    def handle_quit(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once: the interpreter's own way out waits for the threads."""
        self.cfg.worker_int(self)
        os._exit(0)


class Arbiter(gunicorn.arbiter.Arbiter):
    """gunicorn's own, for which a second SIGTERM means now; it knows that of SIGINT."""

    stopping = False

    def signal(self, sig: int, frame: FrameType | None) -> None:
        super().signal(SIGINT if self.stopping and sig == SIGTERM else sig, frame)
        self.stopping |= sig == SIGTERM
