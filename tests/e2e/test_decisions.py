"""
A live scheduler places Pod after Pod in random clusters: nodes that pass, totals and messages as evenkeel computes.

`CLUSTERS=40 pytest tests/e2e/test_decisions.py` tries as many; without it there are four.
Ties are broken by chance, so what happens is not the same in every run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from tests.e2e.arrivals import arrivals
from tests.e2e.decisions import FLAGS, Decided, Stream, differing, make_namespaces
from tests.e2e.plane import ControlPlane

CLUSTERS, PODS = int(os.environ.get("CLUSTERS") or 4), 30
REASONS = {
    "Insufficient cpu",
    "node(s) didn't have free ports for the requested pod ports",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't match pod affinity rules",
    "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't match pod topology spread constraints",
    "node(s) didn't satisfy existing pods anti-affinity rules",
    "node(s) had untolerated taint(s)",
    "node(s) were unschedulable",
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes, whose scheduler tells what it scores."""
    with ControlPlane(tmp_path_factory.mktemp("plane"), FLAGS) as running:
        yield running


@pytest.fixture(scope="module")
def decisions(plane, tmp_path_factory) -> list[Decided]:
    clusters = [arrivals(number, PODS) for number in range(CLUSTERS)]
    make_namespaces(plane, clusters)
    made = []
    for given in clusters:
        stream = Stream(plane, given, tmp_path_factory.mktemp("pods"))
        stream.begin()
        made += stream.decisions()
        stream.end()
    return made


def test_the_scheduler_decides_as_evenkeel_computes(decisions):
    assert {} == differing(decisions)


def test_all_is_judged(decisions):
    assert [] == [(decided.pod, decided.gaps) for decided in decisions if decided.gaps]
    assert [0 if decided.node else 1 for decided in decisions] == [decided.code for decided in decisions]


def test_there_are_a_hundred_decisions_of_all_kinds(decisions):
    messages = [decided.live.message for decided in decisions if not decided.node]
    chosen = [decided for decided in decisions if len(decided.live.totals) > 1]

    assert len(decisions) >= 100
    assert set() == REASONS - {reason for message in messages for reason in reasons(message)}
    assert len(chosen) > len(decisions) / 2
    assert sum(len(decided.best) == 1 for decided in chosen) > len(chosen) / 2


def reasons(message: str) -> list[str]:
    """Return the reasons of a message without their numbers, but for what is said of preemption."""
    of_filters = message.partition(". preemption: ")[0]
    return [re.sub(r"^\d+ ", "", part) for part in of_filters.partition(": ")[2].split(", ")]
