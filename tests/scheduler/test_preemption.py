"""On which nodes preemption helps, and whom it takes; its recordings are in tests/data."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from evenkeel.objects.disruption_budget import DisruptionBudget
from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.preemption import messages, preempt
from evenkeel.scheduler.profile import USUAL_PROFILE
from tests.support.build import pod
from tests.support.claims import EBS, claim, csi_node, using, volume
from tests.support.placing import INFRA, attempted, node, requesting, running

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def low(name, on, priority=-10, cpu="1", started=EARLY, labels=None):
    raw = running(on, cpu=cpu, labels=labels or {"app": "low"})
    named = {**raw["metadata"], "name": name, "uid": name}
    spec, status = {**raw["spec"], "priority": priority}, {"phase": "Running", "startTime": started}
    return {**raw, "metadata": named, "spec": spec, "status": {k: v for k, v in status.items() if v}}


def of(*objects, budgets=(), profile=USUAL_PROFILE, cpu="1", seed=None, **spec):
    """What comes of preemption, and what is said of it; of one attempt if a seed is given."""
    cycle = replace(attempted(*objects, cpu=cpu, **spec), profile=profile)
    framework = Framework(cycle)
    feasibility = framework.feasibility()
    random = None if seed is None else Random(seed)
    preemption = preempt(framework, feasibility, cycle.snapshot.pods_of, budgets, random)
    return preemption, messages(cycle, feasibility, preemption)


def victims(preemption):
    return {node: [named.name for named in taken.pods] for node, taken in preemption.candidates.items()}


def budget(app, allowed, disrupted=()):
    return DisruptionBudget(
        "shop", app, {"matchLabels": {"app": app}}, None, None, False, allowed, frozenset(disrupted)
    )


def test_the_least_important_pods_go_and_as_few_as_need_be():
    """The Pod fits beside the most important one, which comes back first."""
    preemption, told = of(node("n1", cpu="2"), low("a", "n1", -1), low("b", "n1", -10))

    assert {"n1": ["b"]} == victims(preemption)
    assert told[0].endswith("found a potential placement for pod on node n1, preempting 1 victims")


def test_of_the_same_priority_the_youngest_goes():
    preemption, _ = of(node("n1", cpu="2"), low("old", "n1"), low("young", "n1", started=LATE))

    assert {"n1": ["young"]} == victims(preemption)


def test_a_pod_that_has_not_started_is_the_youngest():
    preemption, _ = of(node("n1", cpu="2"), low("new", "n1", started=None), low("old", "n1", started=LATE))

    assert {"n1": ["new"]} == victims(preemption)


def test_what_comes_of_it_does_not_depend_on_the_order_of_objects():
    """All that is said of equal Pods and equal nodes has the order of their names."""
    pods = [low(name, on, labels={"app": name}) for name, on in (("a", "n1"), ("b", "n1"), ("c", "n2"), ("d", "n2"))]
    objects = [node("n1", cpu="2"), node("n2", cpu="2"), *pods]

    assert str(of(*objects, topologySpreadConstraints=[])) == str(of(*objects[::-1], topologySpreadConstraints=[]))


def test_of_equal_pods_the_last_by_name_goes_and_any_in_an_attempt():
    objects = [node("n1", cpu="3"), *(low(name, "n1") for name in "cab")]

    assert {"n1": ["c"]} == victims(of(*objects)[0])
    assert {"a", "b", "c"} == {victims(of(*objects, seed=seed)[0])["n1"][0] for seed in range(20)}
    assert of(*objects, seed=7) == of(*objects, seed=7)


def test_beside_a_pod_with_its_volume_it_may_fit_where_it_does_not_without():
    """The node attaches one volume. The Pod needs a second beside `other`, unless `same` is there."""

    def having(pod, *names):
        return {**pod, "spec": {**pod["spec"], **using(*names)}}

    disks = {name: {"driver": EBS, "volumeHandle": name} for name in ("same", "other")}
    bound = [one for name in disks for one in (claim(name, name), volume(name, of=name, csi=disks[name]))]
    pods = [
        having(low("other", "n1", -1), "other"),
        having(low("same", "n1", -2), "same"),
        *(low("c", "n1", -3), low("d", "n1", -4)),
    ]
    preemption, _ = of(node("n1", cpu="4"), csi_node("n1", 1), *bound, *pods, cpu="2", **using("same"))

    assert {"n1": ["other", "d"]} == victims(preemption)


def test_an_attempt_draws_the_order_of_pods_that_started_at_once_and_differ():
    """Beside the large one nothing fits; either of the small ones may stay, if it comes first."""
    pods = [low("x", "n1", cpu="1500m"), low("y", "n1", cpu="1"), low("z", "n1", cpu="500m")]
    objects = [node("n1", cpu="3"), *pods]

    assert {"n1": ["y", "z"]} == victims(of(*objects, cpu="1500m")[0])
    drawn = {tuple(sorted(victims(of(*objects, cpu="1500m", seed=seed)[0])["n1"])) for seed in range(20)}
    assert {("x",), ("y", "z")} == drawn


def test_nodes_are_compared_by_budgets_then_the_highest_victim_their_sum_their_number_and_their_age():
    nodes = [node(name, cpu="2") for name in "abcde"]
    pods = [
        *(low("a1", "a", -10, labels={"app": "db"}), low("a2", "a", -10, labels={"app": "db"})),
        *(low("b1", "b", -10), low("b2", "b", -5)),
        *(low("c1", "c", -10), low("c2", "c", -10)),
        low("d1", "d", -10, cpu="2"),
        low("e1", "e", -10, cpu="2", started=LATE),
    ]
    for left, chosen in ((5, "e"), (4, "d"), (3, "c"), (2, "b"), (1, "a")):
        names = "abcde"[:left]
        there = [one for one in pods if one["spec"]["nodeName"] in names]
        preemption, _ = of(*nodes[:left], *there, cpu="2", budgets=[budget("db", 1)])

        assert (chosen,) == preemption.nodes


def test_of_equal_nodes_any_may_be_chosen_and_each_message_is_told():
    preemption, told = of(node("a", cpu="1"), node("b", cpu="1"), low("x", "a"), low("y", "b"))

    assert ("a", "b") == preemption.nodes
    assert 2 == len(told)


FEW = replace(USUAL_PROFILE, preemption_candidates=1, preemption_percentage=0)


def test_a_node_is_named_only_if_every_start_of_the_search_gives_it():
    """kube-scheduler compares only some of many candidates, from any on."""
    objects = [node(name, cpu="1") for name in "abc"] + [low(name, name, -i) for i, name in enumerate("abc", 1)]
    known, unknown = of(*objects), of(*objects, profile=FEW)

    assert (("c",), 1) == (known[0].nodes, len(known[1]))
    assert (True, (), ()) == (unknown[0].helps, unknown[0].nodes, unknown[1])
    assert {("a",), ("b",), ("c",)} == {of(*objects, profile=FEW, seed=seed)[0].nodes for seed in range(20)}


def test_a_search_goes_on_to_a_candidate_without_a_violation():
    guarded = [low(name, name, labels={"app": "db"}) for name in "abc"]
    objects = [node(name, cpu="1") for name in "abcd"] + [*guarded, low("free", "d")]

    assert ("d",) == of(*objects, profile=FEW, budgets=[budget("db", 0)])[0].nodes
    assert {("d",)} == {of(*objects, profile=FEW, budgets=[budget("db", 0)], seed=seed)[0].nodes for seed in range(10)}
    assert ("a", "b", "c") == of(*objects[:3], *guarded, profile=FEW, budgets=[budget("db", 0)])[0].nodes


def test_a_search_ends_once_it_has_candidates_enough():
    names = [f"n{number:02}" for number in range(40)]
    objects = [*(node(name, cpu="1") for name in names), *(low(name, name) for name in names)]

    assert 1 == len(of(*objects, profile=FEW, seed=1)[0].candidates)
    assert 2 == len(of(*objects, profile=FEW)[0].candidates)


def test_budgets_are_held_in_any_order_in_an_attempt():
    """Up to the first that it violates a Pod counts for budgets, and then the other has one left."""
    pods = [
        low("both", "n1", -1, labels={"app": "x", "tier": "y"}),
        low("one", "n1", -2, labels={"tier": "y"}),
    ]
    tier = budget("tier", 1)._replace(selector={"matchLabels": {"tier": "y"}})
    given = {"cpu": "2", "budgets": [budget("x", 0), tier]}

    drawn = {of(node("n1", cpu="2"), *pods, **given, seed=seed)[0].candidates["n1"].violations for seed in range(20)}
    assert {1, 2} == drawn


def test_pods_that_violate_a_budget_come_back_first():
    pods = [low("kept", "n1", labels={"app": "db"}, started=LATE), low("other", "n1")]

    for allowed, gone in ((0, "other"), (1, "kept")):
        preemption, _ = of(node("n1", cpu="2"), *pods, budgets=[budget("db", allowed)])
        assert {"n1": [gone]} == victims(preemption)
    preemption, _ = of(node("n1", cpu="2"), *pods, budgets=[budget("db", 0, disrupted=["kept"])])
    assert {"n1": ["kept"]} == victims(preemption)


UNLABELLED = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}


@pytest.mark.parametrize(
    ("selector", "labels", "old", "new"),
    [
        (None, {"app": "low"}, 0, 0),
        ({"matchLabels": {"app": "-"}}, {"app": "low"}, 0, 0),
        ({}, {"app": "low"}, 0, 1),
        ({}, {}, 0, 1),
        (UNLABELLED, {}, 0, 1),
        (UNLABELLED, {"app": "low"}, 0, 0),
        ({"matchLabels": {"app": "low"}}, {"app": "low"}, 1, 1),
        ({"matchLabels": {"app": "low"}}, {}, 0, 0),
    ],
)
def test_a_budget_with_an_empty_selector_is_about_every_pod_since_1_38(selector, labels, old, new):
    given = budget("low", 0)._replace(selector=selector)
    alone = low("x", "n1")
    alone["metadata"]["labels"] = labels

    for minor, violations in ((37, old), (38, new)):
        preemption, _ = of(node("n1", cpu="1"), alone, budgets=[given], minor=minor)
        assert [violations] == [taken.violations for taken in preemption.candidates.values()]


def test_of_equal_pods_that_with_the_last_uid_goes_since_1_38():
    objects = [node("n1", cpu="3"), *(low(name, "n1") for name in "cab")]
    for raw, uid in zip(objects[1:], ("u2", "u10", "u1"), strict=True):
        raw["metadata"]["uid"] = uid

    assert {"n1": ["c"]} == victims(of(*objects, minor=38)[0])
    objects[2]["metadata"]["uid"] = "u3"
    assert {"n1": ["a"]} == victims(of(*objects, minor=38)[0])
    assert {"n1": ["c"]} == victims(of(*objects, minor=37)[0])


def test_what_a_budget_allows_is_not_known_and_matters_if_it_is_about_a_victim():
    for app, unknown in (("low", True), ("db", False)):
        preemption, _ = of(node("n1", cpu="1"), low("x", "n1"), budgets=[budget(app, None)])
        assert unknown is preemption.budgets_unknown
    assert of(node("n1", cpu="1"), low("x", "n1"), budgets=None)[0].budgets_unknown


def test_the_message_says_why_it_does_not_help_on_each_node():
    objects = [
        *(node("none", cpu="1"), running("none", cpu="1")),
        *(node("short", cpu="1"), low("x", "short", cpu="100m"), running("short", cpu="500m")),
        node("closed", taints=[INFRA]),
        node("small", cpu="100m"),
    ]
    preemption, told = of(*objects)

    assert preemption.tried
    assert told[0].endswith(
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert not of(*objects[:2])[0].tried


def test_up_to_1_33_a_node_that_is_too_small_is_tried_too():
    _, told = of(node("small", cpu="100m"), minor=33)

    assert told[0].endswith("preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.")


def test_a_pod_that_never_preempts_says_so():
    preemption, told = of(node("n1", cpu="1"), low("x", "n1"), preemptionPolicy="Never")

    assert ({}, False) == (preemption.candidates, preemption.clears_nomination)
    assert told[0].endswith("preemption: not eligible due to preemptionPolicy=Never.")


@pytest.mark.parametrize(
    ("minor", "rejected", "ending"),
    [
        (33, False, "Insufficient cpu. preemption: 0/1 nodes"),
        (36, False, "Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes"),
        (37, False, "Insufficient cpu. preemption: 0/1 nodes"),
        (33, True, '"absent" not found. preemption: 0/1 nodes'),
        (37, True, '"absent" not found. not found'),
    ],
)
def test_what_is_added_depends_on_the_version(minor, rejected, ending):
    absent = [{"name": "data", "persistentVolumeClaim": {"claimName": "absent"}}]
    _, told = of(node("n1", cpu="100m"), minor=minor, **({"volumes": absent} if rejected else {}))

    assert ending in told[0]


def test_a_profile_may_run_neither():
    without = replace(USUAL_PROFILE, preempts=False)

    preemption, told = of(node("n1", cpu="1"), low("x", "n1"), profile=without)
    assert (None, ("0/1 nodes are available: 1 Insufficient cpu.",)) == (preemption, told)
    _, told = of(node("n1", cpu="100m"), profile=replace(USUAL_PROFILE, deallocates=False), minor=36)
    assert "no new claims" not in told[0]


def test_where_a_node_passes_nothing_is_preempted():
    assert (None, ()) == of(node("n1"), low("x", "n1"))


def waiting(on, **spec):
    raw = pod(name="waiting", spec={"containers": requesting("1"), **spec})
    return {**raw, "status": {"phase": "Pending", "nominatedNodeName": on}}


def test_a_nominated_pod_keeps_the_room_that_was_made():
    """The placeholder on n1 is no help, since its room is kept."""
    objects = [node("n1", cpu="1"), node("n2", cpu="1"), low("x", "n1"), low("y", "n2"), waiting("n1")]

    assert ("n2",) == of(*objects)[0].nodes


def test_another_scheduler_keeps_no_room():
    assert (None, ()) == of(node("n1", cpu="1"), waiting("n1", schedulerName="other"))
    assert of(node("n1", cpu="1"), waiting("n1"))[1]
