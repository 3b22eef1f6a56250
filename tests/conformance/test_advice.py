"""Every remedy that is offered for a recorded case lets the Pod in."""

from __future__ import annotations

from itertools import islice

import pytest

from evenkeel.placement.obstacles import obstacles
from evenkeel.placement.remedies import remedies
from evenkeel.scheduler.framework import find_feasible
from evenkeel.scheduler.profile import Cycle
from tests.conformance.cases import read
from tests.conformance.defaults import in_force
from tests.conformance.placement import read_pod, read_snapshot, system_defaults
from tests.support import DATA
from webhook.kubernetes.features import LATEST, NEWEST


def attempts(name, every):
    for case in islice(read(DATA / f"1.{NEWEST}" / name), 0, None, every):
        pod, constraints = read_pod(case, LATEST), in_force(case, LATEST)[1]
        yield case, Cycle(pod, constraints, read_snapshot(case, LATEST), LATEST, system_defaults(case))


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["preemption.jsonl.gz", "whole_profile.jsonl.gz", "volume_profile.jsonl.gz"])
def test_a_remedy_of_a_recorded_case_lets_in_the_pod_on_its_nodes(name, every):
    offered = 0
    for case, cycle in attempts(name, every):
        feasibility = find_feasible(cycle)
        if feasibility.feasible:
            continue
        obstacles(cycle, feasibility)
        for remedy in remedies(cycle, feasibility):
            nodes, offered = remedy.cycle.snapshot.nodes, offered + 1
            assert nodes.named(remedy.nodes) == find_feasible(remedy.cycle).feasible, (case["name"], remedy.change)

    assert offered > 50 / every
