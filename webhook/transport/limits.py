"""Limits for one client and for all clients together, and the response to a client that exceeds one."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

RECORD = 16 << 10  # Bytes that are read from a connection at a time; a TLS record holds no more.


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Times in seconds, sizes in bytes, and counts."""

    greeting: float = 10.0  # Seconds from accept to the first byte of a request, the handshake included.
    head: float = (
        10.0  # Seconds from the first byte to the end of the headers; kube-apiserver sends them in one packet.
    )
    body: float = 10.0  # Seconds for a body or a response, and one more for every `rate` bytes of it:
    rate: int = 1 << 20  # if slower, kube-apiserver times out (after at most 30 s) before its largest are through.
    linger: float = 2.0  # Seconds to read on after the last response,
    linger_bytes: int = 44 << 20  # and bytes: a client may send a whole body that is too large before it reads.
    head_bytes: int = 32 << 10  # kube-apiserver sends less than 1 KiB.
    body_bytes: int = 40 << 20  # The largest review has about 36 MiB.
    chunks: int = 20_000  # The largest body in chunks of 2 KiB; smaller chunks take too much of the main thread's time.
    large_bytes: int = 1 << 20  # Bodies larger than this take turns:
    large_bodies: int = 2  # at most so many are received or answered at a time.
    held_bytes: int = 128 << 20  # Of all unanswered requests: two of the largest, and thousands of usual ones.
    handshakes: int = 4  # Handshake steps per turn, up to 1 ms each, so that many new clients do not delay reviews.


class Refused(Exception):
    """The request is answered with this status, and the connection is closed."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason


def last_response(status: int, body: bytes = b"") -> bytes:
    """A whole response that closes the connection; `body` is JSON or empty."""
    kind = "Content-Type: application/json\r\n" if body else ""
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n{kind}Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body
