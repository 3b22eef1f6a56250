"""
A live scheduler places Pods with volumes, one after the other: what it decides is what evenkeel computes.

`CLUSTERS=40 pytest tests/e2e/test_volume_decisions.py` tries as many; without it there are four.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.e2e import site
from tests.e2e.api import MERGE
from tests.e2e.decisions import FLAGS, NOW, Decided, Decision, Stream, differing
from tests.e2e.placement import node, refusal
from tests.e2e.plane import ControlPlane
from tests.e2e.stored import Provisioner, await_bound, create_all, remove_all
from tests.e2e.volume_arrivals import VolumeArrivals, volume_arrivals
from tests.support.serving import until

pytestmark = pytest.mark.slow  # The recordings have them, too.

CLUSTERS, PODS, REPLICAS = int(os.environ.get("CLUSTERS") or 4), 14, 3
REASONS = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use",
    "node(s) exceed max volume count",
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) had no available volume zone",
    "pod has unbound immediate PersistentVolumeClaims",
    'persistentvolumeclaim "missing" not found',
)


class VolumeStream(Stream):
    """A cluster with volumes, and the decisions for Pods and for the replicas of StatefulSets."""

    def __init__(self, plane: ControlPlane, arriving: VolumeArrivals, folder):
        super().__init__(plane, arriving.given, folder)
        self.arriving = arriving

    def begin(self) -> None:
        create_all(self.api, self.arriving.objects)
        super().begin()
        for made in self.arriving.sets:
            self.api.call("POST", self.sets(made), made)

    def sets(self, made: dict, *name: str) -> str:
        return "/".join((f"/apis/apps/v1/namespaces/{made['metadata']['namespace']}/statefulsets", *name))

    def computed(self, made: dict) -> tuple[Decision, int, tuple[str, ...]]:
        await_bound(self.api, self.given.namespaces)
        return super().computed(made)

    def settled(self, path: str) -> dict | None:
        """Return a Pod that is placed or refused, once its ephemeral claims are there."""
        there = super().settled(path)
        return None if there is None or "waiting for ephemeral volume controller" in refusal(there) else there

    def decisions(self) -> Iterator[Decided]:
        yield from super().decisions()
        for made in self.arriving.sets:
            yield from self.replicas(made)

    def replicas(self, made: dict) -> Iterator[Decided]:
        """Decide for one replica after the other of a StatefulSet, until one finds no node."""
        namespace, name = made["metadata"]["namespace"], made["metadata"]["name"]
        for ordinal in range(REPLICAS):
            await_bound(self.api, self.given.namespaces)
            computed, code, gaps = self.explained(f"statefulset/{name}", "-n", namespace)
            self.api.call("PATCH", self.sets(made, name), {"spec": {"replicas": ordinal + 1}}, MERGE)
            pod = f"{namespace}/{name}-{ordinal}"
            path = f"/api/v1/namespaces/{namespace}/pods/{name}-{ordinal}"
            there = until(lambda path=path: self.replica(path), f"a decision for {pod}")
            yield Decided(pod, computed, self.live(pod, there), node(there), code, gaps)
            if not node(there):
                self.api.call("PATCH", self.sets(made, name), {"spec": {"replicas": 0}}, MERGE)
                return

    def replica(self, path: str) -> dict | None:
        """Return a replica that is placed or refused, once it is there, and kube-scheduler has heard of its claims."""
        there = self.settled(path) if self.api.exists(path) else None
        return None if there is None or "not found" in refusal(there) else there

    def end(self) -> None:
        """Take away everything but the namespaces."""
        for made in self.arriving.sets:
            self.api.call("DELETE", self.sets(made, made["metadata"]["name"]))
        super().end()
        pods = [f"/api/v1/namespaces/{namespace}/pods" for namespace in self.given.namespaces]

        def gone() -> bool:
            for path in pods:
                self.api.call("DELETE", path, NOW)
            return not any(self.api.call("GET", path)["items"] for path in pods)

        until(gone, "no Pods")
        remove_all(self.api, self.given.namespaces)


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes, in which volumes are made, and Pods stay where they are."""
    flags = {"kube-controller-manager": {"controllers": site.CONTROLLERS_OF_VOLUMES}, **FLAGS}
    with ControlPlane(tmp_path_factory.mktemp("plane"), flags) as running, Provisioner(running.api):
        running.configure_scheduler(**site.BACKOFF)
        yield running


@pytest.fixture(scope="module")
def decisions(plane, tmp_path_factory) -> list[Decided]:
    made = []
    for number in range(CLUSTERS):
        arriving = volume_arrivals(number, PODS)
        for namespace in arriving.given.namespaces:
            plane.create_namespace(namespace)
        stream = VolumeStream(plane, arriving, tmp_path_factory.mktemp("pods"))
        stream.begin()
        made += stream.decisions()
        stream.end()
    return made


def test_the_scheduler_decides_as_evenkeel_computes(decisions):
    assert {} == differing(decisions)


def test_all_is_judged(decisions):
    assert [] == [(decided.pod, decided.gaps) for decided in decisions if decided.gaps]
    assert [0 if decided.node else 1 for decided in decisions] == [decided.code for decided in decisions]


def test_there_are_forty_decisions_of_all_kinds(decisions):
    messages = " ".join(decided.live.message for decided in decisions)

    assert len(decisions) >= 40
    assert [] == [reason for reason in REASONS if reason not in messages]
    assert sum(len(decided.live.totals) > 1 for decided in decisions) > 10
    assert sum("/set-" in decided.pod for decided in decisions) >= 10
