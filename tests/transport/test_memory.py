"""What all requests together hold, and whose turn it is to send a large body."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import ExitStack
from math import inf

import pytest

from tests.support.clients import CHUNKED, CROWD, LARGE, MB, OTHER, Server, drip, head, post, suppressed
from tests.support.serving import until
from webhook.transport.limits import Limits
from webhook.transport.memory import HURRY, STALLED_SECONDS, Memory
from webhook.transport.request import turn_seconds

TWO = {"large_held": 2 * len(LARGE)}  # Turns for two at a time.


def test_large_bodies_take_turns_and_small_ones_do_not_wait(tmp_path):
    """20 clients stop in the middle of a large body: memory stays bounded, and even a large review gets its turn."""
    with Server(tmp_path, limits=TWO | {"body": 30.0}) as server, ExitStack() as crowd:
        before = server.usage()
        stuck = [crowd.enter_context(server.client()) for _ in range(20)]
        senders = [
            threading.Thread(target=suppressed, args=(OSError, client.send, post(LARGE)[: -len(LARGE) // 2]))
            for client in stuck
        ]
        for sender in senders:
            sender.start()

        with server.client() as client:
            assert b"2000" == client.ask(post(b"x" * 2000)).body
            begin = time.monotonic()
            assert b"%d" % len(LARGE) == client.ask(post(LARGE)).body
            assert time.monotonic() - begin < 10
        assert server.usage().megabytes < before.megabytes + 80
        for client in stuck:
            suppressed(OSError, socket.socket.shutdown, client.sock, socket.SHUT_RDWR)
        for sender in senders:
            sender.join()


def test_large_bodies_that_drip_make_room(tmp_path):
    """A byte now and then does not keep a turn that others wait for."""
    with Server(tmp_path, limits=TWO | {"body": 30.0}) as server, ExitStack() as crowd:
        dripping = [crowd.enter_context(server.client()) for _ in range(2)]
        for client in dripping:
            client.ask(post())  # Reads what TLS sends at first, so that what comes now is the answer.
            client.send(post(LARGE)[:1_100_000])
        stop = threading.Event()
        dripper = threading.Thread(target=drip, args=(dripping, stop))
        dripper.start()
        with server.client() as client:
            begin = time.monotonic()
            assert b"%d" % len(LARGE) == client.ask(post(LARGE)).body
            assert time.monotonic() - begin < 10
        stop.set()
        dripper.join()
        given_up = [client for client in dripping if select.select([client.sock], [], [], 0)[0]]
        assert {408} == {client.answer().status for client in given_up}


def test_many_large_bodies_at_once_are_all_served(server):
    """They wait for each other, not for ever."""
    answers = []

    def ask() -> None:
        with server.client() as client:
            answers.append(client.ask(post(LARGE)).body)

    senders = [threading.Thread(target=ask) for _ in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()

    assert [b"%d" % len(LARGE)] * 8 == answers


def test_turns_are_given_by_size(tmp_path):
    """Eight bodies of 2 MB take no more than one of 17, so nobody waits for those that have stalled."""
    with Server(tmp_path, limits=TWO | {"body": 30.0}) as server, ExitStack() as crowd:
        for _ in range(8):
            crowd.enter_context(server.client()).send(post(bytes(2 * MB))[:-MB])
        with server.client() as client:
            begin = time.monotonic()
            assert b"%d" % len(LARGE) == client.ask(post(LARGE)).body
            assert time.monotonic() - begin < STALLED_SECONDS


ASKED = [head(Content_Length=len(LARGE)), head(Content_Length=len(LARGE), Expect="100-continue")]


@pytest.mark.parametrize("request_head", [*ASKED, CHUNKED + b"%x\r\n" % len(LARGE)])
def test_a_large_body_without_a_turn_is_refused_before_it_is_read(tmp_path, request_head):
    """With 429 and Retry-After, upon which kube-apiserver asks again."""
    with Server(tmp_path, limits={"large_held": len(LARGE)}) as server, server.client() as first:
        sent, stop = post(LARGE), threading.Event()
        first.send(sent[: 2 * MB])
        sender = threading.Thread(target=trickle, args=(first, sent[2 * MB : -MB], stop))
        sender.start()
        with server.client() as second:
            begin = time.monotonic()
            answer = second.ask(request_head)
            assert (429, "1", "close") == (answer.status, answer.headers["retry-after"], answer.headers["connection"])
            assert turn_seconds("") <= time.monotonic() - begin < turn_seconds("") + 1
        stop.set()
        sender.join()
        assert b"%d" % len(LARGE) == first.answer().body
        with server.client() as second:
            assert b"%d" % len(LARGE) == second.ask(post(LARGE)).body


def trickle(client, data, stop):
    """Send 200 kB every tenth of a second, which is fast enough to keep a turn, and all of the rest at the end."""
    begin = 0
    while not stop.wait(0.1):
        client.send(data[begin : begin + 200_000])
        begin += 200_000
    client.send(data[begin:] + bytes(MB))


def test_bytes_held_are_bounded(tmp_path):
    """The oldest go first, so that a review that is being sent does not."""
    with Server(tmp_path, limits={"held_bytes": 2 * MB}) as server, server.client() as client, ExitStack() as crowd:
        client.ask(post())
        before = server.usage()
        stuck = [crowd.enter_context(server.client()) for _ in range(10)]
        for other in stuck:
            other.send(post(b"x" * 900_000)[:-1])
        until(lambda: server.usage().descriptors <= before.descriptors + 2, "all but two to be dropped", 5)
        assert b"900000" == client.ask(post(b"x" * 900_000)).body
        until(lambda: server.usage().descriptors <= before.descriptors + 2, "the others to be dropped", 5)


def test_answers_that_nobody_reads_are_bounded_too(tmp_path):
    """60 clients leave 360 MB unread: the stalled are dropped, and whoever reads is served."""
    with Server(tmp_path, limits={"held_bytes": 32 << 20}) as server, ExitStack() as crowd:
        before = server.usage()
        for _ in range(60):
            crowd.enter_context(server.client()).send(post(path=f"/give/{6 * MB}"))
        with server.client() as client:
            assert MB == len(client.ask(post(path=f"/give/{MB}")).body)

        assert server.usage().descriptors < before.descriptors + 25  # The kernel takes some megabytes of each.


def test_a_peer_without_a_turn_takes_one_from_a_peer_that_has_several(tmp_path):
    """Whoever loses it is asked to come again; with one turn each, nobody does."""
    with Server(tmp_path, limits=TWO) as server, server.client() as first, server.client() as second:
        senders, stop = [], threading.Event()
        for client in (first, second):
            client.send(post(LARGE)[: 2 * MB])
            rest = post(LARGE)[2 * MB :]
            senders.append(threading.Thread(target=suppressed, args=(OSError, trickle, client, rest, stop)))
            senders[-1].start()
            time.sleep(0.1)
        with server.client(OTHER) as other:
            begin = time.monotonic()
            assert b"%d" % len(LARGE) == other.ask(post(LARGE)).body
            assert time.monotonic() - begin < STALLED_SECONDS
        stop.set()
        for sender in senders:
            sender.join()
        assert b"%d" % len(LARGE) == first.answer().body
        assert 429 == second.answer().status


def test_whoever_holds_most_loses_first(tmp_path):
    """A crowd fills what may be held, again and again; what another peer has begun, before all of them, stays."""
    with Server(tmp_path, limits={"held_bytes": 4 * MB}) as server, ExitStack() as crowd, server.client(OTHER) as other:
        other.ask(post())
        other.send(post(b"x" * 900_000)[:-1])
        stuck = [crowd.enter_context(server.client()) for _ in range(20)]
        for client in stuck:
            suppressed(OSError, client.send, post(b"x" * 900_000)[:-1])
        other.send(b"x")
        assert b"900000" == other.answer().body


class Large:
    """Stands for a connection with a large body."""

    def __init__(self, peer):
        self.peer, self.heard, self.granted, self.came, self.deadline = peer, 0.0, inf, 0, inf  # It has arrived.


@pytest.fixture
def turns():
    """A memory with room for ten bytes of large bodies, and all that it resumed; who is refused has no turn."""
    resumed = []

    def resume(connection, refusal):
        resumed.append(connection)
        if refusal:
            del memory.large[connection]

    memory = Memory(
        Limits(large_held=10),
        [],
        drop=None,
        resume=resume,
        defer=lambda call: call(),
    )
    return memory, resumed


def finish(memory, connection):
    """As `release` does, without what it counts."""
    del memory.large[connection]
    memory.go_on()


def test_a_peer_with_few_large_bodies_is_next(turns):
    """Also if it came first, and the crowd since; of one peer it is the newest."""
    memory, resumed = turns
    crowd, other = [Large(CROWD) for _ in range(4)], Large(OTHER)
    assert [True, True] == [memory.has_turn(one, 5) for one in crowd[:2]]
    assert [False, False, False] == [memory.has_turn(one, 5) for one in (other, *crowd[2:])]
    finish(memory, crowd[0])
    finish(memory, crowd[1])

    assert [other, crowd[3]] == resumed


def test_small_large_bodies_do_not_pass_a_large_one_by(turns):
    """It would wait for ever: there would never be room for it."""
    memory, resumed = turns
    small, large = [Large(CROWD) for _ in range(4)], Large(OTHER)
    assert [True, True] == [memory.has_turn(one, 3) for one in small[:2]]
    assert [False, False] == [memory.has_turn(large, 9), memory.has_turn(small[2], 3)]
    finish(memory, small[0])
    assert [] == resumed
    finish(memory, small[1])

    assert [large] == resumed
    assert not memory.has_turn(small[3], 3)


def sending(memory, length, peer):
    """A large body that has a turn and is being sent."""
    connection = Large(peer)
    assert memory.has_turn(connection, length)
    connection.deadline = 5.0
    return connection


def test_whoever_has_several_gives_way_though_another_has_more(turns):
    memory, resumed = turns
    sending(memory, 5, "127.0.0.9")
    _, newest = sending(memory, 2, CROWD), sending(memory, 2, CROWD)

    assert memory.has_turn(Large(OTHER), 3)
    assert [newest] == resumed


def test_nobody_gives_way_in_vain(turns):
    memory, resumed = turns
    sending(memory, 5, "127.0.0.9")
    sending(memory, 2, CROWD)
    sending(memory, 2, CROWD)

    assert not memory.has_turn(Large(OTHER), 4)
    assert [] == resumed


def test_a_slow_body_gives_way_to_a_peer_that_has_no_turn(turns):
    """At a rate that is enough where nobody waits, or only others of its own."""
    memory, _ = turns
    slow = sending(memory, 9, CROWD)
    now = slow.granted + STALLED_SECONDS + 1
    slow.heard, slow.came = now, 2 * memory.limits.rate
    assert set() == memory.in_the_way(now)
    assert not memory.has_turn(Large(CROWD), 9)
    assert set() == memory.in_the_way(now)
    assert not memory.has_turn(Large(OTHER), 9)
    assert {slow} == memory.in_the_way(now)
    slow.came = HURRY * memory.limits.rate + 1
    assert set() == memory.in_the_way(now)
