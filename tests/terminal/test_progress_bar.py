"""The bar grows, and is gone in the end."""

from __future__ import annotations

import io

import pytest

from evenkeel.terminal.progress_bar import PROGRESS_WIDTH, bar, clear, show


@pytest.mark.parametrize(
    ("done", "total", "filled"), [(0, 10, 0), (5, 10, PROGRESS_WIDTH // 2), (10, 10, PROGRESS_WIDTH), (0, 0, 0)]
)
def test_a_bar(done, total, filled):
    assert f"[{'#' * filled}{' ' * (PROGRESS_WIDTH - filled)}] {done} of {total} files" == bar(done, total)


def test_large_numbers_have_separators():
    assert bar(3000, 10_000).endswith("] 3,000 of 10,000 files")


def test_a_bar_is_written_over_the_one_before_and_removed():
    stream = io.StringIO()
    show(stream, 1, 2)
    show(stream, 2, 2)
    clear(stream)

    assert f"\r{bar(1, 2)}\r{bar(2, 2)}\r\x1b[K" == stream.getvalue()


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "1 s"), (90, "90 s"), (91, "2 min"), (180, "3 min")])
def test_the_time_that_is_left_where_it_is_known(seconds, said):
    assert bar(1, 2, "runs", seconds).endswith(f"] 1 of 2 runs, {said} left")


def test_a_shorter_bar_leaves_nothing_of_a_longer_one():
    stream = io.StringIO()
    show(stream, 1, 2, "runs", 100.0)
    show(stream, 2, 2, "runs", 9.0)

    assert stream.getvalue().endswith("2 of 2 runs, 9 s left\x1b[K")
