"""A slow or hostile client takes no thread, no memory to speak of, and none of the others' time."""

from __future__ import annotations

import inspect
import os
import queue
import re
import select
import signal
import socket
import ssl
import statistics
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from selectors import EVENT_READ
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from gunicorn.arbiter import Arbiter as StockArbiter
from gunicorn.config import Config
from gunicorn.http import get_parser
from gunicorn.workers.gthread import ThreadWorker

from tests.support.clients import Client, Server, chunked, head, post, until
from webhook.transport.arbiter import HEARD, IGNORED, Arbiter
from webhook.transport.connection import Connection, Outbox
from webhook.transport.limits import Limits, last_response

MB = 1_000_000
SHORT = {"greeting": 1.0, "head": 1.0, "body": 1.0, "linger": 2.0, "rate": 20 * MB}
LATE = 1.0  # How much later than its deadline a connection may be closed on a busy machine.
LARGE = b"x" * 17_400_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave it as it was; none of them may make it fail or lose its worker."""
    yield from unharmed(Server(tmp_path_factory.mktemp("server")))


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same, with so little patience that a polite client on a busy machine may try it."""
    yield from unharmed(Server(tmp_path_factory.mktemp("hasty"), limits=SHORT))


def unharmed(server: Server) -> Iterator[Server]:
    with server:
        worker = server.worker
        yield server
        assert worker == server.worker
    assert [] == [line for line in server.log.read_text().splitlines() if "[ERROR]" in line or "[CRITICAL]" in line]


def reset(sock: socket.socket) -> None:
    """Close with a RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


# What is legal


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


def test_http_2_is_not_offered(server):
    """kube-apiserver's client asks for it, and takes HTTP/1.1."""
    context = ssl.create_default_context(cafile=str(server.pem))
    context.set_alpn_protocols(["h2", "http/1.1"])
    with context.wrap_socket(server.connect(), server_hostname="localhost") as sock:
        assert sock.selected_alpn_protocol() in {None, "http/1.1"}


# What is not


TOO_MUCH = (40 << 20) + 1
CHUNKED = head(Transfer_Encoding="chunked")
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
    Case("an unknown coding", head(Transfer_Encoding="smoke"), 501),
    Case("a coding that has no end", head(Transfer_Encoding="gzip"), 400),
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


def suppressed(error: type[Exception], call: Callable[..., object], *args: object) -> None:
    with suppress(error):
        call(*args)


def test_noise_is_forgotten(server):
    """What is no TLS, ends in the middle or is reset changes nothing for the others."""
    before = until("an idle server", lambda: server.usage())
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
    until("the descriptors are free again", lambda: server.usage().descriptors <= before.descriptors)


# What fails inside


@pytest.mark.parametrize("path", ["/raise", "/exit", "/break"])
def test_an_application_that_fails_is_answered_for(tmp_path, path):
    """Whether it raises, exits or breaks off: 500, and the same worker serves on."""
    with Server(tmp_path) as server:
        worker = server.worker
        with server.client() as client:
            answer = client.ask(post(path=path))
            assert (500, "close") == (answer.status, answer.headers["connection"])
        with server.client() as client:
            assert b"2" == client.ask(post()).body
        assert worker == server.worker
    assert "Error handling request" in server.log.read_text()


# What takes too long


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
    clients = [hasty.client() for _ in range(10)]
    for client in clients:
        client.send(post(path="/give/20000000"))
    with hasty.client() as client:
        assert b"2" == client.ask(post()).body
    for client in clients:
        until("the connection is cut off", lambda client=client: cut_off(client))


def cut_off(client: Client) -> bool:
    """Whether what is written to this connection meets nobody."""
    try:
        client.send(b"x")
    except OSError:
        client.close()
        return True
    return False


# Many at a time


def latencies(ask: Callable[[], object], count: int = 50) -> list[float]:
    """Milliseconds per call."""
    taken = []
    for _ in range(count):
        begin = time.perf_counter()
        ask()
        taken.append(1000 * (time.perf_counter() - begin))
    return taken


def drip(clients: list[Client], stop: threading.Event) -> None:
    """One byte from each, again and again."""
    while not stop.wait(0.1):
        for client in clients:
            with suppress(OSError):
                client.send(b"x")


def test_a_crowd_of_slow_clients_keeps_nobody_waiting(tmp_path):
    """200 silent, 20 with half a body, 20 that drip; then they are gone, and all they took is back."""
    limits = {"greeting": 4.0, "head": 4.0, "body": 4.0}
    with Server(tmp_path, limits=limits) as server, ExitStack() as crowd, server.client() as kept:
        for _ in range(20):
            kept.ask(post(b"x" * 2000))
        before = server.usage()
        begin = time.monotonic()
        silent = [crowd.enter_context(server.connect()) for _ in range(200)]
        halves = [crowd.enter_context(server.client()) for _ in range(20)]
        dripping = [crowd.enter_context(server.client()) for _ in range(20)]
        for client in halves:
            client.send(post(b"x" * 20_000)[:-10_000])
        for client in dripping:
            client.send(b"POST / HTTP/1.1\r\nX: ")
        stop = threading.Event()
        dripper = threading.Thread(target=drip, args=(dripping, stop))
        dripper.start()

        def ask_anew() -> None:
            with server.client() as client:
                client.ask(post(b"x" * 2000))

        until("all are connected", lambda: server.usage().descriptors >= before.descriptors + 240)
        taken = latencies(lambda: kept.ask(post(b"x" * 2000))) + latencies(ask_anew)
        assert server.usage().descriptors >= before.descriptors + 240, "the crowd was there all the time"
        assert statistics.median(taken) < 100
        assert max(taken) < 1000

        for sock in silent:
            assert b"" == sock.recv(1)
        for client in halves:
            assert 408 == client.answer().status
        until("the crowd is gone", lambda: server.usage().descriptors <= before.descriptors)
        assert time.monotonic() - begin < 4.0 + Limits.linger + 2 * LATE
        stop.set()
        dripper.join()
        after = server.usage()
        assert after.threads <= before.threads + 4
        assert after.megabytes <= before.megabytes + 30
        assert b"2" == kept.ask(post()).body


def test_large_bodies_take_turns_and_small_ones_do_not_wait(tmp_path):
    """20 clients stop in the middle of a large body: memory stays bounded, and even a large review gets its turn."""
    with Server(tmp_path, limits={"body": 30.0}) as server, ExitStack() as crowd:
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
    with Server(tmp_path, limits={"body": 30.0}) as server, ExitStack() as crowd:
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


def test_a_crowd_that_shakes_hands_takes_turns():
    """Also one whose first bytes came earlier: every step of a handshake counts, not only the first."""
    config = Config()
    config.set("certfile", "tls.crt")
    config.set("ssl_context", lambda _config, _default: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    worker = SimpleNamespace(cfg=config, limits=Limits(), handshakes=1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        connection = Connection(worker, ours, None, None)
        assert EVENT_READ == next(connection.script)
        theirs.sendall(b"\x16")
        assert EVENT_READ == next(connection.script)
        assert 0 == worker.handshakes
        theirs.sendall(b"\x03\x01")
        assert EVENT_READ == next(connection.script)
        assert b"\x03\x01" == ours.recv(10, socket.MSG_PEEK), "left for the next turn"


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


def test_bytes_held_are_bounded(tmp_path):
    """The oldest go first, so that a review that is being sent does not."""
    with Server(tmp_path, limits={"held_bytes": 2 * MB}) as server, server.client() as client, ExitStack() as crowd:
        client.ask(post())
        before = server.usage()
        stuck = [crowd.enter_context(server.client()) for _ in range(10)]
        for other in stuck:
            other.send(post(b"x" * 900_000)[:-1])
        until("two of them are left", lambda: server.usage().descriptors <= before.descriptors + 2, 5)
        assert b"900000" == client.ask(post(b"x" * 900_000)).body
        until("the others are gone", lambda: server.usage().descriptors <= before.descriptors + 2, 5)


def test_connections_are_bounded(tmp_path):
    """The silent make room for those that come after them, and those that have been served are the last to go."""
    with Server(tmp_path, worker_connections=20) as server, server.client() as kept, ExitStack() as crowd:
        kept.ask(post())
        before = server.usage()
        for _ in range(100):
            crowd.enter_context(server.connect())
        for _ in range(30):
            crowd.enter_context(server.client())

        with server.client() as client:
            assert b"2" == client.ask(post()).body
        assert b"2" == kept.ask(post()).body
        assert server.usage().descriptors <= before.descriptors + 20


# The end


class Busy:
    """A server with one request in the application, until `finish`."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.server = Server(folder, **settings)
        self.pipe = folder / "pipe"
        os.mkfifo(self.pipe)
        self.client = self.server.client()
        self.client.send(post(path=f"/wait{self.pipe}"))
        self.writer = os.open(self.pipe, os.O_WRONLY)  # Waits until the application reads.

    def __enter__(self) -> Busy:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()
        self.client.close()
        self.server.__exit__()

    def finish(self) -> None:
        with suppress(OSError):
            os.close(self.writer)


def test_a_client_that_sends_on_while_it_is_served_wakes_nobody(tmp_path):
    """Bytes that are not read yet would make its socket readable again and again."""
    with Busy(tmp_path) as busy:
        busy.client.send(b"x" * 1000)
        before = busy.server.seconds()
        time.sleep(1)

        assert busy.server.seconds() < before + 0.3


def test_sigterm_finishes_what_is_in_flight_and_nothing_else(tmp_path):
    """Idle connections are closed at once, new ones refused, the request under way is answered, the exit status 0."""
    with Busy(tmp_path) as busy, busy.server.client() as idle, busy.server.client() as half:
        idle.ask(post())
        half.ask(post())
        half.send(post(b"hello")[:-1])
        begin = time.monotonic()
        os.kill(busy.server.process.pid, signal.SIGTERM)

        assert idle.closed()
        assert time.monotonic() - begin < LATE
        until("new connections are refused", lambda: refused(busy.server))
        half.send(b"o")
        answer = half.answer()
        assert (b"5", "close") == (answer.body, answer.headers["connection"])
        assert busy.server.process.poll() is None
        busy.finish()
        answer = busy.client.answer()
        assert (200, "close") == (answer.status, answer.headers["connection"])
        busy.client.close()
        half.close()
        assert 0 == busy.server.process.wait(5)


def test_sigterm_leaves_a_new_client_the_time_to_ask(tmp_path):
    """It has just connected, and would not try again."""
    with Server(tmp_path) as server, server.client() as kept, server.client() as client:
        kept.ask(post())
        server.process.terminate()
        assert kept.closed()

        answer = client.ask(post(b"hello"))
        assert (b"5", "close") == (answer.body, answer.headers["connection"])
        client.close()
        assert 0 == server.process.wait(5)


def refused(server: Server) -> bool:
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return True
    return False


def test_sigterm_with_nothing_in_flight_is_quick(tmp_path):
    """Neither idle connections nor silent ones hold it up."""
    with Server(tmp_path) as server, server.client() as idle, server.connect(), server.client():
        idle.ask(post())
        begin = time.monotonic()
        server.process.terminate()

        assert 0 == server.process.wait(10)
        assert time.monotonic() - begin < 3 + LATE


def test_a_request_that_never_ends_ends_with_the_graceful_timeout(tmp_path):
    """Exit status 0 all the same."""
    with Busy(tmp_path, graceful_timeout=2) as busy:
        begin = time.monotonic()
        busy.server.process.terminate()

        assert 0 == busy.server.process.wait(10)
        assert time.monotonic() - begin < 2 + 2 * LATE


@pytest.mark.parametrize(
    "signals", [["SIGTERM", "SIGTERM"], ["SIGTERM", "SIGINT"], ["SIGINT"], ["SIGQUIT"]], ids=" ".join
)
def test_a_second_signal_waits_for_nothing(tmp_path, signals):
    """Nor does SIGINT, even for a thread at work."""
    with Busy(tmp_path) as busy:
        for name in signals[:-1]:
            os.kill(busy.server.process.pid, signal.Signals[name])
            until("it is stopping", lambda: "Handling signal: term" in busy.server.log.read_text())
        begin = time.monotonic()
        os.kill(busy.server.process.pid, signal.Signals[signals[-1]])

        assert 0 == busy.server.process.wait(10)
        assert time.monotonic() - begin < 1 + LATE


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_second_signal_that_comes_before_the_first_is_heard_is_not_lost(monkeypatch, second):
    """gunicorn takes both from its queue, and drops the second with the first."""
    stopped = []
    monkeypatch.setattr(StockArbiter, "stop", lambda _arbiter, graceful: stopped.append(graceful))
    arbiter = Arbiter.__new__(Arbiter)
    arbiter.SIG_QUEUE = queue.SimpleQueue()
    arbiter.signal(signal.SIGTERM, None)
    arbiter.stop()
    arbiter.signal(second, None)
    arbiter.stop()

    assert [True, False] == stopped
    assert [signal.SIGTERM, signal.SIGINT] == [arbiter.SIG_QUEUE.get_nowait() for _ in range(2)]


def test_sigterm_in_the_moment_of_the_fork_is_heard(tmp_path):
    """A worker that had not heard it would be waited for until the graceful timeout."""
    for attempt in range(5):
        (tmp_path / str(attempt)).mkdir()
        with Server(tmp_path / str(attempt)) as server:
            while not server.workers(server.process.pid):
                pass
            server.process.terminate()

            assert 0 == server.process.wait(10)


def test_other_signals_change_nothing(server):
    """No second worker, no second master, no end: each could be meant for a shell's whole process group."""
    worker = server.worker
    for number in IGNORED:
        server.process.send_signal(number)
        os.kill(worker, number)
    time.sleep(1.5)  # The master looks every second whether it has as many workers as it should.

    assert [worker] == server.workers(server.process.pid)
    with server.client() as client:
        assert b"2" == client.ask(post()).body


# gunicorn


def test_gunicorn_still_has_what_the_worker_needs():
    """What webhook/worker.py names in its docstring; a release that changes it fails here, and says where."""
    config = Config()
    worker = ThreadWorker(1, 1, [], None, 30, config, None)
    replaced = {"accept": ["listener"], "run": [], "init_signals": [], "handle_quit": ["sig", "frame"]}
    called = {
        **{name: [] for name in ("is_parent_alive", "notify")},
        "handle_exit": ["sig", "frame"],
        "handle_request": ["req", "conn"],
        "set_accept_enabled": ["enabled"],
        "wait_for_and_dispatch_events": ["timeout"],
    }
    assert replaced | called == {
        name: list(inspect.signature(getattr(worker, name)).parameters) for name in replaced | called
    }
    for name in ("alive", "cfg", "log", "poller", "sockets", "tpool", "worker_connections"):
        assert hasattr(worker, name), name
    for name in ("defer", "run_callbacks", "close", "fileno"):
        assert hasattr(worker.method_queue, name), name
    of_arbiter = {"signal": ["sig", "frame"], "stop": ["graceful"], "init_signals": [], "spawn_worker": []}
    assert of_arbiter == {
        name: list(inspect.signature(getattr(StockArbiter, name)).parameters)[1:] for name in of_arbiter
    }
    assert set(StockArbiter.SIGNALS) == {*IGNORED, *HEARD}, "a signal to decide on"
    assert "self.SIGNALS" in inspect.getsource(StockArbiter.init_signals)
    worker.tmp.close()

    of_connection = set(re.findall(r"\bconn\.(\w+)", inspect.getsource(ThreadWorker.handle_request)))
    assert {"sock", "client", "server"} == of_connection, "what handle_request looks for in a connection"

    data = head("/path", Content_Length=5, X_Y="z", Expect="100-continue")
    request = next(get_parser(config, [data], ("127.0.0.1", 1)))
    assert ("CONTENT-LENGTH", "5") in request.headers
    assert request._expected_100_continue is True
    assert hasattr(request, "body")
    assert not request.should_close()
    request.force_close()
    assert request.should_close(), "so that a response that is not yet begun says so"


def test_an_outbox_takes_what_gunicorn_says_to_a_socket():
    """And forgets it when gunicorn hangs up."""
    outbox = Outbox()
    outbox.sendall(b"HTTP/1.1 ")
    outbox.sendall(b"200 OK")
    assert b"HTTP/1.1 200 OK" == outbox

    with pytest.raises(OSError, match="not a socket"):
        outbox.shutdown(socket.SHUT_WR)
    outbox.close()
    assert b"" == outbox


def test_a_last_response_closes_the_connection():
    """Status line, and headers for a client that reads on."""
    assert b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" == last_response(408)
