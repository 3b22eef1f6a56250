"""
The scheduler's plugins of resources: NodeResourcesFit, filter and score, and NodeResourcesBalancedAllocation.

    Requests, Allocatable, Usage ──> every shortage
                                 ──> LeastAllocated: 100 * (allocatable - used) / allocatable, a mean
                                 ──> balance: 100 * (1 - standard deviation of the shares of CPU and memory in use)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

from evenkeel.scheduler.pod_counts import Requests, Scalars, Usage
from evenkeel.scheduler.resources import is_extended
from evenkeel.scheduler.scheduler_nodes import Allocatable
from webhook.kubernetes.features import Features

MAX_NODE_SCORE = 100  # fwk.MaxNodeScore
PODS, CPU, MEMORY, STORAGE = "pods", "cpu", "memory", "ephemeral-storage"
_NATIVE = (PODS, CPU, MEMORY, STORAGE)
LEAST_ALLOCATED, MOST_ALLOCATED, TO_CAPACITY = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"


class ScoringStrategy(NamedTuple):
    """The ScoringStrategy of NodeResourcesFit."""

    type: str = LEAST_ALLOCATED
    resources: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))  # With their weights.
    shape: tuple[tuple[int, int], ...] = ()  # Only for TO_CAPACITY: points (percent in use, score), rising.


USUAL_SCORING = ScoringStrategy()


class Lack(NamedTuple):
    """By how much a Pod's requests exceed what is free: CPU in thousandths, memory and storage in bytes."""

    pods: int
    milli_cpu: int
    memory: int
    ephemeral_storage: int
    scalars: Scalars


def heeded(requests: Requests, ignored: Collection[str], ignored_groups: Collection[str]) -> Requests:
    """
    Return the requests at which NodeResourcesFit looks: without extended resources that are `ignored`, or whose name
    begins with one of `ignored_groups` and a slash.

    upstream: fit.go:fitsRequest (v1.37)
    """
    if not (ignored or ignored_groups):
        return requests
    scalars = [
        (name, amount)
        for name, amount in requests.scalars
        if not (is_extended(name) and (name in ignored or name.partition("/")[0] in ignored_groups))
    ]
    return requests._replace(scalars=tuple(scalars))


def asked_of_node(requests: Requests, of_devices: Collection[str], allocatable: Allocatable) -> Requests:
    """
    Return what of the requests a node must have itself: an extended resource `of_devices` that it lacks is left to
    DynamicResources.

    upstream: fit.go:shouldDelegateResourceToDRA (v1.37)
    """
    if not of_devices:
        return requests
    provided = {name for name, amount in allocatable.scalars if amount}
    asked = [(name, amount) for name, amount in requests.scalars if name in provided or name not in of_devices]
    return requests._replace(scalars=tuple(asked))


def lacking(requests: Requests, allocatable: Allocatable, usage: Usage) -> Lack:
    """
    Return how much room the Pod lacks on a node; a request of 0 lacks none.

    upstream: fit.go:fitsRequest (v1.37)
    """
    scalars: Scalars = ()
    if requests.scalars:
        has, used = dict(allocatable.scalars), dict(usage.scalars)
        amounts = [(name, max(0, amount - has.get(name, 0) + used.get(name, 0))) for name, amount in requests.scalars]
        scalars = tuple([(name, amount) for name, amount in amounts if amount])
    cpu, memory, storage = requests.milli_cpu, requests.memory, requests.ephemeral_storage
    return Lack(
        max(0, usage.pods + 1 - allocatable.pods),
        cpu and max(0, cpu - allocatable.milli_cpu + usage.milli_cpu),
        memory and max(0, memory - allocatable.memory + usage.memory),
        storage and max(0, storage - allocatable.ephemeral_storage + usage.ephemeral_storage),
        scalars,
    )


def shortages(requests: Requests, allocatable: Allocatable, usage: Usage) -> tuple[str, ...]:
    """
    Return the resources of which the node has too little for the Pod, in the scheduler's order.

    upstream: fit.go:fitsRequest (v1.37)
    """
    if not requests.scalars and _has_room(requests, allocatable, usage):  # as most nodes have
        return ()
    *lack, scalars = lacking(requests, allocatable, usage)
    names = [name for name, amount in zip(_NATIVE, lack, strict=True) if amount]
    return (*names, *[name for name, _ in scalars])


def _has_room(requests: Requests, allocatable: Allocatable, usage: Usage) -> bool:
    """Whether a Pod that requests no `scalars` lacks nothing on a node."""
    cpu, memory, storage = requests.milli_cpu, requests.memory, requests.ephemeral_storage
    return (
        usage.pods < allocatable.pods
        and (not cpu or usage.milli_cpu + cpu <= allocatable.milli_cpu)
        and (not memory or usage.memory + memory <= allocatable.memory)
        and (not storage or usage.ephemeral_storage + storage <= allocatable.ephemeral_storage)
    )


def least_allocated(requests: Requests, allocatable: Allocatable, usage: Usage) -> int:
    """
    Return the score of a node, 0 to 100: the mean of what would be free of its CPU and memory, each rounded down.

    upstream: least_allocated.go:leastResourceScorer (v1.37)
    """
    score = 0
    cpu, memory = allocatable.milli_cpu, allocatable.memory
    if cpu and (free := cpu - usage.non_zero_milli_cpu - requests.non_zero_milli_cpu) > 0:
        score += free * MAX_NODE_SCORE // cpu
    if memory and (free := memory - usage.non_zero_memory - requests.non_zero_memory) > 0:
        score += free * MAX_NODE_SCORE // memory
    return score // 2 if cpu and memory else score


def allocation(strategy: ScoringStrategy, requests: Requests, allocatable: Allocatable, usage: Usage) -> int:
    """
    Return the score of a node, 0 to 100, by a strategy.

    upstream: fit.go:nodeResourceStrategyTypeMap (v1.37)
    """
    score = weights = 0
    for name, weight in strategy.resources:
        requested, _, capacity = _amounts(name, requests, allocatable, usage, non_zero=True)
        if not capacity:
            continue
        if strategy.type == TO_CAPACITY:
            score_of_resource = on_line(strategy.shape, requested * MAX_NODE_SCORE // capacity)
            if score_of_resource <= 0:
                continue
        elif strategy.type == MOST_ALLOCATED:
            score_of_resource = min(requested, capacity) * MAX_NODE_SCORE // capacity
        else:
            score_of_resource = max(0, capacity - requested) * MAX_NODE_SCORE // capacity
        score, weights = score + score_of_resource * weight, weights + weight
    if not weights:
        return 0
    return (2 * score + weights) // (2 * weights) if strategy.type == TO_CAPACITY else score // weights


def on_line(shape: Sequence[tuple[int, int]], share: int) -> int:
    """
    Return the score of a share in use, on the line through the points of a shape.

    upstream: shape_score.go:BuildBrokenLinearFunction (v1.37)
    """
    previous: tuple[int, int] | None = None
    for percent, score in shape:
        if share <= percent:
            if previous is None:
                return score
            rise = (score - previous[1]) * (share - previous[0])
            steps = abs(rise) // (percent - previous[0])  # As Go divides, towards zero.
            return previous[1] + (steps if rise > 0 else -steps)
        previous = percent, score
    return shape[-1][1]


def _amounts(
    name: str, requests: Requests, allocatable: Allocatable, usage: Usage, *, non_zero: bool
) -> tuple[int, int, int]:
    """
    Return three amounts of a resource: requested with the Pod, requested without it, and allocatable.

    All are zero where the node has none of it, or the Pod asks for none of an extended one.

    upstream: resource_allocation.go:resourceAllocationScorer.calculateNodeAllocatableRequest (v1.37)
    """
    if name == CPU:
        asked, used = requests.milli_cpu, usage.milli_cpu
        if non_zero:
            asked, used = requests.non_zero_milli_cpu, usage.non_zero_milli_cpu
        capacity = allocatable.milli_cpu
    elif name == MEMORY:
        asked, used = requests.memory, usage.memory
        if non_zero:
            asked, used = requests.non_zero_memory, usage.non_zero_memory
        capacity = allocatable.memory
    elif name == STORAGE:
        asked, used, capacity = requests.ephemeral_storage, usage.ephemeral_storage, allocatable.ephemeral_storage
    else:
        asked, used, capacity = (dict(amounts.scalars).get(name, 0) for amounts in (requests, usage, allocatable))
        capacity = capacity if asked else 0
    return (used + asked, used, capacity) if capacity else (0, 0, 0)


def is_best_effort(requests: Requests, resources: Sequence[str] = (CPU, MEMORY)) -> bool:
    """
    Whether a Pod requests none of these resources; since 1.33 NodeResourcesBalancedAllocation does not score it.

    upstream: resource_allocation.go:resourceAllocationScorer.isBestEffortPod (v1.37)
    """
    amounts = {
        **dict(requests.scalars),
        CPU: requests.milli_cpu,
        MEMORY: requests.memory,
        STORAGE: requests.ephemeral_storage,
    }
    return not any(amounts.get(name) for name in resources)


def balanced_allocation(features: Features, requests: Requests, allocatable: Allocatable, usage: Usage) -> int:
    """
    Return the score of a node, 0 to 100: how alike the shares of its CPU and memory in use are with the Pod, and since
    1.36 whether they are more alike than without it.

    upstream: balanced_allocation.go:balancedResourceScorer (v1.37)
    """
    with_pod = _balance(usage.milli_cpu + requests.milli_cpu, usage.memory + requests.memory, allocatable)
    if not features.scores_balance_gained:
        return with_pod
    without_pod = _balance(usage.milli_cpu, usage.memory, allocatable)
    return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + with_pod - without_pod) // 2


def _balance(milli_cpu: int, memory: int, allocatable: Allocatable) -> int:
    """
    Return the score of a node's use of cpu and memory: the more alike the shares in use are, the higher.

    upstream: balanced_allocation.go:balancedResourceScore (v1.37)
    """
    if not allocatable.milli_cpu or not allocatable.memory:
        return MAX_NODE_SCORE
    cpu_share, memory_share = float(milli_cpu) / float(allocatable.milli_cpu), float(memory) / float(allocatable.memory)
    # Faster than min(), in a function that is called for each node.
    if cpu_share > 1.0:
        cpu_share = 1.0
    if memory_share > 1.0:
        memory_share = 1.0
    return int((1 - abs((cpu_share - memory_share) / 2)) * float(MAX_NODE_SCORE))


def balanced_allocation_of(
    resources: Sequence[str], features: Features, requests: Requests, allocatable: Allocatable, usage: Usage
) -> int:
    """Return the score of a node, 0 to 100, as `balanced_allocation` does, by other resources."""
    amounts = [_amounts(name, requests, allocatable, usage, non_zero=False) for name in resources]
    with_pod = _evenness(min(requested / capacity, 1.0) for requested, _, capacity in amounts if capacity)
    if not features.scores_balance_gained:
        return with_pod
    without_pod = _evenness(min(used / capacity, 1.0) for _, used, capacity in amounts if capacity)
    return MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + with_pod - without_pod) // 2


def _evenness(shares: Iterator[float]) -> int:
    """
    Return the score of the shares in use of resources: the more alike they are, the higher.

    upstream: balanced_allocation.go:balancedResourceScore (v1.37)
    """
    fractions = list(shares)
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = _sum(fractions) / len(fractions)
        deviation = sqrt(_sum([(share - mean) * (share - mean) for share in fractions]) / len(fractions))
    return int((1 - deviation) * float(MAX_NODE_SCORE))


def _sum(numbers: Sequence[float]) -> float:
    """Sum one after the other, as Go adds them; `sum` of Python 3.12 and later is more exact."""
    total = 0.0
    for number in numbers:
        total += number
    return total
