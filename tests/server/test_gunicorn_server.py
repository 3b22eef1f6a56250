"""The server over HTTPS: reviews, logs, crowds of clients, and how it stops."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.support.admission_reviews import raw, review
from tests.support.serving import PATIENCE, RUN, serving, until
from webhook.server import wire
from webhook.server.gunicorn_server import HEARTBEAT_FOLDER
from webhook.server.transport.worker import IGNORED


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda v: v.name)
def test_tls_of_today_is_spoken(server, version):
    context = ssl.create_default_context(cadata=(server.log_file.parent / "tls.crt").read_text())
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=PATIENCE)
    connection.request("POST", "/validate", raw(), {"Content-Type": "application/json"})

    assert 200 == connection.getresponse().status
    connection.close()


def test_sigterm_finishes_what_has_begun_and_closes_idle_connections(tmp_path):
    with serving(tmp_path) as running, closing(running.connection()) as idle, closing(running.connection()) as half:
        idle.request("POST", "/validate", raw(), {"Content-Type": "application/json"})
        idle.getresponse().read()
        begin(half, raw())
        until(lambda: connected(running) == 2, "both to be connected")
        running.process.send_signal(signal.SIGTERM)
        until(lambda: connected(running) == 1, "the idle one to be closed")
        assert b"" == idle.sock.recv(1)

        half.send(raw()[-10:])
        response = half.getresponse()
        answer = json.loads(response.read())["response"]
        assert (200, "r1", False) == (response.status, answer["uid"], answer["allowed"])
        assert "close" == response.headers["Connection"]
        assert 0 == running.process.wait(10)


def begin(connection, body):
    """All of a review but its last bytes."""
    connection.putrequest("POST", "/validate")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    connection.send(body[:-10])


def connected(running):
    """How many clients are."""
    ours = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[1].endswith(f":{running.port:04X}") and line[3] == "01" for line in ours)


def test_reviews_are_answered_while_a_crowd_is_silent_or_stops_half_way(tmp_path):
    """200 connections that send nothing, 20 that send half a body, and reviews in under 100 ms."""
    with serving(tmp_path) as running, ExitStack() as crowd:
        for _ in range(200):
            crowd.enter_context(socket.create_connection((running.host, running.port)))
        for _ in range(20):
            begin(crowd.enter_context(closing(running.connection())), raw())
        until(lambda: connected(running) >= 220, "the crowd")
        taken = []
        with closing(running.connection()) as connection:
            for _ in range(50):
                started = time.perf_counter()
                connection.request("POST", "/validate", raw(), {"Content-Type": "application/json"})
                assert "r1" == json.loads(connection.getresponse().read())["response"]["uid"]
                taken.append(time.perf_counter() - started)

        assert 220 <= connected(running), "the crowd was there all the time"
        assert statistics.median(taken) < 0.1


def test_signals_that_scale_or_reload_gunicorn_change_nothing(tmp_path):
    with serving(tmp_path) as running:
        worker = running.worker()
        for number in IGNORED:
            running.process.send_signal(number)
        time.sleep(1.5)  # The arbiter looks every second whether it has as many workers as it should.

        assert worker == running.worker()
        assert 200 == running.review("/validate", review())[0]


# Runs `evenkeel serve`, to which a signal comes at a bad moment.
AMID = f"""
import os, signal, time
from webhook.server import gunicorn_server as server
from webhook.server.transport.worker import Worker
straight = Worker.init_process
def slowly(self):
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(1)
    straight(self)
{{how}}
{RUN}
"""


@pytest.mark.parametrize(
    ("how", "seconds"),
    [
        ("Worker.init_process = slowly", 10),
        ("os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGINT))", 10),
    ],
    ids=["before the worker hears it", "as the worker is forked"],
)
def test_a_signal_amid_the_fork_is_heard(how, seconds):
    bind = ["--bind", "127.0.0.1:0", "--health-bind", "127.0.0.1:0", "--self-signed"]
    done = subprocess.run(
        [sys.executable, "-c", AMID.format(how=how), "serve", *bind], capture_output=True, timeout=seconds, check=False
    )

    assert (0, b"") == (done.returncode, done.stderr)


def test_sighup_before_it_is_ignored_harms_nobody(tmp_path):
    early = "server.ignore_signals = lambda: os.kill(os.getpid(), signal.SIGHUP)"
    with serving(tmp_path, program=AMID.format(how=early)) as running:
        time.sleep(1.5)
        assert 200 == running.review("/validate", review())[0]


def test_a_signal_to_all_processes_and_that_of_the_arbiter_stop_a_worker_once(tmp_path):
    with serving(tmp_path) as running:
        os.kill(running.worker(), signal.SIGTERM)
        running.process.terminate()
        assert 0 == running.process.wait(PATIENCE)

    assert 1 == len(running.lines("stopped"))
    assert "exception" not in running.log_file.read_text().lower()


READ_ONLY = f"""
import tempfile
tempfile._candidate_tempdir_list = list
{RUN}
"""


@pytest.mark.skipif(not os.access(HEARTBEAT_FOLDER, os.W_OK), reason=f"{HEARTBEAT_FOLDER} cannot be written")
def test_a_read_only_file_system_is_enough(tmp_path):
    """As a hardened Pod has it."""
    with serving(tmp_path, program=READ_ONLY) as running:
        assert 200 == running.review("/validate", review())[0]


def test_the_largest_reviews_of_a_peer_do_not_hold_up_the_small_ones_of_another(tmp_path):
    """No other thread runs while one is parsed; a yardstick is what may be parsed at a time."""
    strings = b",".join([b'"xx\xf0\x9f\x98\x80"'] * 640_000)
    keys = b",".join(b'"%07d":0' % i for i in range(850_000))
    large = raw().replace(b'"userInfo": {', b'"userInfo": {%b,' % keys)
    yardstick = min(seconds_to_parse(b"[%b]" % strings) for _ in range(3))
    with serving(tmp_path) as running, ExitStack() as stack:
        going = [True]
        pool = stack.enter_context(ThreadPoolExecutor(3))
        stack.callback(going.clear)
        for _ in range(3):
            pool.submit(ask_while, going, running, large)
        time.sleep(1)
        with closing(from_address(running, "127.0.0.2")) as client:
            taken = sorted(seconds_to_ask(client, raw()) for _ in range(200))

    assert taken[100] < yardstick / 2
    assert taken[180] < yardstick * 1.5


def from_address(running, address):
    connection = running.connection()
    connection.source_address = (address, 0)
    return connection


def ask_while(going, running, body):
    while going:
        with suppress(OSError, http.client.HTTPException), closing(from_address(running, "127.0.0.3")) as client:
            seconds_to_ask(client, body)


def seconds_to_ask(client, body):
    time.sleep(0.005)
    began = time.perf_counter()
    client.request("POST", "/validate", body, {"Content-Type": "application/json"})
    client.getresponse().read()
    return time.perf_counter() - began


def seconds_to_parse(body):
    began = time.perf_counter()
    wire.parse(body)
    return time.perf_counter() - began
