"""What a person sees while a command is at work, on a terminal and in the log of a pipeline."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest

from evenkeel.terminal import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def seen(items, monkeypatch, stream=None):
    """What is written to a terminal, or to another stream, while the items are gone through."""
    monkeypatch.setattr(progress, "PROGRESS_SECONDS", -1.0)
    monkeypatch.setattr(sys, "stderr", stream := stream or Terminal())
    with contextlib.suppress(ValueError):
        list(items)
    return stream.getvalue()


def test_a_count_and_then_nothing(monkeypatch):
    written = seen(progress.with_count("ab", "letters"), monkeypatch)

    assert "\r1 letters\x1b[K\r2 letters\x1b[K\r\x1b[K" == written


def test_a_bar_and_then_nothing(monkeypatch):
    written = seen(progress.with_bar("ab", 2, "letters"), monkeypatch)

    assert f"\r[{'#' * 15}{' ' * 15}] 1 of 2 letters\x1b[K\r\x1b[K" == written


@pytest.mark.parametrize(
    ("seconds", "total", "left"),
    [(5, 4, "15 s"), (0.01, 2, "1 s"), (90, 2, "90 s"), (91, 2, "2 min"), (60, 4, "3 min")],
)
def test_the_time_that_is_left(monkeypatch, seconds, total, left):
    times = iter([100.0, *[100.0 + seconds] * 9])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))

    assert f"] 1 of {total} letters, {left} left" in seen(
        progress.with_bar("a", total, "letters", timed=True), monkeypatch
    )


def test_large_numbers_have_separators():
    assert "3,000 of 10,000 files" == progress.amount(3000, 10_000, "files")


def test_what_is_told_in_larger_steps_is_gone_before_anything_else_is_printed(monkeypatch):
    monkeypatch.setattr(progress, "PROGRESS_SECONDS", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress.bar(8, "files") as done:
        done(5)
        assert terminal.getvalue().endswith("] 5 of 8 files\x1b[K")
        done(8)
        assert terminal.getvalue().endswith("] 5 of 8 files\x1b[K\r\x1b[K")


def test_an_error_does_not_stand_behind_a_count(monkeypatch):
    def broken():
        yield 1
        yield 2
        raise ValueError

    assert seen(progress.with_count(broken(), "letters"), monkeypatch).endswith("2 letters\x1b[K\r\x1b[K")
    assert seen(progress.with_bar(broken(), 9, "letters"), monkeypatch).endswith("2 of 9 letters\x1b[K\r\x1b[K")


@pytest.mark.parametrize(
    ("letters", "lines"),
    [
        (progress.with_count("abcd", "letters"), "evenkeel: 2 letters\nevenkeel: 4 letters\n"),
        (progress.with_bar("abcd", 4, "letters"), "evenkeel: 2 of 4 letters\n"),
    ],
    ids=["a count", "of all"],
)
def test_elsewhere_a_line_is_written_each_ten_seconds_and_none_of_what_is_shorter(monkeypatch, letters, lines):
    times = iter(range(0, 700, 7))  # A letter takes seven seconds.
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(times)))

    assert lines == seen(letters, monkeypatch, io.StringIO())


def test_of_short_work_nothing_is_seen_elsewhere(monkeypatch):
    assert "" == seen(progress.with_count("ab", "letters"), monkeypatch, io.StringIO())


def test_without_a_standard_error_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)

    assert ["a"] == list(progress.with_count("a", "letters")) == list(progress.with_bar("a", 1, "letters"))
