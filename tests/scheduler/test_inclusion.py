"""Which nodes a constraint counts, and how many Pods on each."""

from __future__ import annotations

import pytest

from tests.support.build import constraint, pod, snapshot
from webhook.objects.reading import Reader
from webhook.scheduler.constraint import parse_constraints
from webhook.scheduler.features import LATEST, features
from webhook.scheduler.inclusion import carrying_every_key, count, included
from webhook.scheduler.incoming import read_incoming_pod
from webhook.scheduler.nodes import Node, Nodes, Taint
from webhook.scheduler.selectors import EVERYTHING, NOTHING, selecting

TAINTED = Node("n1", {"zone": "a"}, (Taint("x", "", "NoExecute"),))
NODES = [TAINTED, Node("n2", {"zone": "a"}), Node("n3", {"zone": "b"})]


def parsed(**fields):
    return parse_constraints([constraint(topologyKey="zone", **fields)], {}, LATEST)[0]


def incoming(**spec):
    return read_incoming_pod(Reader(), {"spec": spec})


def names(constraint, pod):
    nodes = Nodes(NODES)
    return list(nodes.names(included(constraint, pod, nodes)))


def test_by_default_affinity_is_honoured_and_taints_are_not():
    assert ["n1", "n2"] == names(parsed(), incoming(nodeSelector={"zone": "a"}))


@pytest.mark.parametrize(("tolerations", "found"), [([], ["n2", "n3"]), ([{"operator": "Exists"}], ["n1", "n2", "n3"])])
def test_taints_count_where_the_policy_honours_them(tolerations, found):
    asked = incoming(nodeSelector={"zone": "b"}, tolerations=tolerations)

    assert found == names(parsed(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"), asked)


def test_a_node_must_carry_every_key():
    keys = parse_constraints([constraint(topologyKey="zone"), constraint(topologyKey="rack")], {}, LATEST)
    nodes = Nodes(NODES)

    assert nodes.all == carrying_every_key(nodes, keys[:1])
    assert 0 == carrying_every_key(nodes, keys)


def test_pods_are_counted_by_domain():
    bound = [
        pod(name=f"web-{i}", labels={"app": app}, spec={"nodeName": node}, uid=f"u{i}")
        for i, (app, node) in enumerate([("web", "n1"), ("web", "n1"), ("web", "n2"), ("db", "n1")])
    ]
    groups = snapshot(*bound).pods["shop"]

    zone = {"n1": "a", "n2": "b"}.get

    assert {"a": 2, "b": 1} == count(groups, selecting({"app": "web"}), zone, LATEST)
    assert {"b": 1} == count(groups, selecting({"app": "web"}), {"n2": "b"}.get, LATEST)
    assert {} == count(groups, NOTHING, zone, LATEST) == count(groups, EVERYTHING, zone, LATEST)
    assert {"a": 3, "b": 1} == count(groups, EVERYTHING, zone, features(26))
