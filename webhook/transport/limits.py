"""What one client may take of a worker, what all of them together, and how a client hears that it was too much."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

RECORD = 16 << 10  # Bytes that are read from a connection at a time; TLS sends its content in pieces of this size.


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Seconds, bytes and numbers."""

    greeting: float = 10.0  # Seconds from accept, through the handshake, to the first byte of a request.
    head: float = 10.0  # Seconds from there through the headers, which kube-apiserver sends in one packet.
    body: float = 10.0  # Seconds for a body or a response, and one more for every `rate` bytes of it:
    rate: int = 1 << 20  # any slower, and kube-apiserver gives up (after 30 s at most) before its largest are through.
    linger: float = 2.0  # Seconds to read on after the last response,
    linger_bytes: int = 44 << 20  # and bytes: a client may send the whole of a body a little too large before it looks.
    head_bytes: int = 32 << 10  # kube-apiserver sends less than 1 KiB.
    body_bytes: int = 40 << 20  # The largest review has about 36 MiB.
    chunks: int = 20_000  # The largest body in chunks of 2 KiB: tiny ones cost the main thread more than they bring.
    large_bytes: int = 1 << 20  # Bodies beyond this take turns,
    large_bodies: int = 2  # so many at a time, until they are answered.
    held_bytes: int = 128 << 20  # Of all requests not yet answered: two of the largest, and thousands of usual ones.
    handshakes: int = 4  # Steps per turn, up to a millisecond each, so that a crowd at the door delays no review.


class Refused(Exception):
    """This status is the last that the client hears."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason


def last_response(status: int, body: bytes = b"") -> bytes:
    """To a request that the application never saw; a body is JSON."""
    kind = "Content-Type: application/json\r\n" if body else ""
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n{kind}Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body
