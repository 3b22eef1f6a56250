"""The runs of a simulation are the same, in whichever process they are done."""

from __future__ import annotations

from tests.support.build import constraint
from tests.support.simulated import deployment, nodes, plan
from webhook.loading.simulated_runs import ALONE, TOGETHER, all_runs
from webhook.simulation.run import run


def test_runs_come_in_their_order_from_several_processes():
    """Runs by chance, some of which others do."""
    planned = plan([*nodes("a=2 b=2"), *deployment(constraint(), replicas=4, on=["a1", "b1"])], "scale=6")
    number = ALONE + 3 * TOGETHER + 1

    assert [run(planned, 1, i) for i in range(number)] == list(all_runs(run, planned, 1, number))


def test_few_runs_are_done_by_one_process():
    planned = plan([*nodes("a=2 b=2"), *deployment(constraint(), replicas=4)], "scale=6")

    assert [run(planned, 1, i) for i in range(ALONE)] == list(all_runs(run, planned, 1, ALONE))
