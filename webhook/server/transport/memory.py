"""Bounds the bytes that all requests hold together, and lets large bodies take turns by their size."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from math import inf
from time import monotonic

from webhook.server.transport.connection import Connection
from webhook.server.transport.limits import Limits, Refused
from webhook.server.transport.peers import of_the_largest

# A large body that stalls this long, or falls this far behind `Limits.rate`, is refused while others wait.
STALLED_SECONDS = 2.0
HURRY = 16  # Times `Limits.rate` while a peer without a turn waits; still a fraction of an API server's network.
# A large body of which nothing comes for so long gives way to a peer that has no turn; longer than a lost packet takes.
SILENT_SECONDS = 0.5
# A peer that lost a turn because it stalled or was silent is blamed: others come before it.
BLAME_SECONDS = 600.0
BLAMED = 1_000  # Peers remembered, at most.


class Memory:
    """The bytes of unanswered requests, and of answers that are not yet sent."""

    def __init__(
        self,
        limits: Limits,
        connections: Collection[Connection],
        *,
        drop: Callable[[Connection, str], None],
        resume: Callable[[Connection, Refused | None], None],
        defer: Callable[[Callable[[], None]], None],
    ) -> None:
        """
        Divide memory among `connections`, the open ones; the set is shared with the loop.

        `defer` calls a function in the main thread's next turn.
        """
        self.limits, self.connections = limits, connections
        self.drop, self.resume, self.defer = drop, resume, defer
        self.held = 0
        self.large: dict[Connection, int] = {}  # Large bodies that have a turn, with their bytes.
        self.queue: dict[Connection, int] = {}  # Large bodies that wait for a turn, with their bytes.
        self.blamed: OrderedDict[str, float] = OrderedDict()  # Blamed peers, and until when.

    def hold(self, connection: Connection, count: int) -> None:
        """
        Count received bytes.

        Over the limit, requests that have stalled are lost first: a review arrives within milliseconds.  Then the peer
        that holds most loses its oldest.  Refused if this connection is the one to drop.
        """
        connection.held += count
        self.held += count
        while self.held > self.limits.held_bytes:
            victim = self._victim(connection)
            if victim is connection:
                raise Refused(503, "too many bytes held")
            if victim is None:
                return
            self.drop(victim, "too many bytes held")

    def _victim(self, asking: Connection) -> Connection | None:
        """
        The connection to drop first: one that has stalled, or else the oldest of the peer that holds most.

        None if threads are at work on all.  It may be the one that is `asking`, which can end itself.
        """
        since, held = monotonic() - STALLED_SECONDS, Counter[str]()
        for other in self.connections:
            held[other.peer] += other.held
        holding = [other for other in self.connections if other.held and (other is asking or other.droppable)]
        stalled = [other for other in holding if other.deadline < inf and other.heard <= since]
        candidates = of_the_largest(stalled or holding, held)
        return min(candidates, key=lambda other: (other.deadline == inf, other.begun), default=None)

    def release(self, connection: Connection) -> None:
        """
        Stop counting the request's bytes, but count those of its answer until they are sent.

        While there are too many, drop others, as `hold` does.
        """
        self.forget(connection)
        connection.held = len(connection.inbox) + connection.behind + len(connection.outbox) + len(connection.unsent)
        self.held += connection.held
        while self.held > self.limits.held_bytes and (victim := self._victim(connection)) not in (None, connection):
            self.drop(victim, "too many bytes held")

    def forget(self, connection: Connection) -> None:
        """Stop counting all bytes of the connection.  If its request was large, another large body gets a turn."""
        self.held -= connection.held
        connection.held = 0
        self.queue.pop(connection, None)
        if self.large.pop(connection, 0):
            self.defer(self.go_on)

    def has_turn(self, connection: Connection, length: int) -> bool:
        """Whether a large body of this size may be read; if not, queue the connection until it may."""
        if connection not in self.large:
            self.queue[connection] = length
            self.go_on(asking=connection)
        return connection in self.large

    def _fits(self, length: int) -> bool:
        return not self.large or sum(self.large.values()) + length <= self.limits.large_held

    def _grant(self, connection: Connection, length: int) -> None:
        self.large[connection] = length
        connection.heard = connection.granted = monotonic()
        connection.came = 0

    def go_on(self, asking: Connection | None = None) -> None:
        """Give turns to bodies until one does not fit: smaller ones must not overtake it."""
        while self.queue and self._has_room(connection := self._next()):
            self._grant(connection, self.queue.pop(connection))
            if connection is not asking:
                self.resume(connection, None)

    def _has_room(self, connection: Connection) -> bool:
        """Whether this body fits, if need be after others have given way, which this makes them do."""
        silent = monotonic() - SILENT_SECONDS
        for other in self._giving_way(connection.peer, self.queue[connection], silent):
            if other.heard <= silent:
                self._blame(other.peer)
            self.resume(
                other, Refused(429, f"a body of {self.large[other]} bytes gave way to another client; try again")
            )
        return self._fits(self.queue[connection])

    def _blame(self, peer: str) -> None:
        self.blamed[peer] = monotonic() + BLAME_SECONDS
        self.blamed.move_to_end(peer)
        if len(self.blamed) > BLAMED:
            self.blamed.popitem(last=False)

    def is_blamed(self, peer: str) -> bool:
        """Whether the peer has lost a turn of late because it stalled."""
        return self.blamed.get(peer, 0.0) > monotonic()

    def _giving_way(self, peer: str, length: int, silent: float) -> list[Connection]:
        """
        The bodies that lose their turn, so that a body of this length of this peer fits; none if the peer has a turn
        already, or if that would not make enough room.

        First go bodies of which nothing has come since `silent`, and, if this peer is not blamed, those of blamed
        peers.  Of the others each peer keeps its oldest; those of the peer that has most go first, the newest before
        the older.
        """
        bytes_of, missing = self._bytes_by_peer(), sum(self.large.values()) + length - self.limits.large_held
        if bytes_of[peer]:
            return []
        # Bodies are in the order of their turns: backwards, the oldest of a peer comes last, and stays.
        oldest = {body.peer: body for body in reversed(self.large)}
        receiving = [body for body in reversed(self.large) if body.deadline < inf]
        trusted = not self.is_blamed(peer)
        stalling = {body for body in receiving if body.heard <= silent or (trusted and self.is_blamed(body.peer))}
        spare = [body for body in receiving if body in stalling or body is not oldest[body.peer]]
        chosen: list[Connection] = []
        for body in sorted(spare, key=lambda body: (body not in stalling, -bytes_of[body.peer])):
            if missing > 0:
                chosen.append(body)
                missing -= self.large[body]
        return chosen if missing <= 0 else []

    def _next(self) -> Connection:
        """
        The connection whose large body gets the next turn: the newest of the peer whose turn it is.

        That is the peer with the fewest bytes of large bodies that have a turn; of several such peers, one that is not
        blamed, and of these the one that has waited longest.  It is the newest connection, since under load the oldest
        have usually stalled.
        """
        bytes_of = self._bytes_by_peer()
        # A peer has the place of its first connection in the queue, and the last one as its value.
        newest = {connection.peer: connection for connection in self.queue}
        return newest[min(newest, key=lambda peer: (bytes_of[peer], self.is_blamed(peer)))]

    def _bytes_by_peer(self) -> Counter[str]:
        """The bytes of large bodies that have a turn, by peer."""
        bytes_of = Counter[str]()
        for connection, length in self.large.items():
            bytes_of[connection.peer] += length
        return bytes_of

    def in_the_way(self, now: float) -> set[Connection]:
        """
        The large bodies that stall or are too slow while others wait; blames their peers.

        `now` is `time.monotonic()`.  While a peer without a turn waits, they must be HURRY times as fast.
        """
        if not self.queue:
            return set()
        bytes_of, rate = self._bytes_by_peer(), self.limits.rate
        if any(not bytes_of[waiting.peer] for waiting in self.queue):
            rate *= HURRY
        since = now - STALLED_SECONDS
        receiving = {body for body in self.large if body.deadline < inf}
        # Stalled, or so far behind: at `rate`, what has come would have been here by `since`.
        slow = {body for body in receiving if body.heard <= since or body.granted + body.came / rate <= since}
        for body in slow:
            self._blame(body.peer)
        return slow
