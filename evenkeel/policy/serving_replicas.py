"""Finds the replicas of the webhook that the API server calls, and says where they could be lost together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from webhook.cluster.client import Client
from webhook.kubernetes.fields import as_list, as_mapping
from webhook.kubernetes.names import HOSTNAME, ZONE
from webhook.spread.nodes import Nodes

SECONDS = 10.0
PLACE_WORDS = {HOSTNAME: "on node", ZONE: "in zone"}


class Replica(NamedTuple):
    """A Pod behind the webhook's Service that is ready."""

    name: str
    node: str  # its name


def services_with_failure_policy_fail(entries: Iterable[Mapping[str, object]]) -> list[tuple[str, str]]:
    """
    Return the namespace and name of each Service that a webhook with failurePolicy Fail calls.

    The API server rejects what such a webhook is to review while no ready Pod is behind the Service.
    """
    services = (
        as_mapping(as_mapping(entry.get("clientConfig")).get("service"))
        for entry in entries
        if entry.get("failurePolicy", "Fail") == "Fail"
    )
    return sorted({(str(service["namespace"]), str(service["name"])) for service in services if service})


def replicas_behind(client: Client, namespace: str, name: str) -> list[Replica] | None:
    """
    Return the Pods that a Service sends calls to, or None if it selects no Pods.

    ClusterError if they cannot be read.
    """
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}"
    selector = as_mapping(client.get(f"{path}/services/{quote(name, safe='')}", {}, SECONDS)["spec"]).get("selector")
    if not selector:
        return None
    labels = ",".join(f"{key}={value}" for key, value in as_mapping(selector).items())
    pods = client.get(f"{path}/pods", {"labelSelector": labels}, SECONDS)
    return [
        Replica(str(pod["metadata"]["name"]), str(pod["spec"]["nodeName"]))
        for pod in as_list(pods.get("items"))
        if isinstance(pod, dict) and _is_ready(pod)
    ]


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = map(as_mapping, as_list(as_mapping(pod.get("status")).get("conditions")))
    ready = any((condition.get("type"), condition.get("status")) == ("Ready", "True") for condition in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def notes_on(replicas: Sequence[Replica], nodes: Nodes, namespace: str) -> Iterator[str]:
    """Yield why one failure would stop all replicas and what to do about it, or else the nodes that they run on."""
    refused = "the API server refuses each object that matches a webhook entry with failurePolicy Fail"
    if not replicas:
        yield f"no replica is ready: {refused}; see kubectl -n {namespace} get pods"
    elif len(replicas) == 1:
        yield f"only 1 replica is ready: while it restarts, {refused}; run 2 or more, in several zones"
    elif place := _shared_place(replicas, nodes):
        yield (
            f"{'both' if len(replicas) == 2 else f'all {len(replicas)}'} replicas run {place}: if that fails, "
            f"{refused}; one may start elsewhere after kubectl -n {namespace} delete pod {replicas[0].name}"
        )
    else:
        yield f"{len(replicas)} replicas are ready, on {', '.join(sorted({replica.node for replica in replicas}))}"


def _shared_place(replicas: Sequence[Replica], nodes: Nodes) -> str:
    """Return the node or zone in which all replicas run while another one is open, such as `in zone a`, or ""."""
    used_nodes = [nodes.get(replica.node) for replica in replicas]
    open_nodes = nodes.tolerated(()) & ~nodes.unschedulable
    for key, place in PLACE_WORDS.items():
        domains = {node.labels.get(key) if node else None for node in used_nodes}
        domain = domains.pop() if len(domains) == 1 else None
        if domain is not None and open_nodes & nodes.carrying(key) & ~nodes.domains(key)[domain]:
            return f"{place} {domain}"
    return ""
