"""
A live scheduler places Pods with claims, and the controller binds those: as evenkeel computes before each is created.

`CLUSTERS=40 pytest tests/e2e/test_claims.py` tries as many; without it there are six.  Nothing provisions here:
the test makes the volume that is to be made for a node, in the node's zone, as a provisioner would.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from tests.e2e.api import ApiError
from tests.e2e.claimants import CLASSES, DRIVERS, claimants
from tests.e2e.decisions import FLAGS, NOW, Decided, Stream, differing
from tests.e2e.placement import node, refusal
from tests.e2e.plane import ControlPlane
from tests.support.build import ZONE
from tests.support.claims import volume
from tests.support.serving import until

CLUSTERS, PODS = int(os.environ.get("CLUSTERS") or 6), 15
# Those that namespaces need, and the one that binds claims; others would take the Pods for their own.
CONTROLLERS = "serviceaccount-controller,persistentvolume-binder-controller"
SELECTED = "volume.kubernetes.io/selected-node"
PATHS = {
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/namespaces/{}/csistoragecapacities",
}
REASONS = {
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) exceed max volume count",
    "node(s) didn't match pod topology spread constraints",
    "pod has unbound immediate PersistentVolumeClaims",
}


class Claiming(Stream):
    """A cluster with volumes in a control plane."""

    def __init__(self, plane: ControlPlane, number: int, folder) -> None:
        given, self.storage = claimants(number, PODS)
        super().__init__(plane, given, folder)

    def begin(self) -> None:
        super().begin()
        for made in self.storage:
            self.api.call("POST", _path(made), made)
        until(self._is_bound, "the claims that have a volume to be bound")

    def _is_bound(self) -> bool:
        named = [there for there in self.claims() if there["spec"].get("volumeName")]
        return all(there["status"]["phase"] == "Bound" for there in named)

    def claims(self) -> list[dict]:
        (namespace,) = self.given.namespaces
        return self.api.call("GET", PATHS["PersistentVolumeClaim"].format(namespace))["items"]

    def settled(self, path: str) -> dict | None:
        """Return the Pod once it is bound or refused; make the volumes for which the scheduler has selected a node."""
        for there in self.claims():
            selected = there["metadata"].get("annotations", {}).get(SELECTED)
            if selected and not there["spec"].get("volumeName"):
                self._provision(there, selected)
        there = self.api.call("GET", path)
        return there if node(there) or refusal(there) else None

    def _provision(self, there: dict, selected: str) -> None:
        zone = next(
            made["metadata"]["labels"][ZONE] for made in self.given.nodes if made["metadata"]["name"] == selected
        )
        name, spec = there["metadata"]["name"], there["spec"]
        made = volume(f"made-{name}", zone, of=name, of_class=spec["storageClassName"])
        made["spec"]["capacity"] = {"storage": spec["resources"]["requests"]["storage"]}
        made["spec"] |= {
            "csi": {"driver": "made.example.com", "volumeHandle": name},
            "accessModes": spec["accessModes"],
        }
        made["spec"]["claimRef"] |= {"namespace": there["metadata"]["namespace"], "uid": there["metadata"]["uid"]}
        try:
            self.api.call("POST", PATHS["PersistentVolume"], made)
        except ApiError as error:
            if error.status != 409:  # It is there already, and about to be bound.
                raise

    def end(self) -> None:
        super().end()
        for resource in ("csinodes",):
            self.api.call("DELETE", f"/apis/storage.k8s.io/v1/{resource}", NOW)
        self.api.call("DELETE", PATHS["CSIStorageCapacity"].format("kube-system"), NOW)


def _path(made: dict) -> str:
    return PATHS[made["kind"]].format(made["metadata"].get("namespace"))


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane without nodes, whose scheduler tells what it scores, and of whose controllers few run."""
    flags = {**FLAGS, "kube-controller-manager": {"controllers": CONTROLLERS}}
    with ControlPlane(tmp_path_factory.mktemp("plane"), flags) as running:
        yield running


@pytest.fixture(scope="module")
def decisions(plane, tmp_path_factory) -> list[Decided]:
    for made in (*CLASSES, *DRIVERS):
        plane.api.call("POST", _path(made), made)
    decided: list[Decided] = []
    for number in range(CLUSTERS):
        stream = Claiming(plane, number, tmp_path_factory.mktemp("pods"))
        for name in stream.given.namespaces:
            plane.create_namespace(name)
        stream.begin()
        decided += stream.decisions()
        stream.end()
    return decided


def test_the_scheduler_decides_as_evenkeel_computes(decisions):
    assert {} == differing(decisions)


def test_all_is_judged(decisions):
    assert [] == [(decided.pod, decided.gaps) for decided in decisions if decided.gaps]


def test_there_are_forty_decisions_of_all_kinds(decisions):
    messages = [decided.live.message for decided in decisions if not decided.node]
    reasons = {
        re.sub(r"^\d+ ", "", part)
        for text in messages
        for part in text.removesuffix(".").partition(": ")[2].split(", ")
    }

    assert len(decisions) >= 40
    assert set() == REASONS - reasons
    assert sum(bool(decided.node) for decided in decisions) >= len(decisions) / 3
