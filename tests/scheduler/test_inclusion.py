"""Which nodes a constraint counts, and how many Pods on each."""

from __future__ import annotations

import pytest

from tests.support.build import constraint, pod, snapshot
from webhook.objects.reading import Reader
from webhook.scheduler.constraint import parse_constraints
from webhook.scheduler.features import LATEST, features
from webhook.scheduler.inclusion import carries_every_key, count_by_node, is_included
from webhook.scheduler.nodes import Node, Taint, read_incoming_pod
from webhook.scheduler.selectors import EVERYTHING, NOTHING, selecting

TAINTED = Node("n1", {"zone": "a"}, (Taint("x", "", "NoExecute"),))
PLAIN, OTHER = Node("n2", {"zone": "a"}), Node("n3", {"zone": "b"})


def parsed(**fields):
    return parse_constraints([constraint(topologyKey="zone", **fields)], {}, LATEST)[0]


def incoming(**spec):
    return read_incoming_pod(Reader(), {"spec": spec})


def test_by_default_affinity_is_honoured_and_taints_are_not():
    asked = incoming(nodeSelector={"zone": "a"})

    assert [True, True, False] == [is_included(parsed(), asked, node) for node in (TAINTED, PLAIN, OTHER)]


@pytest.mark.parametrize(("tolerations", "included"), [([], False), ([{"operator": "Exists"}], True)])
def test_taints_count_where_the_policy_honours_them(tolerations, included):
    asked = incoming(nodeSelector={"zone": "b"}, tolerations=tolerations)
    policies = parsed(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")

    assert [included, True, True] == [is_included(policies, asked, node) for node in (TAINTED, PLAIN, OTHER)]


def test_a_node_must_carry_every_key():
    keys = parse_constraints([constraint(topologyKey="zone"), constraint(topologyKey="rack")], {}, LATEST)

    assert carries_every_key(PLAIN, keys[:1])
    assert not carries_every_key(PLAIN, keys)


def test_pods_are_counted_by_node():
    bound = [
        pod(name=f"web-{i}", labels={"app": app}, spec={"nodeName": node}, uid=f"u{i}")
        for i, (app, node) in enumerate([("web", "n1"), ("web", "n1"), ("web", "n2"), ("db", "n1")])
    ]
    groups = snapshot(*bound).pods["shop"]

    assert {"n1": 2, "n2": 1} == count_by_node(groups, selecting({"app": "web"}), LATEST)
    assert {} == count_by_node(groups, NOTHING, LATEST) == count_by_node(groups, EVERYTHING, LATEST)
    assert {"n1": 3, "n2": 1} == count_by_node(groups, EVERYTHING, features(26))
