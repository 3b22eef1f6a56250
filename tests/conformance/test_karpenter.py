"""How many nodes Karpenter starts for the constraints that evenkeel gives, as Karpenter's own code decided."""

from __future__ import annotations

from math import ceil

import pytest

from evenkeel.scheduler.snapshot import Snapshot
from tests.oracle.karpenter import CONSTRAINTS, CPUS, PODS, RUNNING, Case, Decision, in_words, recorded
from tests.support import ROOT
from tests.support.build import node, pod, snapshot
from webhook.kubernetes.workload import parse_workloads
from webhook.policy.defaults import suited_defaults
from webhook.policy.parsing import built_in

RECORDED = recorded()
NODES = [node(f"n{zone}", **{"topology.kubernetes.io/zone": zone, "karpenter.sh/nodepool": "a"}) for zone in "abc"]


def given(cluster: Snapshot) -> str:
    """The constraints of a Pod without any, as cases have them."""
    (subject,) = parse_workloads(pod())
    return in_words(suited_defaults(built_in().defaulting, subject, cluster).constraints)


def decided(pods: int, cpu: str, running: tuple[tuple[int, int], ...], constraints: str) -> Decision:
    return RECORDED[Case(pods, cpu, running, constraints)]


@pytest.mark.parametrize("running", RUNNING, ids=str)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("pods", PODS)
def test_the_defaults_start_few_nodes_more_than_zone_alone(pods, cpu, running):
    by_evenkeel = decided(pods, cpu, running, given(snapshot(*NODES)))
    by_zone = decided(pods, cpu, running, "zone 1")
    of_size = [decision for case, decision in RECORDED.items() if case.cpu == cpu]
    most = min(10, max(max(zone) for decision in of_size for zone in decision.zones))  # that a node takes

    assert by_evenkeel.nodes <= max(by_zone.nodes, sum(ceil(sum(zone) / most) for zone in by_evenkeel.zones))


def test_where_nothing_says_that_karpenter_is_there_they_would_start_one_for_each_pod():
    assert 30 == decided(30, "250m", (), given(Snapshot())).nodes


def test_the_page_has_the_figures_that_are_recorded():
    section = (ROOT / "docs" / "policy.md").read_text("utf-8").partition("### Karpenter")[2].partition("\n##")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    shown = [tuple(map(int, numbers)) for _, *numbers in rows[2:]]

    assert shown == [tuple(decided(pods, "250m", (), named).nodes for pods in (30, 100)) for named in CONSTRAINTS]
