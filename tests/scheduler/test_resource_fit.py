"""Why a node has no room for a Pod, and what its room is worth."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.pod_counts import NO_REQUESTS, UNUSED, Requests, Usage
from evenkeel.scheduler.resource_fit import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    TO_CAPACITY,
    ScoringStrategy,
    allocation,
    balanced_allocation,
    balanced_allocation_of,
    heeded,
    is_best_effort,
    least_allocated,
    shortages,
)
from evenkeel.scheduler.scheduler_nodes import NO_ROOM, Allocatable
from webhook.kubernetes.features import LATEST, features

GPU, HUGE = "example.com/gpu", "hugepages-2Mi"
NODE = Allocatable(4000, 1000, 100, ((GPU, 2), (HUGE, 8)), 10)


class Case(NamedTuple):
    name: str
    short: tuple[str, ...]
    requests: Requests = NO_REQUESTS
    usage: Usage = UNUSED
    allocatable: Allocatable = NODE


SHORT = [
    Case("nothing requested of an empty node", ()),
    Case("all that there is", (), Requests(4000, 1000, 100, ((GPU, 2), (HUGE, 8)))),
    Case("one more Pod than the node takes", ("pods",), usage=Usage(10)),
    Case("a node without allocatable takes none", ("pods",), allocatable=NO_ROOM),
    Case("CPU", ("cpu",), Requests(1001), Usage(1, 3000)),
    Case("just enough CPU", (), Requests(1000), Usage(1, 3000)),
    Case("0 never fails, however much is used", (), Requests(0, 1), Usage(1, 9000)),
    Case("nothing requested, of a node with too much on it", (), usage=Usage(1, 9000, 9000)),
    Case("memory", ("memory",), Requests(0, 501), Usage(1, 0, 500)),
    Case("storage", ("ephemeral-storage",), Requests(0, 0, 101)),
    Case(
        "more than is left of an extended resource",
        (GPU,),
        Requests(scalars=((GPU, 1),)),
        Usage(1, scalars=((GPU, 2),)),
    ),
    Case("one that the node does not have", ("a/b",), Requests(scalars=(("a/b", 1),))),
    Case(
        "all of them, in order",
        ("pods", "cpu", "memory", "ephemeral-storage", GPU, HUGE),
        Requests(1, 1, 1, ((GPU, 1), (HUGE, 1))),
        allocatable=NO_ROOM,
    ),
]


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
def test_every_resource_that_is_short_is_named(case):
    assert case.short == shortages(case.requests, case.allocatable, case.usage)


IGNORED = [("by name", {"ignored": {GPU}}), ("by group", {"ignored_groups": {"example.com"}})]


@pytest.mark.parametrize(("name", "options"), IGNORED, ids=[name for name, _ in IGNORED])
def test_extended_resources_can_be_ignored(name, options):
    asked = Requests(scalars=((GPU, 9), (HUGE, 9), ("other.com/gpu", 1)))

    assert (HUGE, "other.com/gpu") == shortages(
        heeded(asked, options.get("ignored", ()), options.get("ignored_groups", ())), NODE, UNUSED
    )


def test_only_extended_resources_can_be_ignored():
    asked = Requests(9999, scalars=((HUGE, 9),))

    assert ("cpu", HUGE) == shortages(heeded(asked, {"cpu", HUGE}, {HUGE}), NODE, UNUSED)


class Score(NamedTuple):
    name: str
    score: int
    requests: Requests = NO_REQUESTS
    usage: Usage = UNUSED
    allocatable: Allocatable = NODE


LEAST = [
    Score("an empty node", 100),
    Score("non-zero requests count", 75, Requests(4000, 1000, 0, (), 1000, 250)),
    Score("and those of bound Pods", 50, Requests(0, 0, 0, (), 1000, 250), Usage(1, 0, 0, 0, (), 1000, 250)),
    Score("each resource is rounded down, and the mean", 82, Requests(0, 0, 0, (), 1001, 91)),
    Score("more than there is is worth nothing", 50, Requests(0, 0, 0, (), 4001, 0)),
    Score(
        "a resource that the node does not have is left out",
        75,
        Requests(0, 0, 0, (), 1000, 9),
        UNUSED,
        Allocatable(4000),
    ),
    Score("a node that has neither", 0, allocatable=NO_ROOM),
]


@pytest.mark.parametrize("case", LEAST, ids=lambda case: case.name)
def test_least_allocated(case):
    assert case.score == least_allocated(case.requests, case.allocatable, case.usage)


BALANCED = [  # in 1.35, and since 1.36
    ("an even node stays even", 100, 75, Requests(400, 100), UNUSED),
    ("all of the CPU", 50, 50, Requests(4000), UNUSED),
    ("a Pod that evens out", 100, 87, Requests(2000), Usage(1, 0, 500)),
    ("more than there is counts as all", 100, 75, Requests(9000, 9000), UNUSED),
    ("non-zero requests do not count", 100, 75, Requests(0, 0, 0, (), 4000, 0), UNUSED),
]


@pytest.mark.parametrize(("name", "old", "new", "requests", "usage"), BALANCED, ids=[case[0] for case in BALANCED])
def test_balanced_allocation(name, old, new, requests, usage):
    assert (old, new) == tuple(balanced_allocation(features(minor), requests, NODE, usage) for minor in (35, 36))


CPU_AND_GPU = (("cpu", 3), ("a.b/gpu", 1))
FALLING = ((0, 100), (50, 20), (100, 0))
STRATEGIES = [
    ("most of the CPU", 25, ScoringStrategy(MOST_ALLOCATED, (("cpu", 1),)), Requests(non_zero_milli_cpu=1000)),
    (
        "more than there is is all",
        100,
        ScoringStrategy(MOST_ALLOCATED, (("cpu", 1),)),
        Requests(non_zero_milli_cpu=5000),
    ),
    ("by weights", 56, ScoringStrategy(LEAST_ALLOCATED, CPU_AND_GPU), Requests(0, 0, 0, (("a.b/gpu", 1),), 2000, 0)),
    (
        "what is not asked for is left out",
        50,
        ScoringStrategy(LEAST_ALLOCATED, CPU_AND_GPU),
        Requests(non_zero_milli_cpu=2000),
    ),
    (
        "on the line between points",
        60,
        ScoringStrategy(TO_CAPACITY, (("cpu", 1),), FALLING),
        Requests(non_zero_milli_cpu=1000),
    ),
    ("at a point", 20, ScoringStrategy(TO_CAPACITY, (("cpu", 1),), FALLING), Requests(non_zero_milli_cpu=2000)),
    (
        "a score of 0 is left out",
        0,
        ScoringStrategy(TO_CAPACITY, (("cpu", 1),), FALLING),
        Requests(non_zero_milli_cpu=4000),
    ),
]


@pytest.mark.parametrize(("name", "score", "strategy", "requests"), STRATEGIES, ids=[case[0] for case in STRATEGIES])
def test_allocation_by_a_strategy(name, score, strategy, requests):
    node = Allocatable(4000, 4000, 100, (("a.b/gpu", 4),))

    assert score == allocation(strategy, requests, node, UNUSED)


def test_a_strategy_in_other_words_than_the_usual_scores_as_that():
    node, usage = Allocatable(4000, 1 << 30), Usage(1, 0, 0, 0, (), 700, 1 << 28)
    requests = Requests(0, 0, 0, (), 333, 1 << 27)

    assert least_allocated(requests, node, usage) == allocation(
        ScoringStrategy(resources=(("memory", 1), ("cpu", 1))), requests, node, usage
    )


def test_the_balance_of_other_resources():
    """Shares of 100, 50 and 0 percent deviate by 41 percent; what the node lacks is left out."""
    node = Allocatable(1000, 1000, 1000)
    requests = Requests(1000, 500, 0, (("a.b/gpu", 1),))

    assert 59 == balanced_allocation_of(("cpu", "memory", "ephemeral-storage"), features(35), requests, node, UNUSED)
    assert 75 == balanced_allocation_of(("cpu", "memory", "a.b/gpu"), features(35), requests, node, UNUSED)
    assert is_best_effort(requests, ("ephemeral-storage",))
    assert not is_best_effort(requests, ("a.b/gpu",))


def test_a_node_that_lacks_cpu_or_memory_is_in_balance():
    assert 100 == balanced_allocation(features(35), Requests(1, 1), Allocatable(4000), UNUSED)


@pytest.mark.parametrize(
    ("requests", "so"), [(NO_REQUESTS, True), (Requests(0, 0, 5, ((GPU, 1),), 100, 100), True), (Requests(0, 1), False)]
)
def test_a_pod_without_cpu_and_memory_is_best_effort(requests, so):
    assert so == is_best_effort(requests)


NUMBERS = st.integers(0, 10**6)
REQUESTS = st.builds(Requests, NUMBERS, NUMBERS, NUMBERS, st.just(()), NUMBERS, NUMBERS)
NODES = st.builds(Allocatable, NUMBERS, NUMBERS, NUMBERS, st.just(()), st.integers(0, 5))


@given(REQUESTS, st.lists(REQUESTS, max_size=5), NODES)
def test_scores_lie_between_0_and_100_and_more_pods_never_make_room(requests, pods, node):
    usage = UNUSED
    for pod in pods:
        before, usage = usage, usage.plus(pod)
        assert set(shortages(requests, node, before)) <= set(shortages(requests, node, usage))
        assert least_allocated(requests, node, before) >= least_allocated(requests, node, usage)
    for features_ in (features(35), LATEST):
        assert 50 <= balanced_allocation(features_, requests, node, usage) <= 100
    assert 0 <= least_allocated(requests, node, usage) <= 100


@given(st.lists(REQUESTS, max_size=5), st.randoms())
def test_pods_that_come_and_go_leave_nothing_behind(pods, random):
    usage = UNUSED
    for pod in pods:
        usage = usage.plus(pod)
    for pod in random.sample(pods, len(pods)):
        usage = usage.plus(pod, -1)

    assert UNUSED == usage
