"""
What runs in the forked process: one gunicorn worker, without gunicorn's arbiter.

It depends on these parts of gunicorn: a worker's seven arguments, its `init_process`, `notify`, `pid` and `tmp`; the
config's `logger_class`, `worker_class` and `worker_exit`; `sock.create_sockets`.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Any

from gunicorn.sock import create_sockets

from webhook.transport.arbiter import Heartbeat

# mallopt's parameters of glibc, and their values, as the image sets them.  A block of so many bytes goes back to the
# kernel once it is free; else glibc raises the threshold with the first large one, and keeps all that come later.
MMAP_THRESHOLD, ARENA_MAX = (-3, 1 << 20), (-8, 2)


def give_memory_back() -> None:
    """Have what a large request took go back to the kernel, where libc can be told; before any thread starts."""
    with suppress(OSError, AttributeError):
        for parameter, value in (MMAP_THRESHOLD, ARENA_MAX):
            ctypes.CDLL(None).mallopt(parameter, value)


def url(scheme: str, listener: Any) -> str:
    """Where a socket listens, such as https://[::]:8443."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def run(app: Any, heartbeat: Heartbeat) -> None:
    """Serve a gunicorn application until a signal."""
    give_memory_back()
    log = app.cfg.logger_class(app.cfg)
    sockets = create_sockets(app.cfg, log)
    worker = app.cfg.worker_class(1, heartbeat.parent, sockets, app, 0, app.cfg, log)
    worker.pid, worker.notify = os.getpid(), heartbeat.beat
    scheme = "https" if app.cfg.is_ssl else "http"
    log.info("Listening at: %s (%s)", ", ".join(url(scheme, each) for each in sockets), worker.pid)
    try:
        worker.init_process()
    finally:
        worker.tmp.close()
        app.cfg.worker_exit(None, worker)
