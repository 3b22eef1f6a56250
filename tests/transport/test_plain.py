"""Plain HTTP for probes: whoever asks is answered, and whoever does not cannot keep others waiting."""

from __future__ import annotations

import logging
import socket
from collections import Counter
from contextlib import ExitStack, suppress
from typing import NamedTuple

import pytest

from tests.support.clients import reset
from tests.support.serving import LOOPBACK, until
from webhook.transport import plain
from webhook.transport.plain import HEAD_BYTES, MOST, Asked, PlainServer, Reply

PROBE = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
OTHER = "127.0.0.2"  # Another peer: every address of 127.0.0.0/8 is this host's.


class Driven:
    """A server whose turns are made by hand, and its clients."""

    def __init__(self, answer=lambda asked: Reply(200, b"ok\n")):
        self.listener = socket.create_server((LOOPBACK, 0), backlog=2048)
        self.server, self.stack = PlainServer(self.listener, answer, logging.getLogger("plain")), ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for visitor in list(self.server.visitors):
            self.server.drop(visitor)
        self.stack.close()
        self.server.poller.close()
        self.listener.close()

    def connect(self, data=b"", source=LOOPBACK):
        client = socket.create_connection(self.listener.getsockname(), timeout=5, source_address=(source, 0))
        client.sendall(data)
        return self.stack.enter_context(client)

    def heard(self, client):
        """All that the client is told until the connection ends."""
        found, client_open = b"", True
        client.settimeout(0)
        while client_open:
            self.server.turn()
            with suppress(BlockingIOError):
                while client_open:
                    part = client.recv(1 << 16)
                    found, client_open = found + part, bool(part)
        return found

    def ask(self, data, source=LOOPBACK):
        return self.heard(self.connect(data, source))

    def held(self):
        """Connections by peer."""
        found = Counter(visitor.peer for visitor in self.server.visitors)
        assert found.total() == self.server.held.total()
        return found

    def crowd(self, data=b""):
        """So many clients that there is no place for all, each of another peer."""
        for number in range(1, 201):
            self.connect(data, f"127.0.1.{number}")

    def settle(self, connected):
        """Turns until so many have been accepted, and what they sent was read."""
        until(lambda: self.server.turn() or len(self.server.visitors) >= connected, "clients")


@pytest.fixture
def driven():
    with Driven() as found:
        yield found


class Case(NamedTuple):
    name: str
    sent: bytes
    status: bytes
    body: bytes = b""


CASES = [
    Case("a probe", PROBE, b"200 OK", b"ok\n"),
    Case("HTTP/1.0, without headers", b"GET / HTTP/1.0\r\n\r\n", b"200 OK", b"ok\n"),
    Case("HEAD has no body", b"HEAD / HTTP/1.1\r\n\r\n", b"200 OK"),
    Case("no HTTP at all", b"hello\r\n", b"400 Bad Request", b"found no HTTP request, wanted plain HTTP\n"),
    Case("TLS", b"\x16\x03\x01\x02\x00", b"400 Bad Request", b"found no HTTP request, wanted plain HTTP\n"),
    Case("HTTP/2", b"PRI * HTTP/2.0\r\n\r\n", b"400 Bad Request", b"malformed request\n"),
    Case("a target that is no path", b"GET http://a/ HTTP/1.1\r\n\r\n", b"400 Bad Request", b"malformed request\n"),
    Case("no version", b"GET /\r\n\r\n", b"400 Bad Request", b"malformed request\n"),
    Case("a control character", b"GET /\0 HTTP/1.1\r\n\r\n", b"400 Bad Request", b"malformed request\n"),
    Case(
        "a huge head",
        b"GET /" + b"x" * HEAD_BYTES,
        b"431 Request Header Fields Too Large",
        b"more than 8192 bytes of headers\n",
    ),
    Case("a body", b"POST / HTTP/1.1\r\nContent-Length: 50000\r\n\r\n" + b"x" * 50_000, b"200 OK", b"ok\n"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whatever_is_asked_is_answered_and_ends(driven, case):
    head, _, body = driven.ask(case.sent).partition(b"\r\n\r\n")
    status, *headers = head.split(b"\r\n")

    assert (b"HTTP/1.1 " + case.status, case.body) == (status, body)
    assert b"Connection: close" in headers
    assert case.sent.startswith(b"HEAD") or b"Content-Length: %d" % len(body) in headers


def test_the_request_is_handed_on():
    asked = []
    with Driven(lambda given: asked.append(given) or Reply(405, b"", allow="GET")) as driven:
        answer = driven.ask(b"PUT /readyz?verbose&a=b HTTP/1.1\r\n\r\n")

    assert [Asked("PUT", "/readyz", "verbose&a=b", True)] == asked
    assert b"Allow: GET\r\n" in answer


def test_an_answer_that_takes_its_time_is_asked_for_again():
    replies = [None, None, Reply(200, b"late\n")]
    with Driven(lambda asked: replies.pop(0)) as driven:
        assert driven.ask(PROBE).endswith(b"late\n")


def test_others_are_answered_meanwhile():
    with Driven(lambda asked: Reply(200, b"ok\n") if asked.path == "/healthz" else None) as driven:
        driven.connect(b"GET /readyz HTTP/1.1\r\n\r\n")
        driven.settle(1)

        assert driven.ask(PROBE).endswith(b"ok\n")


def test_an_answer_that_cannot_be_made_ends_one_connection(caplog):
    with Driven(lambda asked: Reply(200, b"ok\n") if asked.path == "/healthz" else 1 / 0) as driven:
        assert b"" == driven.ask(b"GET / HTTP/1.1\r\n\r\n")
        assert driven.ask(PROBE).endswith(b"ok\n")
    assert ["Health request failed"] == caplog.messages


def test_an_answer_larger_than_any_buffer_arrives_whole():
    with Driven(lambda asked: Reply(200, b"x" * 20_000_000)) as driven:
        assert len(driven.ask(PROBE).partition(b"\r\n\r\n")[2]) == 20_000_000


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", PROBE], ids=["silent", "half a head", "does not close"])
def test_whoever_takes_too_long_is_dropped(driven, monkeypatch, sent):
    monkeypatch.setattr(plain, "SECONDS", 0.1)
    monkeypatch.setattr(plain, "TURN_SECONDS", 0.01)
    driven.connect(sent)
    driven.settle(1)

    until(lambda: driven.server.turn() or not driven.server.visitors, "its end")
    assert not driven.server.held


def test_answers_that_nobody_reads_are_dropped(monkeypatch):
    monkeypatch.setattr(plain, "SECONDS", 0.1)
    with Driven(lambda asked: Reply(200, b"x" * 20_000_000)) as driven:
        driven.connect(PROBE)
        driven.settle(1)

        until(lambda: driven.server.turn() or not driven.server.visitors, "its end")


@pytest.mark.parametrize("source", [LOOPBACK, OTHER], ids=["of the same peer", "of another peer"])
@pytest.mark.parametrize("said", [b"", b"GET / HTTP", PROBE], ids=["silent", "half a head", "answered"])
def test_a_thousand_connections_make_no_probe_fail(driven, said, source):
    for _ in range(1_000):
        driven.connect(said, OTHER)
    waiting = driven.connect(PROBE, source)

    assert driven.heard(waiting).endswith(b"ok\n")
    assert driven.ask(PROBE, source).endswith(b"ok\n")
    assert len(driven.server.visitors) <= MOST


def test_the_peer_that_holds_most_makes_room(driven):
    """Neither a newcomer nor a silent client of another peer is dropped for the crowd of one."""
    few = [driven.connect(source=f"127.0.1.{number}") for number in range(1, 9)]
    driven.settle(len(few))
    for _ in range(3 * MOST):
        driven.connect(source=OTHER)
    driven.settle(MOST)
    until(lambda: driven.server.turn() or driven.held()[OTHER] == MOST - len(few), "all to be accepted")

    assert Counter({OTHER: MOST - len(few)} | {f"127.0.1.{number}": 1 for number in range(1, 9)}) == driven.held()
    for client in few:
        client.sendall(PROBE)
        assert driven.heard(client).endswith(b"ok\n")


def test_whoever_waits_for_an_answer_is_spared_by_a_crowd_of_many_peers():
    """Though it holds more than each of them."""
    replies = []
    with Driven(lambda asked: replies[0] if replies else None) as driven:
        probes = [driven.connect(PROBE, OTHER) for _ in range(2)]
        driven.settle(2)
        driven.crowd()
        last = driven.connect(PROBE, OTHER)
        until(lambda: driven.server.turn() or driven.held()[OTHER] == 3, "all to be accepted")
        driven.crowd()
        driven.settle(MOST)
        for _ in range(20):
            driven.server.turn()
        replies.append(Reply(200, b"ok\n"))

        assert all(driven.heard(client).endswith(b"ok\n") for client in (*probes, last))


def test_a_probe_that_waited_to_be_accepted_is_answered_at_once(driven):
    """A crowd that comes with it does not make it lose its place before its request is read."""
    driven.crowd()
    probes = [driven.connect(PROBE, OTHER) for _ in range(8)]
    driven.crowd()

    assert all(driven.heard(client).endswith(b"ok\n") for client in probes)


def test_a_crowd_that_waits_for_answers_keeps_no_newcomer_out():
    with Driven(lambda asked: Reply(200, b"ok\n") if asked.path == "/healthz" else None) as driven:
        driven.crowd(b"GET /readyz HTTP/1.1\r\n\r\n")
        driven.settle(MOST)
        late = driven.connect(source=OTHER)
        until(lambda: driven.server.turn() or driven.held()[OTHER], "it to be accepted")
        driven.crowd(b"GET /readyz HTTP/1.1\r\n\r\n")
        for _ in range(20):
            driven.server.turn()
        late.sendall(PROBE)

        assert driven.heard(late).endswith(b"ok\n")


def test_whoever_resets_is_forgotten(driven):
    client = driven.connect(b"GET /")
    driven.settle(1)
    reset(client)

    until(lambda: driven.server.turn() or not driven.server.visitors, "its end")
