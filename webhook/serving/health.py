"""What the health port answers: /healthz, /readyz and /metrics; and what it finds out about the webhook's own port."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from urllib.parse import parse_qs

from webhook.serving.check import Check
from webhook.serving.logs import log
from webhook.transport.limits import RECORD
from webhook.transport.plain import Asked, Reply

STUCK_SECONDS = 10.0  # The review loop turns four times a second when idle.
FRESH_SECONDS = 1.0  # How long the result of a handshake stands.
HANDSHAKE_SECONDS = 2.0  # API servers give up on a call after 3 at /mutate.
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}
METHODS = ("GET", "HEAD")
METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Health:
    """
    The health of one worker.

    `turned` returns the `time.monotonic()` of the review loop's last turn, `port` the check of the webhook's own port,
    None while it is being made; /readyz is 200 if it and each of `checks()` are ok, else 503.
    """

    def __init__(
        self,
        *,
        turned: Callable[[], float],
        port: Callable[[], Check | None],
        checks: Callable[[], Sequence[Check]],
        metrics: Callable[[], bytes],
    ) -> None:
        self.turned, self.port, self.checks, self.metrics = turned, port, checks, metrics
        self.bad: frozenset[str] = frozenset()  # The checks that failed when /readyz was last asked.
        self.paths = {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics}

    def answer(self, asked: Asked) -> Reply | None:
        """The reply; None while it is being prepared: ask again."""
        reply = self.paths.get(asked.path)
        if reply is None:
            return Reply(404, f"path: wanted one of {', '.join(self.paths)}\n".encode())
        if asked.method not in METHODS:
            return Reply(405, f"method: wanted {METHODS[0]} or {METHODS[1]}\n".encode(), allow=", ".join(METHODS))
        return reply(asked)

    def _healthz(self, _asked: Asked) -> Reply:
        stuck = monotonic() - self.turned()
        if stuck <= STUCK_SECONDS:
            return Reply(200, b"ok\n")
        since = datetime.now(UTC) - timedelta(seconds=stuck)
        return Reply(503, f"the review loop has not turned since {since:%H:%M:%SZ}, for {stuck:.0f} s\n".encode())

    def _readyz(self, asked: Asked) -> Reply | None:
        """Whether it is ready; what the checks found out of the cluster is told to the Pod's own host only."""
        port = self.port()
        if port is None:
            return None
        found = (port, *self.checks())
        self._log(found)
        ready = all(check.ok for check in found)
        lines = [f"[{'+' if check.ok else '-'}] {check.name}{f': {check.detail}' * asked.local}" for check in found]
        shown = lines if not ready or "verbose" in parse_qs(asked.query, keep_blank_values=True) else []
        text = "\n".join((*shown, "ready" if ready else "not ready", ""))
        return Reply(200 if ready else 503, text.encode("utf-8", "backslashreplace"))

    def _log(self, found: Sequence[Check]) -> None:
        """Log what has changed since /readyz was last asked."""
        before, self.bad = self.bad, frozenset(check.name for check in found if not check.ok)
        for check in found:
            if check.name in self.bad - before:
                log(logging.WARNING, "not ready", check=check.name, detail=check.detail)
            elif check.name in before - self.bad:
                log(logging.INFO, "ready again", check=check.name, detail=check.detail)

    def _metrics(self, _asked: Asked) -> Reply:
        return Reply(200, self.metrics(), METRICS)


class OwnPort:
    """Makes a TLS handshake with the webhook's own port when asked, at most one at a time, in a thread of its own."""

    def __init__(self, listener: socket.socket) -> None:
        self.host, self.port = _reachable(listener), listener.getsockname()[1]
        # It verifies nothing: whether API servers trust the certificate is told by other checks.
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.found: tuple[float, Check] | None = None  # When the last handshake ended, and how.
        self.trying = threading.Lock()

    def check(self) -> Check | None:
        """How a handshake ended no more than a second ago; None while one is under way: ask again."""
        found = self.found
        if found is not None and monotonic() - found[0] <= FRESH_SECONDS:
            return found[1]
        if self.trying.acquire(blocking=False):
            try:
                threading.Thread(target=self._try, name="handshake", daemon=True).start()
            except RuntimeError as error:  # No thread can be started.
                self._end(False, str(error))
        return None

    def _try(self) -> None:
        begun = monotonic()
        try:
            version = self._shake_hands(begun + HANDSHAKE_SECONDS)
        except Exception as error:
            self._end(False, f"{self.host} port {self.port}: no TLS handshake: {error}")
        else:
            self._end(True, f"{version} in {1000 * (monotonic() - begun):.0f} ms")

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
                    sock.settimeout(max(deadline - monotonic(), 0.01))
                    sock.sendall(to_send.read())
                    if not (data := sock.recv(RECORD)):
                        raise ConnectionError("closed by the server") from None
                    received.write(data)

    def _end(self, ok: bool, detail: str) -> None:
        self.found = monotonic(), Check("port", ok, detail)
        self.trying.release()


def _reachable(listener: socket.socket) -> str:
    """An address of this host that the listener serves."""
    host = str(listener.getsockname()[0])
    if host == "::" and not listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY):
        return "127.0.0.1"
    return ANY.get(host, host)
