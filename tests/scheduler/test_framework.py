"""The plugins of a profile together; the recordings of tests/conformance hold them against the real scheduler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.framework import PLUGINS, DryRun, Framework, total, usable_nodes
from evenkeel.scheduler.plugins.inter_pod_affinity import AFFINITY_UNMET
from evenkeel.scheduler.plugins.node_resources_fit import insufficient
from evenkeel.scheduler.plugins.nodes_by_usage import ChangingUsage
from evenkeel.scheduler.plugins.plugin import Plugin
from evenkeel.scheduler.pod_counts import BoundPod, PodInfo, Requests, Usage, label_set
from evenkeel.scheduler.profile import FILTERS, WEIGHTS, Cycle, Profile
from evenkeel.scheduler.resource_fit import CPU, MOST_ALLOCATED, ScoringStrategy
from tests.support import placing
from tests.support.attempts import (
    BIG,
    CORDONED,
    INFRA,
    SMALL,
    TAINTED,
    UNSCHEDULABLE,
    UNTOLERATED,
    affinity,
    cycle,
    named,
    node,
    refusals,
    said,
    scores,
)
from tests.support.build import pod
from tests.support.placement import HARD, SOFT, bound, cluster, incoming, parsed
from webhook.kubernetes.features import LATEST


def test_a_node_that_nothing_refuses_is_feasible():
    asked = cycle(node("n1"))

    assert ({}, "") == (refusals(asked), said(asked))


def test_each_plugin_says_why_in_its_order():
    asked = cycle(
        TAINTED,
        node("n2", unschedulable=True, taints=[INFRA]),
        node("n3", zone="b"),
        node("n4", allocatable=SMALL),
        node("n5"),
        bound("n4"),
        bound("n5"),
        constraints=[HARD],
        nodeSelector={"zone": "a"},
        **BIG,
    )

    assert {
        "n1": UNTOLERATED,
        "n2": UNSCHEDULABLE,
        "n3": ("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"),
        "n4": ("NodeResourcesFit", "Insufficient cpu", "Insufficient memory"),
    } == refusals(asked)


def test_two_plugins_that_leave_no_node_together():
    asked = cycle(node("n1"), node("n2"), nodeName="n1", affinity=affinity(named("n2")))

    assert "0/2 nodes are available: node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously." == said(
        asked
    )


@pytest.mark.parametrize(("nominated", "plugins"), [("n1", "NodeAffinity NodeResourcesFit"), ("", "NodeAffinity")])
def test_what_refuses_the_nominated_node_is_named_with_what_leaves_out_others(nominated, plugins):
    asked = cycle(node("n1", allocatable=SMALL), node("n2"), affinity=affinity(named("n1")), **BIG)
    asked = replace(asked, pod=replace(asked.pod, nominated_node=nominated))

    assert {
        "n1": ("NodeResourcesFit", "Insufficient cpu", "Insufficient memory"),
        "n2": ("", f"node(s) didn't satisfy plugin(s) [{plugins}]"),
    } == refusals(asked)


def test_the_message_counts_each_reason_and_sorts_as_text():
    tainted = [node(f"t{i}", taints=[INFRA]) for i in range(10)]
    full = [node(f"f{i}", allocatable={**SMALL, "pods": "0"}) for i in range(2)]

    assert (
        "0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 Insufficient memory, "
        "2 Too many pods."
    ) == said(cycle(*tainted, *full, **BIG))


def test_a_cluster_without_nodes():
    assert "no nodes available to schedule pods" == said(cycle())


def test_one_candidate_is_not_scored():
    assert {} == scores(cycle(node("n1")))


def test_what_scores_nothing_is_left_out():
    assert ["TaintToleration", "NodeResourcesFit", "ImageLocality"] == list(scores(cycle(node("n1"), node("n2"))))
    assert {"NodeResourcesBalancedAllocation", "PodTopologySpread"} <= scores(
        cycle(node("n1"), node("n2"), constraints=[SOFT], **BIG)
    ).keys()


def test_the_total_weighs_the_plugins():
    found = {"TaintToleration": {"n1": 100, "n2": 0}, "PodTopologySpread": {"n1": 50, "n2": 100}}

    assert {"n1": 3 * 100 + 2 * 50, "n2": 2 * 100} == total(found)


def test_the_newest_version_is_known():
    assert LATEST.node_name_in_pre_filter
    assert not LATEST.names_untolerated_taint


def test_the_usable_nodes_are_those_that_room_and_spread_alone_may_refuse():
    full, lonely = node("n3", allocatable={"cpu": "1m", "pods": "1"}), node("n4", zone="b")
    asked = cycle(TAINTED, CORDONED, full, lonely, constraints=[HARD])

    def usable(one):
        return sorted(one.snapshot.nodes.names(usable_nodes(one)))

    assert ["n3", "n4"] == usable(asked)
    assert ["n1", "n3", "n4"] == usable(
        replace(asked, profile=Profile(filters=("NodeUnschedulable", "NodeResourcesFit")))
    )
    by_name = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [named("n3")]}}
    asked = cycle(TAINTED, full, lonely, affinity={"nodeAffinity": by_name})
    assert ["n3"] == usable(asked) == usable(replace(asked, profile=Profile("batch")))
    assert [] == usable(cycle(full, affinity=affinity(named("n9"))))


def test_the_best_of_the_candidates_follow_the_usage_of_nodes():
    framework = Framework(cycle(node("n1"), node("n2"), **BIG))
    assert 0b11 == framework.best(0b11)

    framework.set_usage("n1", Usage(1, 2_000, 2 << 30, 0, (), 2_000, 2 << 30))
    assert 0b10 == framework.best(0b11)
    assert framework.prioritize(0b11)["NodeResourcesFit"]["n1"] < framework.prioritize(0b11)["NodeResourcesFit"]["n2"]
    framework.set_usage("gone", Usage(1))
    assert 0b10 == framework.copy().best(0b11)


def test_a_copy_scores_by_a_usage_of_its_own():
    framework = Framework(cycle(node("n1"), node("n2"), **BIG))
    assert 0b11 == framework.best(0b11)
    copied = framework.copy()
    copied.set_usage("n1", Usage(1, 2_000, 2 << 30, 0, (), 2_000, 2 << 30))

    assert (0b11, 0b10) == (framework.best(0b11), copied.best(0b11))


def test_usage_that_is_set_before_any_node_was_scored_counts():
    framework = Framework(cycle(node("n1"), node("n2"), **BIG))
    framework.set_usage("n1", Usage(1, 2_000, 2 << 30, 0, (), 2_000, 2 << 30))

    assert 0b10 == framework.best(0b11)


EMPTIER, EVENER = {"NodeResourcesFit": 1}, {"NodeResourcesBalancedAllocation": 1}
GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "first", "second", "best"),
    [
        ((2 * GIB, 0), {"weights": EVENER}, {"weights": EVENER}, (0b01, 0b10)),
        ((2 * GIB, 2 * GIB), {"weights": EMPTIER}, {"weights": EVENER}, (0b10, 0b01)),
        ((2 * GIB, 2 * GIB), {"weights": EVENER}, {"weights": EVENER, "balanced": (CPU,)}, (0b01, 0b11)),
        (
            (2 * GIB, 2 * GIB),
            {"weights": EMPTIER},
            {"weights": EMPTIER, "strategy": ScoringStrategy(MOST_ALLOCATED)},
            (0b10, 0b01),
        ),
    ],
    ids=["requests", "weights", "balanced", "strategy"],
)
def test_pods_that_share_what_is_used_of_nodes_are_scored_by_their_own_requests_and_profile(
    memory, first, second, best
):
    even, large = {"cpu": "4", "memory": "4Gi", "pods": "9"}, {"cpu": "64", "memory": "6Gi", "pods": "9"}
    asked = cycle(node("even", allocatable=even), node("large", allocatable=large))
    usage = ChangingUsage(asked.snapshot.nodes, {})

    def chosen(memory, profile):
        requests = Requests(2_000, memory, non_zero_milli_cpu=2_000, non_zero_memory=memory)
        like = replace(asked, pod=replace(asked.pod, requests=requests), profile=replace(asked.profile, **profile))
        return Framework(like, usage).best(0b11)

    assert best == (chosen(memory[0], first), chosen(memory[1], second))


def test_one_candidate_is_the_best_without_a_score():
    assert 0b1 == Framework(cycle(node("n1"))).best(0b1)


def test_a_copy_changes_by_itself():
    framework = Framework(cycle(node("n1"), node("n2", "b"), constraints=[HARD]))
    copied = framework.copy()
    copied.add_pods(PodInfo("shop", (("app", "web"),)), "n1", 1)

    assert (0b11, 0b10) == (framework.feasible(), copied.feasible())


def test_every_plugin_of_the_default_profile_is_there_and_no_other():
    assert {plugin.name for plugin in PLUGINS} == {*FILTERS, *WEIGHTS}
    assert list(FILTERS) == [plugin.name for plugin in PLUGINS if plugin.name in FILTERS]


def test_what_the_spread_counts_is_followed_though_the_profile_does_not_run_it():
    profile = Profile(filters=(), weights={})
    there = cluster({"n1": "a", "n2": "b"})
    framework = Framework(Cycle(incoming(labels={"app": "web"}), parsed(HARD), there, LATEST, profile=profile))
    assert [{}] == [counts.counts for counts in framework.spread.hard.counts]

    framework.add_pods(PodInfo(framework.cycle.pod.namespace, (("app", "web"),)), "n1", 1)

    assert [{"a": 1}] == [counts.counts for counts in framework.spread.hard.counts]


def test_a_plugin_that_counts_pods_has_a_copy_of_its_own():
    class Forgetful(Plugin):
        name, counts_pods = "Forgetful", True

    with pytest.raises(NotImplementedError, match=r"Forgetful\.copy"):
        Forgetful(Cycle(incoming(), (), cluster({}), LATEST)).copy()


def framework(*objects, **spec):
    return Framework(placing.attempted(*objects, **spec))


def taken(named):
    return named.namespace, named.pod


def test_pods_are_taken_and_given_back():
    tried = framework(placing.node("n1", cpu="1"), placing.running("n1", cpu="1"))
    before = tried.feasibility()
    (there,) = tried.cycle.snapshot.pods_on["n1"]
    with DryRun(tried, "n1") as dry_run:
        assert insufficient(("cpu",)) == dry_run.refusal().reasons
        dry_run.give(taken(there), -1)
        assert dry_run.passes()
        dry_run.give(taken(there))
        assert not dry_run.passes()
        dry_run.give(taken(there), -1)

    assert before == tried.feasibility()
    assert tried.cycle.snapshot.usage["n1"] == tried.usage_of("n1")


def test_what_changes_nothing_is_no_change():
    tried = framework(placing.node("n1"))
    with DryRun(tried, "n1") as dry_run:
        dry_run.give(("shop", BoundPod((), "n1", Requests(milli_cpu=99_000))), 0)

        assert dry_run.passes()


def nominated(name, to, **spec):
    raw = pod(name=name, spec={"containers": placing.requesting("1"), **spec})
    return {**raw, "status": {"phase": "Pending", "nominatedNodeName": to}}


def test_a_node_must_pass_with_the_nominated_pods_and_without_them():
    full = framework(placing.node("n1", cpu="1"), nominated("other", "n1"))
    near = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
            ]
        }
    }
    alone = framework(
        placing.node("n1"),
        {**nominated("other", "n1"), "metadata": {"name": "o", "namespace": "shop", "labels": {"app": "db"}}},
        affinity=near,
    )

    assert insufficient(("cpu",)) == DryRun(full, "n1").refusal().reasons
    assert (AFFINITY_UNMET,) == DryRun(alone, "n1").refusal().reasons


def test_a_terminating_pod_counts_for_constraints_once_it_is_tried():
    """So upstream has it: the domain then has a Pod less than none."""
    leaving = placing.running("a1", deletionTimestamp="2026-01-01T00:00:00Z")
    tried = framework(
        placing.node("a1", "a"), placing.node("b1", "b"), leaving, placing.running("a1"), constraints=[placing.spread()]
    )
    assert not DryRun(tried, "a1").passes()
    with DryRun(tried, "a1") as dry_run:
        dry_run.give(("shop", BoundPod(label_set({"app": "web"}), "a1", Requests(), spreads=False)), -1)

        assert dry_run.passes()
    assert not DryRun(tried, "a1").passes()


def test_a_plugin_that_pre_filter_skips_heeds_none_of_them():
    """Of no Pod that runs the anti-affinity selects this one, so that a nominated Pod's is not looked at."""
    off = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
    there = {**placing.running("n2"), "spec": {**placing.running("n2")["spec"], "affinity": off}}
    nodes = [placing.node("n1"), placing.node("n2")]

    assert DryRun(framework(*nodes, nominated("other", "n1", affinity=off)), "n1").passes()
    assert not DryRun(framework(*nodes, there, nominated("other", "n1", affinity=off)), "n1").passes()
