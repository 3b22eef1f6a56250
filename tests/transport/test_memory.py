"""What all requests together hold, and whose turn it is to send a large body."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import ExitStack, suppress
from math import inf

import pytest

from tests.support.clients import CHUNKED, CROWD, LARGE, MB, OTHER, Server, drip, head, post, suppressed
from tests.support.serving import until
from webhook.server.transport.http_request import turn_seconds
from webhook.server.transport.limits import Limits, Refused
from webhook.server.transport.memory import BLAME_SECONDS, BLAMED, HURRY, SILENT_SECONDS, STALLED_SECONDS, Memory

alone = pytest.mark.alone  # With a server, whose memory and time are measured.

TWO = {"large_held": 2 * len(LARGE)}  # Turns for two at a time.


@alone
def test_large_bodies_take_turns_and_small_ones_do_not_wait(tmp_path):
    """20 clients stop in the middle of a large body: memory stays bounded, and even a large review gets its turn."""
    with Server(tmp_path, limits=TWO | {"body": 30.0}) as server, ExitStack() as crowd:
        before = server.usage()
        stuck = [crowd.enter_context(server.client()) for _ in range(20)]
        for client in stuck:  # All are in line before the review: of one peer, the newest has its turn first.
            client.send(post(LARGE)[:100_000])
        senders = [
            threading.Thread(target=suppressed, args=(OSError, client.send, post(LARGE)[100_000 : -len(LARGE) // 2]))
            for client in stuck
        ]
        for sender in senders:
            sender.start()

        with server.client() as client:
            assert b"2000" == client.ask(post(b"x" * 2000)).body
        begin = time.monotonic()
        answer = ask_again(server, post(LARGE))
        assert (200, b"%d" % len(LARGE)) == (answer.status, answer.body), answer
        assert time.monotonic() - begin < 10
        assert server.usage().megabytes < before.megabytes + 80
        for client in stuck:
            suppressed(OSError, socket.socket.shutdown, client.sock, socket.SHUT_RDWR)
        for sender in senders:
            sender.join()


def ask_again(server, request):
    """Ask as kube-apiserver does: what is refused with 429 is asked again a second later."""
    while True:
        with server.client() as client:
            answer = client.ask(request)
        if answer.status != 429:
            return answer
        time.sleep(1)


@alone
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


@alone
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


@alone
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


@alone
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


@alone
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


@alone
def test_answers_that_nobody_reads_are_bounded_too(tmp_path):
    """60 clients leave 360 MB unread: the stalled are dropped, and whoever reads is served."""
    with Server(tmp_path, limits={"held_bytes": 32 << 20}) as server, ExitStack() as crowd:
        before = server.usage()
        for _ in range(60):
            crowd.enter_context(server.client()).send(post(path=f"/give/{6 * MB}"))
        with server.client() as client:
            assert MB == len(client.ask(post(path=f"/give/{MB}")).body)

        assert server.usage().descriptors < before.descriptors + 25  # The kernel takes some megabytes of each.


@alone
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


@alone
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


@alone
def test_what_has_stalled_is_lost_before_what_one_peer_sends(tmp_path):
    """Each of a crowd has an address of its own, and holds less than the peer whose review is coming."""
    with Server(tmp_path, limits={"held_bytes": 4 * MB}) as server, ExitStack() as crowd, server.client(OTHER) as other:
        for number in range(1, 13):
            crowd.enter_context(server.client(f"127.0.4.{number}")).send(post(b"x" * 300_000)[:-1])
        time.sleep(STALLED_SECONDS + 0.2)
        assert [b"950000"] * 3 == [other.ask(post(b"x" * 950_000)).body for _ in range(3)]


class Held:
    """Stands for a connection whose request, or answer, is held."""

    def __init__(self, peer, begun=0.0, heard=inf, deadline=5.0, droppable=True):
        self.peer, self.begun, self.heard, self.deadline, self.droppable = peer, begun, heard, deadline, droppable
        self.held, self.behind, self.inbox, self.outbox, self.unsent = 0, 0, b"", b"", b""


@pytest.fixture
def held():
    """A memory of ten bytes, and what it drops, in turn; each of these is forgotten."""

    def drop(connection, _why):
        dropped.append(connection)
        connections.remove(connection)
        memory.forget(connection)

    connections, dropped = [], []
    memory = Memory(Limits(held_bytes=10), connections, drop=drop, resume=None, defer=lambda call: call())

    def hold(count, *given, **more):
        connections.append(Held(*given, **more))
        memory.hold(connections[-1], count)
        return connections[-1]

    return memory, hold, dropped


def test_as_much_as_may_be_is_held_and_then_the_oldest_of_who_holds_most_goes(held):
    memory, hold, dropped = held
    one, newer, older = hold(2, OTHER, 0.0), hold(4, CROWD, 2.0), hold(4, CROWD, 1.0)
    assert (10, []) == (memory.held, dropped)

    memory.hold(one, 1)
    assert (7, [older]) == (memory.held, dropped)
    memory.hold(newer, 3)
    assert (10, [older]) == (memory.held, dropped)


def test_what_has_stalled_goes_before_who_holds_most(held):
    """But not what waits for the server: it has no deadline."""
    _, hold, dropped = held
    hold(5, CROWD)
    stalled = hold(2, OTHER, heard=time.monotonic() - STALLED_SECONDS)
    hold(3, "127.0.0.9", heard=0.0, deadline=inf)
    hold(1, "127.0.0.8")

    assert [stalled] == dropped


def test_who_still_sends_goes_before_who_waits_for_an_answer(held):
    _, hold, dropped = held
    hold(4, CROWD, 0.0, deadline=inf)
    newer = hold(4, CROWD, 1.0)
    hold(3, OTHER)

    assert [newer] == dropped


def test_what_a_thread_works_on_is_not_dropped(held):
    memory, hold, dropped = held
    hold(8, CROWD, droppable=False)
    free = hold(2, OTHER)
    with pytest.raises(Refused) as refused:
        memory.hold(free, 1)
    assert (503, []) == (refused.value.status, dropped)

    memory.forget(free)
    free.droppable = False
    other = hold(2, CROWD, droppable=False)
    with pytest.raises(Refused):
        memory.hold(other, 2)


def test_whoever_holds_most_is_refused_where_it_asks_itself(held):
    _, hold, dropped = held
    hold(4, OTHER)
    with pytest.raises(Refused) as refused:
        hold(7, CROWD)

    assert (503, []) == (refused.value.status, dropped)


def test_an_answer_is_held_in_place_of_the_request_and_dropped_for_no_reader(held):
    memory, hold, dropped = held
    one, other = hold(3, OTHER), hold(7, CROWD)
    one.inbox, one.behind, one.outbox, one.unsent = b"12", 1, b"34", b"5"
    memory.release(one)
    assert (6, 6, [other]) == (one.held, memory.held, dropped)

    one.outbox = bytes(40)
    memory.release(one)
    assert (44, [other]) == (memory.held, dropped), "what is being sent stays"
    memory.forget(one)
    assert (0, 0) == (memory.held, one.held)


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


def test_of_two_that_have_several_the_one_with_more_gives_way(turns):
    memory, resumed = turns
    _, newest_of_most = sending(memory, 3, CROWD), sending(memory, 3, CROWD)
    sending(memory, 2, "127.0.0.9")
    sending(memory, 2, "127.0.0.9")

    assert memory.has_turn(Large(OTHER), 2)
    assert [newest_of_most] == resumed


def test_of_several_bodies_of_a_peer_the_newest_gives_way_and_the_peer_is_not_blamed(turns):
    memory, resumed = turns
    sending(memory, 4, "127.0.0.9")
    _, _, newest = [sending(memory, 2, CROWD) for _ in range(3)]

    assert memory.has_turn(Large(OTHER), 2)
    assert ([newest], False) == (resumed, memory.is_blamed(CROWD))


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


def silent(memory, length, peer):
    """A large body that had a turn, and of which nothing has come for a while."""
    connection = sending(memory, length, peer)
    connection.heard -= SILENT_SECONDS
    return connection


def test_a_silent_body_gives_way_to_a_peer_that_has_no_turn(turns):
    """A steady one does not, and nobody gives way to another body of the same peer."""
    memory, resumed = turns
    stalls, _ = silent(memory, 5, CROWD), sending(memory, 5, "127.0.0.9")
    assert not memory.has_turn(Large(CROWD), 5)
    assert [] == resumed

    assert memory.has_turn(Large(OTHER), 5)
    assert [stalls] == resumed
    assert not memory.has_turn(Large("127.0.0.3"), 5)


def test_a_silent_body_gives_way_before_that_of_a_peer_with_more(turns):
    memory, resumed = turns
    sending(memory, 3, CROWD)
    sending(memory, 3, CROWD)
    stalls = silent(memory, 4, "127.0.0.9")

    assert memory.has_turn(Large(OTHER), 3)
    assert [stalls] == resumed


def test_a_body_that_falls_silent_is_found_by_the_next_look(turns):
    memory, resumed = turns
    stalls, waits = sending(memory, 10, CROWD), Large(OTHER)
    assert not memory.has_turn(waits, 5)
    stalls.heard -= SILENT_SECONDS
    memory.go_on()

    assert [stalls, waits] == resumed


def test_whoever_has_stalled_comes_after_those_who_have_not(turns):
    """Also if it waits longer; and it gives way at once, but to none that has stalled itself."""
    memory, resumed = turns
    silent(memory, 10, CROWD)
    steady, waits = Large("127.0.0.9"), Large(OTHER)
    assert memory.has_turn(steady, 10)
    assert [False, False] == [memory.has_turn(Large(CROWD), 10), memory.has_turn(waits, 10)]
    finish(memory, steady)
    assert waits is resumed[-1]
    finish(memory, waits)
    again = resumed[-1]
    assert CROWD == again.peer

    again.deadline = 5.0
    assert memory.has_turn(Large(OTHER), 10)
    assert again is resumed[-1]


def test_whoever_has_stalled_takes_no_turn_from_a_steady_peer(turns):
    memory, _ = turns
    silent(memory, 10, CROWD)
    steady = Large(OTHER)
    assert memory.has_turn(steady, 10)
    finish(memory, steady)
    sending(memory, 10, OTHER)

    assert not memory.has_turn(Large(CROWD), 10)


def test_of_two_that_have_stalled_neither_takes_the_turn_of_the_other(turns):
    memory, _ = turns
    memory.blamed |= {CROWD: inf, OTHER: inf}
    sending(memory, 10, CROWD)

    assert not memory.has_turn(Large(OTHER), 10)
    assert memory.has_turn(Large("127.0.0.9"), 10)


def test_whoever_has_stalled_comes_before_another_that_has_a_turn_already(turns):
    memory, resumed = turns
    memory.blamed[CROWD] = inf
    done, waits = Large("127.0.0.9"), [Large(OTHER), Large(CROWD)]
    assert [True, True] == [memory.has_turn(one, 5) for one in (Large(OTHER), done)]
    assert [False, False] == [memory.has_turn(one, 5) for one in waits]
    finish(memory, done)

    assert [waits[1]] == resumed


def test_whoever_has_gone_is_given_no_turn_and_a_turn_counts_anew(turns):
    memory, resumed = turns
    done, gone, waits = Large(CROWD), Large(OTHER), Large("127.0.0.9")
    gone.held, waits.came = 0, 7
    assert [True, False, False] == [memory.has_turn(one, 10) for one in (done, gone, waits)]
    memory.forget(gone)
    finish(memory, done)

    assert ([waits], 0) == (resumed, waits.came)


def test_that_a_peer_has_stalled_again_is_remembered_from_then_on(turns):
    memory, _ = turns
    slow = sending(memory, 10, CROWD)
    assert not memory.has_turn(Large(OTHER), 10)
    others = [f"127.1.{number // 250}.{number % 250}" for number in range(BLAMED)]
    for slow.peer in (CROWD, *others[1:], CROWD, others[0]):
        memory.in_the_way(slow.granted + STALLED_SECONDS)

    assert (BLAMED, True) == (len(memory.blamed), CROWD in memory.blamed)


def test_that_a_peer_has_stalled_is_forgotten(turns, monkeypatch):
    """After a while, or when too many others have."""
    memory, _ = turns
    slow = sending(memory, 10, CROWD)
    assert not memory.has_turn(Large(OTHER), 10)
    now = slow.granted + STALLED_SECONDS
    assert {slow} == memory.in_the_way(now)
    assert [CROWD] == list(memory.blamed)
    for number in range(BLAMED + 10):
        memory.in_the_way(now)
        slow.peer = f"127.1.{number // 250}.{number % 250}"
    assert BLAMED == len(memory.blamed)
    assert CROWD not in memory.blamed
    until_then = time.monotonic() + BLAME_SECONDS
    monkeypatch.setattr("webhook.server.transport.memory.monotonic", lambda: until_then + 1)

    assert not memory.is_blamed(next(iter(memory.blamed)))


@alone
def test_clients_that_stall_and_come_again_keep_nobody_from_being_served(tmp_path):
    """Four addresses announce a large body, send half of it and stop, again and again."""
    stop = threading.Event()

    def stall(server, peer):
        while not stop.is_set():
            with suppress(OSError, EOFError), server.client(peer) as client:
                client.sock.settimeout(1)
                client.send(post(LARGE, "/?timeout=3s")[: -len(LARGE) // 2])
                client.answer()

    with Server(tmp_path, limits=TWO) as server:
        peers = [f"127.0.4.{number}" for number in range(1, 5)]
        threads = [threading.Thread(target=stall, args=(server, peer)) for peer in peers]
        for thread in threads:
            thread.start()
        time.sleep(2 * (SILENT_SECONDS + 0.5))  # Each is found to stall once.
        for _ in range(3):
            with server.client(OTHER) as client:
                assert b"%d" % len(LARGE) == client.ask(post(LARGE, "/?timeout=3s")).body
        stop.set()
        for thread in threads:
            thread.join()
