"""
The commands of `evenkeel report --moves`, carried out in random clusters where a workload is uneven.

`MOVES=30 pytest -s tests/e2e/test_moves.py` tries as many; without it there are four, the same in every run.
"""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from evenkeel.simulate.moves import NOT_SIMULATED, UNDER_WAY
from tests.e2e import site
from tests.e2e.api import MERGE, ApiError
from tests.e2e.futures import keeping, situation
from tests.e2e.placement import node
from tests.e2e.plane import ControlPlane
from tests.e2e.site import Site, deleted, ready, replica
from tests.e2e.stored import Provisioner
from tests.support.build import ZONE
from tests.support.commands import script

NUMBER = int(os.environ.get("MOVES") or 4)
SHARE = 28 / 30  # of the workloads end as it was said: chance decides ties, and some outcomes come in no run
DELETIONS = 20  # at random, where no deletion helps
KEEPING = 10  # of so many workloads, one has claims that are bound to zones


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("plane"), site.FLAGS) as running, Provisioner(running.api):
        running.configure_scheduler(**site.BACKOFF)
        yield running


class Outcome(NamedTuple):
    """What has come of one workload."""

    given: str
    said: dict  # as JSON
    missed: str = ""  # how it ended otherwise than it was said

    def __str__(self) -> str:
        how = "even" if self.said["even"] else f"no further: {self.said['reason']}"
        return f"{self.given}: {len(self.said['steps'])} deletions, {how}{self.missed and f'; MISSED: {self.missed}'}"


class Uneven:
    """A site whose workload is made uneven."""

    def __init__(self, plane: ControlPlane, folder: Path, number: int):
        self.number, self.random = number, Random(number)
        given = situation(number)
        if number % KEEPING == KEEPING - 1:  # Claims are bound, and some Pods may not move.
            given = keeping(number // KEEPING % 2)
        self.site, self.plane, self.folder = Site(plane, f"moves-{number}", given), plane, folder
        self.unbalance()

    def unbalance(self) -> None:
        """Scale down so that one zone keeps its Pods; or lose a zone that then comes back."""
        here, zones = self.site, sorted({one["metadata"]["labels"][ZONE] for one in self.site.nodes().values()})
        zone, pods = self.random.choice(zones), [one for one in here.everyone() if replica(one)]
        if self.number % 2 and len(pods) > 4:
            nodes = here.chosen(f"{ZONE}={zone}")
            for one in pods:
                cheap = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}
                if node(one) not in nodes:
                    here.api.call("PATCH", here.path("api/v1", "pods", one["metadata"]["name"]), cheap, MERGE)
            here.do(f"scale={len(pods) // 2}")
            return
        taints = {name: one["spec"].get("taints", []) for name, one in here.chosen(f"{ZONE}={zone}").items()}
        here.do(f"drain={ZONE}={zone}")
        for name, before in taints.items():
            here.change(name, before, unschedulable=None)
        here.settle()

    def report(self) -> dict:
        """What is reported of the workload."""
        here, made = self.site, self.site.situation.workload
        options = ("-n", here.namespace, "-o", "json", "--moves", "--cluster", here.dump(self.folder))
        done = script("report", f"{made['kind'].lower()}/{made['metadata']['name']}", *options)
        assert 0 == done.returncode, done.stderr
        (only,) = json.loads(done.stdout)["workloads"]
        return only

    def outcome(self) -> Outcome | None:
        """What comes of the commands; None if the workload is even from the beginning, or cannot be simulated."""
        before = self.report()
        said = before["moves"]
        if said is None or said["reason"] in (NOT_SIMULATED, UNDER_WAY):
            return None
        if said["steps"]:
            self.run(said["wait"])
        for step in said["steps"]:
            self.carry_out(step)
        self.site.settle()
        after = self.report()
        outcome, skews = Outcome(str(self.site), said), excess(after)
        if said["even"] and any(skews):
            return outcome._replace(missed=f"skews are beyond maxSkew by {skews}")
        if said["steps"] and not sum(skews) < sum(excess(before)):
            return outcome._replace(missed=f"skews are beyond maxSkew by {skews}, as before")
        if not said["even"]:
            better = self.delete_at_random(after["constraints"], sum(skews))
            return outcome._replace(missed=f"by chance skews are beyond maxSkew by {better}" if better else "")
        return outcome

    def carry_out(self, step: dict) -> None:
        """Run the commands of a step; the budget allows an eviction, and the new Pod is ready when they end."""
        here = self.site
        ready_before = sum(map(ready, self.replicas()))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": step["pod"]}}
        here.api.call("POST", f"{here.path('api/v1', 'pods', step['pod'], 'eviction')}?dryRun=All", eviction)
        for command in (step["delete"], *step["wait"]):
            self.run(command)
        assert ready_before == sum(map(ready, self.replicas())), step

    def run(self, command: str) -> None:
        done = self.plane.kubectl(*shlex.split(command)[1:])
        assert 0 == done.code, (command, done.stderr)

    def replicas(self) -> list[dict]:
        return [one for one in self.site.everyone() if replica(one) and not deleted(one)]

    def delete_at_random(self, constraints: Sequence[dict], least: int) -> list[int]:
        """Evict Pods; return by how much skews are then beyond maxSkew, if that is ever less."""
        for _ in range(DELETIONS):
            on_nodes = [one for one in self.replicas() if node(one)]
            if on_nodes and self.site.evict(self.random.choice(on_nodes)["metadata"]["name"]):
                self.site.rest(0.4)
            now = [self.excess_of(one) for one in constraints]
            if sum(now) < least and all(map(ready, self.replicas())):
                return now
        return []

    def excess_of(self, reported: dict) -> int:
        """By how much the skew of a constraint is beyond what was reported as the smallest."""
        written = self.site.situation.constraints[reported["index"]]
        seen = self.site.seen._replace(pods=self.replicas(), nodes=self.site.nodes())
        counts = seen.counts(written, self.site.situation.tolerations)
        numbers = [counts[domain] for domain in reported["domains"]]
        least = 0 if len(numbers) < reported["minDomains"] else min(numbers)
        return max(0, max(numbers) - least - reported["leastSkew"])

    def close(self) -> None:
        self.site.close()


def excess(reported: dict) -> list[int]:
    return [max(0, one["skew"] - one["leastSkew"]) for one in reported["constraints"]]


def outcomes(plane: ControlPlane, folder: Path) -> Iterator[Outcome]:
    for number in count():
        uneven = Uneven(plane, folder, number)
        try:
            outcome = uneven.outcome()
        except ApiError as error:
            raise AssertionError(f"{uneven.site}: {error}") from error
        finally:
            uneven.close()
        if outcome is not None:
            print(f"{number}: {outcome}", flush=True)
            yield outcome


def test_the_commands_bring_workloads_back_and_where_there_are_none_no_deletion_does(plane, tmp_path):
    found = list(islice(outcomes(plane, tmp_path), NUMBER))
    missed = [str(outcome) for outcome in found if outcome.missed]
    reasons = Counter(outcome.said["reason"] for outcome in found)
    print(f"{NUMBER - len(missed)} of {NUMBER} end as said; {reasons}; {missed}")

    assert NUMBER - len(missed) >= int(SHARE * NUMBER), missed
