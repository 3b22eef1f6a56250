"""
A worker as `evenkeel serve` has it, driven by hand, and one client: nothing happens but in `ask`, always the same way.

The real worker answers over a TLS connection, by turns of its own loop, and what is late is never swept: no thread and
no clock has a say.
"""

from __future__ import annotations

import json
import logging
import socket
import ssl
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gunicorn.config import Config

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests" / "example"
PATIENCE = 10  # Seconds for one turn of the worker.


def imported() -> SimpleNamespace:
    """All that this needs of the house: the one place to change when modules move."""
    from certs.authority import Authority
    from webhook.cluster.cluster import Unchanging
    from webhook.cluster.dump import load
    from webhook.policy.parsing import built_in
    from webhook.scheduler.features import LATEST
    from webhook.serving.app import create_app
    from webhook.serving.metrics import Metrics
    from webhook.serving.reviewer import Reviewer
    from webhook.transport.loop import Loop
    from webhook.transport.worker import Worker

    return SimpleNamespace(
        Authority=Authority,
        LATEST=LATEST,
        Loop=Loop,
        Metrics=Metrics,
        Reviewer=Reviewer,
        Unchanging=Unchanging,
        Worker=Worker,
        built_in=built_in,
        create_app=create_app,
        load=load,
    )


class Edge:
    """A worker with the example's cluster and the built-in policy behind it, and one client."""

    def __init__(self, folder: Path) -> None:
        now = datetime.now(UTC)
        authority = imported().Authority.create(now)
        authority.issue(["localhost"], now).write(folder / "tls.crt", folder / "tls.key")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.worker = _worker(folder)
        plain = socket.create_connection(self.listener.getsockname(), PATIENCE)
        context = ssl.create_default_context(cadata=authority.pair.chain_pem().decode())
        self.client = context.wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False)
        self.worker.loop.accept(self.listener)
        self._shake_hands()

    def _shake_hands(self) -> None:
        self.client.setblocking(False)
        while self.client.version() is None:
            try:
                self.client.do_handshake()
            except ssl.SSLWantReadError:
                self.worker.loop.turn(PATIENCE)
        while next(iter(self.worker.loop.connections)).handshaking:
            self.worker.loop.turn(PATIENCE)
        self.client.settimeout(PATIENCE)

    def ask(self, path: str, body: bytes) -> dict[str, object]:
        """The response to one review, in one turn of the loop."""
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.worker.loop.turn(PATIENCE)
        answer = self.client.recv(1 << 16).partition(b"\r\n\r\n")[2]
        response: dict[str, object] = json.loads(answer)["response"]
        return response

    def close(self) -> None:
        self.client.close()
        for connection in tuple(self.worker.loop.connections):
            self.worker.loop.drop(connection, "done")
        self.listener.close()
        self.worker.loop.poller.close()
        self.worker.loop.calls.close()
        self.worker.tmp.close()


def _worker(folder: Path) -> Any:
    """As gunicorn makes one, and as `Worker.run` begins."""
    house = imported()
    worker = house.Worker(1, 0, [], None, PATIENCE, Config(), logging.Logger("walk", logging.WARNING))
    worker.tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    worker.tls_context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    worker.begin([], small=4, large=1)
    worker.loop.swept = inf
    cluster = house.Unchanging(house.load(EXAMPLE / "cluster.yaml"))
    reviewer = house.Reviewer(house.built_in(), cluster, house.LATEST, house.Metrics())
    worker.wsgi = house.create_app(reviewer)
    return worker
