"""Where the scheduler has put the Pods of a namespace, and what it says of those that it could not place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from tests.e2e.plane import ControlPlane
from tests.support.serving import until


def pods(plane: ControlPlane, namespace: str) -> list[dict]:
    """The Pods of a namespace, in the order of their names."""
    return plane.api.call("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]


def node(pod: dict) -> str:
    """The name of the node that a Pod is bound to, "" if there is none."""
    return pod["spec"].get("nodeName", "")


def refusal(pod: dict) -> str:
    """Why the scheduler could not place a Pod, in its own words; "" if it could, or has not tried."""
    conditions = pod["status"].get("conditions", ())
    return next((one["message"] for one in conditions if (one["type"], one["status"]) == UNSCHEDULED), "")


UNSCHEDULED = ("PodScheduled", "False")


def settled(plane: ControlPlane, namespace: str, count: int, *names: str) -> list[dict]:
    """So many Pods of a namespace, those of `names` if there are any, once each was placed or refused."""
    found: list[dict] = []

    def are_settled() -> bool:
        there = pods(plane, namespace)
        found[:] = [one for one in there if not names or one["metadata"]["name"] in names]
        return len(found) == count and all(node(one) or refusal(one) for one in found)

    until(are_settled, f"{count} Pods in {namespace} that are bound or refused")
    return found


def skew(domains: Collection[str], used: Iterable[str]) -> int:
    """How many more of `used` are in the fullest of `domains` than in the emptiest."""
    counts = Counter(used)
    return max(counts[domain] for domain in domains) - min(counts[domain] for domain in domains)
