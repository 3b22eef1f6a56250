"""Target: bytes on a connection to a server, over TLS to the webhook's port, and in plain to that of probes."""

from __future__ import annotations

import errno
import json
import re
import socket
import ssl
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.outline import outlined
from tests.fuzz.reviews import check_uid, numbers, read, requests
from tests.fuzz.reviews import in_a_review as review_of
from tests.support.serving import Running

SECONDS = 30.0
HEALTH = 8  # One in so many inputs goes to the port of probes.
LOOK = 500  # After so many inputs the server itself is looked at.
NOT_IMPLEMENTED = 501  # A transfer coding that no client of ours has: RFC 9112 asks for this.
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2}) [ -~]+\r\n")
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)

methods = st.sampled_from((*["POST"] * 12, "GET", "HEAD", "OPTIONS", "PRI", "CONNECT", "post", "P\x00ST", ""))
paths = st.sampled_from(
    (
        *["/mutate", "/validate", "/validate?timeout=5s", "/mutate?timeout=0s&timeout=99s"] * 3,
        *("/healthz", "/readyz", "/readyz?verbose", "/metrics", "*", "//mutate", "/%6dutate", "/validate/../mutate"),
        *("http://a/validate", "/" + "a" * 5_000, "/é", "", "a:1"),
    )
)
versions = st.sampled_from(
    (*["HTTP/1.1"] * 20, "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.10", "http/1.1", "HTTP", "")
)
FIELDS = (
    *("Content-Type: application/json", "Content-Type: text/plain", "Content-Type: application/json; charset=utf-16"),
    *(
        "Content-Encoding: gzip",
        "Transfer-Encoding: chunked",
        "transfer-encoding:chunked",
        "Transfer-Encoding: identity",
    ),
    *("Transfer-Encoding: gzip, chunked", "Transfer-Encoding: xchunked", "Expect: 100-continue", "Expect: 200-ok"),
    *("Content-Length: 0", "Content-Length: 5", "Content-Length: -1", "Content-Length: 1e3", "Content-Length: 5, 5"),
    *(
        "Content-Length: 99999999999",
        "Connection: close",
        "Connection: keep-alive, x",
        "Upgrade: h2c",
        "Host: a",
        "Host:",
    ),
    *("X:" + " " * 9_000, "no colon", " folded: x", "X: a\x00b", "X: é", ": x", "Cookie: " + "a=b; " * 400),
)
fields = st.just([]) | st.just([]) | st.lists(st.sampled_from(FIELDS), max_size=4)


@st.composite
def one_request(draw) -> bytes:
    """A request that may be legal, with its length or in chunks, and then perhaps with fields that are not."""
    body = draw(requests.map(review_of) | st.binary(max_size=40))
    head, chunked = draw(fields), draw(st.booleans())
    if draw(st.integers(0, 3)):
        head = ["Host: localhost", "Content-Type: application/json", *head]
        head.append("Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}")
    lines = [f"{draw(methods)} {draw(paths)} {draw(versions)}", *head, "", ""]
    if chunked and body:
        size = draw(st.sampled_from((1, 7, 1_000, 100_000))) if len(body) < 2_000 else 1_000
        parts = (body[at : at + size] for at in range(0, len(body), size))
        body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    return "\r\n".join(lines).encode("utf-8", "surrogatepass") + body


class Connections:
    """Each response is one, and the server goes on."""

    name, share = "requests", 2
    bases = st.builds(b"%d\n%b".__mod__, st.tuples(numbers, st.lists(one_request(), max_size=3).map(b"".join)))

    def __init__(self, running: Running) -> None:
        self.running, self.worker, self.given = running, running.worker(), 0

    def check(self, given: bytes) -> Hashable:
        number, _, sent = given.partition(b"\n")
        health = int(number or b"0") % HEALTH == 1
        received = self._received(sent, health)
        outline = [self.response(one, health) for one in responses(received)]
        if len(outline) == 1 and outline[0][0] == 200 and not health:
            self._uid(sent, received)
        self.given += 1
        if self.given % LOOK == 0:
            self.look()
        return health, *outline

    def _received(self, sent: bytes, health: bool) -> bytes:
        """All that comes back before the server closes the connection."""
        port = self.running.health if health else self.running.port
        with socket.create_connection((self.running.host, port), timeout=SECONDS) as plain:
            sock = plain if health else self.running.context.wrap_socket(plain, server_hostname="localhost")
            received = b""
            with sock, suppress(ConnectionError, ssl.SSLEOFError):  # Reset, where some of the input was left unread.
                sock.sendall(sent)
                finish(sock)
                while piece := sock.recv(1 << 16):
                    received += piece
        return received

    def _uid(self, sent: bytes, received: bytes) -> None:
        """The answer's is the review's, where the body that was sent is the one that was announced, and whole."""
        head, _, body = sent.partition(b"\r\n\r\n")
        if LENGTH.findall(head + b"\r\n") == [b"%d" % len(body)] and b"chunked" not in head:
            check_uid(read(body), body, json.loads(received.partition(b"\r\n\r\n")[2])["response"]["uid"])

    @staticmethod
    def response(one: tuple[int, bytes], health: bool) -> tuple[int, str]:
        status, body = one
        assert status < 500 or status == NOT_IMPLEMENTED, (status, body[:500])
        if health or status == 100:
            return status, outlined(body.decode()) if status != 200 else ""
        response = json.loads(body)["response"] if body else {}
        return status, outlined(str(response.get("status", {}).get("message", response.get("allowed", ""))))

    def look(self) -> None:
        """The same worker, ready, and no error in its log or metrics."""
        assert self.worker == self.running.worker(), "the worker has died"
        assert 200 == self.running.probe("/readyz")[0]
        assert 0 == self.running.metric("evenkeel_panics_total")
        lines = self.running.log_file.read_text("utf-8").splitlines()
        assert [] == [line for line in lines if '"level": "error"' in line or '"level": "critical"' in line]


def finish(sock: socket.socket) -> None:
    """Say that no more is sent, but not by SSLSocket's own method, which would forget TLS."""
    try:
        socket.socket.shutdown(sock, socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:  # The other end was faster.
            raise


def responses(received: bytes) -> list[tuple[int, bytes]]:
    """Status and body of each; the last one may be cut off where the connection was reset."""
    found = []
    while received:
        head, end, rest = received.partition(b"\r\n\r\n")
        if not end:
            assert head.startswith(b"HTTP/1.1 "[: len(head)]), head[:200]
            break
        status = STATUS.match(head + b"\r\n")
        assert status, head[:200]
        length = LENGTH.search(head + b"\r\n")
        size = int(length[1]) if length and not rest.startswith(b"HTTP/1.") else 0  # To HEAD there is no body.
        if len(rest) < size:
            break
        found.append((int(status[1]), rest[:size]))
        received = rest[size:]
    return found


def server_in(folder: Path):
    """What `Connections` asks; to be entered."""
    from tests.support.serving import serving

    return serving(folder, "--log-level", "warning")
