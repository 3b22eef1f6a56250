"""
HTTP as gunicorn has it: a head to a request, and the response of a WSGI application to bytes.

Nothing else uses `gunicorn.http`.  Of a request, the transport uses `body`, `headers`, `query`, `version` and
`force_close`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from wsgiref.types import WSGIApplication

from gunicorn.config import Config
from gunicorn.http import get_parser, wsgi
from gunicorn.http.errors import (
    ExpectationFailed,
    InvalidHeader,
    InvalidHTTPVersion,
    LimitRequestHeaders,
    LimitRequestLine,
    UnsupportedTransferCoding,
)

from webhook.server.transport.connection import Connection
from webhook.server.transport.limits import Refused

CONFIG = Config()
CONFIG.set("forwarded_allow_ips", "")  # There is no proxy whose X-Forwarded headers could be trusted.
CONFIG.set("http_parser", "python")  # The one that is tested, even if a faster one is installed.
NOBODY = "0.0.0.0", 0  # The peer's address for the parser: one whose headers no setting trusts.
STATUS = {LimitRequestLine: 414, LimitRequestHeaders: 431, ExpectationFailed: 417, UnsupportedTransferCoding: 501}
HTTP_1_1 = (1, 1)
COMPRESSED = re.compile(r"\b(?:compress|deflate|gzip)\b", re.IGNORECASE)  # The codings that gunicorn's parser knows.
HEADS = 128  # How many heads are remembered.
HEAD_BYTES = 2048  # How long these may be: one of kube-apiserver has some 300 bytes.
LENGTH = b"\r\nContent-Length: "  # As Go writes it; in another spelling, each length is a head of its own.
LENGTH_DIGITS = 9


def parse(head: bytes) -> Any:
    """Parse a whole head; the request is that of gunicorn's parser.  Refused if it is malformed."""
    try:
        request = parsed(head)
    except Exception as error:
        raise refusal(error) from error
    request.version = min(request.version, HTTP_1_1)  # The response gets the same version.
    return request


def parsed(head: bytes) -> Any:
    """
    Parse a whole head, or copy the request of one that differs only in its Content-Length.

    The heads of an API server or a probe differ in nothing else.  Raises what the parser does.
    """
    begin = head.find(LENGTH) + len(LENGTH)
    end = head.find(b"\r\n", begin)
    length = head[begin:end]
    if len(head) > HEAD_BYTES:
        return next(get_parser(CONFIG, [head], NOBODY))
    if begin < len(LENGTH) or len(length) > LENGTH_DIGITS or not length.isdigit():
        length, template = b"", remembered(head)
    else:
        template = remembered(head[:begin], b"0", head[end:])
    request = object.__new__(type(template))
    vars(request).update(vars(template))  # A copy, in a quarter of the time of copy().
    request.headers = [
        (name, length.decode() if length and name == "CONTENT-LENGTH" else value) for name, value in request.headers
    ]
    return request


@lru_cache(HEADS)
def remembered(*parts: bytes) -> Any:
    """Parse a head in parts, one of which may stand for any length.  Copy the request, and never change it."""
    return next(get_parser(CONFIG, parts, NOBODY))


def coding_of(request: Any) -> str:
    """The transfer codings of all header lines, joined as in one line; empty without any."""
    return ", ".join(value for name, value in request.headers if name == "TRANSFER-ENCODING")


def unknown_coding(coding: str) -> Refused:
    return Refused(415, f"Transfer-Encoding: found {coding}, wanted chunked or none")


def refusal(error: Exception) -> Refused:
    """The refusal of a head that gunicorn's parser does not take."""
    if isinstance(error, InvalidHeader) and error.hdr == "TRANSFER-ENCODING" and error.req:
        coding = coding_of(error.req)
        if COMPRESSED.search(coding):
            return unknown_coding(coding)
    if isinstance(error, InvalidHeader) and error.hdr == "CONTENT-LENGTH":
        return Refused(400, "Content-Length: wanted one number of bytes, or chunks instead")
    if isinstance(error, InvalidHTTPVersion):
        version = ".".join(map(str, error.version)) if isinstance(error.version, tuple) else error.version
        return Refused(400, f"HTTP version: found {version}, wanted 1.0 or 1.1")
    return Refused(STATUS.get(type(error), 400), str(error))


def asks_to_continue(request: Any) -> bool:
    """Whether the client waits for `100 Continue`; True only once, or gunicorn would send it again."""
    asks = request._expected_100_continue
    request._expected_100_continue = False
    return bool(asks)


def respond(application: WSGIApplication, connection: Connection, last: bool) -> bool:
    """
    Write the application's response to the connection's outbox; return whether another request may follow.

    After the `last` none may, and the response says so.
    """
    request = connection.request
    response, environ = wsgi.create(request, connection.outbox, connection.client, connection.server, CONFIG)
    environ["wsgi.url_scheme"] = "https" if connection.secure else "http"
    environ["wsgi.multithread"] = True
    if last:
        response.force_close()
    content = application(environ, response.start_response)
    try:
        for part in content:
            response.write(part)
        response.close()
    finally:
        if hasattr(content, "close"):
            content.close()
    return not response.should_close()
