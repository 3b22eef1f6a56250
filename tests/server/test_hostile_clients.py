"""
Hostile clients beside others, over real sockets and TLS: what docs/security.md promises of any server of evenkeel.

    a process per attack: CROWD ──┐
    the test: OTHER ──────────────┴──> evenkeel serve

`python -m tests.server.test_hostile_clients [ROUNDS] [PART OF A NAME]` prints how long OTHER waited beside each.
"""

from __future__ import annotations

import json
import os
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
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
from tests.support.serving import LOOPBACK, PATIENCE, serving, until

# How long kube-apiserver and kubelet wait: for /mutate, for /validate, where nothing else is said, and for a probe.
SHORT, CALL, LONG, PROBE = 3.0, 5.0, 10.0, 5.0
MEGABYTES = 450  # The most that the processes may take; the chart's limit is 512 MiB.
ROUNDS = 3
PAUSE = 0.5  # Seconds between two rounds: kubelets and Prometheus together ask no more often.
ENDED = select.POLLRDHUP | select.POLLHUP | select.POLLERR
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Whose certificate it is, other tests see.
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE
VALIDATE = "/validate?timeout=10s"
JSON = {"Content_Type": "application/json"}
numbers = count()
uids = map("uid-{}".format, count())

pytestmark = pytest.mark.alone  # They measure how long others wait.


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


def named(body: bytes, uid: str) -> bytes:
    """A review with this uid, in place of the one that all have here."""
    return body.replace(b'"r1"', b'"%b"' % uid.encode(), 1)


@cache
def small() -> bytes:
    return raw()


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


@cache
def widening() -> bytes:
    """In memory it is twenty times as large, and just not too large to be read."""
    strings = b",".join(['"xx😀"'.encode()] * 640_000)
    return small().replace(b'"oldObject": null', b'"oldObject": [%b]' % strings)


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


def stay(one: Client, body: Callable[[], bytes] = small) -> bool:
    """A review on this connection is answered; whether the server keeps it open."""
    uid = next(uids)
    reviewed(answer := ask(one, named(body(), uid)), uid)
    return answer.headers.get("connection") != "close"


def persist(at: At, body: bytes, peer: str = OTHER, patience: float = LONG) -> None:
    """Ask as kube-apiserver does: what is refused with 429 is asked again a second later, while there is time."""
    uid, over = next(uids), time.monotonic() + patience
    body = named(body, uid)
    while True:
        with client(at, peer) as one:
            answer = ask(one, body, f"/validate?timeout={patience:.0f}s")
        assert time.monotonic() < over, f"lost after {patience} s: {answer.status}"
        if answer.status != 429:
            return reviewed(answer, uid)
        assert "1" == answer.headers["retry-after"]
        time.sleep(1)


def get(path: str = "/healthz") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def probe(at: At, path: str = "/healthz") -> None:
    """A probe by another address is answered with 200."""
    with connect(at.health, OTHER) as sock:
        sock.sendall(get(path))
        assert sock.recv(1 << 16).startswith(b"HTTP/1.1 200 "), path


# Attacks.  What a client of a crowd does, step by step: it waits at each `yield`, for the others have their turns.

Steps = Iterator[bool | None]


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


def passing(at: At, *, first: Callable[[], bytes] = bytes, health: bool = False, peers: int = 1) -> Steps:
    """A connection of one of so many addresses that says this much and is away."""
    peer = f"127.0.3.{1 + next(numbers) % peers}" if peers > 1 else CROWD
    sock = connect(at.health if health else at.port, peer, SHORT)
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


def sending_on(at: At, *, size: int) -> Steps:
    """A request that is too large sends pieces of this size after its refusal, which need not even be TLS."""
    with client(at, CROWD, SHORT) as one:
        one.send(head(VALIDATE, Content_Length=1 << 30, **JSON))
        one.sock.setblocking(False)
        while True:
            with suppress(BlockingIOError):
                socket.socket.send(one.sock, bytes(size))
            yield


def probing(at: At) -> Steps:
    with connect(at.health, CROWD, SHORT) as sock:
        sock.sendall(get("/metrics"))
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
    "reviews that widen": (8, partial(asking, what=lambda: post(widening(), VALIDATE, **JSON))),
    "costly reviews": (300, partial(asking, what=lambda: post(costly(), VALIDATE, **JSON))),
    "pipelined reviews": (100, partial(asking, what=lambda: post(small(), VALIDATE, **JSON) * 200)),
    "answers that nobody reads": (300, partial(secure, first=lambda: post(small(), VALIDATE, **JSON) * 500)),
    "tiny chunks": (100, partial(asking, what=tiny_chunks)),
    "tiny records": (100, partial(asking, what=lambda: post(small(), VALIDATE, **JSON), corked=700)),
    "refused bodies that go on": (100, partial(sending_on, size=1 << 20)),
    "refused bodies that drip on": (900, partial(sending_on, size=32 << 10)),
    "a storm of connections": (200, passing),
    "a storm of handshakes": (400, partial(passing, first=hello)),
    "silent connections to the health port": (1_000, partial(plain, health=True)),
    "a storm of requests to the health port": (200, probing),
    "a flood of requests to the health port": (800, partial(passing, first=get, health=True)),
    "such a flood, of 200 addresses": (800, partial(passing, first=get, health=True, peers=200)),
}
WORKERS = 8


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
                except (StopIteration, OSError, EOFError, AssertionError):
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
            time.sleep(PAUSE)
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
    print(f"{sum(map(int, peaks)) >> 10} MB at most")
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


@pytest.mark.parametrize("name", ["nothing", "36 MiB that stall"])
def test_eight_large_deployments_at_once_through_one_address_are_answered(server, at, name):
    """Perhaps after they were asked to come again."""
    with bounded(server), beside(name, at), ThreadPoolExecutor(8) as pool:
        for answered in [pool.submit(persist, at, large(), OTHER, CALL) for _ in range(8)]:
            answered.result()


def test_a_large_body_waits_for_a_turn_and_is_then_asked_to_come_again(at):
    """Two of the same address have all turns: it is refused in time to ask twice, and gets the first that is free."""
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        one, other, third, fourth = (stack.enter_context(client(at)) for _ in range(4))
        for each in (one, other):
            each.send(head(VALIDATE, Content_Length=40 << 20, **JSON) + b"{")
        time.sleep(0.2)
        begun = time.monotonic()
        refused = ask(third, large(), "/validate?timeout=4s")
        waited = time.monotonic() - begun
        freed = pool.submit(ask, fourth, large())
        time.sleep(0.3)
        one.close()

        assert 200 == freed.result().status
        assert (429, "1") == (refused.status, refused.headers["retry-after"])
        assert 0.8 < waited < 2.5


def test_too_large_a_body_is_refused_so_that_its_client_hears_it(at):
    """Though it reads only after it has sent everything."""
    with client(at) as one:
        one.send(post(bytes(41 << 20), VALIDATE, **JSON))
        answer = one.answer()

    assert (413, "close") == (answer.status, answer.headers["connection"])


def test_a_uid_of_megabytes_is_refused_and_not_repeated(server, at):
    with bounded(server), ThreadPoolExecutor(8) as pool:
        body = named(small(), "x" * 30_000_000)
        calls = [pool.submit(persist_refused, at, body) for _ in range(8)]
        newcome(at)
        answers = [call.result() for call in calls]

    assert {400} == {answer.status for answer in answers}
    assert max(len(answer.body) for answer in answers) < 1_000
    assert all("uid" in json.loads(answer.body)["response"]["status"]["message"] for answer in answers)


def persist_refused(at, body):
    """The first answer but 429."""
    while True:
        with client(at, CROWD) as one:
            answer = ask(one, body)
        if answer.status != 429:
            return answer
        time.sleep(1)


def test_pipelined_reviews_are_answered_in_order_each_under_its_uid(at):
    """Also with some among them that take long, or are answered by another thread."""
    asked = {f"piped-{i}": costly() if i % 50 == 0 else large() if i == 120 else small() for i in range(200)}
    data = b"".join(post(named(body, uid), "/validate", **JSON) for uid, body in asked.items())
    with client(at) as one:
        one.send(data)
        for uid in asked:
            reviewed(one.answer(), uid)


START = b"POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n"
NO_CHUNK = b"\r\n0\r\n\r\n"
# Of each another server could see another end, and so in the review that follows a request of its own.
AMBIGUOUS = {
    "a length and chunks": START + b"Content-Length: 5\r\n" + CHUNKS + NO_CHUNK,
    "chunks and a length": START + CHUNKS + b"Content-Length: 5\r\n" + NO_CHUNK,
    "two lengths": START + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "one length twice": START + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": START + b"Content-Length: 0, 5\r\n\r\n",
    "no length": START + b"Content-Length:\r\n\r\n",
    "a length with a sign": START + b"Content-Length: +0\r\n\r\n",
    "a length below 0": START + b"Content-Length: -1\r\n\r\n",
    "a length as Python writes it": START + b"Content-Length: 0_0\r\n\r\n",
    "a length in hexadecimal": START + b"Content-Length: 0x0\r\n\r\n",
    "a length in other digits": START + "Content-Length: \u0665\r\n\r\n".encode(),
    "a length with a blank before the colon": START + b"Content-Length : 0\r\n\r\n",
    "chunks with a blank before the colon": START + b"Transfer-Encoding : chunked\r\n" + NO_CHUNK,
    "chunks twice": START + CHUNKS + CHUNKS + NO_CHUNK,
    "chunks in chunks": START + b"Transfer-Encoding: chunked, chunked\r\n" + NO_CHUNK,
    "chunks that are not last": START + b"Transfer-Encoding: chunked, identity\r\n" + NO_CHUNK,
    "chunks of something": START + b"Transfer-Encoding: gzip, chunked\r\n" + NO_CHUNK,
    "a coding that is none": START + b"Transfer-Encoding: identity\r\n" + NO_CHUNK,
    "a coding with a letter more": START + b"Transfer-Encoding: xchunked\r\n" + NO_CHUNK,
    "a coding in quotes": START + b'Transfer-Encoding: "chunked"\r\n' + NO_CHUNK,
    "a coding after a vertical tab": START + b"Transfer-Encoding: \x0bchunked\r\n" + NO_CHUNK,
    "a coding with a zero byte": START + b"Transfer-Encoding: chunked\0\r\n" + NO_CHUNK,
    "an empty coding": START + b"Transfer-Encoding:\r\n" + NO_CHUNK,
    "a coding in the next line": START + b"Transfer-Encoding:\r\n chunked\r\n" + NO_CHUNK,
    "a length in a folded line": START + b"X: a\r\n Content-Length: 5\r\n\r\n",
    "a first line that is folded": START.replace(b"Host", b" Host") + b"\r\n",
    "a length after LF": START + b"X: a\nContent-Length: 5\r\n\r\n",
    "a length after CR": START + b"X: a\rContent-Length: 5\r\n\r\n",
    "LF at the end of each line": START.replace(b"\r", b"") + b"\n",
    "LF at the end of the head": START + b"\n",
    "a line without a colon": START + b"Content-Length\r\n\r\n",
    "chunks in HTTP/1.0": START.replace(b"1.1", b"1.0") + CHUNKS + NO_CHUNK,
    "HTTP/0.9": b"POST /validate\r\n\r\n",
    "HTTP/2.0": START.replace(b"1.1", b"2.0") + b"\r\n",
    "a blank in the path": START.replace(b"validate", b"validate x") + b"\r\n",
    "a size with a prefix": START + CHUNKS + b"\r\n0x0\r\n\r\n",
    "a size with a sign": START + CHUNKS + b"\r\n+0\r\n\r\n",
    "a size with a blank": START + CHUNKS + b"\r\n 0\r\n\r\n",
    "no size": START + CHUNKS + b"\r\n\r\n\r\n",
    "a size beyond 32 bits": START + CHUNKS + b"\r\n100000000\r\n\r\n",
    "a size that ends by LF": START + CHUNKS + b"\r\n1\nx\r\n0\r\n\r\n",
    "an extension that ends by LF": START + CHUNKS + b"\r\n1;\nx\r\nx\r\n0\r\n\r\n",
    "a chunk longer than its size": START + CHUNKS + b"\r\n1\r\nxx\r\n0\r\n\r\n",
    "a chunk without an end": START + CHUNKS + b"\r\n1\r\nx0\r\n\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_of_an_ambiguous_request_one_refusal_is_all_that_comes(at, name):
    """A reason, and the end: what follows is nobody's request."""
    with client(at) as one:
        one.send(AMBIGUOUS[name] + post(named(small(), "smuggled"), "/validate", **JSON))
        answer = one.answer()

        assert answer.status in {400, 415, 501}
        assert "close" == answer.headers["connection"]
        assert json.loads(answer.body)["response"]["status"]["message"]
        assert b"" == one.file.read()


TAKEN = True  # What the server takes does not keep it waiting.


def unread(at: At) -> Steps:
    """Reviews without end, and no answer is read; once nothing more can be sent, the server must end it."""
    with client(at, CROWD, 2 * PATIENCE) as one:
        while True:
            one.send(post(small(), "/validate", **JSON) * 100)
            yield TAKEN


GIVEN_UP = {
    "silence": plain,
    "half a handshake": partial(plain, first=lambda: hello()[:50]),
    "silence after a handshake": secure,
    "half a head": partial(secure, first=lambda: START),
    "half a body": partial(secure, first=lambda: post(small(), "/validate", **JSON)[:-1]),
    "a large body that stalls": partial(secure, first=lambda: head("/validate", Content_Length=36 << 20, **JSON)),
    "chunks that stall": partial(secure, first=lambda: START + CHUNKS + b"\r\n1\r\n"),
    "dripping bytes": dripping,
    "unread answers": unread,
    "the health port": partial(plain, health=True),
}


def test_whoever_keeps_the_server_waiting_is_given_up(at):
    """In a third of a minute; a connection that was served may be silent as long."""
    with client(at) as kept, ThreadPoolExecutor(len(GIVEN_UP)) as pool:
        stay(kept)
        ends = {name: pool.submit(seconds_to_end, steps(at)) for name, steps in GIVEN_UP.items()}
        late = {name: taken for name, end in ends.items() if (taken := end.result()) > 20}
        stay(kept)

    assert {} == late


def seconds_to_end(steps: Steps) -> float:
    """Seconds from when the server begins to wait; whoever is served for longer than PATIENCE is not given up."""
    begun = waiting = time.monotonic()
    with closing(steps), suppress(OSError):
        for taken in steps:
            now = time.monotonic()
            if now - begun > PATIENCE:
                return now - begun
            waiting = now if taken else waiting
            time.sleep(0.02)
    return time.monotonic() - waiting


# How it ends, and begins again


def test_sigterm_answers_all_that_has_begun(tmp_path):
    """Also beside clients that say nothing: those that have sent all, and those that send the rest then."""
    with serving(tmp_path) as running, ExitStack() as stack:
        at = At(running.port, running.health)
        stack.enter_context(beside("silent connections", at, 0.5))
        whole, half, large_half = ([stack.enter_context(client(at)) for _ in range(n)] for n in (60, 40, 4))
        asked = {each: (f"whole-{i}", costly()) for i, each in enumerate(whole)}
        asked |= {each: (f"half-{i}", small()) for i, each in enumerate(half)}
        asked |= {each: (f"large-{i}", large()) for i, each in enumerate(large_half)}
        requests = {each: post(named(body, uid), VALIDATE, **JSON) for each, (uid, body) in asked.items()}
        for each in [*large_half, *half]:
            each.send(requests[each][:-100])
        for each in whole:
            each.send(requests[each])
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        for each in [*half, *large_half]:
            each.send(requests[each][-100:])
        for each, (uid, _) in asked.items():
            answer = each.answer()
            reviewed(answer, uid)

        assert 0 == running.process.wait(PATIENCE)


def test_replicas_are_restarted_one_after_the_other_and_no_call_is_lost(tmp_path):
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("one", "other")]
        for folder in folders:
            folder.mkdir()
        replicas = {At(one.port, one.health): one for one in [stack.enter_context(serving(f)) for f in folders]}
        endpoints, stop = list(replicas), threading.Event()
        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(keep_calling, endpoints, stop) for _ in range(8)]
            for at, replica in replicas.items():
                endpoints.remove(at)
                time.sleep(1)  # As preStop waits, until every balancer knows.
                replica.process.terminate()
                assert 0 == replica.process.wait(PATIENCE)
                replica.start()
                endpoints.append(at)
                time.sleep(1)
            stop.set()

        made, crossed = zip(*(call.result() for call in calls), strict=True)
        assert min(made) > 50
        assert sum(crossed) <= len(calls), "half of the connections that two stops end"


def keep_calling(endpoints: list[At], stop: threading.Event) -> tuple[int, int]:
    """
    How many calls were made, and how many of them were sent on a connection that the server then closed.

    Those may cross on their way, though seldom: Go asks again only where it knows of the end before it sends.
    """
    one, crossed = None, 0
    for made in count():
        if one and events(one.sock) & ENDED:
            one.close()
            one = None
        if stop.is_set():
            break
        reused, there = one is not None, tuple(endpoints)
        one = one or client(there[made % len(there)])
        try:
            kept = stay(one, costly)
        except (OSError, EOFError):
            if not reused:
                raise
            crossed, kept = crossed + 1, False
        if not kept:
            one.close()
            one = None
    if one:
        one.close()
    return made, crossed


def lose_worker(server, at: At, how: signal.Signals, patience: float) -> None:
    """Another process takes its place, and clients that come meanwhile wait for it."""
    _, worker = processes(server)
    os.kill(worker, how)
    until(lambda: worker not in processes(server), "the end of the worker", patience)
    newcome(at)
    until(lambda: len(processes(server)) == 2, "one worker")
    probe(at)


def test_a_worker_that_is_killed_is_replaced(tmp_path):
    with serving(tmp_path) as running:
        at = At(running.port, running.health)
        with beside("half a head", at):
            lose_worker(running, at, signal.SIGKILL, PATIENCE)


# Figures


def row(name: str, waited: Waited) -> str:
    return " | ".join([f"{name:38}", *(f"{1000 * median(each):5.0f} {1000 * max(each):5.0f}" for each in waited)])


def main(rounds: str = "10", part: str = "") -> None:
    print(" | ".join([f"{'ms, median and worst':38}", *(f"{name:11}" for name in Waited._fields)]))
    for name in ATTACKS:
        if part in name:
            with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as running:
                at = At(running.port, running.health)
                with client(at) as kept:
                    stay(kept)
                    print(row(name, measure(at, name, int(rounds), kept)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
