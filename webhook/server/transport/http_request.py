"""Reads one whole request from a connection: its head, and its body in memory."""

from __future__ import annotations

import io
import re
from math import inf
from time import monotonic
from typing import Any

from webhook.server.transport import http
from webhook.server.transport.connection import NO_EVENT, Connection, Script
from webhook.server.transport.limits import Refused
from webhook.server.transport.memory import Memory

HEAD_END = re.compile(rb"\n\r?\n")  # Without the CR the head is malformed; gunicorn's parser refuses it.
LINE_END = re.compile(rb"\r\n")
LINE_BYTES = 4096
TRAILERS_END = re.compile(rb"\A\r\n|\r\n\r\n")
TIMEOUT = re.compile(r"(?:^|&)timeout=([1-9]|10)s(?:&|$)")  # As kube-apiserver says how long it waits.
LONGEST_TIMEOUT = 10
CHUNKS = 64  # Read in a turn, each in some 7 µs: 16 KiB may hold 2,700 chunks of one byte.
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t -~\x80-\xff]*)?\r\n")


def receive(connection: Connection, memory: Memory) -> Script[Any]:
    """
    Return the next request, as gunicorn's parser makes it, with its body in memory.

    Refused, with a status, if it is malformed or too large.
    """
    connection.begun = monotonic()
    if not connection.inbox:
        yield from connection.more()
    connection.idle = False
    if not connection.secure:
        if not connection.inbox[:1].isupper():  # It is TLS, say: do not wait for the end of a head.
            raise Refused(400, "this port speaks plain HTTP, without TLS; found no HTTP request")
        connection.allow(inf)  # The client's time does not run while it waits for its turn.
        yield from connection.host.give_way(connection)
    connection.allow(connection.limits.head, 408)
    head = yield from read_until(connection, HEAD_END, connection.limits.head_bytes, 431)
    request = http.parse(head)
    headers = dict(request.headers)
    length = int(headers.get("CONTENT-LENGTH", 0))
    if length > connection.limits.body_bytes:
        raise Refused(413, f"Content-Length {length}, wanted at most {connection.limits.body_bytes}")
    patience = turn_seconds(request.query)
    if length > connection.limits.large_bytes:
        yield from wait_for_turn(connection, memory, length, patience)
    if http.asks_to_continue(request):
        connection.outbox.extend(b"HTTP/1.1 100 Continue\r\n\r\n")
        yield from connection.push()
    connection.allow(connection.limits.body, 408)
    body = io.BytesIO()
    coding = http.coding_of(request)
    if not coding:
        yield from read_bytes(connection, length, body)
    elif coding.lower() == "chunked":
        yield from read_chunks(connection, memory, body, patience)
    else:  # gunicorn's parser accepts "gzip, chunked", but does not decode gzip.
        raise http.unknown_coding(coding)
    if connection.outdated:
        request.force_close()
    request.body = io.BytesIO(body.getvalue())  # No copy: both share the bytes, and so does read() of the whole body.
    return request


def read_until(connection: Connection, end: re.Pattern[bytes], limit: int, status: int) -> Script[bytes]:
    """Read the bytes up to and including `end`. Refused with `status` if there are more than `limit`."""
    searched = 0
    while not (match := end.search(connection.inbox, searched)) and len(connection.inbox) <= limit:
        searched = max(0, len(connection.inbox) - 3)  # The last three bytes may begin an end.
        yield from connection.more()
    if not match or match.end() > limit:
        raise Refused(status, f"request head, chunk line or trailers of more than {limit} bytes")
    text = bytes(connection.inbox[: match.end()])
    del connection.inbox[: match.end()]
    return text


def turn_seconds(query: str) -> float:
    """
    How long a large body may wait for its turn.

    A client can then ask twice, with a second between, and has a second left to send the body and be answered.
    """
    match = TIMEOUT.search(query)
    return max(0, (int(match[1]) if match else LONGEST_TIMEOUT) - 2) / 2


def wait_for_turn(connection: Connection, memory: Memory, length: int, seconds: float) -> Script[None]:
    """Wait until a large body may be read. Refused with 429 if that takes too long."""
    connection.allow(seconds, 429)
    try:
        while not memory.has_turn(connection, length):
            yield NO_EVENT
    except Refused as refused:
        raise Refused(
            429, f"a body of {length} bytes must wait until other large bodies are read; try again"
        ) from refused


def read_bytes(connection: Connection, length: int, body: io.BytesIO) -> Script[None]:
    """Move `length` bytes to the body."""
    while length:
        if not connection.inbox:
            yield from connection.more()
        part = connection.inbox[:length]
        del connection.inbox[:length]
        length -= len(part)
        body.write(part)
        connection.deadline += len(part) / connection.limits.rate
        connection.came += len(part)


def read_chunks(connection: Connection, memory: Memory, body: io.BytesIO, patience: float) -> Script[None]:
    """Move the content of all chunks to the body; trailers are dropped."""
    for number in range(1, connection.limits.chunks + 1):
        if number % CHUNKS == 0:
            yield from connection.host.give_way(connection)
        line = yield from read_until(connection, LINE_END, LINE_BYTES, 400)
        if not (match := CHUNK_SIZE.fullmatch(line)):
            raise Refused(400, f"chunk size: found {line!r}, wanted hexadecimal digits")
        length = int(match[1], 16)
        if body.tell() + length > connection.limits.body_bytes:
            raise Refused(413, f"{body.tell() + length} bytes in chunks, wanted at most {connection.limits.body_bytes}")
        if not length:
            break
        if body.tell() <= connection.limits.large_bytes < body.tell() + length:
            # How large it becomes is not known: count it as the largest.
            yield from wait_for_turn(connection, memory, connection.limits.body_bytes, patience)
            connection.allow(connection.limits.body, 408)
        yield from read_bytes(connection, length, body)
        if (yield from read_until(connection, LINE_END, LINE_BYTES, 400)) != b"\r\n":
            raise Refused(400, "chunk longer than its size")
    else:
        raise Refused(413, f"more than {connection.limits.chunks} chunks")
    yield from read_until(connection, TRAILERS_END, connection.limits.head_bytes, 431)
