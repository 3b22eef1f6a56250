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
    Return the peer behind the address of a socket: its IP address, of IPv6 the first 64 bits; "" if it has none.

    An IPv4 address is the same on a socket of IPv6.
    """
    return _network(str(address[0])) if isinstance(address, tuple) else ""


def is_local(address: object) -> bool:
    """Return whether the address of a socket is a loopback address: only who may enter the Pod comes from there."""
    host = _host(str(address[0])) if isinstance(address, tuple) else None
    return host is not None and host.is_loopback


@lru_cache(1_000)
def _network(text: str) -> str:
    host = _host(text)
    return str(IPv6Address(int(host) >> NETWORK << NETWORK) if isinstance(host, IPv6Address) else host or "")


def _host(text: str) -> IPv4Address | IPv6Address | None:
    try:
        host = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return host.ipv4_mapped or host if isinstance(host, IPv6Address) else host


class HasPeer(Protocol):
    """Whatever belongs to a peer."""

    @property
    def peer(self) -> str: ...


Member = TypeVar("Member", bound=HasPeer)


def of_the_largest(members: Iterable[Member], size: Counter[str]) -> list[Member]:
    """Return the members of which the peer has the largest size; of several such peers, the members of all."""
    candidates = list(members)
    largest = max((size[member.peer] for member in candidates), default=0)
    return [member for member in candidates if size[member.peer] == largest]


def largest_first(members: Iterable[Member], size: Counter[str], few: int = 0) -> list[Member]:
    """
    Return the members in an order to drop them: each is of the peer that has most when those before it are gone.

    `size` says how many a peer has; with a `few` or less, none has more than another.  Else the order stays.
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
        """Let the member wait, if it does not yet."""
        self._waiting.setdefault(member.peer, OrderedDict())[member] = None

    def discard(self, member: Member) -> None:
        """Forget the member."""
        of_peer = self._waiting.get(member.peer)
        if of_peer and member in of_peer:
            del of_peer[member]
            if not of_peer:
                del self._waiting[member.peer]

    def next(self) -> Member:
        """Remove the member whose turn it is from those that wait, and return it; KeyError if none waits."""
        peer, of_peer = self._waiting.popitem(last=False)
        member, _ = of_peer.popitem(last=False)
        if of_peer:
            self._waiting[peer] = of_peer
        return member
