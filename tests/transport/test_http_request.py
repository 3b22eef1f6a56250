"""One request: what is legal is read whole, and what is not is refused."""

from __future__ import annotations

import socket
import time
from typing import NamedTuple

import pytest

from tests.support.clients import CHUNKED, LARGE, chunked, head, post
from webhook.server.transport.http_request import turn_seconds


class Case(NamedTuple):
    name: str
    request: bytes
    status: int
    body: bytes = b""


LEGAL = [
    Case("no body", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, b"0"),
    Case("HTTP/1.0", b"GET / HTTP/1.0\r\n\r\n", 200, b"0"),
    Case("an empty line ahead", b"\r\n" + post(b"xx"), 200, b"2"),
    Case("17 MB, the largest that kube-apiserver was seen to send", post(LARGE), 200, b"%d" % len(LARGE)),
    Case("40 MiB, the most that is allowed", post(bytes(40 << 20)), 200, b"%d" % (40 << 20)),
    Case("chunks", head(Transfer_Encoding="chunked") + chunked([b"x" * 5, b"y" * 500]), 200, b"505"),
    Case("17 MB in chunks", head(Transfer_Encoding="chunked") + chunked([LARGE[:4000]] * 4350), 200, b"17400000"),
    Case("17 MB in one chunk", head(Transfer_Encoding="chunked") + chunked([LARGE]), 200, b"17400000"),
    Case(
        "a chunk's extension, and trailers",
        head(Transfer_Encoding="chunked") + b'2;a="b" \r\nxx\r\n0\r\nDigest: x\r\nA: b\r\n\r\n'.replace(b" \r", b"\r"),
        200,
        b"2",
    ),
]


@pytest.mark.parametrize("case", LEGAL, ids=lambda case: case.name)
def test_legal_requests_are_served(server, case):
    """The application reads the whole body, and the next request on the connection as well."""
    with server.client() as client:
        answer = client.ask(case.request)
        assert (case.status, case.body) == (answer.status, answer.body)

        if answer.headers["connection"] == "keep-alive":
            assert b"3" == client.ask(post(b"xyz")).body


def test_requests_share_a_connection(hasty):
    """Also after a pause that is longer than any deadline but that of keep-alive."""
    with hasty.client() as client:
        first = client.ask(post(b"x" * 10))
        time.sleep(3)
        second = client.ask(post(b"x" * 100))

    assert [(200, b"10"), (200, b"100")] == [(answer.status, answer.body) for answer in (first, second)]
    assert "keep-alive" == second.headers["connection"]


def test_pipelined_requests_are_answered_in_order(server):
    """However they are cut into packets."""
    requests = b"".join(post(b"x" * length) for length in range(20))
    with server.client() as client:
        client.send(requests)
        at_once = [client.answer().body for _ in range(20)]
        for start in range(0, len(requests), 7):
            client.send(requests[start : start + 7])
        in_pieces = [client.answer().body for _ in range(20)]

    assert [b"%d" % length for length in range(20)] == at_once == in_pieces


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(server):
    """Once, not a second time by gunicorn."""
    with server.client() as client:
        assert 100 == client.ask(head(Content_Length=5, Expect="100-continue")).status
        answer = client.ask(b"hello")

    assert (200, b"5") == (answer.status, answer.body)


def test_a_client_that_has_nothing_more_to_say_still_hears_the_answer(server):
    """A half-closed connection."""
    with server.client() as client:
        client.send(post(b"xx"))
        socket.socket.shutdown(client.sock, socket.SHUT_WR)

        assert b"2" == client.answer().body


CODED = b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n"
TOO_MUCH = (40 << 20) + 1
ILLEGAL = [
    Case("no HTTP", b"hello\r\n\r\n", 400),
    Case("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    Case("lines without CR", b"GET / HTTP/1.1\nHost: localhost\n\n", 400),
    Case("nothing between two lines", b"\r\n\r\n", 400),
    Case("a header without name", b"GET / HTTP/1.1\r\n: x\r\n\r\n", 400),
    Case("a byte that is no text", b"GET /\x00 HTTP/1.1\r\n\r\n", 400),
    Case("a length that is none", head(Content_Length="x"), 400),
    Case("a length below 0", head(Content_Length=-1), 400),
    Case("a length beyond any number", head(Content_Length="9" * 5000), 400),
    Case("two lengths", b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
    Case("a length and chunks", head(Content_Length=3, Transfer_Encoding="chunked") + b"0\r\n\r\n", 400),
    Case("a body in a coding", head(Transfer_Encoding="gzip, chunked") + b"0\r\n\r\n", 415),
    Case("a body in a coding, in two lines", CODED + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 415),
    Case("a body in a coding without chunks", CODED + b"\r\n", 415),
    Case("chunks in chunks", head(Transfer_Encoding="chunked, chunked"), 400),
    Case("an unknown coding", head(Transfer_Encoding="smoke"), 501),
    Case("a coding that has no end", head(Transfer_Encoding="identity"), 400),
    Case("a long line", b"GET /" + b"x" * 8_200 + b" HTTP/1.1\r\n\r\n", 414),
    Case("a long header", head(X="x" * 9_000), 431),
    Case("many headers", head(**{f"X{number}": number for number in range(200)}), 431),
    Case("a head that does not end", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10_000, 431),
    Case("an expectation of something else", head(Expect="miracles"), 417),
    Case("too long a body, announced", head(Content_Length=TOO_MUCH), 413),
    Case("too long a body, announced and sent", post(bytes(TOO_MUCH)), 413),
    Case(
        "too long a body, which the client offers to hold back",
        head(Content_Length=TOO_MUCH, Expect="100-continue"),
        413,
    ),
    Case("too long a body, in chunks", CHUNKED + chunked([bytes(1 << 20)] * 41), 413),
    Case("too long a chunk, announced", CHUNKED + b"%x\r\n" % TOO_MUCH, 413),
    Case("a chunk size beyond 32 bits", CHUNKED + b"fffffffff\r\n", 400),
    Case("a chunk size that is none", CHUNKED + b"0x5\r\nhello\r\n", 400),
    Case("a chunk size that does not end", CHUNKED + b"1" * 10_000, 400),
    Case("a chunk longer than its size", CHUNKED + b"2\r\nhello\r\n0\r\n\r\n", 400),
    Case("a storm of tiny chunks", CHUNKED + b"1\r\nx\r\n" * 30_000, 413),
    Case("trailers that do not end", CHUNKED + b"0\r\n" + b"A: b\r\n" * 10_000, 431),
]


@pytest.mark.parametrize("case", ILLEGAL, ids=lambda case: case.name)
def test_illegal_requests_are_refused(server, case):
    """With a status that the client gets to read, even if it sends all before it looks, and a closed connection."""
    with server.client() as client:
        client.send(case.request)
        answer = client.answer()

        assert (case.status, "close") == (answer.status, answer.headers["connection"])
        assert client.closed()


def test_the_version_of_a_response_is_one_that_is_spoken(server):
    with server.client() as client:
        client.send(b"GET / HTTP/1.9\r\nHost: localhost\r\n\r\n")

        assert client.file.readline().startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("timeout=10s", 4.0),
        ("timeout=5s", 1.5),
        ("a=b&timeout=3s&c=d", 0.5),
        ("timeout=1s", 0.0),
        ("", 4.0),
        ("timeout=30s", 4.0),
        ("timeout=3s0", 4.0),
        ("xtimeout=3s", 4.0),
        ("timeout=-1s", 4.0),
    ],
)
def test_a_client_may_ask_twice_within_the_timeout_that_it_names(query, seconds):
    assert seconds == turn_seconds(query)
