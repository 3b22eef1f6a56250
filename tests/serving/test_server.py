"""The server over real HTTPS: what it answers to good and bad input, how it reloads, and how it stops."""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import signal
import socket
import ssl
import stat
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import ROOT
from tests.support.build import constraint, pod, request, service, workload
from tests.support.review import review as decide
from tests.support.serving import MAIN, PATIENCE, certificate, free_port, serving, until
from webhook.cli.serve import value_of
from webhook.cli.usage import UsageError
from webhook.cluster.cluster import Unchanging
from webhook.policy.parsing import BUILT_IN, built_in, parse_policy
from webhook.scheduler.features import features
from webhook.scheduler.snapshot import from_objects
from webhook.serving import wire
from webhook.serving.app import BODY_LIMIT, Check
from webhook.serving.metrics import Metrics
from webhook.serving.reviewer import Reviewer
from webhook.serving.server import HEARTBEAT_FOLDER, PolicyFile
from webhook.serving.settings import SETTINGS
from webhook.transport.worker import Limits

MEGABYTE = 1 << 20
BAD = workload("Deployment", constraint(labelSelector={}))


def review(obj=BAD, **fields):
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(obj)}
    return body | fields


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    dump = folder / "dump.json"
    dump.write_text(json.dumps(service()))
    with serving(folder, "--cluster", dump) as running:
        yield running


def test_a_bad_deployment_is_denied(server):
    status, response = server.review("/validate", review())

    assert (200, "r1", False) == (status, response["uid"], response["allowed"])
    assert "(empty-selector)" in response["status"]["message"]


def test_a_pod_is_given_defaults(server):
    status, response = server.review("/mutate?timeout=3s", review(pod()))

    assert (200, "r1", True, "JSONPatch") == (status, response["uid"], response["allowed"], response["patchType"])


class Bad(NamedTuple):
    name: str
    body: bytes
    status: int
    uid: str = ""
    allowed: bool = False
    headers: dict = {}  # noqa: RUF012
    method: str = "POST"
    path: str = "/validate"


def raw(obj=BAD, **fields):
    return json.dumps(review(obj, **fields)).encode()


def padded(text):
    """A review that grows by `text`, put where nobody looks."""
    return raw(x="@").replace(b'"@"', text)


UNASKED = json.dumps({"uid": "r1"}).encode()
BAD_INPUT = [
    Bad("an empty body", b"", 400),
    Bad("not JSON", b"hello", 400),
    Bad("not UTF-8", b'{"a": "\xff"}', 400),
    Bad("half a pair of UTF-16, as UTF-8 does not have it", padded(b'"\xed\xa0\x80"'), 400, "r1"),
    Bad("UTF-16", raw().decode().encode("utf-16"), 400),
    Bad("an empty object", b"{}", 400),
    Bad("no request", raw(request=None), 400),
    Bad("no uid", raw(request={"operation": "CREATE"}), 400),
    Bad("no object", raw(request={"uid": "r1", "operation": "CREATE"}), 200, "r1"),
    Bad("another version", raw(apiVersion="admission.k8s.io/v1beta1"), 400, "r1"),
    Bad("the wrong content type", raw(), 415, headers={"Content-Type": "text/plain"}),
    Bad("a compressed body", gzip.compress(raw()), 415, headers={"Content-Encoding": "gzip"}),
    Bad("17 MB of escapes", padded(b'"' + b"\\u003c" * (17 * MEGABYTE // 6) + b'"'), 200, "r1"),
    Bad("10,000 levels", padded(b'{"x":' * 10_000 + b"1" + b"}" * 10_000), 200, "r1", True),
    Bad("14 million values", padded(b"[" + b"[]," * 13_980_000 + b"0]"), 200, "r1", True),
    Bad("10,000 digits", padded(b"9" * 10_000), 200, "r1"),
    Bad("a key twice", raw().replace(b'"uid": "r1"', b'"uid": "r0", "uid": "r1"'), 200, "r1"),
    Bad("GET where POST belongs", b"", 405, method="GET"),
    Bad("an unknown path", raw(), 404, path="/nonsense"),
    Bad("a path that could be redirected", raw(), 404, path="/validate//"),
    Bad("a header that a proxy would write", raw(), 200, "r1", headers={"SCRIPT_NAME": "/x"}),
    Bad(
        "a scheme that a proxy would tell",
        raw(),
        200,
        "r1",
        headers={"X-Forwarded-Proto": "http", "X-Forwarded-Ssl": "on"},
    ),
]


@pytest.mark.parametrize("case", BAD_INPUT, ids=lambda case: case.name)
def test_bad_input_is_answered(server, case):
    """In JSON, never with 500, and the worker goes on."""
    headers = {"Content-Type": "application/json"} | case.headers
    status, body = server.call(case.method, case.path, case.body, headers)
    response = json.loads(body)["response"]

    assert (case.status, case.uid, case.allowed) == (status, response["uid"], response["allowed"])
    assert 200 == server.call("GET", "/healthz")[0]


def test_too_large_is_refused_before_it_is_sent(server):
    with closing(server.connection()) as connection:
        connection.putrequest("POST", "/validate")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(40 * MEGABYTE + 1))
        connection.endheaders()
        response = connection.getresponse()
        answer = json.loads(response.read())["response"]

        assert (413, "", False) == (response.status, answer["uid"], answer["allowed"])
        assert "Content-Length 41943041" == answer["status"]["message"]
    assert ["Content-Length 41943041"] == [line["reason"] for line in server.lines("request refused") if refused(line)]
    assert 1 <= server.metric('evenkeel_requests_refused_total{code="413"}')


def refused(line):
    return line["code"] == 413 and line["reason"].startswith("Content-Length")


def test_app_and_worker_agree_on_what_is_too_large():
    assert BODY_LIMIT == Limits().body_bytes


def test_too_large_by_chunks_is_refused_on_the_way(server):
    with closing(server.connection()) as connection:
        connection.putrequest("POST", "/validate")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        for _ in range(41):
            connection.send(b"%x\r\n%b\r\n" % (MEGABYTE, b" " * MEGABYTE))
        response = connection.getresponse()
        answer = json.loads(response.read())["response"]

        assert (413, "", False) == (response.status, answer["uid"], answer["allowed"])
    assert 200 == server.call("GET", "/healthz")[0]


def test_what_many_values_take_is_bounded(server):
    """Of two bytes each, they would take thirty times as much once they are read."""
    for values in (
        b"[" + b"[]," * 13_980_000 + b"0]",
        b"{" + b",".join(b'"%x":0' % i for i in range(4_000_000)) + b"}",
    ):
        server.review("/validate", padded(values))

    assert server.peak_megabytes() < 300


def test_chunks_are_read(server):
    with closing(server.connection()) as connection:
        chunks = iter([raw()[:100], raw()[100:]])
        connection.request("POST", "/validate", chunks, {"Content-Type": "application/json"}, encode_chunked=True)

        assert "r1" == json.loads(connection.getresponse().read())["response"]["uid"]


def test_one_connection_serves_many_requests(server):
    with closing(server.connection()) as connection:
        connection.connect()
        kept = connection.sock
        for _ in range(3):
            connection.request("POST", "/validate", raw(), {"Content-Type": "application/json"})
            response = connection.getresponse()

            assert (200, "r1") == (response.status, json.loads(response.read())["response"]["uid"])
        assert kept is connection.sock


def test_readyz_lists_each_check(server):
    assert (200, b"ready\n") == server.call("GET", "/readyz")
    text = server.call("GET", "/readyz?verbose")[1].decode()

    assert ["[+] certificate", "[+] policy", "[+] cluster", "ready"] == [
        line.partition(":")[0] for line in text.splitlines()
    ]


def test_every_series_is_there_from_the_start(server):
    text = server.call("GET", "/metrics")[1].decode()

    assert 'evenkeel_findings_total{rule="soft-constraint",severity="info"} 0.0' in text
    assert 'evenkeel_defaulted_pods_total{owner_kind="StatefulSet"} 0.0' in text


def test_denied_and_defaulted_are_logged_and_nothing_else(server):
    evil = pod(constraint(labelSelector={}), generateName='x\n{"level": "error"}\x1b[31m')
    del evil["metadata"]["name"]
    server.review("/validate", review(evil))
    server.review("/validate", review(workload("Deployment", constraint())))

    assert not server.lines("allowed")
    (line,) = [line for line in server.lines("denied") if "generateName" in line]
    assert ("r1", "shop", ["empty-selector"]) == (line["uid"], line["namespace"], line["rules"])
    assert 'x\n{"level": "error"}\x1b[31m' == line["generateName"]


def test_what_would_be_denied_is_logged(tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUILT_IN.replace("enforcement: Deny", "enforcement: Warn"), "utf-8")
    with serving(tmp_path, "--policy", policy) as running:
        running.review("/validate", review(workload("Deployment", constraint(labelSelector={}))))

        (line,) = running.lines("would be denied")
        assert ("web", ["empty-selector"]) == (line["name"], line["rules"])


@pytest.mark.parametrize(
    "value", ["x" * 5_000_000, float("nan"), 10**4_000, json.loads("[" * 700 + "]" * 700)], ids=type
)
def test_whatever_is_in_a_field_a_line_stays_a_short_one(server, value):
    """And the answer is that of the review."""
    asked = review()
    asked["request"] |= {"uid": "field", "namespace": value, "name": value, "operation": "CREATE"}
    status, response = server.review("/validate", asked)
    line = server.log_file.read_text("utf-8").splitlines()[-1]

    assert (200, "field", False) == (status, response["uid"], response["allowed"])
    assert len(line) < 5_000
    assert "field" == json.loads(line, parse_constant=int)["uid"]
    assert 0 == server.metric("evenkeel_panics_total")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda v: v.name)
def test_tls_of_today_is_spoken(server, version):
    context = ssl.create_default_context(cadata=(server.log_file.parent / "tls.crt").read_text())
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=PATIENCE)
    connection.request("GET", "/healthz")

    assert 200 == connection.getresponse().status
    connection.close()


BROKEN_RULE = f"""
from dataclasses import replace
from webhook import rules
def check(subject):
    raise RuntimeError("broken on purpose")
rules.RULES["empty-selector"] = replace(rules.RULES["empty-selector"], check=check)
{MAIN}
"""


@pytest.mark.parametrize(("on_error", "allowed"), [("Allow", True), ("Deny", False)])
def test_an_error_of_our_own_is_answered_as_the_policy_says(tmp_path, on_error, allowed):
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUILT_IN.replace("onError: Allow", f"onError: {on_error}"))
    with serving(tmp_path, "--policy", policy, program=BROKEN_RULE) as running:
        status, response = running.review("/validate", review())

        assert (200, "r1", allowed) == (status, response["uid"], response["allowed"])
        assert "Traceback" not in json.dumps(response) and "broken on purpose" not in json.dumps(response)
        assert 1 == running.metric("evenkeel_panics_total")
        assert ["r1"] == [line["uid"] for line in running.lines("unexpected error")]


def test_a_policy_is_read_again_through_a_swapped_link(tmp_path):
    """As a ConfigMap does it: ..data is a link to a folder, and is replaced by another."""
    for name, text in (("one", BUILT_IN), ("two", BUILT_IN.replace("Deny", "Warn", 1)), ("three", "kind: Nonsense")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(text)

    def swap(name):
        (tmp_path / "new").symlink_to(tmp_path / name)
        os.replace(tmp_path / "new", tmp_path / "data")

    swap("one")
    with serving(tmp_path, "--policy", tmp_path / "data" / "policy.yaml") as running:
        assert not running.review("/validate", review())[1]["allowed"]
        swap("two")
        until(lambda: running.review("/validate", review())[1]["allowed"], "the new policy")
        assert 2 == running.metric("evenkeel_policy_generation")
        swap("three")
        until(lambda: running.metric("evenkeel_policy_reload_failures_total"), "the refusal of a bad one")
        assert running.review("/validate", review())[1]["allowed"]
        assert "refused: " in running.call("GET", "/readyz?verbose")[1].decode()
        assert 1 == len(running.lines("policy refused, the last good one stays"))


def test_a_worker_that_follows_begins_with_the_policy_of_today(tmp_path):
    """Not with that of the start, for however short a time."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(BUILT_IN)
    with serving(tmp_path, "--policy", policy) as running:
        policy.write_text(BUILT_IN.replace("Deny", "Warn", 1))
        until(lambda: running.review("/validate", review())[1]["allowed"], "the new policy")
        for _ in range(3):
            os.kill(running.worker(), signal.SIGKILL)

            assert running.review("/validate", review())[1]["allowed"]


class TestPolicyFile:
    @pytest.fixture
    def policy(self, tmp_path):
        path = tmp_path / "policy.yaml"
        path.write_text(BUILT_IN)
        return path, PolicyFile(path, Reviewer(built_in(), Unchanging(None), features(36), Metrics()))

    def test_what_is_being_written_is_waited_for(self, policy):
        """The first half of a policy is a policy."""
        path, file = policy
        before, whole = file.service.policy, BUILT_IN.replace("Deny", "Warn", 1)
        parse_policy(whole[: whole.index("defaulting:")])
        path.write_text(whole[: whole.index("defaulting:")])
        file.reload()
        path.write_text(whole)
        file.reload()
        assert before is file.service.policy

        file.reload()
        assert parse_policy(whole) == file.service.policy

    def test_a_file_that_is_there_again_is_no_problem_any_more(self, policy):
        path, file = policy
        path.unlink()
        for _ in range(2):
            file.reload()
        assert file.check() == Check("policy", True, f"{path}; refused: No such file or directory")

        path.write_text(BUILT_IN)
        for _ in range(2):
            file.reload()
        assert file.check() == Check("policy", True, str(path))


def test_a_certificate_is_read_again_without_dropping_a_connection(tmp_path):
    with serving(tmp_path) as running:
        kept = running.connection()
        kept.request("GET", "/healthz")
        kept.getresponse().read()
        ca = certificate(tmp_path)
        until(lambda: running.lines("certificate reloaded"), "the new certificate")
        running.context = ssl.create_default_context(cadata=ca)
        kept.request("GET", "/healthz")

        assert 200 == kept.getresponse().status
        assert 200 == running.call("GET", "/healthz")[0]
        kept.close()


def test_a_certificate_that_cannot_be_used_changes_nothing_and_is_told(tmp_path):
    with serving(tmp_path) as running:
        (tmp_path / "tls.crt").write_text("garbage")
        until(lambda: running.metric("evenkeel_certificate_reload_failures_total"), "the refusal")

        assert "refused: " in running.call("GET", "/readyz?verbose")[1].decode()
        assert 1 == len(running.lines("certificate refused, the last good one stays"))


def test_the_example_leaves_no_server_behind(tmp_path):
    """Whatever ends it: `make run` in a terminal that is closed."""
    port = free_port()
    command = [sys.executable, "-c", MAIN, "example", "--port", str(port), "--once"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    with socket.create_server(("127.0.0.1", port)):
        pass  # nobody listens there any more


def test_sigterm_finishes_what_has_begun_and_closes_idle_connections(tmp_path):
    with serving(tmp_path) as running, closing(running.connection()) as idle, closing(running.connection()) as half:
        idle.request("GET", "/healthz")
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


def test_a_server_stopped_while_it_starts_leaves_no_key_behind(tmp_path):
    command = [sys.executable, "-c", MAIN, "serve", "--bind", "127.0.0.1:0", "--self-signed"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline().startswith(b"CA certificate: ")
        (folder,) = tmp_path.glob("evenkeel-*")
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "tls.key")]
        process.terminate()
        process.communicate(timeout=PATIENCE)

    assert [0o700, 0o600] == modes
    assert 0 == process.returncode
    assert [] == list(tmp_path.iterdir())


READ_ONLY = f"""
import tempfile
tempfile._candidate_tempdir_list = list
{MAIN}
"""


@pytest.mark.skipif(not os.access(HEARTBEAT_FOLDER, os.W_OK), reason=f"{HEARTBEAT_FOLDER} cannot be written")
def test_a_read_only_file_system_is_enough(tmp_path):
    """As a hardened Pod has it."""
    with serving(tmp_path, program=READ_ONLY) as running:
        assert 200 == running.review("/validate", review())[0]


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6")
def test_without_a_host_every_address_is_served(tmp_path):
    with serving(tmp_path, host="", names=("127.0.0.1", "::1")) as running:
        for host in ("127.0.0.1", "::1"):
            running.host = host
            assert 200 == running.call("GET", "/readyz")[0]


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6")
def test_ipv6_is_served(tmp_path):
    with serving(tmp_path, host="[::1]", names=("::1",)) as running:
        assert 200 == running.review("/validate", review())[0]


def test_port_0_is_any_and_is_told(tmp_path):
    """In the log, which is the only place that knows it."""
    certificate(tmp_path)
    options = ["--bind", "127.0.0.1:0", "--tls-cert", "tls.crt", "--tls-key", "tls.key"]
    command = [sys.executable, "-c", MAIN, "serve", *options]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        told = next(line for line in map(json.loads, process.stderr) if line["message"].startswith("Listening at: "))
        port = int(told["message"].split(":")[3].split()[0])
        socket.create_connection(("127.0.0.1", port)).close()
        process.terminate()
        process.communicate(timeout=PATIENCE)

    assert 0 == process.returncode


class Unusable(NamedTuple):
    name: str
    options: tuple
    said: str


UNUSABLE = [
    Unusable("no certificate", (), "--tls-cert and --tls-key: both are needed, or --tls-secret"),
    Unusable("a Secret for no name", ("--tls-secret", "a/b"), "--tls-names: a serving certificate must have a name"),
    Unusable(
        "a Secret for a name that is none",
        ("--tls-secret", "a/b", "--tls-names", "a.svc, http://a"),
        '--tls-names: "http://a": must be a DNS name or an IP address',
    ),
    Unusable(
        "a Secret of no namespace",
        ("--tls-names", "a.b.svc", "--tls-secret", "c"),
        '--tls-secret: found "c", wanted NAMESPACE/NAME',
    ),
    Unusable(
        "two certificates",
        ("--self-signed", "--tls-secret", "a/b"),
        "--self-signed and --tls-secret: found 2 certificates, wanted one of them",
    ),
    Unusable(
        "a lifetime that is none",
        ("--tls-names", "a.b.svc", "--tls-secret", "a/c", "--certificate-lifetime", "1y"),
        '--certificate-lifetime: found "1y", wanted a duration such as 90d, 36h or 15m',
    ),
    Unusable(
        "a lifetime that is none, where it is not needed",
        ("--self-signed", "--ca-lifetime", "banana"),
        '--ca-lifetime: found "banana", wanted a duration such as 90d, 36h or 15m',
    ),
    Unusable(
        "a CA that ends too soon",
        ("--tls-names", "a.b.svc", "--tls-secret", "a/c", "--ca-lifetime", "100d"),
        "--ca-lifetime: found 100d, wanted twice --certificate-lifetime or more",
    ),
    Unusable(
        "a certificate that is not there", ("--tls-cert", "no.crt", "--tls-key", "tls.key"), "no.crt: No such file"
    ),
    Unusable("a certificate that is none", ("--tls-cert", "bad", "--tls-key", "tls.key"), "bad: is not PEM"),
    Unusable("another's key", ("--tls-cert", "tls.crt", "--tls-key", "other/tls.key"), "is not the key of tls.crt"),
    Unusable("a bad policy", ("--self-signed", "--policy", "bad"), "bad: "),
    Unusable("a policy that is not there", ("--self-signed", "--policy", "none"), "none: No such file"),
    Unusable("a bad cluster", ("--self-signed", "--cluster", "bad"), "bad: "),
    Unusable("a bad version", ("--self-signed", "--kubernetes-version", "2"), 'found "2", wanted a version such as 1.'),
    Unusable("a bad address", ("--self-signed", "--bind", "nowhere"), '--bind: found "nowhere", wanted HOST:PORT'),
    Unusable(
        "half an IPv6 address", ("--self-signed", "--bind", "[::1:80"), '--bind: found "[::1:80", wanted HOST:PORT'
    ),
    Unusable("a bad log level", ("--self-signed", "--log-level", "loud"), '--log-level: found "loud", wanted one of'),
    Unusable("a bad number of threads", ("--self-signed", "--threads", "0"), '--threads: found "0", wanted a number'),
    Unusable("an address in use", ("--self-signed",), "Address already in use"),
]


@pytest.mark.parametrize("case", UNUSABLE, ids=lambda case: case.name)
def test_what_cannot_be_used_is_said_in_one_line(tmp_path, case):
    certificate(tmp_path)
    (tmp_path / "other").mkdir()
    certificate(tmp_path / "other")
    (tmp_path / "bad").write_text("nonsense: [")
    port = free_port()
    command = [sys.executable, "-c", MAIN, "serve", "--bind", f"127.0.0.1:{port}", *case.options]
    with socket.create_server(("127.0.0.1", port)):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert 2 == done.returncode
    assert case.said in done.stderr
    assert 1 == len(done.stderr.splitlines())
    assert done.stderr.startswith("evenkeel: ")


def test_settings_come_from_the_environment_too(tmp_path):
    with serving(tmp_path, EVENKEEL_LOG_LEVEL="debug") as running:
        running.review("/validate", review(workload("Deployment", constraint())))

        assert running.lines("allowed")


def test_the_recorded_reviews_over_http(tmp_path):
    """The replay of test_replay.py against the running server: each answer is the core's, under its own uid."""
    with gzip.open(ROOT / "tests" / "data" / "admission-reviews.jsonl.gz", "rt") as file:
        recorded = [json.loads(line) for line in file]
    created = [
        one["review"]["request"]["object"] for one in recorded if one["review"]["request"]["operation"] == "CREATE"
    ]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": created}))
    cluster, patched = from_objects(created), 0
    with serving(tmp_path, "--cluster", dump, "--kubernetes-version", "1.36") as running:
        with closing(running.connection()) as connection:
            for one in recorded:
                asked, path = one["review"]["request"], one["path"]
                connection.request("POST", path, json.dumps(one["review"]), {"Content-Type": "application/json"})
                response = connection.getresponse()
                decision = decide(asked, path.strip("/"), built_in(), cluster, features(36))
                patched += bool(decision.patch)

                assert (200, wire.answer(asked["uid"], decision)) == (response.status, response.read())
                assert decision.allowed
        assert patched == sum(
            running.metric(f'evenkeel_defaulted_pods_total{{owner_kind="{kind}"}}')
            for kind in ("ReplicaSet", "StatefulSet", "ReplicationController")
        )
    assert (92, True) == (len(recorded), patched > 0)


@pytest.mark.parametrize(("value", "on"), [("true", True), ("1", True), ("false", False), ("", False)])
def test_a_switch_in_the_environment_is_true_or_false(monkeypatch, value, on):
    setting = next(one for one in SETTINGS if one.metavar is None)
    monkeypatch.setenv(setting.variable, value)

    assert on == bool(value_of(setting, argparse.Namespace(self_signed=None)))


def test_a_switch_that_is_neither_is_refused(monkeypatch):
    setting = next(one for one in SETTINGS if one.metavar is None)
    monkeypatch.setenv(setting.variable, "maybe")

    with pytest.raises(UsageError, match='EVENKEEL_SELF_SIGNED: found "maybe", wanted true or false'):
        value_of(setting, argparse.Namespace(self_signed=None))
