"""What gunicorn makes of a head, and of the response of an application."""

from __future__ import annotations

from io import BytesIO
from types import SimpleNamespace

import pytest
from gunicorn.http import get_parser

from tests.support.clients import head as head_of
from webhook.server.transport.connection import Outbox
from webhook.server.transport.http import (
    CONFIG,
    HEAD_BYTES,
    LENGTH_DIGITS,
    asks_to_continue,
    parse,
    parsed,
    remembered,
    respond,
)
from webhook.server.transport.limits import Refused

PEER = ("10.0.0.1", 40_000)
REVIEW = (
    b"POST /validate?timeout=5s HTTP/1.1\r\nHost: evenkeel.evenkeel.svc:443\r\nUser-Agent: kube-apiserver-admission\r\n"
    b"Content-Length: %b\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n\r\n"
)
UNLIKE = {"unreader", "body", "peer_addr", "remote_addr"}


def without_memory(head):
    return next(get_parser(CONFIG, [head], PEER))


def fields(request):
    return {name: value for name, value in vars(request).items() if name not in UNLIKE}


HEADS_TO_READ = [
    REVIEW % b"5000",
    REVIEW % b"0",
    REVIEW % b"007",
    REVIEW % (b"9" * LENGTH_DIGITS),
    REVIEW % (b"9" * (LENGTH_DIGITS + 1)),
    REVIEW.replace(b"Content-Length", b"content-LENGTH") % b"12",
    REVIEW.replace(b"Accept:", b"Expect: 100-continue\r\nConnection: close\r\nAccept:") % b"12",
    REVIEW.replace(b"Accept:", b"X: " + b"x" * HEAD_BYTES + b"\r\nAccept:") % b"12",
    REVIEW.replace(b"HTTP/1.1", b"HTTP/1.0") % b"12",
    b"\r\n" + REVIEW % b"12",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
]


@pytest.mark.parametrize("head", HEADS_TO_READ)
def test_a_head_is_read_as_without_memory(head):
    """The first time, and again."""
    wanted = fields(without_memory(head))

    assert [wanted, wanted] == [fields(parsed(head)) for _ in range(2)]


@pytest.mark.parametrize(
    "head",
    [
        REVIEW % b"",
        REVIEW % b"-1",
        REVIEW % b"1_000",
        REVIEW % b"5, 5",
        REVIEW % "\u0663".encode(),
        REVIEW % b"5\r\nContent-Length: 5",
        REVIEW % b"5\r\nContent-Length: 0",
        REVIEW % b"5\r\ncontent-length: 0",
        (REVIEW % b"5").replace(b"Host:", b"content-length: 0\r\nHost:"),
        REVIEW % b"5\r\nTransfer-Encoding: chunked",
        REVIEW.replace(b"Accept", b"Acc ept") % b"5",
        REVIEW.replace(b"POST", b"post") % b"5",
    ],
)
def test_what_gunicorn_refuses_is_refused_after_a_legal_one_too(head):
    parsed(REVIEW % b"5")
    with pytest.raises(Exception) as wanted:
        without_memory(head)

    for _ in range(2):
        with pytest.raises(wanted.type):
            parsed(head)


def test_only_the_length_differs():
    remembered.cache_clear()
    lengths = [dict(parsed(REVIEW % b"%d" % n).headers)["CONTENT-LENGTH"] for n in (5, 70, 5)]

    assert ["5", "70", "5"] == lengths
    assert (2, 1) == remembered.cache_info()[:2]


def test_what_happens_to_one_request_happens_to_no_other():
    first = parsed(REVIEW % b"5")
    first.force_close()
    first.version, first.body = (1, 0), b"12345"
    first.headers.append(("X", "x"))

    assert fields(without_memory(REVIEW % b"5")) == fields(parsed(REVIEW % b"5"))


def test_nobody_is_trusted_to_speak_for_others():
    """Whoever is in a forwarding header, and whoever sends it: all clients have their heads remembered together."""
    request = parsed(b"GET / HTTP/1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 10.0.0.9\r\n\r\n")

    assert ("http", False) == (request.scheme, request._peer_is_trusted_proxy())


WORDS = [
    (b"GET / HTTP/2.0\r\n\r\n", "HTTP version: found 2.0, wanted 1.0 or 1.1"),
    (
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "Content-Length: wanted one number of bytes, or chunks instead",
    ),
    (b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding: found gzip, wanted chunked or none"),
]


@pytest.mark.parametrize(("sent", "said"), WORDS)
def test_a_malformed_head_is_refused_with_what_is_wanted(sent, said):
    with pytest.raises(Refused) as raised:
        parse(sent)

    assert said == raised.value.reason


def test_a_client_that_asks_to_continue_is_told_once():
    request = parse(head_of(Content_Length=5, Expect="100-continue"))

    assert [True, False] == [asks_to_continue(request) for _ in range(2)]


def answered(secure=False, last=False):
    """The environment that an application is called with, the bytes of its answer, and whether another may follow."""
    seen, outbox = {}, Outbox()
    asked = SimpleNamespace(
        request=parse(head_of("/path")), outbox=outbox, client=PEER, server=("10.0.0.2", 443), secure=secure
    )
    asked.request.body = BytesIO()

    def application(environ, start_response):
        seen.update(environ)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    goes_on = respond(application, asked, last)
    return seen, bytes(outbox), goes_on


@pytest.mark.parametrize(("secure", "scheme"), [(True, "https"), (False, "http")])
def test_an_application_is_told_who_asks_for_what(secure, scheme):
    environ, answer, goes_on = answered(secure)

    assert ("/path", "10.0.0.1", scheme) == (environ["PATH_INFO"], environ["REMOTE_ADDR"], environ["wsgi.url_scheme"])
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b"\r\n\r\nok")
    assert goes_on


def test_a_last_answer_says_so():
    _, answer, goes_on = answered(last=True)

    assert b"Connection: close\r\n" in answer
    assert not goes_on
