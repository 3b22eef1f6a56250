"""The runs of a simulation are the same, in whichever process they are done."""

from __future__ import annotations

import os

import pytest

from evenkeel.simulate import simulated_runs
from evenkeel.simulate.outcomes import run
from evenkeel.simulate.simulated_runs import FIRST_ASKED, PODS_ALONE, all_runs, until_unchanged
from tests.support.build import constraint
from tests.support.simulated import deployment, nodes, plan


def noting_process(planned, seed, number):
    return os.getpid(), run(planned, seed, number)


@pytest.mark.parametrize(
    ("replicas", "number", "processes"), [(4, 3, 1), (4, PODS_ALONE, 2), (PODS_ALONE, 3, 2), (PODS_ALONE, 2, 1)]
)
def test_runs_come_in_their_order_from_all_processes(monkeypatch, replicas, number, processes):
    """Few Pods are placed by one process: others begin slowly."""
    monkeypatch.setattr(simulated_runs, "cpus", lambda: 2)
    planned = plan([*nodes("a=2 b=2"), *deployment(constraint(), replicas=replicas, on=["a1", "b1"])], "scale=6")
    numbers, outcomes = zip(*all_runs(noting_process, planned, 1, number), strict=True)

    assert [run(planned, 1, i) for i in range(number)] == list(outcomes)
    assert (len(set(numbers)) > 1) == (processes > 1)


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
