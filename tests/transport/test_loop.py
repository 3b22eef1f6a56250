"""A crowd of one peer waits for itself, and makes room for the others."""

from __future__ import annotations

import logging
import select
import socket
import ssl
import statistics
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from math import inf
from types import SimpleNamespace

import pytest

from tests.support.certificates import the_leaf
from tests.support.clients import CROWD, OTHER, Busy, Client, Server, head, latencies, post
from tests.support.serving import until
from webhook.server.transport import connection as connection_module
from webhook.server.transport import memory
from webhook.server.transport.http_request import CHUNKS
from webhook.server.transport.limits import RECORD, Limits
from webhook.server.transport.loop import Loop


def test_a_crowd_makes_room_for_a_newcomer_of_another_peer(tmp_path):
    """It holds every place, all served and fresh, and more of it come before the newcomer has said a word."""
    with Server(tmp_path, worker_connections=20) as server, ExitStack() as crowd:
        for _ in range(20):
            crowd.enter_context(server.client(CROWD)).ask(post())
        newcomer = server.connect(OTHER)
        for _ in range(10):
            crowd.enter_context(server.connect(CROWD))
        with Client(server.context.wrap_socket(newcomer, server_hostname="localhost")) as client:
            for _ in range(10):
                crowd.enter_context(server.connect(CROWD))
            assert 200 == client.ask(post()).status


def test_a_crowd_makes_room_for_the_idle_connection_of_another_peer(tmp_path):
    """An API server keeps its connections for 90 seconds; here all others are fresher, and more come and are served."""
    with Server(tmp_path, worker_connections=20) as server, server.client(OTHER) as idle, ExitStack() as crowd:
        idle.ask(post())
        for _ in range(60):
            crowd.enter_context(server.client(CROWD)).ask(post())
        assert 200 == idle.ask(post()).status


def test_a_crowd_in_line_for_a_thread_makes_room_too(tmp_path):
    """It has every place and waits for the server, not the server for it."""
    with Busy(tmp_path, threads=1, worker_connections=20) as busy, ExitStack() as crowd:
        idle = crowd.enter_context(busy.server.client(OTHER))
        idle.ask(post())
        for _ in range(30):
            crowd.enter_context(busy.server.client(CROWD)).send(post(path=f"/wait{busy.pipe}"))
        with busy.server.client(OTHER) as newcomer:
            assert [200, 200] == [newcomer.ask(post()).status, idle.ask(post()).status]


MANY = [f"127.0.4.{number}" for number in range(1, 201)]


def test_silent_clients_of_many_addresses_lose_before_who_has_asked(tmp_path):
    """An API server has several connections, and each of theirs comes from an address of its own."""
    with Busy(tmp_path, threads=1, worker_connections=64) as busy, ExitStack() as clients:
        asking = [clients.enter_context(busy.server.client(OTHER)) for _ in range(4)]
        for client in asking:
            client.ask(post())
            client.send(post(path="/wait/dev/null"))
        for peer in MANY:
            clients.enter_context(busy.server.connect(peer))
        busy.finish()
        assert [200] * 4 == [client.answer().status for client in asking]


def test_whoever_was_served_leaves_newcomers_half_the_places(tmp_path):
    """Clients of many addresses were served, and hold every place; silent ones come beside the newcomer."""
    with Server(tmp_path, worker_connections=64) as server, ExitStack() as clients:
        for peer in MANY[:32] * 2:
            clients.enter_context(server.client(peer)).ask(post())
        newcomer = server.connect(OTHER)
        for peer in MANY[32:48]:
            clients.enter_context(server.connect(peer))
        with Client(server.context.wrap_socket(newcomer, server_hostname="localhost")) as client:
            assert 200 == client.ask(post()).status


def test_room_is_made_when_none_could_be_made_before(plain):
    """Threads were at work on all clients when the last place was taken."""
    plain.limits = replace(plain.limits, connections=3)
    address = plain.listeners[0].getsockname()
    with ExitStack() as clients:

        def come(peer):
            clients.enter_context(closing(socket.create_connection(address, source_address=(peer, 0))))
            for _ in range(3):
                plain.turn(0.01)

        come(CROWD)
        come(CROWD)
        for connection in plain.connections:
            connection.taken = True
        come(CROWD)
        come(CROWD)
        for connection in plain.connections:
            connection.taken = False
        plain.sweep()
        come(OTHER)
        assert OTHER in plain.open


def test_requests_in_a_row_have_a_turn_each(tmp_path):
    """One client sends 100 at once, of 10 ms each; another waits for one of them."""
    with Server(tmp_path) as server, server.client(CROWD) as many, server.client(OTHER) as other:
        other.ask(post())
        many.send(post(path="/work/10") * 100)
        time.sleep(0.05)
        taken = latencies(lambda: other.ask(post()), 5)
        assert statistics.median(taken) < 250
        assert [200] * 100 == [many.answer().status for _ in range(100)]


def test_one_peer_alone_may_use_every_place(tmp_path):
    """Many API servers may share an address."""
    with Server(tmp_path, worker_connections=60) as server, ExitStack() as crowd:
        clients = [crowd.enter_context(server.client()) for _ in range(55)]
        for _ in range(2):
            assert [200] * 55 == [client.ask(post()).status for client in clients]


def test_a_crowd_that_asks_much_waits_for_itself(tmp_path):
    """40 clients of one peer ask for 8 ms of work each, again and again; another peer waits for one of them."""
    with Server(tmp_path) as server, ExitStack() as crowd, server.client(OTHER) as other:
        other.ask(post())
        clients = [crowd.enter_context(server.client(CROWD)) for _ in range(40)]
        stop = threading.Event()

        def ask(client):
            while not stop.is_set():
                client.ask(post(path="/work/8"))

        askers = [threading.Thread(target=ask, args=(client,)) for client in clients]
        for asker in askers:
            asker.start()
        try:
            time.sleep(0.5)
            taken = latencies(lambda: other.ask(post()), 20)
        finally:
            stop.set()
            for asker in askers:
                asker.join()
        assert statistics.median(taken) < 40 * 8 / 4, "in line behind all of them, it would be 320 ms"


def ended(loop):
    """Give a loop to a test, and close all that it has open afterwards."""
    yield loop
    for connection in tuple(loop.connections):
        loop.drop(connection, "done")
    loop.poller.close()
    loop.calls.close()
    for listener in loop.listeners:
        listener.close()


@pytest.fixture
def loop(tmp_path):
    """A loop that is not running, with one listener; it answers nothing."""
    the_leaf().write(tmp_path / "tls.crt", tmp_path / "tls.key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    listener = socket.create_server(("127.0.0.1", 0))
    limits = Limits(handshakes=1)
    service = SimpleNamespace(
        limits=limits,
        log=logging.Logger("x"),
        tls_context=context,
        client_names=frozenset(),
        dropped=lambda _: None,
    )
    yield from ended(Loop(service, [listener]))


def test_a_crowd_that_shakes_hands_takes_turns(loop):
    """One step of a handshake a turn, and the one who came last of another peer is the second to have one."""
    address = loop.listeners[0].getsockname()
    with ExitStack() as stack:
        clients = [
            stack.enter_context(closing(socket.create_connection(address, source_address=(peer, 0))))
            for peer in (CROWD, CROWD, CROWD, OTHER)
        ]
        until(lambda: loop.turn(0) or len(loop.connections) == 4, "all to be accepted")
        assert {CROWD: 3, OTHER: 1} == dict(loop.open)
        for client in clients:
            client.sendall(b"\x16\x03\x01")  # Not enough for an answer, but a step.
        assert [] == [connection for connection in loop.connections if connection.tls]
        loop.turn(1)
        loop.turn(1)
        begun = sorted(connection.peer for connection in loop.connections if connection.tls)
        assert [OTHER, CROWD] == begun


def test_the_number_of_connections_is_forgotten_with_the_last(loop):
    """A table of all peers that ever came would grow."""
    with closing(socket.create_connection(loop.listeners[0].getsockname())) as client:
        until(lambda: loop.turn(0) or loop.open, "the client to be accepted")
        client.close()
        until(lambda: loop.turn(0) or not loop.connections, "the client to be gone")
    loop.sweep()
    assert ({}, {}) == (dict(loop.open), dict(loop.opened))


def test_a_loop_says_when_it_turned(loop):
    before = time.monotonic()
    loop.turn(0)
    assert before <= loop.turned <= time.monotonic()


@pytest.fixture
def plain():
    """A loop without TLS that holds up to 100,000 bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    service = SimpleNamespace(
        limits=Limits(held_bytes=100_000),
        log=logging.Logger("x"),
        tls_context=None,
        client_names=frozenset(),
        refusal=lambda *_: b"",
        dropped=lambda _: None,
    )
    yield from ended(Loop(service, [listener]))


def test_bytes_that_wait_to_be_read_are_heard(plain, monkeypatch):
    """A busy loop takes no client for silent whose bytes it has not read yet."""
    plain.limits = replace(plain.limits, slice=0.0)
    with closing(socket.create_connection(plain.listeners[0].getsockname())) as client:
        until(lambda: plain.turn(0.01) or plain.connections, "the client")
        (connection,) = plain.connections
        connection.heard -= 60
        client.send(b"POST")
        until(lambda: plain.turn(0.01) or plain.turns, "its bytes")

        assert time.monotonic() - connection.heard < 30
        assert not connection.inbox


ONE_TURN = 1e-9  # Seconds in which a loop has time for the first.


def turn_with(loop, data):
    """A connection to which this was sent, and whose turn it was."""
    client = socket.create_connection(loop.listeners[0].getsockname())
    until(lambda: loop.turn(0) or loop.connections, "the client")
    client.sendall(data)
    (connection,) = loop.connections
    until(lambda: loop.turn(0.01) or connection.inbox, "its bytes")
    loop.turn(0.01)
    return client, connection


def test_tiny_chunks_are_read_by_turns(plain, monkeypatch):
    """16 KiB may hold 2,700 of them, which take as long as 100 reviews."""
    plain.limits = replace(plain.limits, slice=ONE_TURN)
    tiny = b"1\r\nx\r\n"
    client, connection = turn_with(plain, head(Transfer_Encoding="chunked") + tiny * 1_000)
    with closing(client):
        left = len(connection.inbox)
        plain.turn(0.01)
        assert left - CHUNKS * len(tiny) == len(connection.inbox)


def test_a_large_body_is_read_in_few_turns(plain, monkeypatch):
    """With a turn for each 16 KiB it would wait for a turn of each other peer as often."""
    plain.limits = replace(plain.limits, slice=ONE_TURN)
    body = b"x" * 90_000
    client, connection = turn_with(plain, head(Content_Length=len(body) + 1) + body)
    with closing(client):
        assert len(body) == connection.came


def test_no_more_than_a_few_records_are_read_in_a_turn(plain, monkeypatch):
    """However much has come: others wait."""
    plain.limits = replace(plain.limits, slice=ONE_TURN)
    monkeypatch.setattr(connection_module, "READS", 2)
    body = b"x" * 90_000
    client, connection = turn_with(plain, head(Content_Length=len(body) + 1) + body)
    with closing(client):
        assert connection.came <= 2 * RECORD


def test_every_connection_is_counted_once(plain, monkeypatch):
    """Also where one that is dropped for its bytes would make another be dropped, that makes it be dropped."""
    monkeypatch.setattr(memory, "STALLED_SECONDS", 0.0)
    whole = head(Content_Length=900_000)

    def connect(data):
        client = socket.create_connection(plain.listeners[0].getsockname())
        known = len(plain.connections)
        until(lambda: plain.turn(0) or len(plain.connections) > known, "it to be accepted")
        client.sendall(data)
        plain.turn(0.1)
        return client

    with ExitStack() as stack:
        for _ in range(3):
            older = stack.enter_context(closing(connect(whole)))
            stack.enter_context(closing(connect(whole[:-10])))
            with suppress(OSError):
                for _ in range(8):
                    older.sendall(b"x" * 16_384)
                    plain.turn(0.1)
            assert Counter(each.peer for each in plain.connections) == plain.open
            assert sum(each.held for each in plain.connections) == plain.memory.held


def test_what_came_with_a_refused_request_is_not_held(plain):
    """Its client may send on for long."""
    with closing(socket.create_connection(plain.listeners[0].getsockname())) as client:
        client.sendall(head(Content_Length=plain.limits.body_bytes + 1) + b"x" * 10_000)
        until(lambda: plain.turn(0.01) or select.select([client], [], [], 0)[0], "its refusal")

        assert (1, 0) == (len(plain.connections), plain.memory.held)


def test_what_is_dropped_twice_is_counted_once(plain):
    with closing(socket.create_connection(plain.listeners[0].getsockname())):
        until(lambda: plain.turn(0) or plain.connections, "the client to be accepted")
        (connection,) = plain.connections
        plain.drop(connection, "once")
        plain.drop(connection, "twice")
    assert ({}, 0) == (dict(plain.open), plain.memory.held)


class Stub:
    """Stands for a connection: when it was heard, whether it was served, and what it waits for."""

    def __init__(self, heard, peer=CROWD, *, served=False, deadline=1e9, queued=inf, refusal=None, droppable=True):
        self.heard, self.peer, self.served, self.deadline, self.queued = heard, peer, served, deadline, queued
        self.refusal, self.droppable = refusal, droppable


def heard(connections):
    return [each.heard for each in connections]


def test_who_never_asked_is_in_the_way_where_those_are_half_of_all(plain):
    silent, served, asks = Stub(1), Stub(2, served=True), Stub(3, deadline=inf, queued=5.0)

    assert [1] == heard(plain._in_the_way([silent, served]))
    assert [2, 3] == heard(plain._in_the_way([silent, served, asks]))
    assert [] == plain._in_the_way([])


def test_whose_turn_is_near_is_not_in_the_way_unless_its_peer_opens_many(plain):
    near, served = Stub(1, deadline=inf), Stub(2, served=True)
    assert [2] == heard(plain._in_the_way([near, served]))

    plain.opened[CROWD] = plain.limits.fair_share
    assert [2] == heard(plain._in_the_way([near, served]))
    plain.opened[CROWD] += 1
    assert [1, 2] == heard(plain._in_the_way([near, served]))


@pytest.fixture
def dropping(plain, monkeypatch):
    """A loop for three connections, and which of these it drops, by when they were heard."""
    plain.limits, dropped = replace(plain.limits, connections=3), []

    def fill(*connections):
        plain.connections.clear()
        plain.connections.update(connections)
        return plain, dropped

    monkeypatch.setattr(plain, "drop", lambda connection, why: dropped.append(connection.heard))
    yield fill
    plain.connections.clear()


@pytest.mark.parametrize(
    ("connections", "least", "since", "dropped"),
    [
        ([Stub(1), Stub(2)], 0, inf, []),
        ([Stub(2), Stub(3), Stub(1)], 0, inf, [1]),
        ([Stub(2), Stub(3), Stub(1)], 2, inf, [1, 2]),
        ([Stub(4), Stub(2), Stub(3), Stub(1)], 0, inf, [1, 2]),
        ([Stub(2), Stub(3), Stub(1)], 0, 0.5, [1]),
        ([Stub(5), Stub(3), Stub(1, served=True)], 0, 4.0, [3]),
        ([Stub(5), Stub(3, droppable=False), Stub(4)], 0, inf, [4]),
    ],
    ids=["there is room", "the one heard first", "two", "one too many", "all are new", "newcomers last", "not those"],
)
def test_who_makes_room(dropping, connections, least, since, dropped):
    loop, found = dropping(*connections)
    loop.make_room(least, since)

    assert dropped == found


def test_who_misses_a_deadline_is_refused_or_dropped(dropping, monkeypatch):
    now, refused = time.monotonic(), []
    late, silent = Stub(1, deadline=now - 1, refusal=408), Stub(2, deadline=now - 1)
    loop, dropped = dropping(late, silent, Stub(3, deadline=now + 60))
    loop.limits = replace(loop.limits, connections=9)
    monkeypatch.setattr(loop, "resume", lambda connection, refusal: refused.append((connection.heard, refusal.status)))
    loop.sweep()

    assert ([2], [(1, 408)]) == (dropped, refused)


def test_of_what_peers_have_opened_some_is_forgotten_at_each_look(plain):
    plain.opened.update({CROWD: 17, OTHER: 1})
    plain.sweep()
    assert {CROWD: 14} == dict(plain.opened)

    for _ in range(20):
        plain.sweep()
    assert {} == dict(plain.opened)
