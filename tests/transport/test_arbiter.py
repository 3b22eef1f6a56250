"""Signals to the master process."""

from __future__ import annotations

import os
import queue
import signal
import time

import pytest
from gunicorn.arbiter import Arbiter as StockArbiter

from tests.support.clients import LATE, Busy, Server, post
from tests.support.serving import until
from webhook.transport.arbiter import IGNORED, Arbiter


@pytest.mark.parametrize(
    "signals", [["SIGTERM", "SIGTERM"], ["SIGTERM", "SIGINT"], ["SIGINT"], ["SIGQUIT"]], ids=" ".join
)
def test_a_second_signal_waits_for_nothing(tmp_path, signals):
    """Nor does SIGINT, even for a thread at work."""
    with Busy(tmp_path) as busy:
        for name in signals[:-1]:
            os.kill(busy.server.process.pid, signal.Signals[name])
            until(lambda: "Handling signal: term" in busy.server.log.read_text(), "a stop")
        begin = time.monotonic()
        os.kill(busy.server.process.pid, signal.Signals[signals[-1]])

        assert 0 == busy.server.process.wait(10)
        assert time.monotonic() - begin < 1 + LATE


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_second_signal_that_comes_before_the_first_is_heard_is_not_lost(monkeypatch, second):
    """gunicorn takes both from its queue, and drops the second with the first."""
    stopped = []
    monkeypatch.setattr(StockArbiter, "stop", lambda _arbiter, graceful: stopped.append(graceful))
    arbiter = Arbiter.__new__(Arbiter)
    arbiter.SIG_QUEUE = queue.SimpleQueue()
    arbiter.signal(signal.SIGTERM, None)
    arbiter.stop()
    arbiter.signal(second, None)
    arbiter.stop()

    assert [True, False] == stopped
    assert [signal.SIGTERM, signal.SIGINT] == [arbiter.SIG_QUEUE.get_nowait() for _ in range(2)]


def test_sigterm_in_the_moment_of_the_fork_is_heard(tmp_path):
    """A worker that had not heard it would be waited for until the graceful timeout."""
    for attempt in range(5):
        (tmp_path / str(attempt)).mkdir()
        with Server(tmp_path / str(attempt)) as server:
            while not server.workers(server.process.pid):
                pass
            server.process.terminate()

            assert 0 == server.process.wait(10)


def test_other_signals_change_nothing(server):
    """No second worker, no second master, no end: each could be meant for a shell's whole process group."""
    worker = server.worker
    for number in IGNORED:
        server.process.send_signal(number)
        os.kill(worker, number)
    time.sleep(1.5)  # The master looks every second whether it has as many workers as it should.

    assert [worker] == server.workers(server.process.pid)
    with server.client() as client:
        assert b"2" == client.ask(post()).body
