"""The members along a path are wanted, and all that lies below its end."""

from __future__ import annotations

from evenkeel.lint.spans import EVERY_KEY, Span, wanted_below, wanted_of


def test_paths_that_begin_alike_are_one():
    assert {"a": {"b": EVERY_KEY, "c": {0: EVERY_KEY}}} == wanted_of([("a", "b"), ("a", "c", 0)])


def test_a_path_that_ends_early_wants_everything_below():
    assert {"a": EVERY_KEY} == wanted_of([("a", "b"), ("a",)])
    assert EVERY_KEY == wanted_of([("a",), ()])


def test_below_everything_is_everything_and_below_nothing_is_nothing():
    wanted = wanted_of([("a", "b")])

    assert EVERY_KEY == wanted_below(EVERY_KEY, "x")
    assert {"b": EVERY_KEY} == wanted_below(wanted, "a")
    assert wanted_below(wanted, "x") is None
    assert wanted_below(None, "a") is None


def test_the_spans_to_a_path_end_where_a_member_is_absent():
    leaf = Span(4, 5)
    middle = Span(2, 6, members={0: leaf})
    root = Span(0, 9, members={"a": middle})

    assert [root, middle, leaf] == root.spans_to(("a", 0))
    assert [root, middle] == root.spans_to(("a", 1, "b"))
    assert [root] == root.spans_to(())
