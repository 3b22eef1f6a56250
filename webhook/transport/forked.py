"""
What runs in the forked process: one gunicorn worker, without gunicorn's arbiter.

It depends on these parts of gunicorn: a worker's seven arguments, its `init_process`, `notify`, `pid` and `tmp`; the
config's `logger_class`, `worker_class` and `worker_exit`; `sock.create_sockets`.
"""

from __future__ import annotations

import os
from typing import Any

from gunicorn.sock import create_sockets

from webhook.transport.arbiter import Heartbeat


def run(app: Any, heartbeat: Heartbeat) -> None:
    """Serve a gunicorn application until a signal."""
    log = app.cfg.logger_class(app.cfg)
    sockets = create_sockets(app.cfg, log)
    worker = app.cfg.worker_class(1, os.getppid(), sockets, app, 0, app.cfg, log)
    worker.pid, worker.notify = os.getpid(), heartbeat.beat
    log.info("Listening at: %s (%s)", ", ".join(map(str, sockets)), worker.pid)
    try:
        worker.init_process()
    finally:
        worker.tmp.close()
        app.cfg.worker_exit(None, worker)
