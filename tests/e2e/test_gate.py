"""
What `evenkeel simulate rollout -f` says of a folder before it is applied, beside what comes of it in a real cluster.

`PAIRS=10 pytest -s tests/e2e/test_gate.py` tries as many pairs of folders; without it there are five.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e import site
from tests.e2e.folders import Folder, Pair, pair
from tests.e2e.plane import ControlPlane
from tests.e2e.site import Place, complete, number, ready
from tests.support.commands import script

NUMBER = int(os.environ.get("PAIRS") or 5)
RUNS = 1_000
RESOURCES = ("deployments", "statefulsets")


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes."""
    with ControlPlane(tmp_path_factory.mktemp("plane"), site.FLAGS) as running:
        running.configure_scheduler(**site.BACKOFF)
        yield running


class Standing(Place):
    """The nodes of a pair, where kubectl applies folders."""

    def apply(self, folder: Path) -> None:
        done = self.plane.kubectl("apply", "-n", self.namespace, "-f", str(folder))
        assert 0 == done.code, done.stderr
        self.rest()

    def at_rest(self, there: list[dict]) -> bool:
        """Whether the controllers of all workloads have seen these Pods too, and are not about to do more."""
        sets = self.listed("replicasets")
        return (
            super().at_rest(there)
            and all(one["status"]["replicas"] == one["spec"]["replicas"] for one in sets)
            and all(is_seen(one, there) for one in (*sets, *self.workloads()))
        )

    def workloads(self) -> list[dict]:
        return [one for resource in RESOURCES for one in self.listed(resource)]

    def listed(self, resource: str) -> list[dict]:
        """Lists leave out the kind of what is in them."""
        found = self.api.call("GET", self.path("apps/v1", resource))
        return [{"kind": found["kind"].removesuffix("List"), **one} for one in found["items"]]


def is_seen(owner: dict, pods: list[dict]) -> bool:
    """Whether a controller has said what there is of a workload or a ReplicaSet."""
    labels = owner["spec"]["selector"]["matchLabels"].items()
    own = [pod for pod in pods if labels <= pod["metadata"]["labels"].items()]
    return (
        owner["status"].get("observedGeneration") == owner["metadata"]["generation"]
        and number(owner, "replicas") == len(own)
        and number(owner, "readyReplicas") == number(owner, "availableReplicas") == sum(map(ready, own))
    )


class Compared(NamedTuple):
    """Of each workload that is rolled out, the share of the runs in which that does not end, and whether it has."""

    said: dict[str, float]
    ended: dict[str, bool]

    @property
    def certain(self) -> set[str]:
        return {name for name, stuck in self.said.items() if stuck in (0.0, 1.0)}

    def wrong(self) -> set[str]:
        return {name for name in self.certain if self.ended[name] == (self.said[name] == 1.0)}


@pytest.fixture(scope="module")
def compared(plane, tmp_path_factory) -> Callable[[int], Compared]:
    """What has come of a pair of folders, by its number."""
    return cache(lambda number: tried(plane, tmp_path_factory.mktemp("folders"), pair(number)))


def tried(plane: ControlPlane, folder: Path, given: Pair) -> Compared:
    here = Standing(plane, f"gate-{given.number}", given.nodes)
    before, after = (written(folder / name, getattr(given, name)) for name in ("before", "after"))
    try:
        here.apply(before)
        said = simulated(given, here.dump(folder), after)
        here.apply(after)
        ended = {f"{one['kind']}/{one['metadata']['name']}": complete(one) for one in here.workloads()}
    finally:
        here.close()
    return Compared(said, ended)


def written(folder: Path, workloads: Folder) -> Path:
    folder.mkdir()
    for made in workloads.values():
        (folder / f"{made['metadata']['name']}.json").write_text(json.dumps(made))
    return folder


def simulated(given: Pair, file: Path, after: Path) -> dict[str, float]:
    """The share of the runs in which a rollout does not end, of each workload that is not left out."""
    options = ("-n", file.name.partition(".")[0], "-o", "json", "--runs", str(RUNS), "--seed", str(given.number))
    done = script("simulate", "rollout", "-f", after, "--cluster", file, *options)
    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert not found["notJudged"], found["notJudged"]
    return {one["workload"]: one["rollout"]["stuck"] for step in found["steps"] for one in step["workloads"]}


@pytest.mark.parametrize("number", range(NUMBER))
def test_rollouts_hang_or_end_as_was_said(compared, number):
    found = compared(number)
    print(f"\n{pair(number)}: {found}")

    assert pair(number).rolled_out == found.said.keys()
    assert not found.wrong()


def test_mostly_it_is_certain_whether_a_rollout_ends_and_some_hang(compared):
    found = [compared(number) for number in range(NUMBER)]
    said = [stuck for one in found for stuck in one.said.values()]

    assert 2 * sum(len(one.certain) for one in found) >= len(said)
    assert {0.0, 1.0} <= {*said}
