"""Where the replicas behind the webhook's Service run, and what is said of it."""

from __future__ import annotations

import pytest

from evenkeel.policy.serving_replicas import Replica, notes_on, replicas_behind, services_with_failure_policy_fail
from tests.support.build import HOSTNAME, ZONE
from tests.support.memory import Memory
from webhook.cluster.client import ClusterError
from webhook.manifests.configurations import FAIL, WebhookTarget, configurations
from webhook.policy.parsing import built_in
from webhook.spread.nodes import Node, Nodes
from webhook.spread.taints import Taint

PODS, SERVICE = "/api/v1/namespaces/guard/pods", "/api/v1/namespaces/guard/services/keel"


def entries(**fields):
    made = configurations(built_in(), WebhookTarget(b"", **fields))
    return [entry for one in made for entry in one["webhooks"]]


def test_only_services_that_are_missed_count():
    service = ("guard", "keel")

    assert [service] == services_with_failure_policy_fail(entries(service=service, failure_policy=FAIL))
    assert [] == services_with_failure_policy_fail(entries(service=service))
    assert [] == services_with_failure_policy_fail(entries(url="https://a", failure_policy=FAIL))
    assert [service] == services_with_failure_policy_fail(
        [{"clientConfig": {"service": {"namespace": "guard", "name": "keel"}}}]
    )


def pod(name, ready="True", node="n1", **metadata):
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}]
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"nodeName": node} if node else {},
        "status": {"conditions": conditions},
    }


class Asked(Memory):
    """Keeps what was asked for."""

    def get(self, path, query, seconds):
        self.queries = {**getattr(self, "queries", {}), path: query}
        return super().get(path, query, seconds)


def test_the_pods_that_are_ready_are_the_replicas():
    pods = [pod("a"), pod("b", node="n2"), pod("c", "False"), pod("d", deletionTimestamp="now"), {"metadata": {}}]
    client = Asked({SERVICE: {"spec": {"selector": {"app": "keel", "tier": "x"}}}, PODS: {"items": pods}})

    assert [Replica("a", "n1"), Replica("b", "n2")] == replicas_behind(client, "guard", "keel")
    assert {"labelSelector": "app=keel,tier=x"} == client.queries[PODS]
    assert replicas_behind(Memory({SERVICE: {"spec": {}}}), "guard", "keel") is None, "somebody else sends its calls"
    with pytest.raises(ClusterError):
        replicas_behind(Memory(), "guard", "keel")


SEVERAL = "a1 a2 b1 b2 bare"


def nodes_of(names):
    """Nodes in the zone that the first letter of their name is, but for "bare"; some are closed, as their name says."""
    return Nodes(
        Node(
            name,
            {HOSTNAME: name, **({} if name == "bare" else {ZONE: name[0]})},
            (Taint("dedicated", "", "NoSchedule"),) * name.endswith("-tainted"),
            unschedulable=name.endswith("-cordoned"),
        )
        for name in names.split()
    )


DOWN = "the API server refuses each object that matches a webhook entry with failurePolicy Fail"


@pytest.mark.parametrize(
    ("nodes", "used", "begin"),
    [
        (SEVERAL, "", f"no replica is ready: {DOWN}; see kubectl"),
        (SEVERAL, "a1", f"only 1 replica is ready: while it restarts, {DOWN}; run 2 or more"),
        (
            SEVERAL,
            "a1 a1",
            f"both replicas run on node a1: if that fails, {DOWN}; one may start elsewhere after kubectl",
        ),
        (SEVERAL, "a1 a2 a1", f"all 3 replicas run in zone a: if that fails, {DOWN};"),
        (SEVERAL, "bare bare", f"both replicas run on node bare: if that fails, {DOWN}"),
        (SEVERAL, "b1 a1 b1", "3 replicas are ready, on a1, b1"),
        (SEVERAL, "a1 bare", "2 replicas are ready, on a1, bare"),
        (SEVERAL, "gone a1", "2 replicas are ready, on a1, gone"),
        ("a1", "a1 a1", "2 replicas are ready, on a1"),
        ("a1 a2", "a1 a2", "2 replicas are ready, on a1, a2"),
        ("a1 b1-cordoned b2-tainted", "a1 a1", "2 replicas are ready, on a1"),
        ("a1 a2-cordoned b1", "a1 a1", "both replicas run on node a1"),
    ],
)
def test_what_is_lost_with_one_node_or_zone_is_said(nodes, used, begin):
    """Where there is another one, in which a replica could run; elsewhere, where they run."""
    found = [Replica(f"keel-{number}", node) for number, node in enumerate(used.split())]
    (said,) = notes_on(found, nodes_of(nodes), "guard")

    assert said.startswith(begin)
    assert said.startswith(("all", "both")) == ("kubectl -n guard delete pod keel-0" in said)
