"""The routes: what is answered to good and bad input, over TLS and without a server."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from typing import NamedTuple

import pytest
from werkzeug.test import EnvironBuilder

from tests.support.admission_reviews import raw
from tests.support.build import FEATURES, pod
from webhook.cluster.cluster import Unchanging
from webhook.policy import parsing as policies
from webhook.server.app import JSON_TYPE, create_app
from webhook.server.metrics import Metrics
from webhook.server.reviewer import Reviewer
from webhook.server.transport.thread_role import StepAside

MEGABYTE = 1 << 20


class Bad(NamedTuple):
    name: str
    body: bytes
    status: int
    uid: str = ""
    allowed: bool = False
    headers: dict = {}  # noqa: RUF012
    method: str = "POST"
    path: str = "/validate"


def padded(text):
    """A review that grows by `text`, put where nobody looks."""
    return raw(x="@").replace(b'"@"', text)


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
    Bad("OPTIONS where POST belongs", b"", 405, method="OPTIONS"),
    Bad("what the health port answers", b"", 404, method="GET", path="/healthz"),
    Bad("metrics, which the health port gives", b"", 404, method="GET", path="/metrics"),
    Bad("an unknown path", raw(), 404, path="/nonsense"),
    Bad("a path that could be redirected", raw(), 404, path="/validate//"),
    Bad("a slash at its end", raw(), 404, path="/validate/"),
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
    assert 200 == server.probe("/healthz")[0]


def test_a_wrong_path_or_method_is_told_the_right_one(server):
    said = {
        path: json.loads(server.call("GET", path)[1])["response"]["status"]["message"] for path in ("/a", "/mutate")
    }

    assert "GET /a: wanted POST /mutate or /validate; probes and metrics are at --health-bind" == said["/a"]
    assert "GET /mutate: wanted POST" == said["/mutate"]


def test_too_large_is_refused_before_it_is_sent(server):
    with closing(server.connection()) as connection:
        connection.putrequest("POST", "/validate")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(40 * MEGABYTE + 1))
        connection.endheaders()
        response = connection.getresponse()
        answer = json.loads(response.read())["response"]

        assert (413, "", False) == (response.status, answer["uid"], answer["allowed"])
        assert TOO_LARGE == answer["status"]["message"]
    assert [TOO_LARGE] == [line["reason"] for line in server.lines("request refused") if refused(line)]
    assert 1 <= server.metric('evenkeel_requests_refused_total{code="413"}')


TOO_LARGE = "Content-Length 41943041, wanted at most 41943040"


def refused(line):
    return line["code"] == 413 and line["reason"].startswith("Content-Length")


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
    assert 200 == server.probe("/healthz")[0]


@pytest.mark.alone
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
    assert (200, b"ready\n") == server.probe("/readyz")
    text = server.probe("/readyz?verbose")[1].decode()

    assert ["[+] port", "[+] certificate", "[+] policy", "[+] cluster", "ready"] == [
        line.partition(":")[0] for line in text.splitlines()
    ]


@pytest.fixture
def client():
    """Of the application alone, with the built-in policy and no cluster."""
    reviewer = Reviewer(policies.built_in(), Unchanging(None), FEATURES, Metrics())
    return create_app(reviewer).test_client()


@pytest.mark.parametrize("host", ["localhost", "evenkeel.evenkeel.svc:443", "[::1]:8443", "no host at all/?#", ""])
def test_the_host_that_a_client_names_makes_no_difference(client, host):
    response = client.post("/validate", data=raw(), content_type=JSON_TYPE, headers={"Host": host})

    assert (200, "r1") == (response.status_code, response.json["response"]["uid"])


def test_an_answer_to_head_has_no_body(client):
    """And the length that it would have."""
    response = client.head("/validate")

    assert (405, b"") == (response.status_code, response.data)
    assert int(response.headers["Content-Length"]) > 0


def test_a_review_that_would_wait_steps_aside():
    """Neither Flask nor the reviewer answers for it; the worker asks again, in a thread."""

    class Asking(Unchanging):
        def view_for(self, namespace, owner):
            raise StepAside

    reviewer = Reviewer(policies.built_in(), Asking(None), FEATURES, Metrics())
    app = create_app(reviewer)
    environ = EnvironBuilder(path="/mutate", method="POST", content_type=JSON_TYPE, data=raw(pod())).get_environ()
    with pytest.raises(StepAside):
        app(environ, lambda *_: None)
    assert (set(), 0) == (reviewer.metrics.answering, reviewer.metrics.panics._value.get())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": "Application/JSON"}, 200),
        ({"Content-Type": JSON_TYPE, "Content-Encoding": "identity"}, 200),
        ({"Content-Type": JSON_TYPE, "Content-Encoding": ""}, 200),
        ({"Content-Type": JSON_TYPE, "Content-Encoding": "br"}, 415),
        ({"Content-Type": "application/json-patch+json"}, 415),
        ({}, 415),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_which_content_is_read(client, path, headers, status):
    response = client.post(path, data=raw(), headers=headers)

    assert (status, JSON_TYPE) == (response.status_code, response.content_type)
    assert ("r1" if status == 200 else "") == response.json["response"]["uid"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_post_is_allowed_and_it_says_so(client, method):
    response = client.open("/mutate", method=method)

    assert (405, "POST") == (response.status_code, response.headers["Allow"])


def test_each_path_is_a_phase(client):
    """The Deployment is denied, and only by the one that validates."""
    answers = [client.post(path, data=raw(), content_type=JSON_TYPE) for path in ("/mutate", "/validate")]

    assert [True, False] == [answer.json["response"]["allowed"] for answer in answers]


def test_who_asks_for_nothing_that_is_there_is_told_once_and_counted():
    reviewer = Reviewer(policies.built_in(), Unchanging(None), FEATURES, Metrics())
    client = create_app(reviewer).test_client()
    for path in ("/", "/mutate/", "//validate", "/readyz"):
        assert 404 == client.post(path, data=raw(), content_type=JSON_TYPE).status_code
    client.get("/mutate")

    text = reviewer.metrics.text().decode()
    assert 'requests_refused_total{code="404"} 4.0' in text and 'requests_refused_total{code="405"} 1.0' in text
