"""Plays the kubelet of every node: bound Pods run and are ready at once, deleted Pods are gone at once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http.client import HTTPException
from threading import Event, Thread, Timer

from tests.e2e.api import MERGE, STRATEGIC, Api, ApiError
from tests.support.build import HOSTNAME, ZONE

BOUND_PODS = "/api/v1/pods?watch=true&fieldSelector=spec.nodeName!="
LEASES, BETWEEN_HEARTBEATS = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", 2  # seconds
CAPACITY = {"cpu": "16", "memory": "64Gi", "pods": "110"}
OVERTAKEN = (404, 409)  # somebody else was faster: the Pod is gone, or another one of that name


def create_node(api: Api, name: str, labels: Mapping[str, str], taints=(), allocatable=CAPACITY) -> None:
    """A node as a kubelet registers it, which admission then taints as not ready."""
    metadata = {"name": name, "labels": {HOSTNAME: name, **labels}}
    status = {
        "capacity": allocatable,
        "allocatable": allocatable,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    api.call("POST", "/api/v1/nodes", {"metadata": metadata, "status": status})
    set_taints(api, name, *taints)


def set_taints(api: Api, name: str, *taints: Mapping[str, str]) -> None:
    """Give a node these taints, and no others."""
    api.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": taints}}, MERGE)


def create_zones(api: Api, zones: Mapping[str, int]) -> None:
    """So many nodes in each zone: a1, a2, … in zone a."""
    for zone, count in zones.items():
        for number in range(1, count + 1):
            create_node(api, f"{zone}{number}", {ZONE: zone})


class Kubelet(Thread):
    """
    Watches bound Pods until it is stopped; survives the API server. `error` is why it gave up, if it did.

    Pods of the nodes in `lost` are left alone. Others are gone `grace` seconds after they were deleted, and have failed
    if a finalizer keeps them.
    """

    def __init__(self, api: Api):
        super().__init__(name="kubelet", daemon=True)
        self.api, self.stopped, self.error = api, Event(), None
        self.lost: set[str] = set()
        self.grace = 0.0

    def run(self) -> None:
        while not self.stopped.wait(0.05):
            try:
                for kind, pod in self.api.watch(BOUND_PODS):
                    if kind in ("ADDED", "MODIFIED"):
                        self.tend(pod)
            except (OSError, HTTPException, ValueError):  # the connection ended, maybe amid a line
                continue
            except ApiError as error:
                if error.status < 500 and error.status != 429:
                    self.error = error
                    return

    def tend(self, pod: dict) -> None:
        """What a kubelet does about a Pod, as far as others see it."""
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if pod["spec"]["nodeName"] in self.lost:
            return
        try:
            if metadata.get("deletionTimestamp") and self.grace:
                Timer(self.grace, self.finish_later, (path, metadata)).start()
            elif metadata.get("deletionTimestamp"):
                self.finish(path, metadata)
            elif pod["status"]["phase"] == "Pending":
                only = {
                    "metadata": {"resourceVersion": metadata["resourceVersion"]}
                }  # the next one comes with an event
                self.api.call("PATCH", f"{path}/status", {**only, "status": running(pod)}, STRATEGIC)
        except ApiError as error:
            if error.status not in OVERTAKEN:
                raise

    def finish(self, path: str, metadata: dict) -> None:
        """The Pod of this uid has ended, if it is still there."""
        uid = {"uid": metadata["uid"]}
        try:
            if metadata.get("finalizers"):
                self.api.call("PATCH", f"{path}/status", {"metadata": uid, "status": {"phase": "Failed"}}, STRATEGIC)
            self.api.call("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": uid})
        except ApiError as error:
            if error.status not in OVERTAKEN:
                raise

    def finish_later(self, path: str, metadata: dict) -> None:
        """In a thread of its own, maybe after the API server has gone."""
        with suppress(OSError, HTTPException):
            self.finish(path, metadata)


class Heartbeat(Thread):
    """Renews the Leases of all nodes that there are when it starts, but those that a kubelet has `lost`, until then."""

    def __init__(self, kubelet: Kubelet):
        super().__init__(name="heartbeat", daemon=True)
        self.kubelet, self.api = kubelet, kubelet.api
        self.nodes = [one["metadata"]["name"] for one in self.api.call("GET", "/api/v1/nodes")["items"]]
        for name in self.nodes:
            self.api.call("POST", LEASES, {"metadata": {"name": name}, "spec": lease(name)})

    def run(self) -> None:
        while not self.kubelet.stopped.wait(BETWEEN_HEARTBEATS):
            for name in self.nodes:
                if name not in self.kubelet.lost:
                    with suppress(OSError, HTTPException):
                        self.api.call("PATCH", f"{LEASES}/{name}", {"spec": lease(name)}, MERGE)


def lease(name: str) -> dict:
    """What a kubelet says of itself."""
    return {
        "holderIdentity": name,
        "leaseDurationSeconds": 40,
        "renewTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
    }


def running(pod: dict) -> dict:
    """The status of a Pod whose containers have all started."""
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    ready = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "startTime": now,
        "conditions": [{"type": one, "status": "True", "lastTransitionTime": now} for one in ready],
        "containerStatuses": [
            {
                **{"name": container["name"], "image": container["image"], "imageID": ""},
                **{"ready": True, "started": True, "restartCount": 0, "state": {"running": {"startedAt": now}}},
            }
            for container in pod["spec"]["containers"]
        ],
    }
