"""What the health port answers: /healthz, /readyz and /metrics; and what it finds out about the webhook's own port."""

from __future__ import annotations

import logging
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from time import monotonic

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from webhook.server.logs import log
from webhook.server.transport.limits import RECORD
from webhook.server.transport.peers import is_local
from webhook.server.transport.thread_role import may_wait

STUCK_SECONDS = 10.0  # The review loop turns four times a second when idle.
FRESH_SECONDS = 1.0  # How long the result of a handshake is used.
TEXTS = 10  # Texts of metrics made in a second, at most: each takes milliseconds, in which probes wait.
HANDSHAKE_SECONDS = 2.0  # API servers give up on a call after 3 at /mutate.
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}
TEXT_TYPE = "text/plain; charset=utf-8"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of /readyz."""

    name: str
    ok: bool  # False: this replica is not ready for reviews.
    detail: str


def plain_app() -> Flask:
    """An application without views that answers errors in a line of plain text."""
    app = Flask("evenkeel", static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False  # No redirects.

    @app.errorhandler(HTTPException)
    def refuse(error: HTTPException) -> Response:
        if isinstance(error, MethodNotAllowed):
            return text(405, "method: wanted GET or HEAD\n", Allow="GET, HEAD")
        paths = ", ".join(rule.rule for rule in app.url_map.iter_rules())
        return text(error.code or 500, f"path: wanted one of {paths}\n" if error.code == 404 else f"{error.name}\n")

    return app


def text(status: int, body: str | bytes, content_type: str = TEXT_TYPE, **headers: str) -> Response:
    encoded = body if isinstance(body, bytes) else body.encode("utf-8", "backslashreplace")
    return Response(encoded, status, headers, content_type=content_type)


def create_app(
    *,
    turned: Callable[[], float],
    port: Callable[[], Check],
    checks: Callable[[], Sequence[Check]],
    metrics: Callable[[], bytes],
) -> Flask:
    """
    The Flask app that answers on the health port of one worker.

    `turned` returns the `time.monotonic()` of the review loop's last turn, `port` the check of the webhook's own port.
    /readyz is 200 if that check and all of `checks()` are ok, else 503.
    """
    app, changes, rationed = plain_app(), Changes(), Rationed(metrics)

    @app.get("/healthz")
    def healthz() -> Response:
        stuck = monotonic() - turned()
        if stuck <= STUCK_SECONDS:
            return text(200, "ok\n")
        since = datetime.now(UTC) - timedelta(seconds=stuck)
        return text(503, f"the review loop has been stuck since {since:%H:%M:%SZ}, for {stuck:.0f} s\n")

    @app.get("/readyz")
    def readyz() -> Response:
        """Say whether this replica is ready; details, which tell of the cluster, only to clients in the Pod."""
        results = (port(), *checks())
        changes.log(results)
        ready = all(check.ok for check in results)
        with_details = is_local((request.remote_addr,))
        lines = [_line(check, with_details) for check in results]
        shown = lines if not ready or "verbose" in request.args else []
        return text(200 if ready else 503, "\n".join((*shown, "ready" if ready else "not ready", "")))

    @app.get("/metrics")
    def exposed() -> Response:
        return text(200, rationed.text(), METRICS_TYPE)

    return app


def _line(check: Check, with_detail: bool) -> str:
    line = f"[{'+' if check.ok else '-'}] {check.name}"
    return f"{line}: {check.detail}" if with_detail else line


class Changes:
    """Which checks failed when /readyz was last asked."""

    def __init__(self) -> None:
        self.bad: frozenset[str] = frozenset()

    def log(self, results: Sequence[Check]) -> None:
        """Log each check that has failed or recovered since the last call."""
        bad = frozenset(check.name for check in results if not check.ok)
        before, self.bad = self.bad, bad
        for check in results:
            if check.name in bad - before:
                log(logging.WARNING, "not ready", check=check.name, detail=check.detail)
            elif check.name in before - bad:
                log(logging.INFO, "ready again", check=check.name, detail=check.detail)


class Rationed:
    """Makes a text TEXTS times a second at most; whoever asks more often is given the last one."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        self.make, self.last = make, b""
        self.times = deque([-inf] * TEXTS, TEXTS)  # When the last ones were made.

    def text(self) -> bytes:
        """Return the text; it is at most a second old."""
        now = monotonic()
        if self.times[0] <= now - 1:
            self.times.append(now)
            self.last = self.make()
        return self.last


class OwnPort:
    """Makes a TLS handshake with the webhook's own port when asked."""

    def __init__(self, listener: socket.socket) -> None:
        self.host, self.port = _reachable(listener), listener.getsockname()[1]
        # It verifies nothing: whether API servers trust the certificate is told by other checks.
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.last: tuple[float, Check] | None = None  # When the last handshake ended, and how.

    def check(self) -> Check:
        """Say how a handshake ended, at most FRESH_SECONDS ago. StepAside in a loop's thread, if one is to be made."""
        if self.last is None or monotonic() - self.last[0] > FRESH_SECONDS:
            may_wait()  # Raises StepAside.
            check = self._try()
            self.last = monotonic(), check
        return self.last[1]

    def _try(self) -> Check:
        begun = monotonic()
        try:
            version = self._shake_hands(begun + HANDSHAKE_SECONDS)
        except Exception as error:
            return Check("port", False, f"{self.host} port {self.port}: no TLS handshake: {error}")
        return Check("port", True, f"{version} in {1000 * (monotonic() - begun):.0f} ms")

    def _shake_hands(self, deadline: float) -> str | None:
        """The version of TLS.  The last flight is not sent: a port that demands certificates would count a refusal."""
        received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self.context.wrap_bio(received, to_send)
        with socket.create_connection((self.host, self.port), deadline - monotonic()) as sock:
            while True:
                try:
                    session.do_handshake()
                    return session.version()
                except ssl.SSLWantReadError:
                    sock.settimeout(max(deadline - monotonic(), 0.01))  # 0 would mean: do not block.
                    sock.sendall(to_send.read())
                    if not (data := sock.recv(RECORD)):
                        raise ConnectionError("closed by the server") from None
                    received.write(data)


def _reachable(listener: socket.socket) -> str:
    """An address of this host that the listener serves."""
    host = str(listener.getsockname()[0])
    if host == "::" and not listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY):
        return "127.0.0.1"
    return LOOPBACK.get(host, host)
