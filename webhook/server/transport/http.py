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
NOBODY = "0.0.0.0", 0  # So nobody's headers could be trusted.
STATUS = {LimitRequestLine: 414, LimitRequestHeaders: 431, ExpectationFailed: 417, UnsupportedTransferCoding: 501}
HTTP_1_1 = (1, 1)
COMPRESSED = re.compile(r"\b(?:compress|deflate|gzip)\b", re.IGNORECASE)  # The codings that gunicorn's parser knows.
# How many heads are remembered, and how long they may be: one of kube-apiserver has some 300 bytes.
HEADS, HEAD_BYTES = 128, 2048
LENGTH = b"\r\nContent-Length: "  # As Go writes it; in another spelling it is part of what is remembered.
LENGTH_DIGITS = 9


def parse(head: bytes) -> Any:
    """Return the request of a whole head, as gunicorn's parser makes it.  Refused if malformed."""
    try:
        request = parsed(head)
    except Exception as error:
        raise refusal(error) from error
    request.version = min(request.version, HTTP_1_1)  # It is that of the response, too.
    return request


def parsed(head: bytes) -> Any:
    """
    Return the request of a whole head.

    Those of API servers and probes differ in their Content-Length only, so each is parsed once.  Raises what the parser
    does.
    """
    begin = head.find(LENGTH) + len(LENGTH)
    end = head.find(b"\r\n", begin)
    length = head[begin:end]
    if len(head) > HEAD_BYTES:
        return next(get_parser(CONFIG, [head], NOBODY))
    if begin < len(LENGTH) or len(length) > LENGTH_DIGITS or not length.isdigit():
        length, kept = b"", remembered(head)
    else:
        kept = remembered(head[:begin], b"0", head[end:])
    request = object.__new__(type(kept))
    vars(request).update(vars(kept))  # A copy, in a quarter of the time of copy().
    request.headers = [
        (name, length.decode() if length and name == "CONTENT-LENGTH" else value) for name, value in request.headers
    ]
    return request


@lru_cache(HEADS)
def remembered(*parts: bytes) -> Any:
    """Return the request of a head in parts, of which one may stand for any length; it is copied, and never changed."""
    return next(get_parser(CONFIG, parts, NOBODY))


def coding_of(request: Any) -> str:
    """Return the transfer codings of all header lines, as in one; empty without any."""
    return ", ".join(value for name, value in request.headers if name == "TRANSFER-ENCODING")


def unknown_coding(coding: str) -> Refused:
    return Refused(415, f"Transfer-Encoding: found {coding}, wanted chunked or none")


def refusal(error: Exception) -> Refused:
    """Return the refusal for a client whose head gunicorn's parser does not take."""
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
    """Return whether the client waits for `100 Continue`; once, since gunicorn would send it again."""
    asks = request._expected_100_continue
    request._expected_100_continue = False
    return bool(asks)


def respond(application: WSGIApplication, connection: Connection, last: bool) -> bool:
    """
    Write the application's response to the connection's outbox; whether another request may follow.

    None may if it is to be the `last`, and the response says so.
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
