"""
Plain HTTP in a thread of its own, for probes and metrics: a request without a body, a response, the end.

Any client may reach the port, so none of them can keep others waiting.  Connections are few and short.  If there are
too many, those without a request make room, or those with one, whichever are more: of them the peer that holds most
loses its oldest one.  The thread rests after it has worked, so that a flood of requests leaves most of the processor to
reviews.
"""

from __future__ import annotations

import errno
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from time import monotonic
from typing import Any

from webhook.transport.peers import is_local, peer_of
from webhook.transport.waiting import NOTHING, Waiting

MOST = 64  # Connections at a time; a kubelet and a Prometheus need one each, for milliseconds.
FEW = 4  # Nobody is blamed for so many: a kubelet may make several probes at once.
NEWCOMERS = MOST // 4  # Accepted in a turn, so that a connection has some turns to be served before it is the oldest.
SECONDS = 5.0  # From accept to the end; probes of kubelets usually last a second.
HEAD_BYTES = 8 << 10  # Prometheus sends less than 1 KiB.
LINGER_BYTES = 64 << 10  # Read after the response: closing with unread bytes sends a RST, and the client loses it.
TURN_SECONDS = 0.25  # Between two looks for late clients.
RETRY_SECONDS = 0.01  # Between two questions for an answer that takes its time.
REST = 2.0  # Seconds of rest for each second of processor time.
HEAD_END = re.compile(rb"\n\r?\n")
REQUEST = re.compile(rb"([A-Z]{1,16}) (/[!->@-~]*)(?:\?([!-~]*))? HTTP/1\.[0-9]\r?\n")
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its method, its path, its query without the question mark, and whether it comes from loopback."""

    method: str
    path: str
    query: str
    local: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """A response; `allow` lists methods, for status 405."""

    status: int
    body: bytes
    kind: str = TEXT
    allow: str = ""


Answer = Callable[[Asked], Reply | None]  # None: there will be a reply soon, ask again.


def encoded(reply: Reply, with_body: bool) -> bytes:
    """The bytes of a response that ends its connection."""
    allow = f"Allow: {reply.allow}\r\n" if reply.allow else ""
    head = (
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\nConnection: close\r\n{allow}"
        f"Content-Type: {reply.kind}\r\nContent-Length: {len(reply.body)}\r\n\r\n"
    )
    return head.encode() + (reply.body if with_body else b"")


class Visitor:
    """One connection; `script` is a generator that yields the event it waits for."""

    def __init__(self, server: PlainServer, sock: socket.socket, address: object) -> None:
        self.sock, self.address, self.peer = sock, address, peer_of(address)
        self.due = monotonic() + SECONDS
        self.asking = False  # Its request is complete, and its answer not yet sent.
        self.watched = NOTHING
        self.script = server.converse(self)

    def read(self, size: int) -> Waiting[bytes]:
        """The next bytes, empty at the end."""
        while True:
            try:
                return self.sock.recv(size)
            except BlockingIOError:
                yield EVENT_READ

    def write(self, data: bytes) -> Waiting[None]:
        """Send all of `data`."""
        left = memoryview(data)
        while left:
            try:
                left = left[self.sock.send(left) :]
            except BlockingIOError:
                yield EVENT_WRITE


class PlainServer:
    """Serves a listener; `answer` runs in the server's thread and must not wait; `log` is gunicorn's."""

    def __init__(self, listener: socket.socket, answer: Answer, log: Any) -> None:
        self.listener, self.answer, self.log = listener, answer, log
        self.visitors: dict[Visitor, None] = {}  # The oldest first.
        self.held: Counter[tuple[str, bool]] = Counter()  # How many a peer has that ask, or do not.
        self.poller = DefaultSelector()
        listener.setblocking(False)
        self.poller.register(listener, EVENT_READ)

    def start(self) -> None:
        """Serve until the process ends."""
        threading.Thread(target=self._run, name="health", daemon=True).start()

    def _run(self) -> None:
        while True:
            begun = time.thread_time()
            try:
                self.turn()
            except Exception:
                self.log.exception("Health port failed")
                time.sleep(TURN_SECONDS)
            time.sleep(REST * (time.thread_time() - begun))

    def turn(self) -> None:
        """Go on with every connection whose event has come, accept some, and drop those that are late."""
        waiting = [visitor for visitor in self.visitors if not visitor.watched]
        events = self.poller.select(RETRY_SECONDS if waiting else TURN_SECONDS)
        ready = [key.data for key, _ in events if key.data]
        for visitor in (*waiting, *ready):
            self.resume(visitor)
        if len(ready) < len(events):
            for _ in range(NEWCOMERS):
                if not self.accept():
                    break
        now = monotonic()
        for visitor in [visitor for visitor in self.visitors if visitor.due <= now]:
            self.drop(visitor)

    def accept(self) -> bool:
        """Accept one client, if one waits; another makes room for it, if need be."""
        try:
            sock, address = self.listener.accept()
        except OSError as error:
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                self.evict()
            return False
        sock.setblocking(False)
        visitor = Visitor(self, sock, address)
        self.visitors[visitor] = None
        self._count(visitor, 1)
        self.resume(visitor)  # A probe that had to wait to be accepted has sent its request already.
        if len(self.visitors) > MOST:
            self.evict()
        return True

    def evict(self) -> None:
        """Of those without a request, or of those with one if they are more, drop the oldest of the largest peer."""
        group = 2 * sum(visitor.asking for visitor in self.visitors) > len(self.visitors)
        largest = max((count for (_, asking), count in self.held.items() if asking is group), default=0)
        crowd = (each for each in self.visitors if each.asking is group)
        if victim := next((each for each in crowd if largest <= FEW or self.held[each.peer, group] == largest), None):
            self.drop(victim)

    def _count(self, visitor: Visitor, number: int) -> None:
        self.held[visitor.peer, visitor.asking] += number
        if not self.held[visitor.peer, visitor.asking]:
            del self.held[visitor.peer, visitor.asking]

    def _set_asking(self, visitor: Visitor, asking: bool) -> None:
        self._count(visitor, -1)
        visitor.asking = asking
        self._count(visitor, 1)

    def converse(self, visitor: Visitor) -> Waiting[None]:
        """Read a request, answer it, and read on until the client closes."""
        head = b""
        while not (refused := _refused(head)) and not HEAD_END.search(head):
            if not (data := (yield from visitor.read(HEAD_BYTES))):
                return
            head += data
        self._set_asking(visitor, True)
        found = None if refused else REQUEST.match(head)
        if found:
            method, path, query = (part.decode() for part in found.groups(b""))
            asked = Asked(method, path, query, is_local(visitor.address))
            while (reply := self.answer(asked)) is None:
                yield NOTHING
        else:
            reply = refused or Reply(400, b"malformed request\n")
        yield from visitor.write(encoded(reply, not found or found[1] != b"HEAD"))
        self._set_asking(visitor, False)
        visitor.sock.shutdown(socket.SHUT_WR)
        left = LINGER_BYTES
        while left > 0 and (data := (yield from visitor.read(HEAD_BYTES))):
            left -= len(data)

    def resume(self, visitor: Visitor) -> None:
        """Run the connection's script up to its next wait."""
        if visitor not in self.visitors:
            return  # It was dropped to make room.
        try:
            wanted = next(visitor.script)
            if wanted != visitor.watched:
                self._watch(visitor, wanted)
        except (StopIteration, OSError):
            self.drop(visitor)
        except Exception:
            self.log.exception("Health request failed")
            self.drop(visitor)

    def _watch(self, visitor: Visitor, wanted: int) -> None:
        if not wanted:
            self.poller.unregister(visitor.sock)
        elif visitor.watched:
            self.poller.modify(visitor.sock, wanted, visitor)
        else:
            self.poller.register(visitor.sock, wanted, visitor)
        visitor.watched = wanted

    def drop(self, visitor: Visitor) -> None:
        """Close a connection at once."""
        del self.visitors[visitor]
        self._count(visitor, -1)
        visitor.script.close()
        if visitor.watched:
            self.poller.unregister(visitor.sock)
        visitor.sock.close()


def _refused(head: bytes) -> Reply | None:
    """The reply to what cannot become a request, such as the first bytes of TLS."""
    if head and not head[:1].isupper():
        return Reply(400, b"found no HTTP request, wanted plain HTTP\n")
    return Reply(431, f"more than {HEAD_BYTES} bytes of headers\n".encode()) if len(head) > HEAD_BYTES else None
