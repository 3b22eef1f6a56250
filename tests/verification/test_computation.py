"""What is computed of a decision in one state, and what took part in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.build import namespace, service
from tests.support.claims import claim, csi_node, storage_class, using, volume
from tests.support.logs import bound, computed, nominated, waiting
from tests.support.placing import HOSTNAME, node, requesting, running, spread
from webhook.scheduler.features import features
from webhook.scheduler.profile import USUAL_PROFILE
from webhook.verification.computation import (
    AFFINITY_OF_OTHERS,
    DEFAULTS_PART,
    HARD_PART,
    IMAGES_PART,
    NODE_AFFINITY_PART,
    NOMINATED_PART,
    OWN_AFFINITY,
    PARTS,
    PORTS_PART,
    PREEMPTION_PART,
    SOFT_PART,
    TAINTS_PART,
    VOLUMES_PART,
    parts,
)

NODES = node("n1", "a"), node("n2", "b"), node("n3", "c", cpu="1")
SOFT = spread(HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
PORT = {"containers": [{**requesting()[0], "ports": [{"containerPort": 80, "hostPort": 80}]}]}
NEAR = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "web"}}}
NEAR_OTHERS = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR]}}
FROM_OTHERS = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR]}}
IN_ZONE = {"nodeSelector": {"topology.kubernetes.io/zone": "a"}}
PREFERRED = {"preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}, "weight": 1}
PREFERS = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERRED]}}}
STORED = claim("data", "pv"), volume("pv", of="data"), storage_class(), csi_node("n1"), csi_node("n2"), csi_node("n3")
TAINTED = node("n4", "a", taints=[{"key": "gpu", "value": "", "effect": "PreferNoSchedule"}])
LOADED = node("n5", "a")
LOADED["status"]["images"] = [{"names": ["i:latest"], "sizeBytes": 900_000_000}]
WAITS = nominated(waiting("other", "1", priority=9), "n1")


def names(decided, nodes):
    return [*decided.names(nodes)]


def test_of_a_node_the_nodes_that_pass_and_the_best_of_them_are_computed():
    decided = computed([*NODES, running("n1", "4")], waiting(cpu="2"), "n1")

    assert (["n1", "n2"], ["n2"]) == (names(decided, decided.feasible), names(decided, decided.best))
    assert ((), None) == (decided.messages, decided.preemption)
    assert ["n2"] == names(decided, decided.better_than(decided.cycle.snapshot.nodes.named(["n1"])))
    assert [] == names(decided, decided.better_than(decided.best))


def test_a_node_sets_the_scale_that_alone_has_the_highest_or_the_lowest_score_of_a_plugin():
    pods = [running("n1"), running("n1"), running("n2")]
    soft, plain = ({"topologySpreadConstraints": constraints} for constraints in ([SOFT], []))

    assert [["n1", "n3"], ["n3"], []] == [
        names(decided, decided.setting_scale)
        for decided in (
            computed([*NODES, *pods], waiting(**soft), "n1"),
            computed([*NODES, *pods, running("n2")], waiting(**soft), "n1"),
            computed([*NODES, *pods], waiting(**plain), "n1"),
        )
    ]


def test_where_none_passes_what_may_be_said_is_computed():
    decided = computed(NODES, waiting(cpu="16"))

    assert 0 == decided.feasible == decided.best
    assert (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling.",
    ) == decided.messages
    assert (0, 0) == computed(NODES, waiting(cpu="16"), "n1")[3:5]


def test_where_one_passes_there_is_no_message():
    decided = computed(NODES, waiting())

    assert (["n1", "n2", "n3"], ()) == (names(decided, decided.feasible), decided.messages)


def test_the_profile_and_the_version_are_those_of_the_decision():
    decided = computed(NODES, waiting(), profile=replace(USUAL_PROFILE, name="x"), features=features(33))

    assert ("x", 33) == (decided.cycle.profile.name, decided.cycle.features.minor)


@pytest.mark.parametrize(
    ("raw", "others", "part"),
    [
        ({"topologySpreadConstraints": [spread()]}, (), HARD_PART),
        ({"topologySpreadConstraints": [SOFT]}, (), SOFT_PART),
        ({}, [service()], DEFAULTS_PART),
        ({"affinity": NEAR_OTHERS}, (), OWN_AFFINITY),
        ({}, [bound(waiting("x", affinity=FROM_OTHERS), "n1")], AFFINITY_OF_OTHERS),
        (IN_ZONE, (), NODE_AFFINITY_PART),
        (PREFERS, (), NODE_AFFINITY_PART),
        ({}, [TAINTED], TAINTS_PART),
        (PORT, (), PORTS_PART),
        (using("data"), STORED, VOLUMES_PART),
        ({}, [LOADED], IMAGES_PART),
        ({}, [WAITS], NOMINATED_PART),
    ],
)
def test_what_took_part_is_told(raw, others, part):
    decided = computed([*NODES, namespace(), *others], waiting(**raw), "n2")

    assert (part,) == parts(decided)


def test_affinity_of_others_takes_part_in_the_score_too():
    prefers = {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": NEAR}]}
    }
    decided = computed([*NODES, namespace(), bound(waiting("x", affinity=prefers), "n1")], waiting(), "n1")

    assert (AFFINITY_OF_OTHERS,) == parts(decided)


def test_its_own_nomination_takes_part():
    assert (NOMINATED_PART,) == parts(computed(NODES, nominated(waiting(), "n1"), "n1"))


def test_preemption_takes_part_where_a_pod_may_be_in_the_way():
    lower = bound(waiting("x", "8", priority=-1), "n1")

    assert (PREEMPTION_PART,) == parts(computed([NODES[0], lower], waiting(cpu="2")))
    assert () == parts(computed([NODES[0], lower], waiting(cpu="2", preemptionPolicy="Never")))


def test_several_parts_are_in_the_order_of_the_table():
    raw = {"topologySpreadConstraints": [SOFT, spread()], **PORT, **IN_ZONE}
    told = parts(computed([*NODES, namespace()], waiting(**raw), "n1"))

    assert (HARD_PART, SOFT_PART, NODE_AFFINITY_PART, PORTS_PART) == told
    assert sorted(told, key=PARTS.index) == [*told]
