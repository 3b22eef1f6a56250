"""How much of all requests together is held in memory, and whose turn it is to send a large body."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from webhook.transport.limits import Refused

if TYPE_CHECKING:
    from webhook.transport.connection import Connection
    from webhook.transport.worker import Worker

STALLED_SECONDS = 2.0  # Without a byte, or behind the least rate: too long when others wait.


class Memory:
    """The bytes that were received and not yet answered."""

    def __init__(self, worker: Worker) -> None:
        self.worker, self.limits = worker, worker.limits
        self.held = 0
        self.large: set[Connection] = set()  # Those whose turn it is,
        self.queue: list[Connection] = []  # and those that wait for theirs.

    def hold(self, connection: Connection, count: int) -> None:
        """Count received bytes; of too many, drop the stalled and then the oldest: reviews come within milliseconds."""
        connection.held += count
        self.held += count
        while self.held > self.limits.held_bytes:
            stalled = monotonic() - STALLED_SECONDS
            receiving = (other for other in self.worker.connections if other.held and other.deadline < inf)
            victim = min(receiving, key=lambda other: (other.heard > stalled, other.begun))
            if victim is connection:
                raise Refused(503, "too many bytes held")
            self.worker.drop(victim, "too many bytes held")

    def release(self, connection: Connection) -> None:
        """Forget the bytes of a request that is over; if it was large, another may go on."""
        self.held += len(connection.inbox) - connection.held
        connection.held = len(connection.inbox)
        if connection in self.queue:
            self.queue.remove(connection)
        if connection in self.large:
            self.large.remove(connection)
            self.worker.method_queue.defer(self.go_on)

    def has_turn(self, connection: Connection) -> bool:
        """Whether a large body may go on; if not, it is resumed when it may."""
        if connection not in self.large and len(self.large) < self.limits.large_bodies:
            self.grant(connection)
        elif connection not in self.large:
            self.queue.append(connection)
        return connection in self.large

    def grant(self, connection: Connection) -> None:
        self.large.add(connection)
        connection.heard = monotonic()
        connection.due = connection.heard + STALLED_SECONDS

    def go_on(self) -> None:
        """The last come first: when many queue, the first are the ones that are stuck."""
        while self.queue and len(self.large) < self.limits.large_bodies:
            connection = self.queue.pop()
            self.grant(connection)
            self.worker.resume(connection)

    def in_the_way(self, now: float) -> set[Connection]:
        """The large bodies that have stopped coming, or drip, while others wait."""
        if not self.queue:
            return set()
        receiving = {one for one in self.large if one.deadline < inf}
        return {one for one in receiving if one.due <= now or one.heard + STALLED_SECONDS <= now}
