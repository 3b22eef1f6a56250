"""
gunicorn with one worker.

    gunicorn's arbiter ──fork──> one worker, which reads the settings' files, makes the Webhook, and serves it

Nothing of the application is imported in the arbiter: what a worker has read ends with it, and the next one reads it
anew.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from webhook.server import logs
from webhook.server.settings import SHUTDOWN_SECONDS
from webhook.server.transport.limits import last_response
from webhook.server.transport.worker import Worker, block_signals, ignore_signals, unblock_signals

if TYPE_CHECKING:
    from webhook.server.webhook import Webhook

HANGS_SECONDS = 30  # A worker whose loop has not turned for so long is killed, and another is started.
HEARTBEAT_FOLDER = "/dev/shm"  # For the worker's heartbeat file; writable even if the root file system is read-only.
# With these exit codes a worker ends gunicorn's arbiter; after any other, it starts a new worker.
EXIT_FAILED, UNUSABLE = 3, 4  # gunicorn's WORKER_BOOT_ERROR, APP_LOAD_ERROR
ENDED = ("Shutting down: ", "Reason: ")  # How messages of level error begin that follow only these.
# The arbiter's exit codes, and those of `evenkeel serve`; any other is 1.
EXIT_CODES: Mapping[object, int] = {None: 0, 0: 0, UNUSABLE: 2}


class ReviewWorker(Worker):
    """The worker, which answers a request that it refuses with an AdmissionReview."""

    app: Server

    @property
    def tls_context(self) -> ssl.SSLContext:  # type: ignore[override]
        return self.app.webhook.config.certificate.context

    @property
    def client_names(self) -> frozenset[str]:  # type: ignore[override]
        return self.app.webhook.client_names

    def refused_client(self, reason: str) -> None:
        self.app.webhook.refused_client(reason)

    def refusal(self, status: int, reason: str) -> bytes:
        return last_response(status, self.app.webhook.refusal_body(status, reason))


class JsonLogger(Logger):
    """gunicorn's messages as JSON lines."""

    def setup(self, cfg: Any) -> None:
        self.loglevel = getattr(logging, cfg.loglevel.upper())
        logs.configure(cfg.loglevel)

    def info(self, msg: object, *args: object, **kwargs: object) -> None:
        """Log at level debug: gunicorn reports each of its steps, and writes http:// for a port that speaks TLS."""
        self.debug(msg, *args, **kwargs)

    def error(self, msg: object, *args: object, **kwargs: object) -> None:
        """Log what gunicorn says of a worker that could not start at level debug: the worker has said why."""
        is_told = str(msg).startswith(ENDED) or args[1:] in ((EXIT_FAILED,), (UNUSABLE,))
        (self.debug if is_told else super().error)(msg, *args, **kwargs)

    def access(self, *request: object) -> None:
        """Log nothing: a review is logged by its decision, and looking up whether to log would be half the work."""


class Server(BaseApplication):
    """gunicorn's settings, and the Webhook that `make` makes in the worker."""

    webhook: Webhook  # In the worker, once it is made.

    def __init__(
        self,
        make: Callable[[], Webhook],
        listener: socket.socket,
        health: socket.socket,
        *,
        threads: int,
        connections: int,
        log_level: str,
    ) -> None:
        """Prepare to serve; `make` may exit with EXIT_FAILED or UNUSABLE, `health` listens on the health port."""
        self.make, self.listeners, self.log_level = make, (listener, health), log_level
        self.threads, self.connections = threads, connections
        super().__init__()

    def load_config(self) -> None:
        """Set all of gunicorn's settings that matter, whatever the environment says."""
        options: dict[str, Any] = {
            "bind": [f"fd://{listener.detach()}" for listener in self.listeners],
            "workers": 1,
            "worker_class": ReviewWorker,
            "threads": self.threads,
            "timeout": HANGS_SECONDS,
            "worker_connections": self.connections,
            "graceful_timeout": SHUTDOWN_SECONDS,
            "logger_class": JsonLogger,
            "loglevel": self.log_level,
            "when_ready": lambda _arbiter: ignore_signals(),
            "pre_fork": lambda _arbiter, _worker: block_signals(),
            "post_worker_init": self._begin,
            "worker_exit": self._end,
            "control_socket_disable": True,
            "worker_tmp_dir": HEARTBEAT_FOLDER if os.access(HEARTBEAT_FOLDER, os.W_OK | os.X_OK) else None,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def reload(self) -> None:
        """Do nothing: SIGHUP changes no setting."""

    def load(self) -> Any:
        """Return the WSGI application, in the worker."""
        self.webhook = self.make()
        return self.webhook.wsgi

    def serve(self) -> int:
        """Serve until a signal, and return the exit code of `evenkeel serve`."""
        arbiter = os.getpid()
        os.register_at_fork(after_in_parent=unblock_signals)
        try:
            self.run()
        except SystemExit as end:
            if os.getpid() != arbiter:  # This is a forked worker, whose exit code the arbiter reads.
                raise
            return EXIT_CODES.get(end.code, 1)
        return 0

    def _begin(self, worker: Worker) -> None:
        self.webhook.begin(worker)

    def _end(self, _arbiter: object, _worker: Worker) -> None:
        if hasattr(self, "webhook"):
            self.webhook.end()
