"""Serves the metrics of a report until the process is ended, in place of printing it once."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from threading import Event

from flask import Flask, Response

from evenkeel.report import skew_metrics as render
from evenkeel.report.report import Report
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.server.health import METRICS_TYPE, plain_app, text
from webhook.server.transport.service import OpenPort

LATE = 3  # intervals without a new report after which it is not healthy

Make = Callable[[], tuple[Report, Sequence[str]]]  # returns a report, and what could not be judged for it

LOG = logging.getLogger("evenkeel")  # for what goes wrong in the port itself


class ReportError(Exception):
    """Why no report could be made, in one line."""


class Exposed:
    """What is served: the metrics of the last report, and how often none could be made."""

    def __init__(self, interval: float, clock: Callable[[], float] = time.time) -> None:
        self.interval, self.clock = interval, clock
        self.read_at, self.failures = 0.0, 0
        self.report: Report | None = None
        self.notes: Sequence[str] = ()
        self.body = b""
        self._render()

    def read(self, make: Make) -> None:
        """
        Make a report; if that fails, the one before is still served, and the failure is counted.

        What could not be judged is printed only when it changes.
        """
        try:
            self.report, notes = make()
            self.read_at = self.clock()
            for note in notes if notes != self.notes else ():
                print(f"note: {one_line(note, LINE_LIMIT)}", file=sys.stderr, flush=True)
            self.notes = notes
        except ReportError as error:
            self.failures += 1
            print(f"evenkeel: {one_line(str(error), LINE_LIMIT)}", file=sys.stderr, flush=True)
        self._render()

    def _render(self) -> None:
        self.body = render.text(self.report, int(self.read_at), self.failures)

    def app(self) -> Flask:
        """Return the application that serves it, in the server's thread."""
        app = plain_app()

        @app.get("/metrics")
        def metrics() -> Response:
            return text(200, self.body, METRICS_TYPE)

        @app.get("/healthz")
        def healthz() -> Response:
            late = self.clock() - self.read_at > LATE * self.interval
            if late:
                return text(503, "the cluster has not been read for too long; the log has the reason\n")
            return text(200, "ok\n")

        return app


def serve(listener: socket.socket, interval: float, make: Make) -> None:
    """Serve until SIGTERM, which the first process of a container does not heed by itself."""
    stopped = Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
    exposed = Exposed(interval)
    OpenPort(listener, exposed.app(), LOG).start()
    while not stopped.is_set():
        exposed.read(make)
        stopped.wait(interval)
