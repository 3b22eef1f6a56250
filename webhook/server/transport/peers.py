"""Fairness between peers: whoever asks much waits for itself, and whoever holds most loses first."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Generic, Protocol, TypeVar

NETWORK = 64  # Bits of an IPv6 address: whoever has one address of such a network may have them all.


def peer_of(address: object) -> str:
    """
    The peer behind the address of a socket: its IP address, of IPv6 the first 64 bits; "" if it has none.

    A peer with an IPv4 address is the same on an IPv6 socket.
    """
    return _network(str(address[0])) if isinstance(address, tuple) else ""


def is_local(address: object) -> bool:
    """Whether the address of a socket is a loopback address: only those who may enter the Pod come from there."""
    host = _host(str(address[0])) if isinstance(address, tuple) else None
    return host is not None and host.is_loopback


@lru_cache(1_000)
def _network(text: str) -> str:
    host = _host(text)
    if host is None:
        return ""
    return str(IPv6Address(int(host) >> NETWORK << NETWORK) if isinstance(host, IPv6Address) else host)


def _host(text: str) -> IPv4Address | IPv6Address | None:
    try:
        host = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (host.ipv4_mapped or host) if isinstance(host, IPv6Address) else host


class HasPeer(Protocol):
    """Whatever belongs to a peer."""

    @property
    def peer(self) -> str: ...


Member = TypeVar("Member", bound=HasPeer)


def of_the_largest(members: Iterable[Member], size: Counter[str]) -> list[Member]:
    """The members of the peer with the largest size; if several peers have it, the members of all of them."""
    candidates = list(members)
    largest = max((size[member.peer] for member in candidates), default=0)
    return [member for member in candidates if size[member.peer] == largest]


def largest_first(members: Iterable[Member], size: Counter[str], few: int = 0) -> list[Member]:
    """
    The members in the order in which to drop them: each is of the peer that has most when those before it are gone.

    `size`: how many a peer has; peers with `few` or less count as equal.  Among equals the order stays.
    """
    gone, ranked = Counter[str](), []
    for member in members:
        ranked.append((max(few, size[member.peer] - gone[member.peer]), member))
        gone[member.peer] += 1
    return [member for _, member in sorted(ranked, key=lambda pair: -pair[0])]


class Turns(Generic[Member]):
    """Members that wait: each peer in turn has its oldest served.  Every operation takes constant time."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, OrderedDict[Member, None]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, member: Member) -> None:
        """Let the member wait, if it does not wait already."""
        self._waiting.setdefault(member.peer, OrderedDict())[member] = None

    def discard(self, member: Member) -> None:
        """Forget the member."""
        members = self._waiting.get(member.peer)
        if members and member in members:
            del members[member]
            if not members:
                del self._waiting[member.peer]

    def next(self) -> Member:
        """Remove the member whose turn it is from those that wait, and return it; KeyError if none waits."""
        peer, members = self._waiting.popitem(last=False)
        member, _ = members.popitem(last=False)
        if members:
            self._waiting[peer] = members  # At the end of the line.
        return member
