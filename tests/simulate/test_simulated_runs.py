"""The runs of a simulation are the same, in whichever process they are done."""

from __future__ import annotations

from evenkeel.simulate.outcomes import run
from evenkeel.simulate.simulated_runs import ALONE, FIRST_ASKED, TOGETHER, all_runs, until_unchanged
from tests.support.build import constraint
from tests.support.simulated import deployment, nodes, plan


def test_runs_come_in_their_order_from_several_processes():
    """Runs by chance, some of which others do."""
    planned = plan([*nodes("a=2 b=2"), *deployment(constraint(), replicas=4, on=["a1", "b1"])], "scale=6")
    number = ALONE + 3 * TOGETHER + 1

    assert [run(planned, 1, i) for i in range(number)] == list(all_runs(run, planned, 1, number))


def test_few_runs_are_done_by_one_process():
    planned = plan([*nodes("a=2 b=2"), *deployment(constraint(), replicas=4)], "scale=6")

    assert [run(planned, 1, i) for i in range(ALONE)] == list(all_runs(run, planned, 1, ALONE))


def test_runs_end_once_half_of_them_have_changed_nothing():
    """The first that is larger than 120 is among the second half of 200, and not of 400."""
    asked = []

    def is_unchanged(half, done):
        asked.append((len(half), len(done)))
        return max(half) > 120

    assert 4 * FIRST_ASKED == len(until_unchanged(iter(range(1_000)), is_unchanged))
    assert [(50, 100), (100, 200), (200, 400)] == asked


def test_runs_that_go_on_changing_something_are_all_done():
    assert list(range(7)) == until_unchanged(iter(range(7)), lambda half, done: False)
    assert list(range(300)) == until_unchanged(iter(range(300)), lambda half, done: False)
