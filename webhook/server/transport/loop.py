"""
One thread that serves all clients of some listeners at once.

    poll ──> accept
         ──> clients with bytes, or room for them ──> by turns of their peers ──> head → body → answer → rest of it
         ──> clients in a handshake ───────────────> by turns, a few at a time

No socket blocks: a connection is a generator that yields the event it waits for, and every wait has a deadline.  A slow
or hostile client costs a descriptor and some memory, never a thread; `Limits` bounds both.  Each peer in turn has one
client served, so that a crowd of clients behind one address waits for itself.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections import Counter, deque
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from math import inf
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import Any, Protocol

from webhook.server.transport.connection import NO_EVENT, Connection, Script
from webhook.server.transport.http_request import receive
from webhook.server.transport.limits import Limits, Refused
from webhook.server.transport.memory import Memory
from webhook.server.transport.peers import Turns, largest_first, peer_of
from webhook.server.transport.thread_role import enter_loop
from webhook.server.transport.tls import ClientRefused

SWEEP_SECONDS = 0.25  # The longest time until a missed deadline is noticed.
SLICE_SECONDS = 0.002  # In a turn, for handshakes, and again for accepting; one step may take longer.
NEWCOMERS = 48  # Accepted in a turn before room is made for them, for making room takes longer than accepting.
# How long a client may take, when the server stops, to send another request after a response.
NEXT_REQUEST_SECONDS = 0.25
# The same for its first on a new connection: on a reused one it would try again elsewhere, on a new one not.
FIRST_REQUEST_SECONDS = 1.0


class ClientService(Protocol):
    """What a loop serves its clients with."""

    log: Any
    limits: Limits

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        """What new connections speak TLS with; None for plain HTTP."""

    @property
    def client_names(self) -> Set[str]:
        """Names of clients that are accepted; empty for any."""

    def answer(self, connection: Connection) -> None:
        """
        Answer a connection's complete `request`: write the response to its outbox, and set `request` to None.

        It may be done later: then `Loop.resume` the connection, in the loop's thread.
        """

    def refusal(self, status: int, reason: str) -> bytes:
        """The whole response to a request that is refused."""

    def dropped(self, connection: Connection) -> None:
        """Forget a connection that is closed, perhaps before its request was answered."""

    def refused_client(self, reason: str) -> None:
        """Count a client whose certificate is not accepted."""


class Calls:
    """Functions that the loop's thread is to call: another thread, or a signal handler, may add one."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)

    def fileno(self) -> int:
        return self._wake_reader.fileno()

    def defer(self, call: Callable[..., object], *args: object) -> None:
        """Have the loop's thread call a function, and wake that thread."""
        self._waiting.append((call, args))
        with suppress(OSError):  # The socket is full, so that the thread wakes anyway, or it is closed.
            self._wake_writer.send(b"x")

    def run(self) -> None:
        """Call all functions that wait now; those that they add are called the next time."""
        self._wake_reader.recv(4096)
        for _ in range(len(self._waiting)):
            call, args = self._waiting.popleft()
            call(*args)

    def close(self) -> None:
        self._wake_reader.close()
        self._wake_writer.close()


class Loop:
    """The connections of some listeners, and whose turn it is."""

    def __init__(self, service: ClientService, listeners: Sequence[socket.socket]) -> None:
        """Prepare to serve, in the process that is to run the loop."""
        self.service, self.listeners = service, listeners
        self.limits, self.log = service.limits, service.log
        for listener in listeners:
            listener.setblocking(False)
        self.alive, self.accepting = True, False
        self.connections: set[Connection] = set()
        self.open: Counter[str] = Counter()  # The number of connections of each peer.
        self.opened: Counter[str] = Counter()  # How many each peer has opened of late: each sweep forgets some.
        self.turns: Turns[Connection] = Turns()
        self.handshakes: Turns[Connection] = Turns()
        self.poller, self.calls = DefaultSelector(), Calls()
        self.defer = self.calls.defer
        self.poller.register(self.calls, EVENT_READ)
        self.memory = Memory(self.limits, self.connections, drop=self.drop, resume=self.resume, defer=self.defer)
        self.hold = self.memory.hold
        self.swept = monotonic()  # When the last sweep began.
        self.turned = monotonic()  # When the last turn began.

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        return self.service.tls_context

    @property
    def client_names(self) -> Set[str]:
        return self.service.client_names

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Serve until `end`, or until `goes_on`, called some times a second, says no."""
        enter_loop()
        last_asked = -inf
        while self.alive:
            if last_asked < self.swept:  # Once after each sweep.
                last_asked = self.swept
                if not goes_on():
                    break
            self.turn(SWEEP_SECONDS)

    def end(self) -> None:
        """End `run`; a signal handler may call it."""
        self.alive = False
        self.defer(int)  # A call that does nothing, but wakes the poller.

    def turn(self, seconds: float) -> None:
        """Wait for events for `seconds` at most, and let as many clients have their turn as a slice of time allows."""
        self.turned = monotonic()
        self._accept_or_not()
        ready_listeners = []
        for key, _ in self.poller.select(0 if self.turns or self.handshakes else seconds):
            if isinstance(key.data, Connection):
                self._queue(key.data)
            elif key.data:
                ready_listeners.append(key.data)
            else:  # The socket of `calls`, which is registered without data.
                self.calls.run()
        begun = now = monotonic()
        while self.turns and now < begun + self.limits.slice:
            self.resume(self.turns.next())
            now = monotonic()
        for _ in range(self.limits.handshakes):
            if self.handshakes and monotonic() < now + SLICE_SECONDS:
                self.resume(self.handshakes.next())
        for listener in ready_listeners:
            self.accept(listener)
        if now > self.swept + SWEEP_SECONDS:
            self.sweep()

    def _accept_or_not(self) -> None:
        """Leave new clients in the backlog while there is no place, and none can be made."""
        wanted = self.alive and len(self.connections) < self.limits.connections
        if wanted != self.accepting:
            for listener in self.listeners:
                if wanted:
                    self.poller.register(listener, EVENT_READ, listener)
                else:
                    self.poller.unregister(listener)
        self.accepting = wanted

    def _queue(self, connection: Connection) -> None:
        """Let a connection whose event has come wait for its turn."""
        if connection.wanted:
            if connection.wanted == EVENT_READ:  # Bytes are here, though they may be read only after other turns.
                connection.heard = monotonic()
            (self.handshakes if connection.handshaking else self.turns).add(connection)
        elif connection.watched:
            # The client sends while a thread answers; stop polling, or it wakes the loop again and again.
            self.poller.unregister(connection.sock)
            connection.watched = NO_EVENT

    def accept(self, listener: socket.socket) -> None:
        """
        Accept waiting clients for a slice of time; then close connections, if there are too many.

        One call accepts at most three quarters of the limit, so that a client that has sent its request is served
        before newcomers take its place.
        """
        begun = monotonic()
        for _ in range(min(NEWCOMERS, 1 + self.limits.connections * 3 // 4)):
            if not self.accept_one(listener) or monotonic() > begun + SLICE_SECONDS:
                break
        self.make_room(since=begun)

    def accept_one(self, listener: socket.socket) -> bool:
        """Accept one client, if one waits."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in {errno.EMFILE, errno.ENFILE}:  # No descriptor is left.
                self.make_room(1)
            return False
        sock.setblocking(False)
        connection = Connection(self, sock, client, listener.getsockname(), peer_of(client))
        self.connections.add(connection)
        self.open[connection.peer] += 1
        self.opened[connection.peer] += 1
        self.resume(connection)
        return True

    def make_room(self, least: int = 0, since: float = inf) -> None:
        """
        Drop clients until one more has a place, and `least` at least.

        Each time it is a client of the peer that then has most; peers with `Limits.fair_share` or less count as equal.
        Of equal peers it is the first in the order of `closing_order`; `since`: whoever was heard later is a newcomer.
        """
        count = max(least, len(self.connections) - self.limits.connections + 1)
        if count <= 0:
            return
        closable = self._in_the_way([connection for connection in self.connections if connection.droppable])

        def closing_order(client: Connection) -> tuple[bool, bool, bool, float]:
            """Never served, served, waiting for the server, newcomers; in each, first whoever was silent longest."""
            is_newcomer = client.heard >= since
            waits_for_server = client.deadline == inf
            return is_newcomer, waits_for_server, client.served, client.heard

        closable.sort(key=closing_order)
        # Where each request has a connection of its own, the open ones do not tell how much a peer asks.
        size = self.opened if self.limits.brief else self.open
        for victim in largest_first(closable, size, self.limits.fair_share)[:count]:
            self.drop(victim, "to make room")

    def _in_the_way(self, connections: Sequence[Connection]) -> list[Connection]:
        """
        The connections that may be closed: those that never sent a whole request if they are at least half of all,
        else those that did.

        So silent clients take no place from clients that send requests, and clients that were served leave places for
        newcomers.
        """
        silent, senders = list[Connection](), list[Connection]()
        for client in connections:
            waits_for_server = client.deadline == inf  # From the end of a request to its answer.
            (senders if client.served or waits_for_server else silent).append(client)
        if len(silent) >= len(senders):
            return silent
        closable, fair_share = [], self.limits.fair_share
        for client in senders:
            # Its turn is near, and it needs no thread: it stays open, unless its peer has opened many of late.
            waits_for_turn = client.deadline == inf and client.queued == inf
            if not waits_for_turn or self.opened[client.peer] > fair_share:
                closable.append(client)
        return closable

    def converse(self, connection: Connection) -> Script[None]:
        """Serve a connection: requests and their responses, then the end."""
        connection.allow(self.limits.greeting)
        try:
            while not connection.closing:
                connection.request = yield from receive(connection, self.memory)
                connection.allow(inf)
                self.service.answer(connection)
                while connection.request:
                    yield NO_EVENT
                yield from self.send(connection)
                connection.served = not connection.closing
                connection.idle = not (connection.inbox or connection.behind)
                connection.allow(self.limits.keep_alive if self.alive else NEXT_REQUEST_SECONDS)
                if connection.inbox:  # Others have their turns before its next request.
                    yield from self.give_way(connection)
        except Refused as refusal:
            self.log.debug("Refused %s: %s", connection.client, refusal)
            connection.outbox[:] = self.service.refusal(refusal.status, refusal.reason)
        connection.inbox.clear()  # Whatever else has come is not answered.
        yield from self.send(connection)
        yield from connection.part()

    def give_way(self, connection: Connection) -> Script[None]:
        """Let others have their turns, and go on at the next turn of the connection."""
        self.turns.add(connection)
        yield NO_EVENT

    def send(self, connection: Connection) -> Script[None]:
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
                watch(connection.sock, wanted, connection)
                connection.watched = wanted
            connection.wanted = wanted
        except StopIteration:
            self.drop(connection, "done")
        except ClientRefused as error:
            self.service.refused_client(error.reason)
            self.drop(connection, error)
        except OSError as error:  # Not TLS, a RST, or an end in the middle of a request.
            self.drop(connection, error)
        except Exception:
            self.log.exception("Connection failed")
            self.drop(connection, "failed")

    def sweep(self) -> None:
        """Refuse or drop connections that missed their deadline, and large bodies too slow while others wait."""
        self.swept = now = monotonic()
        self.opened = Counter({peer: count - 1 - count // 8 for peer, count in self.opened.items() if count > 1})
        self.make_room()  # When the last client came, there may have been none to drop for it.
        late = {connection for connection in self.connections if connection.deadline <= now}
        for connection in late | self.memory.in_the_way(now):
            if connection.refusal:
                self.resume(connection, Refused(connection.refusal, "too slow"))
            else:
                self.drop(connection, "too slow")
        self.memory.go_on()  # Whoever has a turn may have fallen silent, and now gives way.

    def drop(self, connection: Connection, why: object) -> None:
        """Close a connection at once, and stop counting its bytes; do nothing if that has been done."""
        if connection not in self.connections:
            return
        self.log.debug("Closing %s: %s", connection.client, why)
        self.connections.discard(connection)
        self.open[connection.peer] -= 1
        if not self.open[connection.peer]:
            del self.open[connection.peer]
        self.turns.discard(connection)
        self.handshakes.discard(connection)
        connection.script.close()
        if connection.watched:
            self.poller.unregister(connection.sock)
            connection.watched = NO_EVENT
        connection.close()
        self.memory.forget(connection)
        self.service.dropped(connection)

    def stop(self, seconds: float) -> None:
        """Answer the requests that have arrived or begun so far, and no others, within `seconds`."""
        self.alive = False
        self._accept_or_not()
        for listener in self.listeners:
            for _ in range(self.limits.connections - len(self.connections)):
                if not self.accept_one(listener):
                    break
            listener.close()
        for _ in range(2):  # The first finishes responses, the second reads requests that came meanwhile.
            self._whole_turn()
        for connection in self.connections:
            if request := connection.request:
                request.force_close()  # gunicorn would still announce keep-alive.
            if connection.idle:
                grace = 0.0 if connection.served else FIRST_REQUEST_SECONDS
                connection.deadline = min(connection.deadline, monotonic() + grace)
        self.sweep()
        deadline = monotonic() + seconds
        while self.connections and monotonic() < deadline:
            self.turn(SWEEP_SECONDS)
        self.poller.close()
        self.calls.close()

    def _whole_turn(self) -> None:
        """Give all who wait a turn, however long it takes, except those in a handshake."""
        self.turn(0)
        while self.turns:
            self.resume(self.turns.next())
