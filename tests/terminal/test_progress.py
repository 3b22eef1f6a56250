"""What a person sees on a terminal while a command is at work, and nobody elsewhere."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest

from evenkeel.terminal import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(items, monkeypatch):
    """What is written to a terminal while the items are gone through."""
    monkeypatch.setattr(progress, "PROGRESS_SECONDS", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with contextlib.suppress(ValueError):
        list(items)
    return terminal.getvalue()


def test_a_count_and_then_nothing(monkeypatch):
    written = on_a_terminal(progress.with_count("ab", "letters"), monkeypatch)

    assert "\r1 letters\r2 letters\r\x1b[K" == written


def test_a_bar_and_then_nothing(monkeypatch):
    written = on_a_terminal(progress.with_bar("ab", 2, "letters"), monkeypatch)

    assert "] 1 of 2 letters\r\x1b[K" in written


def test_a_bar_with_the_time_that_is_left(monkeypatch):
    """Of four one is done in 5 s: 15 s are left."""
    times = iter([100.0, 100.0, *[105.0] * 99])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    written = on_a_terminal(progress.with_bar("a", 4, "letters", timed=True), monkeypatch)

    assert "] 1 of 4 letters, 15 s left" in written


def test_what_is_told_in_larger_steps_is_gone_before_anything_else_is_printed(monkeypatch):
    monkeypatch.setattr(progress, "PROGRESS_SECONDS", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress.bar(8, "files") as done:
        done(5)
        assert terminal.getvalue().endswith("] 5 of 8 files")
        done(8)
        assert terminal.getvalue().endswith("] 5 of 8 files\r\x1b[K")


def test_an_error_does_not_stand_behind_a_count(monkeypatch):
    def broken():
        yield 1
        yield 2
        raise ValueError

    assert on_a_terminal(progress.with_count(broken(), "letters"), monkeypatch).endswith("2 letters\r\x1b[K")
    assert on_a_terminal(progress.with_bar(broken(), 9, "letters"), monkeypatch).endswith("2 of 9 letters\r\x1b[K")


@pytest.mark.parametrize("stream", [io.StringIO(), None], ids=["no terminal", "closed"])
def test_elsewhere_there_is_nothing(monkeypatch, stream):
    monkeypatch.setattr(progress, "PROGRESS_SECONDS", -1.0)
    monkeypatch.setattr(sys, "stderr", stream)

    assert ["a"] == list(progress.with_count("a", "letters")) == list(progress.with_bar("a", 1, "letters"))
    assert stream is None or "" == stream.getvalue()


def shown(*texts):
    with progress.line() as show:
        for text in texts:
            yield show(text)


def test_a_line_stands_in_place_of_the_last_one_and_goes_for_what_is_printed(monkeypatch):
    written = on_a_terminal(shown("1 decision", "", "", "2 decisions"), monkeypatch)

    assert "\r1 decision\x1b[K\r\x1b[K\r2 decisions\x1b[K\r\x1b[K" == written


def test_a_line_is_seen_on_a_terminal_only_and_now_and_then(monkeypatch, capsys):
    assert [None, None] == list(shown("a", ""))
    assert ("", "") == capsys.readouterr()

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert [None, None] == list(shown("a", "b"))
    assert "\ra\x1b[K\r\x1b[K" == terminal.getvalue()
