"""An open port, for probes: whoever asks is answered, and whoever does not cannot keep others waiting."""

from __future__ import annotations

import logging
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from math import inf
from threading import Event
from time import monotonic, thread_time
from typing import NamedTuple

import pytest

from tests.support.clients import head, post, reset
from tests.support.serving import LOOPBACK, until
from webhook.server.transport import thread_role
from webhook.server.transport.service import OPEN, REST, OpenPort
from webhook.server.transport.thread_role import may_wait

PROBE, WAITING = (f"GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for path in ("probe", "wait"))
OTHER = "127.0.0.2"  # Another peer: every address of 127.0.0.0/8 is this host's.


class Driven:
    """A port whose turns are made by hand, and its clients; /wait is answered once `ended` is set."""

    def __init__(self):
        self.listener = socket.create_server((LOOPBACK, 0), backlog=2048)
        self.port, self.ended = OpenPort(self.listener, self.app, logging.getLogger("port")), Event()
        self.stack = ExitStack()
        self.loop, self.answered = self.port.loop, 0

    def app(self, environ, start_response):
        self.answered += 1
        path, body = environ["PATH_INFO"], b"ok\n"
        if path == "/wait":
            may_wait()
            self.ended.wait()
        elif path == "/large":
            body = b"x" * 20_000_000
        elif path == "/fail":
            raise ValueError("asked for")
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return () if environ["REQUEST_METHOD"] == "HEAD" else (body,)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.port.pool.shutdown()
        for connection in list(self.loop.connections):
            self.loop.drop(connection, "done")
        self.stack.close()
        self.loop.poller.close()
        self.loop.calls.close()
        self.listener.close()

    def connect(self, data=b"", source=LOOPBACK):
        client = socket.create_connection(self.listener.getsockname(), timeout=5, source_address=(source, 0))
        client.sendall(data)
        return self.stack.enter_context(client)

    def heard(self, client):
        """All that the client is told until the connection ends."""
        found, client_open, late = b"", True, monotonic() + 20
        client.settimeout(0)
        while client_open:
            assert monotonic() < late
            self.loop.turn(0.01)
            with suppress(BlockingIOError):
                while client_open:
                    part = client.recv(1 << 16)
                    found, client_open = found + part, bool(part)
        return found

    def ask(self, data, source=LOOPBACK):
        return self.heard(self.connect(data, source))

    def crowd(self, data=b""):
        """So many clients that there is no place for all, each of another peer."""
        for number in range(1, 201):
            self.connect(data, f"127.0.1.{number}")

    def turns(self, done):
        until(lambda: self.loop.turn(0.01) or done(), "clients")

    def settle(self, connected):
        """Turns until so many have been accepted."""
        self.turns(lambda: len(self.loop.connections) >= connected)

    def all_come(self):
        """Turns until all that came were accepted, and what they sent was read."""
        while self.loop.poller.select(0):
            self.loop.turn(0)


@pytest.fixture
def driven(monkeypatch):
    monkeypatch.setattr(thread_role._thread, "loops", True, raising=False)
    with Driven() as found:
        yield found


class Case(NamedTuple):
    name: str
    sent: bytes
    status: bytes
    body: bytes = b""


NO_HTTP = b"this port speaks plain HTTP, without TLS; found no HTTP request\n"
HUGE = b"GET / HTTP/1.1\r\nA: " + b"x" * OPEN.head_bytes
CASES = [
    Case("a probe", PROBE, b"200 OK", b"ok\n"),
    Case("HTTP/1.0, without headers", b"GET / HTTP/1.0\r\n\r\n", b"200 OK", b"ok\n"),
    Case("HEAD has no body", b"HEAD / HTTP/1.1\r\n\r\n", b"200 OK"),
    Case("no HTTP at all", b"hello\r\n", b"400 Bad Request", NO_HTTP),
    Case("TLS", b"\x16\x03\x01\x02\x00", b"400 Bad Request", NO_HTTP),
    Case("HTTP/2", b"PRI * HTTP/2.0\r\n\r\n", b"400 Bad Request", b"Invalid HTTP request line: 'PRI * HTTP/2.0'\n"),
    Case("no version", b"GET /\r\n\r\n", b"400 Bad Request", b"Invalid HTTP request line: 'GET /'\n"),
    Case(
        "a huge head",
        HUGE,
        b"431 Request Header Fields Too Large",
        b"request head, chunk line or trailers of more than 8192 bytes\n",
    ),
    Case(
        "one that is whole",
        HUGE + b"\r\n\r\n",
        b"431 Request Header Fields Too Large",
        b"request head, chunk line or trailers of more than 8192 bytes\n",
    ),
    Case("a body", post(b"x" * 50_000), b"413 Request Entity Too Large", b"Content-Length 50000, wanted at most 0\n"),
    Case(
        "a body in chunks",
        head(Transfer_Encoding="chunked") + b"2\r\nxx\r\n0\r\n\r\n",
        b"413 Request Entity Too Large",
        b"2 bytes in chunks, wanted at most 0\n",
    ),
    Case("an application that fails", b"GET /fail HTTP/1.1\r\n\r\n", b"500 Internal Server Error"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whatever_is_asked_is_answered_and_ends(driven, case):
    """Also where the client would go on: one request to a connection."""
    begin, _, body = driven.ask(case.sent + PROBE * (case.status == b"200 OK")).partition(b"\r\n\r\n")
    status, *headers = begin.split(b"\r\n")

    assert (case.status, case.body) == (status.partition(b" ")[2], body)
    assert b"Connection: close" in headers
    assert case.sent.startswith(b"HEAD") or b"Content-Length: %d" % len(body) in headers


def test_who_must_wait_keeps_no_other_waiting(driven):
    waiting = driven.connect(WAITING)
    driven.settle(1)
    assert driven.ask(PROBE).endswith(b"ok\n")
    driven.ended.set()

    assert driven.heard(waiting).endswith(b"ok\n")


def test_an_answer_larger_than_any_buffer_arrives_whole(driven):
    assert len(driven.ask(b"GET /large HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")[2]) == 20_000_000


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n", PROBE, b"GET /large HTTP/1.1\r\n\r\n"],
    ids=["silent", "half a head", "does not close", "does not read"],
)
def test_whoever_takes_too_long_is_dropped(driven, sent):
    driven.loop.limits = replace(OPEN, greeting=0.1, head=0.1, body=0.1, linger=0.1, rate=1 << 30)
    driven.connect(sent)
    driven.settle(1)

    driven.turns(lambda: not driven.loop.connections)
    assert (0, {}) == (driven.loop.memory.held, dict(driven.loop.open))


@pytest.mark.alone
def test_nobody_has_a_place_for_longer_than_five_seconds():
    """Beside the time that a large answer is allowed for its size."""
    assert OPEN.greeting + OPEN.head + OPEN.body + OPEN.linger <= 5


@pytest.mark.parametrize("source", [LOOPBACK, OTHER], ids=["of the same peer", "of another peer"])
@pytest.mark.parametrize("said", [b"", b"GET / HTTP", PROBE], ids=["silent", "half a head", "answered"])
def test_a_thousand_connections_make_no_probe_fail(driven, said, source):
    for _ in range(1_000):
        driven.connect(said, OTHER)
    waiting = driven.connect(PROBE, source)

    assert driven.heard(waiting).endswith(b"ok\n")
    assert driven.ask(PROBE, source).endswith(b"ok\n")
    assert len(driven.loop.connections) <= OPEN.connections == 64


def test_the_peer_that_holds_most_makes_room(driven):
    """Neither a newcomer nor a silent client of another peer is dropped for the crowd of one."""
    few = [driven.connect(source=f"127.0.1.{number}") for number in range(1, 9)]
    driven.settle(len(few))
    for _ in range(3 * OPEN.connections):
        driven.connect(source=OTHER)
    driven.all_come()

    assert driven.loop.open == Counter(
        {OTHER: OPEN.connections - 1 - len(few)} | {f"127.0.1.{number}": 1 for number in range(1, 9)}
    )
    for client in few:
        client.sendall(PROBE)
        assert driven.heard(client).endswith(b"ok\n")


def test_whoever_waits_for_an_answer_is_spared_by_a_crowd_of_many_peers(driven):
    """Though it holds more than each of them."""
    probes = [driven.connect(WAITING, OTHER) for _ in range(3)]
    driven.settle(3)
    driven.crowd()
    last = driven.connect(WAITING, OTHER)
    driven.turns(lambda: driven.loop.open[OTHER] == 4)
    driven.crowd()
    driven.all_come()
    driven.ended.set()

    assert all(driven.heard(client).endswith(b"ok\n") for client in (*probes, last))


@pytest.mark.parametrize("peers", [1, 30])
def test_whoever_asks_little_waits_for_few_answers_to_those_who_ask_much(driven, peers):
    """500 requests came before it."""
    for number in range(500):
        driven.connect(PROBE, f"127.0.1.{1 + number % peers}")
    assert driven.ask(PROBE, OTHER).endswith(b"ok\n")
    assert driven.answered < 250


def test_a_crowd_of_which_nobody_asks_much_waits_and_loses_nothing(driven):
    """Newcomers wait to be accepted while it has all places."""
    clients = [driven.connect(PROBE, f"127.0.{1 + number // 250}.{1 + number % 250}") for number in range(400)]

    assert all(driven.heard(client).endswith(b"ok\n") for client in clients)


def test_a_probe_that_waited_to_be_accepted_is_answered_at_once(driven):
    """A crowd that comes with it does not make it lose its place before its request is read."""
    driven.crowd()
    probes = [driven.connect(PROBE, OTHER) for _ in range(8)]
    driven.crowd()

    assert all(driven.heard(client).endswith(b"ok\n") for client in probes)


def test_a_crowd_that_waits_for_answers_keeps_no_newcomer_out(driven):
    driven.crowd(WAITING)
    driven.all_come()
    late = driven.connect(source=OTHER)
    driven.turns(lambda: driven.loop.open[OTHER])
    driven.crowd(WAITING)
    driven.all_come()
    late.sendall(PROBE)

    assert driven.heard(late).endswith(b"ok\n")


def test_whoever_resets_is_forgotten(driven):
    client = driven.connect(b"GET /")
    driven.settle(1)
    reset(client)

    driven.turns(lambda: not driven.loop.connections)


def test_it_rests_after_it_has_worked(monkeypatch):
    """A flood of requests leaves half a processor and more to reviews."""
    rests, worked = [], []

    def turn(seconds):
        begun = thread_time()
        while thread_time() < begun + 0.01:
            pass
        worked.append(thread_time() - begun)
        if len(worked) == 3:
            raise SystemExit

    with Driven() as driven, ThreadPoolExecutor(1) as thread:
        monkeypatch.setattr(driven.loop, "turn", turn)
        monkeypatch.setattr("webhook.server.transport.service.time.sleep", rests.append)
        assert isinstance(thread.submit(driven.port._run).exception(), SystemExit)
    assert [True, True] == [rest >= REST * took for rest, took in zip(rests, worked, strict=False)]


def test_whoever_was_answered_by_a_thread_waits_for_none(driven):
    """Or its next request, which waits for its turn, could be closed as if it waited for a thread."""
    driven.connect(WAITING)
    until(lambda: driven.loop.turn(0) or any(one.queued < inf for one in driven.loop.connections), "a request in line")
    (connection,) = driven.loop.connections
    driven.ended.set()
    until(lambda: driven.loop.turn(0) or connection.request is None, "its answer")

    assert inf == connection.queued
