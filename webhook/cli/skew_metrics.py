"""Serves the metrics of a report until the process is ended, in place of printing it once."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import time
from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING

from webhook.cli.serve import listen
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.loading.usage import UsageError
from webhook.render import skew_metrics as render
from webhook.report.report import Report

if TYPE_CHECKING:
    from flask import Flask, Response

LEAST_INTERVAL, MOST_INTERVAL = 5, 3600  # Seconds; the alerts take what is older than an hour for a failure.
LATE = 3  # Intervals without a new report, after which it is not healthy.

Make = Callable[[], tuple[Report, Sequence[str]]]  # A report, and what could not be judged for it.

LOG = logging.getLogger("evenkeel")  # Of what goes wrong in the port itself.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metrics-bind",
        metavar="HOST:PORT",
        help="serve /metrics of the workloads there, and /healthz, until the process is ended; print nothing",
    )
    parser.add_argument(
        "--metrics-interval",
        metavar="SECONDS",
        type=int,
        default=60,
        help="how long to rest before the cluster is read again, for --metrics-bind (default: %(default)s)",
    )


def check(args: argparse.Namespace) -> None:
    """UsageError if the options do not go together."""
    if args.metrics_bind is not None and not LEAST_INTERVAL <= args.metrics_interval <= MOST_INTERVAL:
        wanted = f"{LEAST_INTERVAL} to {MOST_INTERVAL} seconds: each time it reads all Pods"
        raise UsageError(f"--metrics-interval: found {args.metrics_interval}, wanted {wanted}")


class Exposed:
    """What is served: the last report, when it was made, and how often none could be."""

    def __init__(self, interval: float, clock: Callable[[], float] = time.time) -> None:
        self.interval, self.clock = interval, clock
        self.read_at, self.failures = 0.0, 0
        self.report: Report | None = None
        self.notes: Sequence[str] = ()
        self.body = b""
        self._render()

    def read(self, make: Make) -> None:
        """
        Make a report; if that fails, the one before is served further, and the failure is counted.

        What could not be judged is printed once, until it is something else.
        """
        try:
            self.report, notes = make()
            self.read_at = self.clock()
            for note in notes if notes != self.notes else ():
                print(f"note: {note}", file=sys.stderr, flush=True)
            self.notes = notes
        except UsageError as error:
            self.failures += 1
            print(f"evenkeel: {one_line(str(error), LINE_LIMIT)}", file=sys.stderr, flush=True)
        self._render()

    def _render(self) -> None:
        self.body = render.text(self.report, int(self.read_at), self.failures).encode("utf-8", "backslashreplace")

    def app(self) -> Flask:
        """Return the application that serves it, in the server's thread."""
        from webhook.serving.health import plain_app, text

        app = plain_app()

        @app.get("/metrics")
        def metrics() -> Response:
            return text(200, self.body, render.CONTENT_TYPE)

        @app.get("/healthz")
        def healthz() -> Response:
            late = self.clock() - self.read_at > LATE * self.interval
            return text(503, "the cluster was not read for too long\n") if late else text(200, "ok\n")

        return app


def serve(args: argparse.Namespace, make: Make) -> int:
    """Serve until SIGTERM, which the first process of a container does not heed by itself."""
    from webhook.transport.service import OpenPort

    stopped = Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
    listener = listen("--metrics-bind", args.metrics_bind)
    exposed = Exposed(args.metrics_interval)
    OpenPort(listener, exposed.app(), LOG).start()
    while not stopped.is_set():
        exposed.read(make)
        stopped.wait(args.metrics_interval)
    return 0
