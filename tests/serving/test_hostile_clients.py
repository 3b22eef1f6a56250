"""
Hostile clients beside others, over real sockets and TLS: what SECURITY.md promises of any server of evenkeel.

    a process per attack: CROWD ──┐
    the test: OTHER ──────────────┴──> evenkeel serve

`python -m tests.serving.test_hostile_clients [ROUNDS] [PART OF A NAME]` prints how long OTHER waited beside each.
"""

from __future__ import annotations

import json
import re
import resource
import select
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from tests.support.admission_reviews import raw
from tests.support.build import constraint, workload
from tests.support.clients import CROWD, OTHER, Answer, Client, head, post, reset
from tests.support.serving import LOOPBACK, PATIENCE, serving

# What a kube-apiserver and a kubelet wait for: the timeouts of /mutate, of a call without one of its own, of a probe.
SHORT, LONG, PROBE = 3.0, 10.0, 5.0
MEGABYTES = 450  # The most that the processes may take; the chart's limit is 512 MiB.
ROUNDS = 5
ENDED = select.POLLRDHUP | select.POLLHUP | select.POLLERR
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Whose certificate it is, other tests see.
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE
VALIDATE = "/validate?timeout=10s"
JSON = {"Content_Type": "application/json"}
uids = map("uid-{}".format, count())


class At(NamedTuple):
    """The ports of a server."""

    port: int
    health: int


def connect(port: int, peer: str, timeout: float = PATIENCE) -> socket.socket:
    sock = socket.create_connection((LOOPBACK, port), timeout, source_address=(peer, 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # As Go has it.
    return sock


def client(at: At, peer: str = OTHER, timeout: float = PATIENCE) -> Client:
    """A connection with its TLS handshake done."""
    sock = connect(at.port, peer, timeout)
    try:
        return Client(CONTEXT.wrap_socket(sock))
    except OSError:
        sock.close()
        raise


def events(sock: socket.socket, wanted: int = select.POLLRDHUP) -> int:
    """What has happened to a socket, as poll(2) says it."""
    poll = select.poll()
    poll.register(sock, wanted)
    return sum(found for _, found in poll.poll(0))


# Reviews


def small(uid: str = "r1") -> bytes:
    return raw().replace(b'"r1"', b'"%b"' % uid.encode())


@cache
def costly() -> bytes:
    """As large as one may be that is answered at once; each constraint is judged."""
    return raw(workload("Deployment", *(constraint(maxSkew=n + 1) for n in range(400))))


@cache
def large() -> bytes:
    """A Deployment of 1.4 MB, of which kube-apiserver escapes each `<`."""
    made = workload("Deployment", constraint(), annotations={"a": "<" * 200_000})
    made["spec"]["template"]["spec"]["containers"] = [{"name": "a", "command": ["<" * 1_200_000]}]
    return raw(made).replace(b"<", b"\\u003c")


@cache
def largest() -> bytes:
    """The largest that kube-apiserver sends: objects of 3 MiB, old and new, of `<`: 36 MiB."""
    made = workload("Deployment", constraint(), annotations={"a": "@"})
    asked = json.loads(raw(made))
    asked["request"] |= {"operation": "UPDATE", "oldObject": made}
    return json.dumps(asked).encode().replace(b"@", b"\\u003c" * ((3 << 20) - 2_000))


def ask(one: Client, body: bytes, path: str = VALIDATE) -> Answer:
    """Send a review, also to a server that refuses it before it has read all, and read the answer."""
    with suppress(OSError):
        one.send(post(body, path, **JSON))
    return one.answer()


def reviewed(answer: Answer, uid: str) -> None:
    assert (200, uid) == (answer.status, json.loads(answer.body)["response"]["uid"])


def seconds(call: Callable[..., object], *args: object) -> float:
    begun = time.monotonic()
    call(*args)
    return time.monotonic() - begun


def newcome(at: At) -> None:
    """A small review on a connection of its own is answered."""
    with client(at) as one:
        stay(one)


def stay(one: Client) -> None:
    """A small review on this connection is answered."""
    uid = next(uids)
    reviewed(ask(one, small(uid)), uid)


def persist(at: At, body: bytes, peer: str = OTHER, patience: float = LONG) -> None:
    """Ask as kube-apiserver does: what is refused with 429 is asked again a second later, while there is time."""
    uid, until = next(uids), time.monotonic() + patience
    body = body.replace(b'"r1"', b'"%b"' % uid.encode(), 1)
    while True:
        with client(at, peer) as one:
            answer = ask(one, body, f"/validate?timeout={patience:.0f}s")
        assert time.monotonic() < until, f"lost after {patience} s: {answer.status}"
        if answer.status != 429:
            return reviewed(answer, uid)
        assert "1" == answer.headers["retry-after"]
        time.sleep(1)


def probe(at: At, path: str = "/healthz") -> None:
    """A probe by another address is answered with 200."""
    with connect(at.health, OTHER) as sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert sock.recv(1 << 16).startswith(b"HTTP/1.1 200 "), path


# Attacks.  What a client of a crowd does, step by step: it waits at each `yield`, for the others have their turns.

Steps = Iterator[None]


def silent(sock: socket.socket) -> Steps:
    """Nothing more, until the server closes."""
    while not events(sock) & ENDED:
        yield


def heard(sock: socket.socket) -> Steps:
    """Wait until something comes, and drop it, unread by TLS."""
    while not events(sock, select.POLLIN):
        yield
    if not socket.socket.recv(sock, 1 << 20):
        raise EOFError


def plain(at: At, *, first: Callable[[], bytes] = bytes, health: bool = False) -> Steps:
    """A connection that says this much, of no TLS or the begin of it, and then nothing."""
    with connect(at.health if health else at.port, CROWD, SHORT) as sock:
        sock.sendall(first())
        yield from silent(sock)


def secure(at: At, *, first: Callable[[], bytes] = bytes, peer: str = CROWD) -> Steps:
    """A connection that says this much, of a request or more of them, and then nothing, not even that it reads."""
    with client(at, peer, SHORT) as one:
        one.send(first())
        yield from silent(one.sock)


def served(at: At) -> Steps:
    """A connection that stays open after a review, as those of API servers do."""
    with client(at, CROWD, SHORT) as one:
        stay(one)
        yield from silent(one.sock)


def dripping(at: At) -> Steps:
    with client(at, CROWD, SHORT) as one:
        for byte in post(small(), **JSON):
            one.send(bytes([byte]))
            yield


def passing(at: At, *, first: Callable[[], bytes] = bytes, health: bool = False) -> Steps:
    """A connection that says this much and is away."""
    sock = connect(at.health if health else at.port, CROWD, SHORT)
    sock.sendall(first())
    yield
    reset(sock)


def asking(at: At, *, what: Callable[[], bytes], corked: int = 0) -> Steps:
    """What is sent is sent again as soon as an answer begins; `corked`, its first bytes are so many TLS records."""
    with client(at, CROWD, LONG) as one:
        while True:
            data = what()
            one.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            for i in range(corked):
                one.send(data[i : i + 1])
            one.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            one.send(data[corked:])
            yield from heard(one.sock)


def probing(at: At) -> Steps:
    with connect(at.health, CROWD, SHORT) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        yield from heard(sock)


@cache
def hello() -> bytes:
    """The begin of a handshake, for which the server has to calculate more than the client."""
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        CONTEXT.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
    return sent.read()


@cache
def tiny_chunks() -> bytes:
    return head("/validate", Transfer_Encoding="chunked", **JSON) + b"1\r\n \r\n" * 19_000 + b"0\r\n\r\n"


def review_but(body: Callable[[], bytes], length: int) -> Callable[[], bytes]:
    """A request that lacks its last bytes, so many."""
    return lambda: post(body(), VALIDATE, **JSON)[:-length]


# So many clients at a time, and what each of them does: one that the server has closed begins anew.
ATTACKS: dict[str, tuple[int, Callable[[At], Steps]]] = {
    "nothing": (0, plain),
    "silent connections": (1_200, plain),
    "half a handshake": (1_200, partial(plain, first=lambda: hello()[:50])),
    "idle connections, once served": (1_050, served),
    "half a head": (300, partial(secure, first=lambda: head("/validate", **JSON)[:-2])),
    "dripping bytes": (300, dripping),
    "1 MB but for a byte": (500, partial(secure, first=review_but(lambda: b"x" * 1_000_000, 1))),
    "36 MiB but for a byte": (16, partial(secure, first=review_but(largest, 1))),
    "36 MiB that stall": (40, partial(secure, first=lambda: head(VALIDATE, Content_Length=36 << 20, **JSON) + b"{")),
    "the largest reviews": (4, partial(asking, what=lambda: post(largest(), VALIDATE, **JSON))),
    "costly reviews": (300, partial(asking, what=lambda: post(costly(), VALIDATE, **JSON))),
    "pipelined reviews": (100, partial(asking, what=lambda: post(small(), VALIDATE, **JSON) * 200)),
    "answers that nobody reads": (300, partial(secure, first=lambda: post(small(), VALIDATE, **JSON) * 500)),
    "tiny chunks": (100, partial(asking, what=tiny_chunks)),
    "tiny records": (100, partial(asking, what=lambda: post(small(), VALIDATE, **JSON), corked=700)),
    "a storm of connections": (200, passing),
    "a storm of handshakes": (400, partial(passing, first=hello)),
    "silent connections to the health port": (1_000, partial(plain, health=True)),
    "a storm of requests to the health port": (200, probing),
}
WORKERS = 4


def attack(name: str, at: At, times: float, under_way: Callable[[], None]) -> None:
    """Until the process is killed."""
    clients, steps = ATTACKS[name]
    more_descriptors()
    begun = threading.Barrier(WORKERS + 1)

    def work(number: int) -> None:
        going: list[Steps] = [iter(()) for _ in range(number, int(clients * times), WORKERS)]
        for turn in count():
            for i, one in enumerate(going):
                try:
                    next(one)
                except (StopIteration, OSError, EOFError):
                    going[i] = steps(at)
            if turn == 1:
                begun.wait()
            time.sleep(0.01)

    for number in range(WORKERS):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    begun.wait()
    under_way()
    signal.pause()


def more_descriptors() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if most != resource.RLIM_INFINITY else 1 << 14, most))


@contextmanager
def beside(name: str, at: At, times: float = 1) -> Iterator[None]:
    """From when an attack is under way until its process is killed; `times` as many clients."""
    spawn = get_context("spawn")
    under_way = spawn.Event()
    process = spawn.Process(target=attack, args=(name, at, times, under_way.set), daemon=True)
    process.start()
    try:
        assert under_way.wait(2 * PATIENCE), f"no attack by {name}"
        yield
        assert process.is_alive()
    finally:
        process.kill()
        process.join()
        process.close()


class Waited(NamedTuple):
    """Seconds, of each round, that others than the crowd waited."""

    newcomer: list[float]
    kept: list[float]
    probe: list[float]
    ready: list[float]
    large: list[float]


def measure(at: At, name: str, rounds: int, kept: Client) -> Waited:
    """Beside an attack; `kept` is a connection that was open before."""
    found = Waited([], [], [], [], [])
    with beside(name, at):
        for _ in range(rounds):
            found.newcomer.append(seconds(newcome, at))
            found.kept.append(seconds(stay, kept))
            found.probe.append(seconds(probe, at))
            found.ready.append(seconds(probe, at, "/readyz"))
            found.large.append(seconds(persist, at, large()))
    return found


# Tests


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("hostile")) as running:
        yield running


@pytest.fixture
def at(server):
    return At(server.port, server.health)


@pytest.fixture(autouse=True)
def descriptors():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    more_descriptors()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def processes(server):
    """The first, and those that it has started."""
    first = server.process.pid
    return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]


@contextmanager
def bounded(server):
    """What its processes take together stays bounded, each at its peak, and none of them is replaced."""
    before = processes(server)
    for pid in before:
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # The peak is now.
    yield
    peaks = [re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1] for pid in before]

    assert before == processes(server)
    assert sum(map(int, peaks)) >> 10 < MEGABYTES
    assert not re.search(r'"level": "(error|critical)"', server.log_file.read_text())


@pytest.mark.parametrize("name", ATTACKS)
def test_others_are_served_beside(server, at, name):
    """Newcomers, connections that were open, probes, and large reviews, each in the time that its client waits."""
    with bounded(server), client(at) as kept:
        stay(kept)
        waited = measure(at, name, ROUNDS, kept)
    print(f"\n{row(name, waited)}")

    assert max(waited.newcomer) < SHORT
    assert max(waited.kept) < SHORT
    assert max(waited.probe + waited.ready) < PROBE
    assert max(waited.large) < LONG


# Figures


def row(name: str, waited: Waited) -> str:
    return " | ".join([f"{name:38}", *(f"{1000 * median(each):5.0f} {1000 * max(each):5.0f}" for each in waited)])


def main() -> None:
    rounds, part = (*sys.argv[1:], "15", "")[:2] if len(sys.argv) < 3 else sys.argv[1:3]
    print(" | ".join([f"{'ms, median and worst':38}", *(f"{name:11}" for name in Waited._fields)]))
    for name in ATTACKS:
        if part in name:
            with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as running:
                at = At(running.port, running.health)
                with client(at) as kept:
                    stay(kept)
                    print(row(name, measure(at, name, int(rounds), kept)), flush=True)


if __name__ == "__main__":
    main()
