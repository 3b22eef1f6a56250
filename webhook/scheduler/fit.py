"""
The scheduler's plugins of resources: NodeResourcesFit, filter and score, and NodeResourcesBalancedAllocation.

    Requests, Allocatable, Usage ──> every shortage
                                 ──> LeastAllocated: 100 * (allocatable - used) / allocatable, a mean
                                 ──> balance: 100 * (1 - half the difference of the shares of CPU and memory in use)
"""

from __future__ import annotations

from collections.abc import Collection

from webhook.scheduler.counts import Requests, Usage
from webhook.scheduler.features import Features
from webhook.scheduler.nodes import Allocatable
from webhook.scheduler.resources import is_extended

TOO_MANY_PODS = "Too many pods"
CPU_SHORT, MEMORY_SHORT, STORAGE_SHORT = (f"Insufficient {name}" for name in ("cpu", "memory", "ephemeral-storage"))
MOST = 100  # fwk.MaxNodeScore


def shortages(
    requests: Requests,
    allocatable: Allocatable,
    usage: Usage,
    ignored: Collection[str] = (),
    ignored_groups: Collection[str] = (),
) -> tuple[str, ...]:
    """
    upstream: fit.go:fitsRequest (v1.37)

    Every reason why the node has no room for the Pod; none if it has.  Extended resources that are `ignored`, or whose
    name begins with one of `ignored_groups` and a slash, are not looked at.
    """
    found = [TOO_MANY_PODS] if usage.pods + 1 > allocatable.pods else []
    if 0 < requests.milli_cpu > allocatable.milli_cpu - usage.milli_cpu:
        found.append(CPU_SHORT)
    if 0 < requests.memory > allocatable.memory - usage.memory:
        found.append(MEMORY_SHORT)
    if 0 < requests.ephemeral_storage > allocatable.ephemeral_storage - usage.ephemeral_storage:
        found.append(STORAGE_SHORT)
    if requests.scalars:
        there, used = dict(allocatable.scalars), dict(usage.scalars)
        for name, amount in requests.scalars:
            group = name.partition("/")[0]
            if (name in ignored or group in ignored_groups) and is_extended(name):
                continue
            if 0 < amount > there.get(name, 0) - used.get(name, 0):
                found.append(f"Insufficient {name}")
    return tuple(found)


def least_allocated(requests: Requests, allocatable: Allocatable, usage: Usage) -> int:
    """
    upstream: least_allocated.go:leastResourceScorer (v1.37)

    The score of a node, 0 to 100: the mean of what would be free of its CPU and memory, each rounded down.
    """
    score = resources = 0
    for requested, capacity in (
        (usage.non_zero_milli_cpu + requests.non_zero_milli_cpu, allocatable.milli_cpu),
        (usage.non_zero_memory + requests.non_zero_memory, allocatable.memory),
    ):
        if capacity:
            resources += 1
            if requested <= capacity:
                score += (capacity - requested) * MOST // capacity
    return score // resources if resources else 0


def is_best_effort(requests: Requests) -> bool:
    """
    upstream: resource_allocation.go:resourceAllocationScorer.isBestEffortPod (v1.37)

    Whether a Pod requests no CPU and no memory; since 1.33 NodeResourcesBalancedAllocation does not score it.
    """
    return not requests.milli_cpu and not requests.memory


def balanced_allocation(requests: Requests, allocatable: Allocatable, usage: Usage, features: Features) -> int:
    """
    upstream: balanced_allocation.go:balancedResourceScorer (v1.37)

    The score of a node, 0 to 100: how alike the shares of CPU and memory in use are with the Pod, and since 1.36
    whether they are more alike than without it.
    """
    with_pod = _balance(usage.milli_cpu + requests.milli_cpu, usage.memory + requests.memory, allocatable)
    if not features.scores_balance_gained:
        return with_pod
    without_pod = _balance(usage.milli_cpu, usage.memory, allocatable)
    return MOST // 2 + (MOST // 2 + with_pod - without_pod) // 2


def _balance(milli_cpu: int, memory: int, allocatable: Allocatable) -> int:
    """upstream: balanced_allocation.go:balancedResourceScore (v1.37)"""
    if not allocatable.milli_cpu or not allocatable.memory:
        return MOST
    cpu_share = min(float(milli_cpu) / float(allocatable.milli_cpu), 1.0)
    memory_share = min(float(memory) / float(allocatable.memory), 1.0)
    deviation = abs((cpu_share - memory_share) / 2)
    return int((1 - deviation) * float(MOST))
