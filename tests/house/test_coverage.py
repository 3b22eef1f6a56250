"""The floors: what is counted, what is listed, and when `make test-all` fails."""

from __future__ import annotations

import pytest

from tests.house.coverage import Share, below, main, percent


def summary(lines, branches):
    """Of a thousand each."""
    return {"covered_lines": lines, "num_statements": 1000, "covered_branches": branches, "num_branches": 1000}


FOUND = {
    "totals": summary(970, 910),
    "files": {
        "worse.py": {"summary": summary(960, 910)},
        "better.py": {"summary": summary(980, 910)},
        "branches.py": {"summary": summary(970, 900)},
    },
}


def test_the_total_stands_last_and_only_what_is_below_it_above(capsys):
    assert 0 == main(FOUND, Share(97.0, 91.0))

    assert [
        " 97.0 % of lines,  90.0 % of branches: branches.py",
        " 96.0 % of lines,  91.0 % of branches: worse.py",
        " 97.0 % of lines,  91.0 % of branches: total of 3 files, those above it not listed",
    ] == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("floors", "fallen"),
    [(Share(97.1, 91.0), ["lines"]), (Share(97.0, 91.1), ["branches"]), (Share(98.0, 92.0), ["lines", "branches"])],
)
def test_neither_of_the_two_may_fall(floors, fallen, capsys):
    assert 1 == main(FOUND, floors)

    said = capsys.readouterr().out.splitlines()[3:]
    assert fallen == [line.removeprefix("coverage of ").partition(":")[0] for line in said]
    assert fallen == below(Share(97.0, 91.0), floors)


@pytest.mark.parametrize(("covered", "count", "found"), [(999, 1001, 99.8), (9999, 10000, 99.9), (0, 0, 100.0)])
def test_a_figure_is_rounded_down(covered, count, found):
    assert found == percent(covered, count)
