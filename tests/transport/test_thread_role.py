"""What may wait, and where."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from time import monotonic

from webhook.server.transport.thread_role import LINE_SECONDS, StepAside, begin_job, enter_loop, may_wait


def test_a_thread_of_its_own_may_wait():
    assert may_wait()


def test_a_loop_may_not():
    """And no `except Exception` on the way hides it."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(enter_loop).result()
        assert isinstance(thread.submit(may_wait).exception(), StepAside)
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
