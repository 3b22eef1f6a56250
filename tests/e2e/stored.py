"""Objects that volumes depend on in a live cluster: made, bound as they are to be, and taken away again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from threading import Event, Thread

from tests.e2e.api import Api, ApiError
from tests.support.build import ZONE
from tests.support.serving import until

CORE, STORAGE = "/api/v1", "/apis/storage.k8s.io/v1"
# Where objects of a kind are, in the order in which they are made; the last go first.
PATHS = {
    "StorageClass": f"{STORAGE}/storageclasses",
    "CSIDriver": f"{STORAGE}/csidrivers",
    "CSINode": f"{STORAGE}/csinodes",
    "CSIStorageCapacity": f"{STORAGE}/namespaces/{{namespace}}/csistoragecapacities",
    "PersistentVolume": f"{CORE}/persistentvolumes",
    "PersistentVolumeClaim": f"{CORE}/namespaces/{{namespace}}/persistentvolumeclaims",
    "VolumeAttachment": f"{STORAGE}/volumeattachments",
}
SELECTED_NODE = "volume.kubernetes.io/selected-node"
TO_BE_BOUND = "example.com/to-be-bound"
NO_PROVISIONER, WAITS, IMMEDIATE = "kubernetes.io/no-provisioner", "WaitForFirstConsumer", "Immediate"


def create_all(api: Api, objects: Iterable[dict], namespace: str = "") -> None:
    """Make objects; claims that name no namespace are of the one given."""
    for one in sorted(objects, key=lambda one: [*PATHS].index(one["kind"])):
        api.call("POST", _path(one, namespace), one)


def await_bound(api: Api, namespaces: Collection[str]) -> None:
    """Wait until all claims that are to be bound are, and no PersistentVolume is being looked at."""

    def at_rest() -> bool:
        claims = [one for namespace in namespaces for one in listed(api, "PersistentVolumeClaim", namespace)]
        due = [one for one in claims if TO_BE_BOUND in one["metadata"].get("annotations", {})]
        return all(one["status"]["phase"] == "Bound" for one in due) and all(
            one["status"].get("phase") not in (None, "Pending")
            and ("claimRef" not in one["spec"] or one["status"]["phase"] != "Available")
            for one in listed(api, "PersistentVolume")
        )

    until(at_rest, "claims that are bound")


def listed(api: Api, kind: str, namespace: str = "") -> list[dict]:
    """Return all objects of a kind."""
    return api.call("GET", PATHS[kind].format(namespace=namespace))["items"]


def remove_all(api: Api, namespaces: Collection[str]) -> None:
    """Take away all there is of volumes, once no Pod uses it any more."""
    for kind, path in reversed(PATHS.items()):
        paths = {path.format(namespace=namespace) for namespace in ("default", *namespaces)}
        for each in paths:
            api.call("DELETE", each)
        until(lambda paths=paths: not any(api.call("GET", each)["items"] for each in paths), f"no {kind}")


def _path(one: dict, namespace: str) -> str:
    return PATHS[one["kind"]].format(namespace=one["metadata"].get("namespace", namespace))


class Provisioner(Thread):
    """
    Makes the volumes of CSI drivers as an external provisioner does: near the node that kube-scheduler has selected.

    It leaves CSIStorageCapacities as they are. `error` is why it gave up, if it did.
    """

    def __init__(self, api: Api):
        super().__init__(name="provisioner", daemon=True)
        self.api, self.stopped, self.error = api, Event(), None

    def __enter__(self) -> Provisioner:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stopped.set()
        self.join()
        if self.error:
            raise self.error

    def run(self) -> None:
        while not self.stopped.wait(0.1):
            try:
                for claim in self.api.call("GET", f"{CORE}/persistentvolumeclaims")["items"]:
                    node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
                    if node and not claim["spec"].get("volumeName") and "deletionTimestamp" not in claim["metadata"]:
                        self.provision(claim, node)
            except ApiError as error:
                if error.status not in (404, 409):
                    self.error = error
                    return

    def provision(self, claim: dict, node: str) -> None:
        """Make the volume of a claim, unless nobody makes volumes of its class."""
        spec, metadata = claim["spec"], claim["metadata"]
        driver = self.api.call("GET", f"{PATHS['StorageClass']}/{spec['storageClassName']}")["provisioner"]
        if driver == NO_PROVISIONER:
            return
        labels = self.api.call("GET", f"{CORE}/nodes/{node}")["metadata"]["labels"]
        made = volume(f"pvc-{metadata['uid']}", spec["storageClassName"], spec["resources"]["requests"]["storage"])
        made["spec"] |= {
            **near(ZONE, labels[ZONE]),
            "accessModes": spec["accessModes"],
            "csi": {"driver": driver, "volumeHandle": metadata["uid"]},
            "claimRef": {
                **{"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
                **{name: metadata[name] for name in ("namespace", "name", "uid")},
            },
        }
        self.api.call("POST", PATHS["PersistentVolume"], made)


def volume(name: str, class_name: str, size: str, **spec: object) -> dict:
    """Return a PersistentVolume of a CSI driver, unless `spec` has another source."""
    source = {} if "local" in spec else {"csi": {"driver": "disk.example.com", "volumeHandle": name}}
    return {
        **{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}},
        "spec": {
            **{"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": class_name},
            **{"persistentVolumeReclaimPolicy": "Retain", **source, **spec},
        },
    }


def local(name: str, class_name: str, size: str, node_label: tuple[str, str]) -> dict:
    """Return a PersistentVolume that is a disk of one node."""
    return volume(name, class_name, size, local={"path": f"/mnt/{name}"}, **near(*node_label))


def near(key: str, *values: str) -> dict:
    """Return the node affinity of a volume that is reached from nodes with a label."""
    expression = {"key": key, "operator": "In", "values": [*values]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def claim_spec(class_name: str, size: str = "4Gi", mode: str = "ReadWriteOnce") -> dict:
    """Return the spec of a claim."""
    return {"accessModes": [mode], "resources": {"requests": {"storage": size}}, "storageClassName": class_name}


def claim(name: str, spec: dict, namespace: str = "", bound: bool = False) -> dict:
    """Return a claim, which the controller is to bind at once if it is `bound`."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= {"annotations": {TO_BE_BOUND: "yes"}} if bound else {}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def storage_class(name: str, provisioner: str = NO_PROVISIONER, mode: str = WAITS, **fields: object) -> dict:
    """Return a StorageClass."""
    return {
        **{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}},
        **{"provisioner": provisioner, "volumeBindingMode": mode, "reclaimPolicy": "Retain", **fields},
    }


def csi_node(name: str, limits: dict[str, int | None]) -> dict:
    """Return the CSINode of a node with these drivers, and how many volumes each attaches."""
    drivers = [
        {"name": driver, "nodeID": name, "topologyKeys": [ZONE]} | ({"allocatable": {"count": most}} if most else {})
        for driver, most in limits.items()
    ]
    return {
        **{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}},
        "spec": {"drivers": drivers},
    }


def capacity(name: str, class_name: str, size: str, zone: str, namespace: str = "default") -> dict:
    """Return what a driver has room for in a zone."""
    return {
        **{"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity"},
        "metadata": {"name": name, "namespace": namespace},
        **{"storageClassName": class_name, "capacity": size, "nodeTopology": {"matchLabels": {ZONE: zone}}},
    }


def csi_driver(name: str, **spec: object) -> dict:
    """Return a CSIDriver whose volumes nobody attaches."""
    spec = {"attachRequired": False, **spec}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}
