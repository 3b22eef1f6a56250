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
    brief: bool = False  # One request a connection: the load of a peer is what it opened of late, not what is open.
    keep_alive: float = 120.0  # Longer than the 90 seconds after which kube-apiserver closes idle connections.
    greeting: float = 10.0  # Seconds from accept to the first byte of a request, the handshake included.
    head: float = 10.0  # Seconds from the first byte to the end of the headers, which kube-apiserver sends at once.
    body: float = 10.0  # Seconds for a body or a response, plus one for every `rate` bytes of it.
    rate: int = 1 << 20  # Slower than this, kube-apiserver times out (30 s at most) before its largest body is sent.
    linger: float = 2.0  # Seconds to keep reading after the last response, plus one for every `rate` bytes.
    linger_bytes: int = 44 << 20  # The most to read then: a client may send an oversized body before it reads.
    head_bytes: int = 32 << 10  # kube-apiserver sends less than 1 KiB.
    body_bytes: int = 40 << 20  # The largest review has 36 MiB: objects of 3 MiB, old and new, of `<`, escaped.
    chunks: int = 20_000  # The largest body in chunks of 2 KiB; smaller chunks take too much of the main thread's time.
    large_bytes: int = 1 << 20  # Larger bodies take turns.
    large_held: int = 80 << 20  # In all large bodies that have a turn: two of the largest.
    held_bytes: int = 128 << 20  # In all unanswered requests: the large ones and thousands of usual ones.
    slice: float = 0.002  # For turns, until new events are looked for and clients accepted; one turn may take longer.
    handshakes: int = 4  # Handshake steps per turn, up to 1 ms each, so that many new clients do not delay reviews.
    small_bytes: int = 128 << 10  # Up to this, a body takes milliseconds and 6 MiB: the loop's own thread answers it.

    @property
    def fair_share(self) -> int:
        """Peers with no more connections than this are treated alike when some must be closed."""
        return self.connections // 16


OTHER_DESCRIPTORS = 256  # For newcomers before room is made, the health port, files, and calls to the API server.
LEAST_CLIENTS = 32  # Some API servers, each with some calls at a time.


class TooFewDescriptors(Exception):
    """The process may not open enough files to serve."""


def clients() -> int:
    """
    How many clients may connect at a time, with descriptors left for all else; raises the soft limit if it can.

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
    """A complete response that closes the connection."""
    kind = f"Content-Type: {content_type}\r\n" if body else ""
    kind += "Retry-After: 1\r\n" if status in RETRYABLE else ""  # kube-apiserver then asks again.
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nConnection: close\r\n{kind}Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body
