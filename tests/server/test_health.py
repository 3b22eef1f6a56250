"""What the health port answers: the truth about the review loop, the webhook's port and all else that is checked."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count
from time import monotonic

import pytest

from tests.support.admission_reviews import raw, review
from tests.support.build import constraint, workload
from tests.support.clients import head
from tests.support.serving import LOOPBACK, RUN, certificate, serving, until
from webhook.server import health
from webhook.server.health import Check, OwnPort, Rationed, create_app, plain_app
from webhook.server.transport.thread_role import StepAside, enter_loop

OK, BAD = Check("policy", True, "built in"), Check("cluster", False, "waiting for Pod")
PORT = Check("port", True, "TLSv1.3")
ELSEWHERE = "10.0.0.1"


def asked(path, method="GET", *, source=LOOPBACK, turned=0.0, port=PORT, checks=(OK,)):
    """The response, where the loop has turned `turned` seconds ago."""
    app = create_app(
        turned=lambda: monotonic() - turned, port=lambda: port, checks=lambda: checks, metrics=lambda: b"evenkeel 1\n"
    )
    return app.test_client().open(path, method=method, environ_base={"REMOTE_ADDR": source})


def told(path, **given):
    response = asked(path, **given)
    return response.status_code, response.text


def test_it_is_healthy_while_the_review_loop_turns():
    assert (200, "ok\n") == told("/healthz", turned=9.5)


def test_it_is_not_when_the_loop_stands_still_and_it_says_since_when():
    status, body = told("/healthz", turned=12)

    assert 503 == status
    assert re.fullmatch(r"the review loop has been stuck since \d\d:\d\d:\d\dZ, for 12 s\n", body)


def test_it_is_healthy_whatever_is_not_ready():
    """A restart would not help."""
    assert 200 == asked("/healthz", port=BAD, checks=(BAD,)).status_code


@pytest.mark.parametrize(
    ("query", "port", "checks", "status", "body"),
    [
        ("", PORT, (OK,), 200, "ready\n"),
        ("verbose", PORT, (OK,), 200, "[+] port: TLSv1.3\n[+] policy: built in\nready\n"),
        ("a=b&verbose=", PORT, (), 200, "[+] port: TLSv1.3\nready\n"),
        (
            "",
            PORT,
            (OK, BAD),
            503,
            "[+] port: TLSv1.3\n[+] policy: built in\n[-] cluster: waiting for Pod\nnot ready\n",
        ),
        ("", Check("port", False, "refused"), (), 503, "[-] port: refused\nnot ready\n"),
        ("verbose", Check("port", True, "\udcff"), (), 200, "[+] port: \\udcff\nready\n"),
    ],
)
def test_it_is_ready_when_everything_is(query, port, checks, status, body):
    assert (status, body) == told(f"/readyz?{query}", port=port, checks=checks)


@pytest.mark.parametrize(
    ("query", "checks", "status", "body"),
    [
        ("verbose", (OK,), 200, "[+] port\n[+] policy\nready\n"),
        ("", (OK, BAD), 503, "[+] port\n[+] policy\n[-] cluster\nnot ready\n"),
    ],
)
def test_other_hosts_learn_nothing_of_the_cluster(query, checks, status, body):
    assert (status, body) == told(f"/readyz?{query}", source=ELSEWHERE, checks=checks)


def test_the_log_has_what_turns_bad_or_good_once(monkeypatch):
    """The details are told to the same host only, and what they say may be over before somebody can ask there."""
    logged = []
    monkeypatch.setattr(health, "log", lambda _level, message, **fields: logged.append((message, *fields.values())))
    port, cluster = Check("port", False, "refused"), Check("cluster", True, "in sync")
    rounds = [(PORT, cluster), (port, cluster), (port, BAD), (port, BAD), (PORT, BAD), (PORT, cluster)]
    current = [rounds[0]]
    app = create_app(
        turned=monotonic, port=lambda: current[0][0], checks=lambda: (OK, current[0][1]), metrics=lambda: b""
    )
    for current[0] in rounds:
        for _ in range(3):
            app.test_client().get("/readyz")

    assert logged == [
        ("not ready", "port", "refused"),
        ("not ready", "cluster", "waiting for Pod"),
        ("ready again", "port", "TLSv1.3"),
        ("ready again", "cluster", "in sync"),
    ]


def test_metrics_are_prometheus_text():
    response = asked("/metrics")

    assert (200, "evenkeel 1\n") == (response.status_code, response.text)
    assert response.content_type.startswith("text/plain; version=0.0.4")


def test_metrics_are_made_ten_times_a_second_at_most(monkeypatch):
    """Whoever asks more often gets the last text."""
    now, made = [100.0], count(1)
    monkeypatch.setattr(health, "monotonic", lambda: now[0])
    rationed = Rationed(lambda: b"%d" % next(made))

    assert [*range(1, 11), 10, 10] == [int(rationed.text()) for _ in range(12)]
    now[0] += 0.9
    assert 10 == int(rationed.text())
    now[0] += 0.1
    assert [*range(11, 21), 20] == [int(rationed.text()) for _ in range(11)]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_only_get_and_head_are_allowed(path):
    assert [200, 200] == [asked(path, method).status_code for method in ("GET", "HEAD")]
    for response in (asked(path, method) for method in ("POST", "OPTIONS")):
        assert (405, "GET, HEAD") == (response.status_code, response.headers["Allow"])
        assert "method: wanted GET or HEAD\n" == response.text


@pytest.mark.parametrize("path", ["/", "/validate", "/mutate", "/healthz/", "//healthz", "/metrics2", "/HEALTHZ"])
def test_there_is_nothing_else(path):
    assert (404, "path: wanted one of /healthz, /readyz, /metrics\n") == told(path, method="POST")


def test_what_fails_is_told_in_one_line():
    app = plain_app()
    app.get("/")(lambda: 1 / 0)
    response = app.test_client().get("/")

    assert (500, "Internal Server Error\n") == (response.status_code, response.text)


@contextmanager
def listening(folder, host="127.0.0.1", **options):
    """A TLS server that shakes hands with one client at a time; yields its listener and the hands it shook."""
    ca = certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    context.load_verify_locations(cadata=ca)
    context.verify_mode = options.pop("verify", ssl.CERT_NONE)
    with socket.create_server((host, 0), **options) as listener:
        shaken = []

        def serve():
            with suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    shaken.append(sock)
                    with suppress(OSError), closing(context.wrap_socket(sock, server_side=True)) as session:
                        session.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield listener, shaken
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("verify", [ssl.CERT_NONE, ssl.CERT_REQUIRED], ids=["anybody", "only known clients"])
def test_a_port_that_shakes_hands_is_ready(tmp_path, verify):
    """Also one that then refuses a client without a certificate: it serves those that have one."""
    with listening(tmp_path, verify=verify) as (listener, _):
        check = OwnPort(listener).check()

    assert ("port", True) == (check.name, check.ok)
    assert check.detail.startswith("TLSv1.3 in ")


def test_a_port_that_nobody_serves_is_not():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = OwnPort(listener)
    check = port.check()

    assert ("port", False) == (check.name, check.ok)
    assert check.detail.startswith(f"127.0.0.1 port {port.port}: no TLS handshake: ")
    assert "refused" in check.detail


def test_a_port_that_accepts_and_says_nothing_is_not(monkeypatch):
    monkeypatch.setattr(health, "HANDSHAKE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not OwnPort(listener).check().ok


def test_many_questions_are_one_handshake(tmp_path):
    with listening(tmp_path) as (listener, shaken):
        port = OwnPort(listener)
        first = port.check()
        assert all(first is port.check() for _ in range(1_000))
    assert 1 == len(shaken)


def test_what_was_found_stands_for_a_second_and_no_longer(tmp_path, monkeypatch):
    with listening(tmp_path) as (listener, shaken):
        port = OwnPort(listener)
        first = port.check()
        now = health.monotonic()
        monkeypatch.setattr(health, "monotonic", lambda: now + 1.5)
        assert first is not port.check()
    assert 2 == len(shaken)


def test_a_loop_does_not_wait_for_a_handshake(tmp_path):
    """It is made in another thread, once, and its result is told in the loop."""
    with listening(tmp_path) as (listener, shaken), ThreadPoolExecutor(1, initializer=enter_loop) as loop:
        port = OwnPort(listener)
        with pytest.raises(StepAside):
            loop.submit(port.check).result()
        assert port.check() is loop.submit(port.check).result()
    assert 1 == len(shaken)


@pytest.mark.parametrize(
    ("host", "options", "reached"),
    [
        ("127.0.0.1", {}, "127.0.0.1"),
        ("", {}, "127.0.0.1"),
        ("", {"family": socket.AF_INET6, "dualstack_ipv6": True}, "127.0.0.1"),
        ("::", {"family": socket.AF_INET6}, "::1"),
        ("::1", {"family": socket.AF_INET6}, "::1"),
    ],
)
@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6")
def test_it_reaches_an_address_that_is_served(tmp_path, host, options, reached):
    with listening(tmp_path, host, **options) as (listener, _):
        port = OwnPort(listener)
        assert (reached, True) == (port.host, port.check().ok)


# From here on the running server.


def test_what_is_measured_tells_nothing_of_what_was_reviewed(server):
    """No series comes from a review, whatever names it has; each label has one of a closed set of values."""
    before = series(server)
    names = {"name": "secret-name", "namespace": "secret-namespace", "labels": {"secret-label": "secret"}}
    for operation in ("CREATE", "secret-operation"):
        made = workload("Deployment", constraint(labelSelector={}))
        asks = review(made | {"metadata": names})
        asks["request"] |= {"operation": operation, "namespace": "secret-namespace", "name": "secret-name"}
        server.review("/validate", asks)
        server.review("/mutate", asks)

    assert before == series(server)
    assert not [line for line in series(server) if "secret" in line]


def series(server):
    return {line.rpartition(" ")[0] for line in server.probe("/metrics")[1].decode().splitlines() if line[0] != "#"}


STUCK = f"""
import os, time
from webhook.server import health
from webhook.server.transport.worker import Worker
health.STUCK_SECONDS = 0.5
straight = Worker.notify
def notify(self):
    while os.path.exists(os.environ["STUCK"]):
        time.sleep(0.01)
    straight(self)
Worker.notify = notify
{RUN}
"""


def test_a_review_loop_that_stands_still_is_told(tmp_path):
    """Reviews would not be answered: it is neither healthy nor ready, until the loop turns again."""
    stuck = tmp_path / "stuck"
    with serving(tmp_path, program=STUCK, STUCK=str(stuck)) as running:
        stuck.touch()
        until(lambda: running.probe("/healthz")[0] == 503, "the truth")
        until(lambda: running.probe("/readyz")[0] == 503, "the truth")

        assert b"the review loop has been stuck since " in running.probe("/healthz")[1]
        assert b"[-] port: 127.0.0.1 port " in running.probe("/readyz")[1]
        assert 200 == running.probe("/metrics")[0]
        stuck.unlink()
        until(lambda: running.probe("/readyz")[0] == 200, "another turn")
        assert 200 == running.probe("/healthz")[0]


def test_a_worker_that_replaces_one_that_died_is_probed_too(tmp_path):
    with serving(tmp_path) as running:
        died = running.worker()
        os.kill(died, signal.SIGKILL)
        until(lambda: running.worker() != died, "another worker")

        assert (200, b"ok\n") == running.probe("/healthz")
        until(lambda: running.probe("/readyz")[0] == 200, "a worker that is ready")


def test_a_stopping_server_is_healthy_and_not_ready(tmp_path):
    """It finishes what has begun; nobody should send it more, or restart it."""
    with serving(tmp_path) as running, closing(running.connection()) as half:
        body = raw()
        half.connect()
        half.send(head("/validate", Content_Type="application/json", Content_Length=len(body)) + body[:-10])
        until(lambda: running.probe("/readyz")[0] == 200, "a server that is ready")
        running.process.terminate()
        until(lambda: running.probe("/readyz")[0] == 503, "the truth")

        assert 200 == running.probe("/healthz")[0]
        half.send(body[-10:])
        assert b"200 OK" in half.sock.recv(1 << 16)


LARGE = 100  # Constraints, of which each is judged.
CROWD = 150


def test_probes_do_not_wait_behind_reviews(tmp_path):
    """Each connection sends the next large review as soon as one is answered; a kubelet waits for a second."""
    large = json.dumps(review(workload("Deployment", *(constraint(maxSkew=n + 1) for n in range(LARGE))))).encode()
    asks = head("/validate", Content_Type="application/json", Content_Length=len(large)) + large
    with serving(tmp_path) as running, ExitStack() as stack:
        stop = threading.Event()
        crowd = [stack.enter_context(closing(running.connection())) for _ in range(CROWD)]
        for one in crowd:
            one.connect()

        def load(connection):
            with suppress(OSError):
                while not stop.is_set():
                    connection.sock.sendall(asks)
                    connection.sock.recv(1 << 20)

        threads = [threading.Thread(target=load, args=(one,), daemon=True) for one in crowd]
        for thread in threads:
            thread.start()
        answered = running.metric(ANSWERED)
        until(lambda: running.metric(ANSWERED) > answered + 10, "reviews")
        taken = []
        for _ in range(10):
            begun = time.perf_counter()
            assert (200, b"ok\n") == running.probe("/healthz")
            taken.append(time.perf_counter() - begun)
            assert 200 == running.probe("/readyz")[0]
        stop.set()
        for one in crowd:
            one.sock.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()

    assert max(taken) < 1.0


ANSWERED = 'evenkeel_request_latency_seconds_count{phase="validate"}'


FEW_DESCRIPTORS = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
{RUN}
"""


def test_clients_of_the_webhook_leave_descriptors_for_probes(tmp_path):
    """More of them than there are descriptors."""
    with serving(tmp_path, program=FEW_DESCRIPTORS) as running, ExitStack() as stack:
        for _ in range(400):
            stack.enter_context(socket.create_connection((LOOPBACK, running.port), timeout=5))
        for _ in range(3):
            assert [200] * 3 == [running.probe(path)[0] for path in ("/healthz", "/readyz", "/metrics")]
        assert 200 == running.review("/validate", raw())[0]


def test_a_crowd_makes_no_probe_fail(tmp_path):
    """A thousand connections to the health port itself, which say nothing, from the address that the probe has."""
    with serving(tmp_path) as running, ExitStack() as stack:
        crowd = [
            stack.enter_context(socket.create_connection((LOOPBACK, running.health), timeout=5)) for _ in range(1_000)
        ]
        for path in ("/healthz", "/readyz", "/metrics"):
            assert 200 == running.probe(path)[0]
        assert b"" == crowd[0].recv(1)
