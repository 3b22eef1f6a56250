"""
What `evenkeel simulate` says would happen to random clusters, beside what real controllers and kube-scheduler do.

`SIMULATIONS=40 pytest tests/e2e/test_simulate.py` tries as many; without it there are ten, the same in every run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from evenkeel.clusters.dump_files import contents
from tests.e2e import programs, site
from tests.e2e.futures import (
    HIGH,
    LOW,
    NAME,
    Situation,
    amid,
    autoscaled,
    daemons,
    graceless,
    keeping,
    preempting,
    scaled,
    sick,
    situation,
    slow,
    soft,
    storing,
    updated,
    working,
)
from tests.e2e.plane import ControlPlane
from tests.e2e.site import Seen, Site
from tests.e2e.stored import Provisioner
from tests.oracle.building import program
from tests.oracle.recording import ask
from tests.support.build import priority_class
from tests.support.chance import likelihood
from tests.support.commands import script
from tests.support.kubernetes_source import Version
from tests.support.simulated import plan, run_one

NUMBER = int(os.environ.get("SIMULATIONS") or 10)
EACH, MANY = (4, 5) if "SIMULATIONS" in os.environ else (1, 2)  # Of each further kind of situation.
RUNS = 2_000
# One more run is outside of what 2,000 show of a number with at most 1 chance in 1,000, and of 30 numbers with at most
# 3 in 100. If that comes, the situation is repeated, and may be outside once.
REPETITIONS, SHARE = 20, 1 / 20
FALSE_ALARM = 1e-4
UNIFORM = Version(33, 13)
FEW = 10
Layout = frozenset[tuple[str, int]]
NEVER = {"least": 0, "most": 0}


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes, which takes Pods away from nodes that are lost."""
    with ControlPlane(tmp_path_factory.mktemp("plane"), site.FLAGS) as running, Provisioner(running.api):
        running.configure_scheduler(**site.BACKOFF)
        for name, value in ((HIGH, 1000), (LOW, -10)):
            running.api.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority_class(name, value))
        yield running


NUMBERS = count(1)


class Beside:
    """One situation after the other in a control plane, and a dump of each before its first step."""

    def __init__(self, plane: ControlPlane, folder: Path):
        self.plane, self.folder = plane, folder

    def real(self, given: Situation) -> tuple[list[Seen], Path]:
        """What comes of each step, and the dump, which has the namespace's name."""
        here = Site(self.plane, f"future-{next(NUMBERS)}", given)
        try:
            file = here.dump(self.folder)
            return [here.do(step) for step in given.steps], file
        finally:
            here.close()

    def compared(self, given: Situation) -> Compared:
        seen, file = self.real(given)
        return compared(given, seen, simulated(given, file))


def simulated(given: Situation, file: Path, runs: int = RUNS, *more: str | Path) -> dict:
    """What `evenkeel simulate` prints of a dump."""
    workload = f"{given.workload['kind'].lower()}/{given.workload['metadata']['name']}"
    options = ("-n", namespace_of(file), "-o", "json", "--runs", str(runs), "--seed", str(given.number))
    if given.applied:
        more += ("-f", applied(given, file.with_suffix(".json")))
    done = script("simulate", workload, *given.steps, "--cluster", file, *options, *more)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def applied(given: Situation, file: Path) -> Path:
    """A file with the workload as it is to be, and with another template."""
    made = deepcopy(given.workload)
    made["spec"] |= given.applied
    made["spec"]["template"]["metadata"]["labels"]["version"] = "2"
    file.write_text(json.dumps(made))
    return file


def namespace_of(file: Path) -> str:
    return file.name.partition(".")[0]


class Compared(NamedTuple):
    """Each number that no run shows, and whether all runs show the same numbers."""

    outside: list[str]
    fixed: bool


def compared(given: Situation, seen: list[Seen], simulation: dict) -> Compared:
    """What there was after each step, beside the least and the most of all runs."""
    outside, fixed = [], True
    for step, now, said in zip(given.steps, seen, simulation["steps"], strict=True):
        (workload,) = said["workloads"]
        numbers = {"waiting": (now.waiting(), workload["waiting"])}
        for constraint, judged in zip(given.constraints, workload["constraints"], strict=True):
            there = now.counts(constraint, given.tolerations)
            ranges = {one["value"]: one["pods"] for one in judged["domains"]}
            numbers |= {
                f"[{judged['index']}] {value}": (there[value], ranges.get(value, NEVER))
                for value in there.keys() | ranges.keys()
            }
        fixed &= all(one["least"] == one["most"] for _, one in numbers.values())
        outside += [
            f"{step}: {what}: {number}, not {one['least']} to {one['most']}"
            for what, (number, one) in sorted(numbers.items())
            if not one["least"] <= number <= one["most"]
        ]
    return Compared(outside, fixed)


@pytest.fixture(scope="module")
def beside(plane, tmp_path_factory) -> Beside:
    return Beside(plane, tmp_path_factory.mktemp("dumps"))


@pytest.fixture(scope="module")
def first(beside) -> Callable[[int], Compared]:
    """What the first try of a situation has come to, by its number."""
    return cache(lambda number: beside.compared(situation(number)))


@pytest.mark.parametrize("number", range(NUMBER))
def test_what_happens_is_within_what_the_runs_show(beside, first, number):
    """An outcome that no run shows may come by chance; then it comes again no more often than is stated."""
    agrees(beside, situation(number), first(number))


@pytest.mark.parametrize("number", range(EACH))
def test_pods_that_must_have_been_ready_for_a_while(beside, number):
    found = beside.compared(slow(number))

    assert found.fixed or number
    agrees(beside, slow(number), found)


@pytest.mark.parametrize("number", range(EACH))
def test_a_stateful_set_amid_a_rollout(beside, number):
    agrees(beside, amid(number), beside.compared(amid(number)))


@pytest.mark.parametrize("number", range(5))
def test_a_stateful_set_that_1_38_updates_otherwise(beside, number):
    """Only which of the Pods that are made and deleted at once comes first is left to chance, and not in 1.38."""
    before = programs.version().minor < 38
    if number > 2 and before:
        pytest.skip("before 1.38 there is no updateStrategy Recreate")
    found = beside.compared(updated(number))

    assert found.fixed or (number == 2 and before)
    agrees(beside, updated(number), found)


@pytest.mark.parametrize("number", range(EACH))
def test_a_budget_over_pods_that_are_not_ready(beside, number):
    agrees(beside, sick(number), beside.compared(sick(number)))


@pytest.mark.parametrize("number", range(2))
def test_an_autoscaler_brings_a_workload_within_its_bounds(beside, number):
    agrees(beside, autoscaled(number), beside.compared(autoscaled(number)))


@pytest.mark.parametrize("number", range(EACH))
def test_pods_without_a_grace_period(beside, number):
    agrees(beside, graceless(number), beside.compared(graceless(number)))


@pytest.mark.parametrize("number", range(EACH))
def test_a_job(beside, number):
    found = beside.compared(working(number))

    assert found.fixed or not number
    agrees(beside, working(number), found)


@pytest.mark.parametrize("number", range(MANY))
def test_a_daemon_set(beside, number):
    agrees(beside, daemons(number), beside.compared(daemons(number)))


@pytest.mark.parametrize("number", range(EACH))
def test_pods_that_keep_their_claims(beside, number):
    agrees(beside, keeping(number), beside.compared(keeping(number)))


@pytest.mark.parametrize("number", range(EACH))
def test_pods_whose_volumes_are_made_or_are_disks_of_nodes(beside, number):
    agrees(beside, storing(number), beside.compared(storing(number)))


@pytest.mark.parametrize("number", range(EACH))
def test_pods_that_preempt_others(beside, number):
    agrees(beside, preempting(number), beside.compared(preempting(number)))


def agrees(beside: Beside, given: Situation, found: Compared) -> None:
    if found.outside:
        again = [beside.compared(given).outside for _ in range(REPETITIONS)]
        assert sum(map(bool, again)) <= SHARE * REPETITIONS, (str(given), found.outside, again)


def test_often_there_is_no_choice_and_often_there_is_one(first):
    """So numbers must often be equal, and are not always."""
    fixed = sum(first(number).fixed for number in range(NUMBER))

    assert NUMBER / 4 < fixed < NUMBER


@pytest.mark.skipif(programs.version().minor > 34, reason="from 1.35 on ties are not broken by chance alone")
@pytest.mark.parametrize("number", range(3))
def test_outcomes_are_as_frequent_as_in_the_runs(beside, number):
    given = soft(number)
    real = []
    for _ in range(REPETITIONS):
        seen, file = beside.real(given)
        real.append(frozenset(seen[-1].counts(given.constraints[-1], ()).items()))
    runs = ends(given, list(contents(file).objects), RUNS)

    assert likelihood(real, runs) > FALSE_ALARM, (Counter(real), Counter(runs))
    always = Counter(runs).most_common(1)[0][0]
    assert likelihood([always] * REPETITIONS, runs) < FALSE_ALARM, "one that always takes the same would not be found"


@pytest.mark.skipif("SIMULATIONS" not in os.environ, reason="make simulate-check builds what places Pods as 1.33 does")
@pytest.mark.parametrize("number", range(FEW))
def test_outcomes_are_as_frequent_as_where_the_real_scheduler_places_one_by_one(number):
    given = scaled(number)
    objects = [*given.nodes, *(in_namespace(one) for one in (*given.bare, given.workload))]
    real, runs = placed(given, objects, FEW * REPETITIONS), ends(given, objects, RUNS)

    assert likelihood(real, runs) > FALSE_ALARM, (str(given), Counter(real), Counter(runs))


def in_namespace(one: dict) -> dict:
    return {**one, "metadata": {**one["metadata"], "namespace": NAME, "uid": one["metadata"]["name"]}}


def placed(given: Situation, objects: list[dict], runs: int) -> list[Layout]:
    """What the last constraint counts when kube-scheduler, asked by tests/oracle, has placed so many replicas."""
    template, (step,) = given.workload["spec"]["template"], given.steps
    metadata = {**template["metadata"], "name": NAME, "namespace": NAME}
    case = {
        "config": {"defaultingType": "List", "defaultConstraints": []},
        "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]},
        "nodes": given.nodes,
        "pods": (there := [one for one in objects if one["kind"] == "Pod"]),
        "replicas": int(step.partition("=")[2]),
        "runs": runs,
    }
    (found,) = ask(program(UNIFORM), "replicas", [case])
    key = given.constraints[-1]["topologyKey"]
    domains = {one["metadata"]["name"]: one["metadata"]["labels"][key] for one in given.nodes}
    before = [one["spec"]["nodeName"] for one in there if one["metadata"]["labels"]["app"] == NAME]
    return [frozenset(Counter(domains[host] for host in (*before, *hosts) if host).items()) for hosts in found["runs"]]


def ends(given: Situation, objects: list[dict], runs: int) -> list[Layout]:
    """What the last constraint counts in the end of each run."""
    (raw,) = (one for one in objects if (one["kind"], one["metadata"]["name"]) == (given.workload["kind"], NAME))
    made = plan(objects, " ".join(given.steps), raw=raw, minor=UNIFORM.minor)
    found = [run_one(made, given.number, number)[-1].constraints[-1].domains for number in range(runs)]
    return [frozenset((domain, number) for domain, number in one.items() if number) for one in found]
