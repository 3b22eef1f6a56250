"""Finds the replicas of the webhook that the API server calls, and says where they could be lost together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from webhook.cluster.client import Client
from webhook.objects.fields import as_list, as_mapping
from webhook.scheduler.nodes import HOSTNAME, Nodes

SECONDS = 10.0
PLACES = {HOSTNAME: "on node", "topology.kubernetes.io/zone": "in zone"}


class Replica(NamedTuple):
    """A Pod behind the webhook's Service that is ready, and the name of its node."""

    name: str
    node: str


def failing_services(entries: Iterable[Mapping[str, object]]) -> list[tuple[str, str]]:
    """Return the Services, as (namespace, name), whose calls are refused with failurePolicy Fail while none answers."""
    services = (
        as_mapping(as_mapping(entry.get("clientConfig")).get("service"))
        for entry in entries
        if entry.get("failurePolicy", "Fail") == "Fail"
    )
    return sorted({(str(service["namespace"]), str(service["name"])) for service in services if service})


def replicas(client: Client, namespace: str, name: str) -> list[Replica]:
    """Return the Pods that a Service sends calls to.  ClusterError if they cannot be read."""
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}"
    selector = as_mapping(client.get(f"{path}/services/{quote(name, safe='')}", {}, SECONDS)["spec"]).get("selector")
    asked = ",".join(f"{key}={value}" for key, value in as_mapping(selector).items())
    found = client.get(f"{path}/pods", {"labelSelector": asked}, SECONDS) if asked else {}
    return [
        Replica(str(pod["metadata"]["name"]), str(pod["spec"]["nodeName"]))
        for pod in as_list(found.get("items"))
        if isinstance(pod, dict) and _is_ready(pod)
    ]


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = map(as_mapping, as_list(as_mapping(pod.get("status")).get("conditions")))
    ready = any((one.get("type"), one.get("status")) == ("Ready", "True") for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def risks(found: Sequence[Replica], nodes: Nodes, namespace: str) -> Iterator[str]:
    """Yield why one loss, of a Pod, a node or a zone, would be the loss of all replicas, and what to do."""
    until_then = "failurePolicy is Fail, so that Pods and workloads are refused"
    if len(found) < 2:
        are = "1 replica is" if found else "no replica is"
        yield f"{are} ready: {until_then} {'while it restarts' if found else 'now'}; run 2 or more, in several zones"
        return
    for key, place in PLACES.items():
        of = [nodes.get(replica.node) for replica in found]
        used = {node.labels.get(key) if node else None for node in of}
        if len(used) == 1 and None not in used and len(nodes.domains(key)) > 1:
            yield (
                f"all {len(found)} replicas run {place} {used.pop()}: {until_then} while that is down; have one "
                f"start elsewhere: kubectl -n {namespace} delete pod {found[0].name}"
            )
            return
