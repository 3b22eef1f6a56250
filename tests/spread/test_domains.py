"""Which nodes a hard constraint counts, and which would take the Pod."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.incoming import read_incoming_pod
from tests.support.build import FEATURES, ZONE, constraint, node, pod, snapshot
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import parse_constraints
from webhook.spread.domains import (
    NODE_AFFINITY,
    NODE_SELECTOR,
    NODES,
    OTHER_KEYS,
    TAINTS,
    Reach,
    carrying_every_key,
    is_confined,
    only_domain,
)

CLUSTER = (
    node("plain"),
    node("cordoned", cordoned=True),
    node("drained", ["node.kubernetes.io/unschedulable:NoSchedule"], cordoned=True),
    node("infra", ["dedicated=infra:NoSchedule"], **{ZONE: "b"}),
    node("preferred", ["busy:PreferNoSchedule"], **{ZONE: "b"}),
    node("nowhere", rack="r1"),
)
EVERY = {"plain", "cordoned", "drained", "infra", "preferred", "nowhere"}
TOLERANT = {"tolerations": [{"operator": "Exists"}]}
IN_B = {"nodeSelector": {ZONE: "b"}}


@pytest.fixture
def nodes():
    return snapshot(*CLUSTER).nodes


def incoming(spec):
    return read_incoming_pod(Reader(), pod(spec=spec), LATEST)


@pytest.mark.parametrize(
    ("spec", "shut", "unused"),
    [
        ({}, {"cordoned", "drained", "infra"}, {"cordoned", "drained", "infra"}),
        (TOLERANT, set(), set()),
        (
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            {"infra"},
            {"infra"},
        ),
        ({"tolerations": [{"key": "dedicated", "value": "infra"}]}, {"cordoned", "drained"}, {"cordoned", "drained"}),
        (IN_B, {"cordoned", "drained", "infra"}, EVERY - {"preferred"}),
    ],
    ids=["no toleration", "all of them", "that of a cordon", "that of a taint", "a node selector"],
)
def test_nodes_that_take_the_pod(spec, shut, unused, nodes):
    asking = incoming(spec)

    assert EVERY - shut == set(nodes.names(Reach(asking, nodes).open))
    assert EVERY - unused == set(nodes.names(Reach(asking, nodes).usable))


@pytest.mark.parametrize(
    ("fields", "spec", "left_out"),
    [
        ({}, {}, {"nowhere"}),
        ({"nodeTaintsPolicy": "Honor"}, {}, {"nowhere", "drained", "infra"}),
        ({}, IN_B, {"nowhere", "plain", "cordoned", "drained"}),
        ({"nodeAffinityPolicy": "Ignore"}, IN_B, {"nowhere"}),
        ({"topologyKey": "rack"}, {}, EVERY - {"nowhere"}),
    ],
    ids=["by its key", "by its taints", "by affinity", "whatever the affinity", "by another key"],
)
def test_nodes_that_a_constraint_counts(fields, spec, left_out, nodes):
    hard = parse_constraints([constraint(**fields)], {"app": "web"}, FEATURES)

    eligible = Reach(incoming(spec), nodes).eligible(hard[0], carrying_every_key(nodes, hard))

    assert EVERY - left_out == set(nodes.names(eligible))


def test_a_node_counts_only_if_it_carries_every_key(nodes):
    hard = parse_constraints([constraint(), constraint(topologyKey="rack")], {"app": "web"}, FEATURES)

    assert 0 == Reach(incoming({}), nodes).eligible(hard[0], carrying_every_key(nodes, hard))


@pytest.mark.parametrize(
    ("fields", "spec", "confined"),
    [
        ({}, IN_B, True),
        ({"whenUnsatisfiable": "ScheduleAnyway"}, IN_B, True),
        ({"whenUnsatisfiable": "ScheduleAnyway", "nodeAffinityPolicy": "Ignore"}, IN_B, True),
        ({"nodeAffinityPolicy": "Ignore"}, IN_B, False),
        ({"minDomains": 1}, IN_B, True),
        ({"minDomains": 2}, IN_B, False),
        ({"topologyKey": "rack"}, IN_B, False),
        ({}, {}, False),
    ],
)
def test_a_constraint_that_affinity_leaves_one_domain(fields, spec, confined):
    (parsed,) = parse_constraints([constraint(**fields)], {"app": "web"}, FEATURES)

    assert confined == is_confined(incoming(spec), parsed)


IN_ONE_ZONE = (node("n1"), node("n2"), node("n3", rack="r1"))
SSD = (node("n1"), node("n2", **{ZONE: "b", "disk": "ssd"}))
NOT_A = {"key": ZONE, "operator": "NotIn", "values": ["a"]}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [NOT_A]}]}}


@pytest.mark.parametrize(
    ("fields", "spec", "cluster", "only"),
    [
        ({}, {}, IN_ONE_ZONE, ("a", NODES)),
        ({"whenUnsatisfiable": "ScheduleAnyway"}, {}, IN_ONE_ZONE, ("a", NODES)),
        ({}, {}, (node(**{ZONE: ""}),), ("", NODES)),
        ({"minDomains": 2}, {}, IN_ONE_ZONE, None),
        ({"topologyKey": "none"}, {}, IN_ONE_ZONE, None),
        ({}, {}, SSD, None),
        ({}, {"nodeSelector": {"disk": "ssd"}}, SSD, ("b", NODE_SELECTOR)),
        ({}, {"nodeSelector": {"disk": "none"}}, SSD, None),
        ({"nodeAffinityPolicy": "Ignore"}, {"nodeSelector": {"disk": "ssd"}}, SSD, None),
        ({}, {"affinity": {"nodeAffinity": REQUIRED}}, SSD, ("b", NODE_AFFINITY)),
        ({}, {"nodeSelector": {"disk": "ssd"}, "affinity": {"nodeAffinity": REQUIRED}}, SSD, ("b", NODE_SELECTOR)),
        ({}, IN_B, (), ("b", NODE_SELECTOR)),
        ({"nodeTaintsPolicy": "Honor"}, {}, (node("n1"), node("n2", ["x:NoSchedule"], **{ZONE: "b"})), ("a", TAINTS)),
        ({}, {}, (node("n1"), node("n2", ["x:NoSchedule"], **{ZONE: "b"})), None),
    ],
)
def test_the_only_domain_that_a_constraint_counts_and_what_leaves_it(fields, spec, cluster, only):
    (parsed,) = parse_constraints([constraint(**fields)], {"app": "web"}, FEATURES)
    there = snapshot(*cluster).nodes

    assert only == only_domain(Reach(incoming(spec), there), parsed, carrying_every_key(there, [parsed]))


def test_the_key_of_another_constraint_may_leave_one_domain():
    hard = parse_constraints([constraint(), constraint(topologyKey="rack")], {"app": "web"}, FEATURES)
    there = snapshot(node("n1", **{ZONE: "a", "rack": "r1"}), node("n2", **{ZONE: "b"})).nodes
    reach = Reach(incoming({}), there)

    found = [only_domain(reach, parsed, carrying_every_key(there, hard)) for parsed in hard]
    assert [("a", OTHER_KEYS), ("r1", NODES)] == found
