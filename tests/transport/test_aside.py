"""What may wait, and where."""

from __future__ import annotations

from threading import Thread, get_ident
from time import monotonic

import pytest

from webhook.transport import aside
from webhook.transport.aside import LINE_SECONDS, StepAside, begin_job, may_wait


def test_a_thread_of_its_own_may_wait():
    assert may_wait()


def test_a_loop_may_not(monkeypatch):
    """And no `except Exception` on the way hides it."""
    monkeypatch.setattr(aside, "LOOPS", {get_ident()})
    with pytest.raises(StepAside):
        may_wait()
    assert not issubclass(StepAside, Exception)


def test_who_was_in_line_for_long_may_not_wait_again():
    """In its own thread only, and only until the next job."""
    found = []

    def work():
        for queued in (monotonic() - LINE_SECONDS - 1, monotonic()):
            begin_job(queued)
            found.append(may_wait())

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert [False, True] == found
    assert may_wait()
