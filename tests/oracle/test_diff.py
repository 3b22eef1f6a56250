"""What of the recorded cases differs between two minor versions."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.oracle.diff import differences, main, summed_up
from tests.oracle.recording import file_of, write


class Case(NamedTuple):
    name: str
    old: object
    new: object
    found: tuple = ()


CASES = [
    Case("nothing", {"a": {"b": [1]}}, {"a": {"b": [1]}}),
    Case("a value", {"a": "x"}, {"a": "y"}, (("a", "x", "y"),)),
    Case("a value deep inside", {"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 3, "d": 2}}}, (("a.b.c", 1, 3),)),
    Case("two values, by name", {"b": 1, "a": 1}, {"a": 2, "b": 2}, (("a", 1, 2), ("b", 1, 2))),
    Case("a name that goes", {"a": {"node": "x"}}, {"a": {}}, (("a.node", "x", None),)),
    Case("a name that comes", {"a": {}}, {"a": {"node": {"b": 1}}}, (("a.node", None, {"b": 1}),)),
    Case("of a list what the other has not", {"a": [1, 2, 3]}, {"a": [2, 4, 3]}, (("a", [1], [4]),)),
    Case("a list in another order", {"a": [1, 2]}, {"a": [2, 1]}, (("a", [1, 2], [2, 1]),)),
    Case("an item twice", {"a": [1, 1]}, {"a": [1]}, (("a", [1, 1], [1]),)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_differs(case):
    found = differences("f0", case.old, case.new)

    assert list(case.found) == [(".".join(one.path), one.old, one.new) for one in found]


def test_the_same_place_of_any_node_is_summed_up_with_the_commonest_first():
    found = [
        *differences("f0", {"message": "é"}, {"message": ""}),
        *differences("f1", {"scores": {"a": {"p": 1}, "b": {"p": 1}}}, {"scores": {"a": {"p": 2}, "b": {"p": 3}}}),
        *differences("f2", {"scores": {"a": {"p": 5}, "b": {}}}, {"scores": {"a": {"p": 6}}}),
    ]

    assert [
        "scores.*.p: 2 cases, as in f1: 1 --> 2",
        "    f1 f2",
        'message: 1 case, as in f0: "\\u00e9" --> ""',
        "    f0",
        "scores.*: 1 case, as in f2: {} --> null",
        "    f2",
    ] == list(summed_up(found))


@pytest.fixture
def data(tmp_path):
    """1.36 and 1.37 have two kinds, in one of which a case differs; 1.26 has another."""
    errors = [{"field": "a"}, {"field": "b"}]
    decisions = {
        "1.36": {"podCreate": errors, "podTemplate": None},
        "1.37": {"podCreate": errors[::-1], "podTemplate": []},
    }
    for version, expected in decisions.items():
        decision = {"preFilter": version, "score": {"a": 1}}
        placed = [{"id": name, "pod": {}, "expected": decision} for name in ("p0", "p1")]
        write(file_of(tmp_path, version, "validation"), [{"id": "v0", "pod": {}, "expected": expected}])
        write(file_of(tmp_path, version, "placement"), [*placed, {"id": version, "pod": {}, "expected": {}}])
    write(file_of(tmp_path, "1.26", "profile"), [])
    return tmp_path


def test_each_kind_that_both_have_is_compared_and_the_order_of_errors_is_nothing(data, capsys):
    assert 0 == main(["1.36", "1.37"], data)
    assert [
        "1.36 --> 1.37 validation: 0 of 1 cases differ",
        "1.36 --> 1.37 placement: 2 of 2 cases differ",
        'preFilter: 2 cases, as in p0: "1.36" --> "1.37"',
        "    p0 p1",
    ] == capsys.readouterr().out.splitlines()


def test_all_that_differs_in_one_case_is_shown_on_demand(data, capsys):
    assert 0 == main(["1.36", "1.37", "p1"], data)
    assert 'preFilter: "1.36" --> "1.37"\n' == capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["1.36"], ["1.26", "1.37"], ["1.37", "1.99"], ["1.36", "1.37", "p2"]])
def test_where_there_is_nothing_to_compare_it_says_so_in_a_line(arguments, data, capsys):
    assert 2 == main(arguments, data)

    printed = capsys.readouterr()
    assert ("", 1) == (printed.out, len(printed.err.splitlines()))
