"""One client: noise, silence, dripping bytes, and answers that it does not read."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import pytest

from tests.support.clients import CHUNKED, LARGE, LATE, MB, SHORT, Busy, Client, Server, head, post, reset, suppressed
from tests.support.serving import until
from webhook.server.transport.connection import Outbox
from webhook.server.transport.limits import Limits


def test_noise_is_forgotten(server):
    """What is no TLS, ends in the middle or is reset changes nothing for the others."""
    with server.client() as client:
        assert b"2" == client.ask(post()).body
    before = server.usage()  # Of a worker that serves.
    for noise in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(1000), b"\x16\x03\x01\x02\x00\x01", b"\x00", b""):
        for leave in (socket.socket.close, reset, lambda sock: sock.shutdown(socket.SHUT_WR)):
            sock = server.connect()
            with sock:
                sock.sendall(noise)
                leave(sock)
    for start in (b"", b"POST / HTT", head(Content_Length=100), post(b"x" * 100)[:-50], post(), CHUNKED + b"5\r\nhe"):
        for leave in (Client.close, lambda client: reset(client.sock), lambda client: client.sock.unwrap()):
            with server.client() as client:
                client.send(start)
                with suppress(OSError):
                    leave(client)

    with server.client() as client:
        assert b"2" == client.ask(post()).body
    until(lambda: server.usage().descriptors <= before.descriptors, "the descriptors to be closed")


def test_a_request_that_ends_in_its_middle_is_not_waited_for(server):
    """Its last bytes come together with the client's close_notify."""
    with server.client() as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        client.send(head(Content_Length=100))
        begun = time.monotonic()
        client.sock.unwrap()  # Waits for the server's close_notify.
        assert time.monotonic() - begun < Limits().head / 2


class Slow(NamedTuple):
    name: str
    start: Callable[[Server], socket.socket]
    last_words: bytes = b""


def started(data: bytes) -> Callable[[Server], socket.socket]:
    def start(server: Server) -> socket.socket:
        client = server.client()
        client.send(data)
        client.file.close()
        return client.sock

    return start


def half_hello(server: Server) -> socket.socket:
    sock = server.connect()
    sock.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01")
    return sock


SLOW = [
    Slow("silent", Server.connect),
    Slow("half a handshake", half_hello),
    Slow("silent after the handshake", started(b"")),
    Slow("half a head", started(b"POST / HTTP/1.1\r\nHost: x\r\n"), b"HTTP/1.1 408 "),
    Slow("half a body", started(post(b"x" * 1000)[:-500]), b"HTTP/1.1 408 "),
    Slow("half a large body", started(post(LARGE)[: -len(LARGE) // 2]), b"HTTP/1.1 408 "),
    Slow("half a chunk", started(CHUNKED + b"5\r\nhe"), b"HTTP/1.1 408 "),
]


@pytest.mark.parametrize("case", SLOW, ids=lambda case: case.name)
def test_a_client_that_stops_is_given_up(hasty, case):
    """Each within its deadline; one that owed nothing without a word."""
    with case.start(hasty) as sock:
        begin = time.monotonic()
        said = b""
        with suppress(ConnectionError):
            while data := sock.recv(10_000):
                said += data
        took = time.monotonic() - begin

    assert said.startswith(case.last_words) and bool(said) == bool(case.last_words)
    assert took < SHORT["body"] + len(LARGE) / SHORT["rate"] + LATE


@pytest.mark.parametrize("start", [b"POST / HTTP/1.1\r\nX: ", head(Content_Length=10_000), CHUNKED + b"ffff\r\n"])
def test_a_client_that_drips_is_given_up(hasty, start):
    """A deadline is for the whole, not for each byte."""
    with hasty.client() as client:
        client.ask(post())  # Reads what TLS sends at first, so that what comes now is the answer.
        client.send(start)
        begin = time.monotonic()
        while not select.select([client.sock], [], [], 0.05)[0] and time.monotonic() < begin + 10:
            client.send(b"x")

        assert 408 == client.answer().status
        assert time.monotonic() - begin < SHORT["body"] + LATE


def test_a_client_that_keeps_up_the_least_rate_is_served(tmp_path):
    """A large body on a slow link takes longer than the deadline of a small one."""
    with Server(tmp_path, limits={**SHORT, "rate": 50_000}) as server, server.client() as client:
        client.send(head(Content_Length=300_000))
        for _ in range(30):
            client.send(b"x" * 10_000)
            time.sleep(0.1)

        assert b"300000" == client.answer().body


def test_a_client_that_does_not_read_is_given_up(hasty):
    """No thread waits for it; here more of them than there are threads."""
    clients = [hasty.client() for _ in range(6)]
    for client in clients:
        client.send(post(path="/give/20000000"))
    with hasty.client() as client:
        assert b"2" == client.ask(post()).body
    for client in clients:
        until(lambda client=client: cut_off(client), "the connection to be cut off")


def cut_off(client: Client) -> bool:
    """Whether what is written to this connection meets nobody."""
    try:
        client.send(b"x")
    except OSError:
        client.close()
        return True
    return False


PARTING = {"linger": 1.0, "rate": MB, "linger_bytes": 4 * MB}
TOO_LARGE = head(Content_Length=Limits.body_bytes + 1)


@pytest.mark.parametrize("half_closes", [False, True])
def test_whoever_sends_on_after_a_refusal_gets_the_whole_answer(tmp_path, half_closes):
    """Also if it sends for longer than a silent client is waited for, and reads once it has sent all."""
    with Server(tmp_path, limits=PARTING) as server, server.client() as client:
        client.sock.suppress_ragged_eofs = False
        client.send(TOO_LARGE)
        for _ in range(25):
            client.send(bytes(100_000))
            time.sleep(0.1)
        if half_closes:
            socket.socket.shutdown(client.sock, socket.SHUT_WR)

        assert 413 == client.answer().status
        assert b"" == client.file.read()


@pytest.mark.parametrize("piece, most", [(0, 1.0), (1, 1.0), (100_000, 5.0)], ids=["silent", "drips", "never stops"])
def test_whoever_stays_after_a_refusal_is_given_up(tmp_path, piece, most):
    with Server(tmp_path, limits=PARTING) as server, server.client() as other:
        other.ask(post())
        before = server.usage()
        with server.client() as client:
            assert 413 == client.ask(TOO_LARGE).status
            begun = time.monotonic()
            while server.usage().descriptors > before.descriptors:
                suppressed(OSError, client.send, bytes(piece))
                time.sleep(0.02)

        assert time.monotonic() - begun < most + LATE


def test_a_client_that_sends_on_while_it_is_served_wakes_nobody(tmp_path):
    """Bytes that are not read yet would make its socket readable again and again."""
    with Busy(tmp_path) as busy:
        busy.client.send(b"x" * 1000)
        before = busy.server.seconds()
        time.sleep(1)

        assert busy.server.seconds() < before + 0.3


def test_an_outbox_takes_what_gunicorn_says_to_a_socket():
    outbox = Outbox()
    outbox.sendall(b"HTTP/1.1 ")
    outbox.sendall(b"200 OK")
    assert b"HTTP/1.1 200 OK" == outbox
