"""Who a peer is, whose turn it is, and who holds most."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server.transport.peers import Turns, is_local, largest_first, of_the_largest, peer_of


class Each(NamedTuple):
    peer: str
    number: int = 0


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        (("10.0.0.1", 4711), "10.0.0.1"),
        (("::ffff:10.0.0.1", 4711, 0, 0), "10.0.0.1"),
        (("2001:db8:1:2:3:4:5:6", 4711, 0, 0), "2001:db8:1:2::"),
        (("2001:db8:1:2:ffff::1", 4711, 0, 0), "2001:db8:1:2::"),
        (("2001:db8:1:3::1", 4711, 0, 0), "2001:db8:1:3::"),
        (("fe80::1%eth0", 4711, 0, 2), "fe80::"),
        (("::1", 4711, 0, 0), "::"),
        ("", ""),
        ("/a/socket", ""),
        (("no address", 1), ""),
        (None, ""),
    ],
)
def test_a_peer_is_an_address_or_a_network_of_64_bits(address, peer):
    assert peer == peer_of(address)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        (("127.0.0.1", 4711), True),
        (("::ffff:127.0.0.1", 4711, 0, 0), True),
        (("::1", 4711, 0, 0), True),
        (("10.0.0.1", 4711), False),
        (("::2", 4711, 0, 0), False),
        (("::ffff:10.0.0.1", 4711, 0, 0), False),
        (("fe80::1%eth0", 4711, 0, 2), False),
        (("no address", 1), False),
        (None, False),
    ],
)
def test_only_loopback_is_local(address, local):
    assert local is is_local(address)


def test_each_peer_has_its_turn():
    """A crowd of one peer does not come before the one of another, and each peer's own are served in order."""
    turns = Turns()
    for number in range(3):
        turns.add(Each("crowd", number))
    turns.add(Each("one"))

    assert [("crowd", 0), ("one", 0), ("crowd", 1), ("crowd", 2)] == [turns.next() for _ in range(4)]
    assert not turns


def test_who_waits_already_waits_once():
    turns = Turns()
    turns.add(Each("a"))
    turns.add(Each("a"))
    turns.next()

    assert not turns
    with pytest.raises(KeyError):
        turns.next()


MEMBERS = st.builds(Each, st.sampled_from("abc"), st.integers(0, 3))


@given(st.lists(st.tuples(st.booleans(), MEMBERS)), st.lists(MEMBERS))
def test_turns_lose_nobody_and_keep_nobody_waiting(steps, later):
    """Between two turns of a peer, every other peer that waits has one."""
    turns, waiting = Turns(), {}
    for comes, member in steps:
        (turns.add if comes else turns.discard)(member)
        if comes:
            waiting[member] = None
        else:
            waiting.pop(member, None)

    served = []
    while turns:
        served.append(turns.next())
    assert set(waiting) == set(served) and len(served) == len(waiting)
    for peer in {member.peer for member in served}:
        assert [each for each in waiting if each.peer == peer] == [each for each in served if each.peer == peer]
        places = [place for place, each in enumerate(served) if each.peer == peer]
        for one, next_one in pairwise(places):
            between = [each.peer for each in served[one + 1 : next_one]]
            still = {each.peer for each in served[next_one:]} - {peer}
            assert still <= set(between) and len(between) == len(set(between))


@pytest.mark.parametrize(
    ("few", "order"),
    [
        (0, "b1 b2 a1 b3 c1"),  # b has three, then two; then each has one.
        (2, "b1 a1 b2 b3 c1"),
        (3, "a1 b1 b2 b3 c1"),
    ],
)
def test_each_that_loses_is_of_the_peer_that_then_has_most(few, order):
    members = [Each(name[0], int(name[1])) for name in ("a1", "b1", "b2", "b3", "c1")]
    found = largest_first(members, Counter(each.peer for each in members), few)

    assert order.split() == [f"{each.peer}{each.number}" for each in found]


def test_the_largest_peer_is_the_one_to_lose():
    members = [Each("a"), Each("b", 1), Each("b", 2), Each("c")]

    assert [Each("b", 1), Each("b", 2)] == of_the_largest(members, Counter(each.peer for each in members))
    assert [Each("a"), Each("c")] == of_the_largest([Each("a"), Each("c")], Counter("ac"))
    assert [] == of_the_largest([], Counter("a"))
