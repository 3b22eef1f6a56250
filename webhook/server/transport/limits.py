"""Limits for one client and for all clients together, and the response to a client that exceeds one."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from http import HTTPStatus

RETRYABLE = (429, 503)  # For a load that other clients cause: the same request may be answered later.
RECORD = 16 << 10  # Bytes read from a connection at a time; the maximum of a TLS record.


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Times in seconds, sizes in bytes, and counts."""

    connections: int = 1_000  # At a time.
    brief: bool = False  # Each connection is for one request: those that a peer has opened of late are its load.
    keep_alive: float = 120.0  # Longer than the 90 seconds after which kube-apiserver closes idle connections.
    greeting: float = 10.0  # Seconds from accept to the first byte of a request, the handshake included.
    head: float = (
        10.0  # Seconds from the first byte to the end of the headers; kube-apiserver sends them in one packet.
    )
    body: float = 10.0  # Seconds for a body or a response, plus one for every `rate` bytes of it.
    rate: int = 1 << 20  # Slower than this, kube-apiserver times out (30 s at most) before its largest body is sent.
    linger: float = 2.0  # Seconds to keep reading after the last response, plus one for every `rate` bytes,
    linger_bytes: int = 44 << 20  # and bytes: a client may send a whole oversized body before it reads the response.
    head_bytes: int = 32 << 10  # kube-apiserver sends less than 1 KiB.
    body_bytes: int = 40 << 20  # The largest review has 36 MiB: objects of 3 MiB, old and new, of `<`, escaped.
    chunks: int = 20_000  # The largest body in chunks of 2 KiB; smaller chunks take too much of the main thread's time.
    large_bytes: int = 1 << 20  # Bodies larger than this take turns:
    large_held: int = 80 << 20  # those received or answered at a time have at most this many, two of the largest.
    held_bytes: int = 128 << 20  # For all unanswered requests: the large ones and thousands of usual ones.
    slice: float = 0.002  # For turns before new events are looked for and clients accepted; one turn may take longer.
    handshakes: int = 4  # Handshake steps per turn, up to 1 ms each, so that many new clients do not delay reviews.
    small_bytes: int = 128 << 10  # Up to this, a body takes milliseconds and 6 MiB: the loop's own thread answers it.

    @property
    def fair_share(self) -> int:
        """The number of connections up to which all peers are alike when some must be closed."""
        return self.connections // 16


OTHER_DESCRIPTORS = 256  # For newcomers before room is made, for the health port, for files, and for the API server.
LEAST_CLIENTS = 32  # Some API servers, each with some calls at a time.


class TooFewDescriptors(Exception):
    """The process may not open enough files to serve."""


def clients() -> int:
    """
    Return the most clients at a time, so that descriptors are left for all else; raise the soft limit if it may.

    TooFewDescriptors if the hard limit leaves less than LEAST_CLIENTS.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return Limits.connections
    wanted = Limits.connections + OTHER_DESCRIPTORS
    if soft < wanted and soft != hard:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft < LEAST_CLIENTS + OTHER_DESCRIPTORS:
        raise TooFewDescriptors(
            f"open files: found a hard limit of {hard}, wanted {LEAST_CLIENTS + OTHER_DESCRIPTORS} or more; "
            "raise it (ulimit -Hn)"
        )
    return min(Limits.connections, soft - OTHER_DESCRIPTORS)


class Refused(Exception):
    """Answer the request with this status, and close the connection."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason


def last_response(status: int, body: bytes = b"", content_type: str = "application/json") -> bytes:
    """Return a complete response that closes the connection."""
    kind = f"Content-Type: {content_type}\r\n" if body else ""
    kind += "Retry-After: 1\r\n" if status in RETRYABLE else ""  # Which makes kube-apiserver ask again.
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n{kind}Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body
