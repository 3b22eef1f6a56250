"""
The gunicorn worker: its main thread runs the loop of a WSGI service.

It depends on these parts of gunicorn: the base Worker's `init_process`, `run`, `init_signals`, `handle_exit` and
`handle_quit` to replace; its `alive`, `app`, `cfg`, `log`, `notify`, `ppid`, `sockets` and `wsgi`; `sock.ssl_context`.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import replace
from types import FrameType

from gunicorn.sock import ssl_context
from gunicorn.workers.base import Worker as BaseWorker

from webhook.transport.arbiter import settle_signals
from webhook.transport.limits import Limits, last_response
from webhook.transport.service import WsgiService

__all__ = ["Limits", "Worker"]


class Worker(WsgiService, BaseWorker):
    """
    gunicorn's worker with one loop, and threads for what must not keep it waiting: one of them for large requests.

    A subclass may set `limits` and `client_names`, and override `refusal_body` and `refused_client`.
    """

    @property
    def tls_context(self) -> ssl.SSLContext | None:  # type: ignore[override]
        return ssl_context(self.cfg) if self.cfg.is_ssl else None

    @property
    def parting(self) -> bool:
        return not self.alive

    def refusal_body(self, status: int, reason: str) -> bytes:
        """The JSON body of the response to a refused request, or nothing."""
        return b""

    def refusal(self, status: int, reason: str) -> bytes:
        return last_response(status, self.refusal_body(status, reason))

    def init_process(self) -> None:
        """Called in the process that serves: load the application, and serve."""
        self.limits = replace(
            self.limits, connections=self.cfg.worker_connections, keep_alive=float(self.cfg.keepalive)
        )
        # Large requests take much memory and time: one at a time, so that a peer waits for one of each other peer.
        self.begin(self.sockets, small=self.cfg.threads, large=1)
        super().init_process()

    def run(self) -> None:
        """Serve until a signal, and then answer what has arrived."""
        self.loop.run(self.goes_on)
        self.loop.stop(self.cfg.graceful_timeout)
        self.pool.shutdown(wait=False)

    def goes_on(self) -> bool:
        """Whether to serve on; called often enough that the arbiter sees that the loop turns."""
        self.notify()
        return bool(self.alive and self.ppid == os.getppid())

    def init_signals(self) -> None:
        super().init_signals()
        settle_signals()

    def handle_exit(self, _sig: int, _frame: FrameType | None) -> None:
        """Answer what has arrived, and end."""
        self.alive = False
        self.loop.end()

    def handle_quit(self, _sig: int, _frame: FrameType | None) -> None:
        """Exit at once; `sys.exit` would wait for the threads."""
        self.cfg.worker_int(self)
        os._exit(0)
