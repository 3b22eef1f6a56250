"""
A replica with the chart's memory limit, as a real cgroup holds it to, and a large cluster in its caches.

    16 × 36 MiB ──TLS──> evenkeel serve --cluster live ──TLS──> an API server's 5,000 nodes and 150,000 Pods
"""

from __future__ import annotations

import json
import select
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import pytest
import yaml

from tests.e2e.cgroup import JOIN, limited
from tests.e2e.replicas import ARENAS
from tests.support import ROOT
from tests.support.clients import Answer, Client
from tests.support.serving import RUN, certificate, serving

pytestmark = pytest.mark.slow  # It measures memory, with nothing beside it.

VALUES = yaml.safe_load((ROOT / "charts" / "evenkeel" / "values.yaml").read_text("utf-8"))
LIMIT = int(VALUES["resources"]["limits"]["memory"].removesuffix("Mi")) << 20
POLICY = {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}
LISTED = 300  # seconds for the first lists
TIMEOUT = 10.0  # the API server's
TOGETHER = 1.5  # What sixteen at once may take, in what they take one after the other.
UID = b"705ab4f5-6393-11e8-b7cc-42010a800002"
EMOJI = "😀".encode()
HEAD = "POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n"


def object_of(text):
    """A Deployment's JSON of 3 MiB, as kube-apiserver writes it."""
    return (
        b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","annotations":{"a":"' + text + b'"}},'
        b'"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"topologySpreadConstraints":['
        b'{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule","labelSelector":'
        b'{"matchLabels":{"app":"web"}}}]}}}}'
    )


def review(text, old=b"null", uid=UID):
    return (
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"' + uid + b'",'
        b'"kind":{"group":"apps","version":"v1","kind":"Deployment"},"operation":"UPDATE","name":"web",'
        b'"namespace":"team-1","object":' + object_of(text) + b',"oldObject":' + old + b"}}"
    )


def worst():
    """The largest review that kube-apiserver sends: objects of 3 MiB full of `<`, and one emoji."""
    text = b"\\u003c" * ((3 << 20) - 1_000)
    return review(text + EMOJI, object_of(text + b"x" + EMOJI))


class Outcome(NamedTuple):
    """What a call came to: status 0 if it was lost; `sent` counts the bytes that the last attempt sent."""

    status: int
    retry_after: str
    seconds: float
    sent: int
    attempts: int
    uid: str


def attempt(server, body, **headers):
    """One request on a connection of its own; like Go's client it stops sending once it is answered."""
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request, sent = HEAD.format(len(body), more).encode() + body, 0
    connection = server.connection(60)
    connection.connect()
    with Client(connection.sock) as client:
        try:
            while sent < len(request) and not answered(client):
                sent += client.sock.send(memoryview(request)[sent : sent + (64 << 10)])
            return client.answer(), sent
        except (OSError, EOFError) as error:
            return Answer(0, {}, json.dumps({"response": {"uid": repr(error)}}).encode()), sent


def answered(client):
    """Whether the response has begun; what TLS itself has to say is none."""
    if not select.select([client.sock], [], [], 0)[0]:
        return False
    client.sock.setblocking(False)
    try:
        return bool(client.file.peek(1))
    except ssl.SSLWantReadError:
        return False
    finally:
        client.sock.settimeout(60)


def call(server, body, seconds=TIMEOUT):
    """As client-go calls: 429 with Retry-After is asked again, for as long as there is time."""
    begun, attempts = time.monotonic(), 0
    while True:
        attempts += 1
        answer, sent = attempt(server, body)
        taken, wait = time.monotonic() - begun, answer.headers.get("retry-after", "")
        if answer.status != 429 or taken + int(wait) >= seconds:
            uid = json.loads(answer.body)["response"]["uid"]
            return Outcome(answer.status, wait, taken, sent, attempts, uid)
        time.sleep(int(wait))


@pytest.fixture(scope="module")
def apiserver(tmp_path_factory):
    """The kubeconfig of an API server with a large cluster, which plays it in a process of its own."""
    folder = tmp_path_factory.mktemp("apiserver")
    ca = certificate(folder)
    (folder / "ca.crt").write_text(ca)
    command = [sys.executable, "-m", "tests.bench.cluster", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        cluster = {"server": f"https://127.0.0.1:{process.stdout.readline().strip()}"}
        cluster["certificate-authority"] = str(folder / "ca.crt")
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c"}
        config["clusters"] = [{"name": "c", "cluster": cluster}]
        config["contexts"] = [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
        config["users"] = [{"name": "u", "user": {"token": "t"}}]
        (folder / "config").write_text(json.dumps(config))
        yield folder / "config"
        process.kill()


@pytest.fixture(scope="module")
def replica(tmp_path_factory, apiserver):
    """A server in a cgroup with the chart's limit, once it has listed the cluster; and the cgroup."""
    folder = tmp_path_factory.mktemp("replica")
    (folder / "policy.yaml").write_text(json.dumps(POLICY))
    options, environment = ["--policy", folder / "policy.yaml", "--cluster", "live"], {"KUBECONFIG": str(apiserver)}
    with (
        limited(LIMIT) as cgroup,
        serving(
            folder, *options, program=JOIN + RUN, patience=LISTED, CGROUP=str(cgroup.path), **environment, **ARENAS
        ) as server,
    ):
        print(f"\nlisted: peak {cgroup.peak() >> 20} MiB, worker {server.peak_megabytes()} MiB")
        yield server, cgroup


@pytest.fixture
def unharmed(replica):
    """The server; at the end it must not have lost its worker."""
    server, cgroup = replica
    worker = server.worker()
    cgroup.forget()
    yield server
    print(f"peak {cgroup.peak() >> 20} of {LIMIT >> 20} MiB, worker {server.peak_megabytes()} MiB")
    assert 0 == cgroup.kills()
    assert worker == server.worker()


def test_sixteen_of_the_largest_at_once(unharmed):
    """Each gets a verdict, or is asked to come again before it has sent its body."""
    body = worst()
    assert len(body) > 35 << 20
    alone = max(call(unharmed, body).seconds for _ in range(2))
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda _: call(unharmed, body), range(16)))
    for outcome in outcomes:
        print(outcome)

    assert {200, 429} >= {outcome.status for outcome in outcomes}
    assert all(outcome.seconds < max(TIMEOUT, 16 * TOGETHER * alone) for outcome in outcomes)
    assert all(outcome.retry_after == "1" for outcome in outcomes if outcome.status == 429)
    assert all(outcome.sent < 4 << 20 for outcome in outcomes if outcome.status == 429)
    assert {UID.decode()} == {each.uid for each in outcomes if each.status == 200}


MOST = 1_047_000  # values


def listed(*values):
    return review(b"", b"[" + b",".join(values) + b"]")


# What takes most of its kind, and is read; and the most that can be sent, which is not.
HOSTILE = {
    "40 MiB in ASCII": lambda: review(b"x" * 41_900_000),
    "15 MiB that widen": lambda: review(b"x" * 16_000_000 + "\\né世😀".encode()),
    "40 MiB that widen": lambda: review(b"x" * 41_900_000 + "\\né世😀".encode()),
    "640,000 strings with an emoji": lambda: listed(*[b'"xx%b"' % EMOJI] * 640_000),
    "a million strings with an emoji": lambda: listed(*[b'"%b%b"' % (b"x" * 32, EMOJI)] * MOST),
    "319,000 keys": lambda: review(b"", b"{" + b",".join(b'"%07d":0' % i for i in range(319_000)) + b"}"),
    "a million keys": lambda: review(b"", b"{" + b",".join(b'"%033d":0' % i for i in range(MOST)) + b"}"),
    "a million lists": lambda: listed(*[b"[]"] * (MOST // 2)),
    "a million lists, deep": lambda: listed(*[b"[" * 500 + b"]" * 500] * (MOST // 501)),
    "249,000 objects, deep": lambda: listed(*[b'{"a":' * 500 + b"0" + b"}" * 500] * (249_000 // 500)),
    "40 million lists": lambda: review(b"", b"[" * 41_900_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_four_of_what_takes_most_at_once(unharmed, name):
    """No API server sends it, but whoever reaches the port can."""
    body = HOSTILE[name]()
    assert len(body) <= 40 << 20
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda _: call(unharmed, body), range(4)))
    print(f"\n{name}: {len(body) / (1 << 20):.1f} MiB, {max(outcome.seconds for outcome in outcomes):.1f} s")

    assert {200, 429} >= {outcome.status for outcome in outcomes}


def test_two_hundred_long_uids_whose_answers_nobody_reads(unharmed):
    body = review(b"", uid="é".encode() * (450 << 10))
    request = HEAD.format(len(body), "").encode() + body
    with ExitStack() as crowd:
        for _ in range(200):
            connection = unharmed.connection()
            connection.connect()
            crowd.enter_context(Client(connection.sock)).send(request)
        assert 200 == call(unharmed, review(b"")).status


def test_a_review_still_takes_milliseconds(unharmed):
    """What came before has left nothing behind."""
    body = review(b"")
    taken = sorted(call(unharmed, body).seconds for _ in range(20))

    assert taken[10] < 0.5
