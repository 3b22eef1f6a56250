"""Which Pods to delete so that a workload is even again, and why there is no such Pod."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from evenkeel.placement.inferred_defaults import none_given
from evenkeel.scheduler.profile import USUAL_PROFILES
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.simulate.moves import (
    BUDGET,
    CLAIM,
    CLOSED,
    CONSTRAINT,
    FORCED,
    NEIGHBOUR,
    NOT_SIMULATED,
    OTHER_PODS,
    PUT_BACK,
    ROOM,
    TOO_FEW_DOMAINS,
    UNDER_WAY,
    WAITS,
    beginning,
    pods_to_move,
    way_back,
)
from evenkeel.simulate.outcomes import run
from evenkeel.simulate.planning import planned_workloads
from evenkeel.simulate.step import parse_step
from evenkeel.simulate.ways_back import deletions_after, ways_back
from tests.support.build import HOSTNAME, ZONE, constraint
from tests.support.claims import claim, storage_class, volume
from tests.support.placing import node, requesting
from tests.support.simulated import (
    SOFT,
    application,
    budget,
    cluster,
    deployment,
    nodes,
    pod,
    stateful,
    updating,
)
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.kinds import KINDS
from webhook.spread.constraint import parse_constraints

OLD = {"key": "old", "value": "yes", "effect": "PreferNoSchedule"}
IN_A = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
PREFERRED = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": IN_A}]}}
STUCK = {"unschedulable": True}
BOTH = [{"key": "app", "operator": "In", "values": ["web", "near"]}]


def ways(objects, minor=37):
    """The way back of each workload, by its name."""
    raws = [one for one in objects if one["kind"] not in ("Node", "Pod", "ReplicaSet", "PodDisruptionBudget")]
    raws = [one for one in raws if "template" in one.get("spec", {})]
    found = ways_back(raws, cluster(*objects, minor=minor), KINDS, none_given, USUAL_PROFILES)
    return {ref.name: way for ref, way in found}


def way(*objects, **fields):
    return ways(objects, **fields)["web"]


def web(on, *constraints, **fields):
    """The Deployment web with a Pod on each of these nodes."""
    return deployment(*constraints, replicas=len(on.split()), on=on.split(), **fields)


def unready(one):
    one["status"] = {**one["status"], "conditions": [{"type": "Ready", "status": "False"}]}


def ending(one):
    one["metadata"]["deletionTimestamp"] = "2026-01-01T00:59:00Z"


def routes(found):
    """From where each Pod goes, and where the one that is made for it may be placed."""
    return [f"{move.domain}>{''.join(move.to_domains)}" for move in found.moves]


@pytest.mark.parametrize("fields", [{}, SOFT], ids=["hard", "soft"])
@pytest.mark.parametrize("minor", [33, 37])
@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("a1 b1 c1", []),
        ("a1 a2 b1", ["a>c"]),
        ("a1 a2 a3 b1", ["a>c"]),
        ("a1 a2 a3 b1 b2 b3", ["a>c", "b>c"]),
        ("a1 a2 a3 a1 a2 a3 b1", ["a>c", "a>c", "a>b"]),
    ],
)
def test_the_fewest_pods_are_moved_each_into_a_domain_with_the_fewest(on, expected, fields, minor):
    found = way(*nodes(), *web(on, constraint(**fields)), minor=minor)

    assert found.hindrance is None
    assert [route[0] for route in expected] == [route[0] for route in routes(found)]
    assert all(move.available == len(on.split()) and move.skew_after < move.skew_before for move in found.moves)
    assert len({move.pod for move in found.moves}) == len(expected)
    assert not found.moves or found.moves[-1].skew_after <= 1


def test_the_first_move_is_found_for_what_has_settled():
    """The fourth Pod is made before any is deleted."""
    found = way(*nodes(), *deployment(constraint(), replicas=4, on=["a1", "a2", "a3"]), minor=37)

    assert (4, [4]) == (found.available, [move.available for move in found.moves])


def test_the_skew_need_not_fall_with_each_move():
    """Two domains are full and two are empty: the first move leaves the skew as it is."""
    on = "a1 a2 a1 a2 b1 b2 b1 b2"
    found = way(*nodes("a=2 b=2 c=2 d=2"), *web(on))

    assert found.hindrance is None
    assert [(4, 4), (4, 2), (2, 2), (2, 0)] == [(move.skew_before, move.skew_after) for move in found.moves]


def test_of_a_domain_goes_the_pod_on_the_fullest_node_and_of_its_pods_the_first_that_the_controller_would_delete():
    replicas = web("a1 a2 a2 a2 b1", constraint(), constraint(topologyKey=HOSTNAME, maxSkew=5))
    dear = replicas[3]["metadata"]
    dear["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    assert "web-1-1" == way(*nodes(), *replicas).moves[0].pod
    unready(replicas[2])
    assert "web-1-0" == way(*nodes(), *replicas).moves[0].pod, "on another node, but not ready"


def test_a_stateful_set_makes_the_pod_of_the_same_name_again_and_the_highest_ordinal_goes_first():
    found = way(*nodes(), *stateful(replicas=4, on=["a1", "a2", "a3", "b1"]))

    assert (["web-2"], ["a>c"]) == ([move.pod for move in found.moves], routes(found))


def test_of_the_pods_of_a_stateful_set_that_on_the_fullest_node_goes_first():
    constraints = constraint(), constraint(topologyKey=HOSTNAME, maxSkew=5)
    found = way(*nodes(), *stateful(*constraints, replicas=4, on=["a1", "a1", "a2", "b1"]))

    assert ["web-1"] == [move.pod for move in found.moves]


def test_the_skew_after_a_move_is_the_largest_of_all_runs():
    """The constraint lets the Pod into either zone, and nothing says which is better."""
    found = way(*nodes("a=2 b=2 c=2"), *web("a1 a1 a1 a2 a2 a2 c1", constraint(maxSkew=3)))

    assert (("b", "c"), 6, 5) == (found.moves[0].to_domains, found.moves[0].skew_before, found.moves[0].skew_after)
    assert found.hindrance is None


def test_the_constraint_that_is_the_furthest_beyond_max_skew_comes_first():
    found = way(*nodes("a=2 b=2"), *web("a1 a1 a1 a1 b1 b2", constraint(), constraint(topologyKey=HOSTNAME)))

    assert HOSTNAME == found.hindrance.key


def test_where_one_pod_cannot_move_another_of_its_node_may():
    """The first Pod that is tried is put back where its volume is, and is there again when the next one is tried."""
    bound = [one for one in claimed(["a1", "a1", "b1"]) if one["metadata"]["name"] != "v-0"]
    found = way(*nodes(), *bound, volume("v-0", of_class="local"))

    assert [("web-0", ("c",), 3)] == [(move.pod, move.to_domains, move.available) for move in found.moves]
    replicas = web("a1 a1 b1")
    first = way(*nodes(), *replicas).moves[0].pod
    (kept,) = [one for one in replicas if one["metadata"]["name"] == first]
    kept["metadata"]["labels"]["keep"] = "yes"
    found = way(*nodes(), *replicas, budget(minAvailable=1, selector={"matchLabels": {"keep": "yes"}}))
    assert (1, None) == (len(found.moves), found.hindrance)
    assert first != found.moves[0].pod


def test_a_skew_that_is_forced_is_no_hindrance_once_the_rest_is_even():
    constraints = constraint(), constraint(topologyKey=HOSTNAME, **SOFT)
    found = way(*nodes("a=5 b=2 c=2"), *web("a1 a1 a2 a2 a3 b1 b1 b2 b2 c1 c1 c2", *constraints))

    assert (1, None) == (len(found.moves), found.hindrance)


def test_what_ends_now_is_waited_for():
    """Pods of the old template, and those of others that take up room."""
    replicas = updating(on=[("a1", "new"), ("a2", "new"), ("b1", "old")])
    ending(replicas[-1])
    assert (1, None) == (len(way(*nodes(), *replicas).moves), way(*nodes(), *replicas).hindrance)
    *_, other = application("other", ["c1"], cpu="800m")
    ending(other)
    full = [*nodes("a=2 b=1"), *nodes("c=1", cpu="1"), *web(UNEVEN, containers=requesting("500m")), other]
    assert ["a>c"] == routes(way(*full))


def test_no_pod_is_preempted():
    low = application("low", ["c1"], cpu="800m")
    own = web(UNEVEN, containers=requesting("500m"), priority=10)
    objects = [*nodes("a=2 b=1"), *nodes("c=1", cpu="1"), *own, *low]
    plan = planned_workloads(own[:1], cluster(*objects, minor=37), [], KINDS).plan
    found = way_back(beginning(plan, 1), plan.named[0].name)

    assert ((), WAITS, ("c",)) == (found.moves, found.hindrance.reason, found.hindrance.domains)


def deletions(objects, step):
    """How many deletions bring web back to even after a step, in each of the layouts that are most frequent."""
    named = [one for one in objects if one["kind"] in ("Deployment", "Job")]
    planned = planned_workloads(named, cluster(*objects, minor=37), [parse_step(step)], KINDS)
    outcomes = [run(planned.plan, 1, number) for number in range(30)]
    return {ref.name: numbers for ref, numbers in deletions_after(planned, 1, outcomes)}


def test_after_steps_deletions_are_told_that_help_in_each_frequent_layout():
    six, nine = "a1 a2 b1 b2 c1 c2", "a1 a2 b1 b2 c1 c2 a3 b3 c3"
    assert {"web": [1]} == deletions([*nodes(), *web(six)], "scale=4")
    assert {"web": [1, 2]} == deletions([*nodes(), *web(nine)], "scale=3")
    assert {} == deletions([*nodes(), *web(six), budget(minAvailable=6)], "scale=4")
    part = web("a1 a2 a3 a1 a2 b1", containers=requesting("500m"))
    assert {} == deletions([*nodes("a=3 b=2"), *nodes("c=1", cpu="700m"), *part], "cordon=b2"), "some help, not all"
    job = application("web", ["a1", "a2", "b1"], constraint(), kind="Job", restartPolicy="Never")
    assert {} == deletions([*nodes(), *job], "cordon=b2")


def test_a_neighbour_s_pods_may_fill_a_domain():
    """The fullest domain has none of the workload's own Pods."""
    others = application("other", ["a1"] * 4, labels={"app": "web"})
    found = way(*nodes(), *web("b1 b2 c1"), *others)

    assert ((), OTHER_PODS, ZONE) == (found.moves, found.hindrance.reason, found.hindrance.key)
    enough = way(*nodes(), *web("b1 b2 c1", constraint(minDomains=3)), *others)
    assert OTHER_PODS == enough.hindrance.reason, "there are as many domains as minDomains"


def test_only_pods_that_the_constraint_counts_and_that_are_there_now_are_deleted():
    counting = constraint(labelSelector={"matchLabels": {"app": "other"}})
    found = way(*nodes(), *web("a1 a1 b1", counting), *application("other", ["a1", "a2"]))
    assert OTHER_PODS == found.hindrance.reason
    missing = deployment(constraint(**SOFT), replicas=5, on=["b1", "c1"], affinity=PREFERRED)
    assert OTHER_PODS == way(*nodes(), *missing).hindrance.reason, "those in a are yet to be made"


UNEVEN = "a1 a2 b1"
LOCAL = storage_class("local", "kubernetes.io/no-provisioner")


def claimed(on, *extra):
    """A StatefulSet whose claims are bound to volumes in the zones of its Pods."""
    template = {"metadata": {"name": "data"}, "spec": claim("data", of_class="local")["spec"]}
    own = stateful(replicas=len(on), on=on, volumeClaimTemplates=[template])
    for i, one in enumerate(own[1:]):
        one["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-web-{i}"}}]
    bound = [claim(f"data-web-{i}", volume=f"v-{i}", of_class="local") for i in range(len(on))]
    volumes = [volume(f"v-{i}", name[0], of_class="local", claim=f"data-web-{i}") for i, name in enumerate(on)]
    return [*own, LOCAL, *bound, *volumes, *extra]


def first_unready(workload_and_pods):
    unready(workload_and_pods[1])
    return workload_and_pods


def kept_on(node, cpu):
    """A Pod that waits for this node, and goes to no node as long as none has its label."""
    spec = {"containers": requesting(cpu), "priority": 10, "preemptionPolicy": "Never", "nodeSelector": {"is": "new"}}
    waiting = pod("ReplicaSet/big-1", 0, "", labels={"app": "big"}, spec=spec)
    return {**waiting, "status": {**waiting["status"], "nominatedNodeName": node}}


HINDRANCES = {
    "a budget": ([*nodes(), *web(UNEVEN), budget(minAvailable=3)], BUDGET, "shop/web: 3 healthy, 3 required"),
    "a budget of two workloads": (
        [
            *nodes(),
            *web(UNEVEN),
            *application("other", ["b1", "b2"], waiting=1, nodeSelector={"is": "new"}),
            budget(maxUnavailable=1, selector={"matchExpressions": [{**BOTH[0], "values": ["web", "other"]}]}),
        ],
        BUDGET,
        "shop/web: 5 healthy, 5 required",
    ),
    "two budgets": (
        [
            *nodes(),
            *web(UNEVEN),
            budget(maxUnavailable=1),
            {**budget(maxUnavailable=1), "metadata": {"name": "x", "namespace": "shop"}},
        ],
        BUDGET,
        "shop/web: 3 healthy, 2 required, shop/x: 3 healthy, 2 required",
    ),
    "no room": (
        [*nodes("a=2 b=1"), *nodes("c=2", cpu="100m"), *web(UNEVEN, containers=requesting("500m"))],
        ROOM,
        "c1 lacks 400m of cpu",
    ),
    "room that is kept for a Pod that waits": (
        [*nodes("a=2 b=1"), *nodes("c=1", cpu="1"), *web(UNEVEN, containers=requesting("500m")), kept_on("c1", "800m")],
        ROOM,
        "c1 lacks 300m of cpu",
    ),
    "no room on one node, less on another, and a third that takes no Pods": (
        [
            *nodes("a=2 b=1"),
            node("c1", "c", **STUCK),
            node("c2", "c", cpu="100m"),
            node("c3", "c", cpu="300m"),
            *web(UNEVEN, containers=requesting("500m")),
        ],
        ROOM,
        "c3 lacks 200m of cpu",
    ),
    "another constraint": (
        [*nodes("a=3 b=1"), *web("a1 a2 a3 b1", constraint(), constraint(topologyKey=HOSTNAME))],
        CONSTRAINT,
        HOSTNAME,
    ),
    "another constraint that would be worse": (
        [*nodes("a=3 c=1"), *web("a1 a2 a3 c1", constraint(), constraint(topologyKey=HOSTNAME, **SOFT))],
        CONSTRAINT,
        HOSTNAME,
    ),
    "scores that weigh more, beside a node that takes no Pods": (
        [
            *nodes("a=2 b=2"),
            *nodes("c=1", taints=[OLD]),
            node("c2", "c", **STUCK),
            *web("a1 a2 b1", constraint(**SOFT), affinity=PREFERRED),
        ],
        PUT_BACK,
        "",
    ),
    "a Pod that is not ready, before which the controller makes no other": (
        [*nodes(), *first_unready(stateful(on=["b1", "a1", "a2"]))],
        WAITS,
        "",
    ),
    "scores that weigh more": (
        [*nodes("a=2 b=2"), *nodes("c=1", taints=[OLD]), *web("a1 a2 b1", constraint(**SOFT), affinity=PREFERRED)],
        PUT_BACK,
        "",
    ),
    "nothing but a skew that is forced": (
        [
            *nodes("a=5 b=2 c=2"),
            *web("a1 a2 a3 a4 b1 b1 b2 b2 c1 c1 c2 c2", constraint(), constraint(topologyKey=HOSTNAME, **SOFT)),
        ],
        FORCED,
        ZONE,
    ),
    "a DaemonSet": ([*nodes(), *application("web", ["a1", "a2"], constraint(), kind="DaemonSet")], NOT_SIMULATED, ""),
    "a Job": ([*nodes(), *application("web", ["a1", "a2"], constraint(), kind="Job")], NOT_SIMULATED, ""),
    "another scheduler": (
        [*nodes(), *web(UNEVEN, schedulerName="own")],
        NOT_SIMULATED,
        'the scheduler "own" places it, which is not simulated',
    ),
    "a claim": ([*nodes(), *claimed(["a1", "a2", "b1"])], CLAIM, "data-web-1"),
    "a cordon": ([*nodes("a=2 b=1"), *nodes("c=1", unschedulable=True), *web(UNEVEN)], CLOSED, "cordoned"),
    "Pods of the old template": (
        [*nodes(), *updating(on=[("a1", "old"), ("a2", "old")], updateStrategy={"type": "OnDelete"})],
        UNDER_WAY,
        "",
    ),
    "a rollout": ([*nodes(), *updating(on=[("a1", "old"), ("a2", "new")])], UNDER_WAY, ""),
    "minDomains": ([*nodes("a=2 b=2"), *web("a1 a2 b1 b2", constraint(minDomains=3))], TOO_FEW_DOMAINS, ""),
    "a neighbour": (
        [
            *nodes("a=2 b=2"),
            *web("a1 a2 a1"),
            *application("near", ["b1", "b2", "b1", "b2"], constraint(labelSelector={"matchExpressions": BOTH})),
        ],
        NEIGHBOUR,
        "Deployment shop/near",
    ),
}


@pytest.mark.parametrize("name", HINDRANCES)
def test_why_there_is_no_move(name):
    objects, reason, detail = HINDRANCES[name]
    found = ways(objects)["web"]

    assert ((), reason, detail) == (found.moves, found.hindrance.reason, found.hindrance.detail)


def test_a_move_that_pays_only_with_another_is_left_out_where_that_is_not_there():
    on = "a1 a2 a1 a2 b1 b2 b1 b2"
    no_room = [*nodes("c=1"), *nodes("d=1", cpu="100m")]
    found = way(*nodes("a=2 b=2"), *no_room, *web(on, containers=requesting("500m")))

    assert ((), ROOM) == (found.moves, found.hindrance.reason), "the skew stays 4 without a Pod in d"


def test_there_may_be_moves_and_yet_no_way_to_even():
    on = "a1 a2 a3 a1 a2 b1"
    found = way(*nodes("a=3 b=2"), *nodes("c=1", cpu="700m"), *web(on, containers=requesting("500m")))

    assert ((("a>c",)), ROOM, "c1 lacks 300m of cpu") == (
        tuple(routes(found))[:1],
        found.hindrance.reason,
        found.hindrance.detail,
    )
    assert 2 == found.moves[-1].skew_after


def test_a_workload_that_cannot_be_simulated_keeps_no_other_from_it():
    others = [application(name, ["a1", "a2"], spread(name)) for name in ("api", "db")]
    for made in others[0][:2]:
        made["spec"]["template"]["spec"]["nodeName"] = "a1"
    found = ways([*nodes(), *web(UNEVEN), *others[0], *others[1]])

    assert (NOT_SIMULATED, 1, 1) == (found["api"].hindrance.reason, len(found["db"].moves), len(found["web"].moves))
    assert "spec.template.spec.nodeName" in found["api"].hindrance.detail


def spread(name):
    return constraint(labelSelector={"matchLabels": {"app": name}})


def test_a_budget_is_asked_before_each_move():
    on = "a1 a2 a3 a1 b1"
    assert 2 == len(way(*nodes(), *web(on), budget(maxUnavailable=1)).moves)
    assert 2 == len(way(*nodes(), *web(on), budget(minAvailable="70%")).moves)
    replicas = web(on)
    unready(replicas[-1])
    blocked = way(*nodes(), *replicas, budget(maxUnavailable=1)).hindrance
    assert (BUDGET, "shop/web: 4 healthy, 4 required") == (blocked.reason, blocked.detail)


@pytest.mark.parametrize(
    ("fewest", "most", "few"), [(1, 1, False), (1, 3, False), (2, 2, False), (1, 1, True), (2, 3, True)]
)
def test_so_many_pods_must_change_their_domain_as_trying_all_layouts_says(fewest, most, few):
    """Of all layouts of as many Pods with a skew that is allowed, the one that the fewest Pods have to move for."""
    random = Random(5)
    (parsed,) = parse_constraints([constraint(maxSkew=fewest, **({"minDomains": 4} if few else {}))], {}, LATEST)
    for _ in range(60):
        now = [random.randint(0, 2 + most) for _ in "abc"]
        total = sum(now)
        layouts = [
            layout
            for layout in product(range(total + 1), repeat=3)
            if sum(layout) == total and max(layout) - (0 if few else min(layout)) <= fewest
        ]
        best = min((sum(max(0, a - b) for a, b in zip(now, layout, strict=True)) for layout in layouts), default=None)
        counts = {zone: number for zone, number in zip("abc", now, strict=True) if number}
        counted = DomainCounts(parsed, frozenset("abc"), counts, 1, str, lambda _: 0)
        if best is not None:
            assert best == pods_to_move(counted, fewest), now
