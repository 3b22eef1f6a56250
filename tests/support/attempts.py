"""Attempts to place a Pod: small clusters, what refuses the Pod there, and what each node is worth."""

from __future__ import annotations

from evenkeel.scheduler.framework import feasible_nodes, find_feasible, message
from evenkeel.scheduler.incoming import read_incoming_pod
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import pod
from tests.support.placement import parsed, prioritize
from webhook.kubernetes.features import features
from webhook.kubernetes.reader import Reader

INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
SMALL = {"cpu": "1", "memory": "1Gi", "pods": "2"}
BIG = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2", "memory": "2Gi"}}}]}


def node(name, zone="a", allocatable=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": zone}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"} if allocatable is None else allocatable},
    }


def cycle(*objects, constraints=(), minor=37, **spec):
    asked = read_incoming_pod(Reader(), pod(spec=spec), features(minor))
    return Cycle(asked, parsed(*constraints), from_objects(objects, features(minor)), features(minor))


def refusals(asked):
    """Plugin and reasons by the name of each node that is refused."""
    found = find_feasible(asked)
    nodes = asked.snapshot.nodes
    assert nodes.all == found.feasible | sum(refusal.nodes for refusal in found.refusals)  # each in one set
    assert found.feasible == feasible_nodes(asked)
    return {
        name: (refusal.plugin, *[reason.text for reason in refusal.reasons])
        for refusal in found.refusals
        for name in nodes.names(refusal.nodes)
    }


def said(asked):
    return message(asked, find_feasible(asked))


def named(*values):
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(values)}]}


def affinity(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


TAINTED, CORDONED = node("n1", taints=[INFRA]), node("n2", unschedulable=True)
UNSCHEDULABLE = ("NodeUnschedulable", "node(s) were unschedulable")
UNTOLERATED = ("TaintToleration", "node(s) had untolerated taint(s)")


def scores(asked):
    return prioritize(asked, find_feasible(asked).feasible)
