"""Nodes with room, Pods with requests, and an attempt to place one more among them."""

from __future__ import annotations

from itertools import count

from evenkeel.scheduler.incoming import read_incoming_pod
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import pod
from tests.support.placement import parsed
from webhook.kubernetes.features import features
from webhook.kubernetes.reader import Reader

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
_numbers = count()


def node(name, zone=None, *, cpu="8", pods="110", labels=None, **spec):
    """A node of 8 CPUs and 8 GiB, in a zone or in none."""
    found = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": found},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": pods}},
    }


def requesting(cpu="100m", memory="64Mi"):
    """Containers of a Pod that request so much."""
    requests = {"cpu": cpu, "memory": memory}
    return [{"name": "c", "image": "i", "resources": {"requests": requests}}]


def running(on, cpu="100m", **fields):
    """A Pod on a node."""
    number = next(_numbers)
    spec = {"nodeName": on, "containers": requesting(cpu)}
    return pod(name=f"running-{number}", uid=f"r{number}", spec=spec, **fields) | {"status": {"phase": "Running"}}


def spread(key=ZONE, **fields):
    """A constraint on the Pods of the application web."""
    selector = {"matchLabels": {"app": "web"}}
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        **fields,
    }


def attempted(*objects, constraints=(), minor=37, cpu="100m", **spec):
    """The attempt to place a Pod of the application web in a cluster of these objects."""
    known = features(minor)
    raw = pod(spec={"containers": requesting(cpu), **spec})
    return Cycle(read_incoming_pod(Reader(), raw, known), parsed(*constraints), from_objects(objects, known), known)
