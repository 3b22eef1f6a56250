"""Whether a rollout finishes, by counts alone: what they say holds in each run."""

from __future__ import annotations

from random import Random

import pytest

from evenkeel.simulate.rollout_bounds import finishes
from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.placing import INFRA, node, requesting
from tests.support.simulated import application, deployment, nodes, plan, pod, run_one, stateful

TOLERATION = {"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoSchedule"}
TAINTED = node("c1", "c", taints=[INFRA])


def verdict(*objects):
    """What counts say of a rollout to the template as it is."""
    made = plan(objects, "rollout")
    (named,) = made.named
    return finishes(made, named.makers[0].of_class)


def in_each_run(*objects, runs=12):
    made = plan(objects, "rollout")
    return {run_one(made, 1, i)[-1].complete for i in range(runs)}


def rolled_out(*constraints, replicas=7, there=None, on=("a1", "a2", "b1"), **fields):
    there = there or [*nodes("a=2 b=1"), TAINTED]
    return [*there, *deployment(*constraints, replicas=replicas, on=on, **fields)]


NONE_UNAVAILABLE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


@pytest.mark.parametrize(
    ("objects", "known"),
    [
        (rolled_out(SOFT), True),
        (rolled_out(constraint(), there=nodes("a=2 b=1")), True),
        (rolled_out(constraint(nodeTaintsPolicy="Honor")), True),
        (rolled_out(constraint(), tolerations=[TOLERATION]), True),
        (rolled_out(constraint(), strategy={"type": "Recreate"}, there=nodes("a=2 b=1")), True),
        (rolled_out(constraint(maxSkew=3)), False),  # Zone c takes none, so a and b take three each.
        (rolled_out(constraint(maxSkew=4)), True),  # Not seven of eight places are taken before old Pods go.
        (rolled_out(constraint(maxSkew=4), replicas=8, strategy=NONE_UNAVAILABLE), None),
        (rolled_out(constraint(maxSkew=4), replicas=8), True),
        (rolled_out(constraint(maxSkew=2, minDomains=9), replicas=9), False),
        (rolled_out(constraint(), replicas=20, there=nodes("a=2 b=1", pods="10")), None),  # There is room for 30.
        (rolled_out(constraint(), replicas=10, there=nodes("a=2 b=1", pods="30")), True),
        (rolled_out(SOFT, replicas=20, there=nodes("a=2 b=1", cpu="500m")), None),
        (rolled_out(constraint(), constraint(topologyKey=HOSTNAME), there=nodes("a=2 b=1")), None),
        (rolled_out(SOFT, affinity=APART, there=nodes("a=2 b=1"), replicas=3), None),
        (rolled_out(SOFT, containers=[{**requesting()[0], "ports": [{"containerPort": 80, "hostPort": 80}]}]), None),
    ],
)
def test_counts_tell_how_a_rollout_ends_where_they_can(objects, known):
    assert known is verdict(*objects)
    if known is not None:
        assert {known} == in_each_run(*objects)


def test_what_pods_that_wait_take_is_left_out_of_the_room():
    """Both workloads have twice the room for each, and not for both."""
    there = [*nodes("a=1 b=1", pods="9"), *deployment(constraint(), replicas=4, on=["a1", "b1"])]

    assert verdict(*there) is True
    assert verdict(*there, *application("other", [], waiting=8)) is None
    assert verdict(*there, *application("other", [], waiting=1, affinity=APART)) is None


def test_a_domain_that_only_pods_of_the_old_template_reach_may_set_a_larger_minimum():
    """An old Pod that waits tolerates the taint of zone c."""
    objects = rolled_out(constraint(maxSkew=3))
    spec = {"topologySpreadConstraints": [constraint()], "tolerations": [TOLERATION]}
    old = pod("ReplicaSet/web-1", 9, "", spec=spec)

    assert (False, None) == (verdict(*objects), verdict(*objects, old))


def test_of_a_stateful_set_and_of_pods_that_are_not_tried_counts_say_nothing():
    there = nodes("a=2 b=1")
    assert verdict(*there, *stateful(SOFT, on=["a1", "b1"])) is None
    assert verdict(*rolled_out(SOFT, schedulerName="another", there=there)) is None


def some_situation(random):
    """A Deployment in a small cluster with taints and little room, perhaps beside Pods of others that wait."""
    zones = [zone for zone in "abc" for _ in range(random.randint(0, 2))] or ["a"]
    there = []
    for i, zone in enumerate(zones):
        shut = {"taints": [INFRA]} if random.random() < 0.25 else {}
        there.append(node(f"n{i}", zone, pods=str(random.choice((3, 6, 12))), **shut))
    hard = constraint(
        maxSkew=random.choice((1, 2, 3)),
        topologyKey=random.choice((ZONE, ZONE, HOSTNAME)),
        nodeTaintsPolicy=random.choice((None, "Honor")),
        minDomains=random.choice((None, None, 2, 4)),
        matchLabelKeys=random.choice((None, None, ["pod-template-hash"])),
        whenUnsatisfiable=random.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
    )
    if hard["whenUnsatisfiable"] != "DoNotSchedule":
        hard.pop("minDomains", None)
    replicas = random.randint(1, 8)
    on = [f"n{random.randrange(len(zones))}" for _ in range(random.randint(0, replicas))]
    strategy = random.choice(
        (
            {},
            {"type": "Recreate"},
            *({"rollingUpdate": {"maxSurge": 1 - number, "maxUnavailable": number}} for number in (0, 1)),
        )
    )
    tolerant = {"tolerations": [TOLERATION]} if random.random() < 0.3 else {}
    made = deployment(hard, replicas=replicas, on=on, strategy=strategy, **tolerant)
    missing = [
        pod("ReplicaSet/web-1", 100 + i, "", spec={"topologySpreadConstraints": [hard], **tolerant})
        for i in range(random.randint(0, replicas - len(on)))
    ]
    name = random.choice(("web", "other"))
    others = application("other", [], waiting=random.randint(0, 3), labels={"app": name})
    others = others if random.random() < 0.3 else []
    return [*there, *made, *missing, *others]


@pytest.mark.parametrize("seed", range(40))
def test_what_counts_say_holds_in_each_run(seed):
    objects = some_situation(Random(seed))
    known = verdict(*objects)

    assert known is None or {known} == in_each_run(*objects, runs=6)


def test_counts_decide_most_of_such_situations():
    known = [verdict(*some_situation(Random(seed))) for seed in range(40)]

    assert known.count(True) >= 8
    assert known.count(False) >= 2
