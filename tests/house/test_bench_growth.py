"""How each part grows: what was recorded is whole, what grows faster than linear has a reason, and pictures show it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench import growth as bench
from tests.bench.growth import APART, FACTORS, MEASURES, PARTS, Size
from tests.generate import growth
from tests.support import ROOT

PAGE = (ROOT / "docs" / "growth.md").read_text("utf-8")


def test_each_part_has_figures_for_each_measure():
    assert {*growth.PARTS} == {*PARTS, "reading"}
    for name in growth.PARTS:
        its = growth.measured(name)
        assert [measure for measure in MEASURES if measure not in APART.get(name, ())] == list(its)
        assert {len(FACTORS)} == {len(values) for figures in its.values() for values in figures.values()}


def test_what_grows_faster_than_linear_has_a_reason_and_nothing_else_has():
    faster = {
        (name, measure) for name in growth.PARTS for measure, its in growth.measured(name).items() if growth.worse(its)
    }

    assert set(growth.REASONS) == faster
    assert [reason for reason in growth.REASONS.values() if reason not in PAGE] == []


@pytest.mark.parametrize(
    ("values", "worse"),
    [([1, 2, 4, 8, 16], False), ([9, 9, 9, 9, 9], False), ([1, 2, 5, 12, 27], True), ([1, 4, 16, 64, 256], True)],
)
def test_linear_is_told_from_worse(values, worse):
    assert worse == growth.worse({"calls": values, "figures": [1, 1, 1, 1, 1]})
    assert worse == growth.worse({"figures": values})


def test_the_least_of_all_rounds_counts():
    assert {"a": [1, 2]} == bench.least([[{"a": 3}, {"a": 2}], [{"a": 1}, {"a": 4}]])


def test_calls_are_counted_in_a_process_of_their_own():
    def measured(clock):
        begin = clock()
        [abs(i) for i in range(100)]
        return {"a": clock() - begin}

    few, again = (bench.forked(measured, counting=True) for _ in range(2))

    assert few == again
    assert 100 <= few["a"] < 120
    assert 0 <= bench.forked(measured)["a"] < 1


@pytest.mark.parametrize("name", PARTS)
def test_each_part_can_be_measured(tmp_path, capsys, name):
    taken = PARTS[name](Size(6, 6, 2, 2, 2), tmp_path)(bench.cpu)

    assert {name, *(["reading"] if name == "explain" else [])} == set(taken)
    assert all(value > 0 for value in taken.values())


def test_one_measure_doubles_and_the_others_stay():
    for measure in MEASURES:
        (grown,) = [
            i for i, (one, other) in enumerate(zip(Size(), Size().times(measure, 16), strict=True)) if one != other
        ]
        assert 16 * Size()[grown] == Size().times(measure, 16)[grown]
    small, large = Size(6, 6, 2, 2, 2), Size(6, 12, 2, 2, 2)
    pods, more = ([one for one in bench.cluster(size) if one["kind"] == "Pod"] for size in (small, large))
    assert (8, 14) == (len(pods), len(more))


@pytest.mark.parametrize("name", growth.PARTS)
def test_a_picture_has_a_line_and_a_name_for_each_measure(name):
    text, its = growth.picture(name), growth.measured(name)
    places = sorted(float(y) for y in re.findall(r'class="f\d bold" x="\d+" y="([\d.]+)"', text))

    assert ElementTree.fromstring(text) is not None
    assert len(its) == text.count('class="line c') == len(places)
    assert all(b - a >= growth.LETTERS - 0.2 for a, b in pairwise(places))
    assert 0 < places[0] and places[-1] <= growth.HEIGHT
    assert f"![{growth.told(name)}](growth/{growth.PARTS[name].file}.svg)" in PAGE
    assert all(f"{growth.shown(measure)} {growth.ratios(its[measure])[-1]:.1f}" in growth.told(name) for measure in its)


def test_each_drawing_is_a_file():
    assert all(Path(ROOT, file).is_file() for file in growth.DRAWINGS)
