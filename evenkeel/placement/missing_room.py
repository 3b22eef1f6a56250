"""Room on a node for a Pod that lacks some: what to free there, or to request less; and what is lacking in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenkeel.objects.quantities import NANOS, size_text
from evenkeel.scheduler.framework import nominated_for
from evenkeel.scheduler.pod_counts import UNUSED, Requests, Scalars, Usage
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.resource_fit import CPU, MEMORY, STORAGE, Lack, asked_of_node, lacking
from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode

LEAST_LEFT = 4  # A request is lowered to a quarter at most: with less a Pod does not do the same work.
_STEPS = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10), ("", 1))


def lacking_room(cycle: Cycle, nodes: Iterable[SchedulerNode]) -> Iterator[tuple[SchedulerNode, Lack]]:
    """Yield the nodes on which the Pod lacks room beside the Pods there and those nominated for them, and what."""
    nominated_pods = nominated_for(cycle)
    for node in nodes:
        usage = cycle.snapshot.usage.get(node.name, UNUSED)
        for _, nominated in nominated_pods.get(node.name, ()):
            usage = usage.plus(nominated.requests, 1)
        lack = lacking(asked_of_node(cycle.requests, cycle.of_devices, node.allocatable), node.allocatable, usage)
        if any(lack):
            yield node, lack


def in_words(lack: Lack) -> str:
    """Say what is lacking: `500m of cpu and 1Gi of memory`; bytes are rounded up."""
    parts: list[str] = []
    if lack.pods:
        parts.append(f"room for {lack.pods} Pod{'' if lack.pods == 1 else 's'}")
    if lack.milli_cpu:
        parts.append(f"{_cpu(lack.milli_cpu)} of cpu")
    for name, amount in ((MEMORY, lack.memory), (STORAGE, lack.ephemeral_storage)):
        if amount:
            parts.append(f"{_bytes(amount)} of {name}")
    parts += [f"{amount} of {name}" for name, amount in lack.scalars]
    return " and ".join(parts)


def free_in_words(requests: Requests, lack: Lack) -> str:
    """Say what is free of what is lacking: `420m cpu free of 1 and 1Gi memory free of 4Gi`; bytes are rounded down."""
    parts = ["no room for another Pod"] if lack.pods else []
    free = dict(amounts(lowered(requests, at_most(lack, requests))))
    for name, asked in amounts(requests):
        if free[name] < asked:
            rounded = _bytes(free[name], up=False) if name in (MEMORY, STORAGE) else _exact(name, free[name])
            parts.append(f"{rounded} {name} free of {_exact(name, asked)}")
    return " and ".join(parts)


def lowering_in_words(requests: Requests, lack: Lack) -> str:
    """Say how requests are lowered, exactly: `cpu from 1500m to 1 and memory from 4Gi to 3Gi`."""
    after_by_name = dict(amounts(lowered(requests, lack)))
    changes = [(name, before, after_by_name[name]) for name, before in amounts(requests)]
    changed = [(name, before, after) for name, before, after in changes if before != after]
    return " and ".join(
        f"{name} from {_exact(name, before)} to {_exact(name, after)}" for name, before, after in changed
    )


def _exact(name: str, amount: int) -> str:
    if name == CPU:
        return _cpu(amount)
    return size_text(amount * NANOS) if name in (MEMORY, STORAGE) else str(amount)


def freed(usage: Usage, lack: Lack) -> Usage | None:
    """Return the usage of a node on which so much more is free; None if less is in use."""
    used = dict(usage.scalars)
    if any(amount > used.get(name, 0) for name, amount in lack.scalars):
        return None
    remaining = usage._replace(
        pods=usage.pods - lack.pods,
        milli_cpu=usage.milli_cpu - lack.milli_cpu,
        memory=usage.memory - lack.memory,
        ephemeral_storage=usage.ephemeral_storage - lack.ephemeral_storage,
        scalars=_less(usage.scalars, lack),
    )
    least = min(remaining.pods, remaining.milli_cpu, remaining.memory, remaining.ephemeral_storage)
    return None if least < 0 else remaining


def at_most(lack: Lack, requests: Requests) -> Lack:
    """Return the lack, limited to what is requested: even an overcommitted node takes a request of 0."""
    asked = dict(requests.scalars)
    return Lack(
        lack.pods,
        min(lack.milli_cpu, requests.milli_cpu),
        min(lack.memory, requests.memory),
        min(lack.ephemeral_storage, requests.ephemeral_storage),
        tuple([(name, min(amount, asked[name])) for name, amount in lack.scalars]),
    )


def lowered(requests: Requests, lack: Lack) -> Requests:
    """Lower requests by a lack, which must not exceed them; `pods` of the lack is ignored."""
    return requests._replace(
        milli_cpu=requests.milli_cpu - lack.milli_cpu,
        memory=requests.memory - lack.memory,
        ephemeral_storage=requests.ephemeral_storage - lack.ephemeral_storage,
        scalars=_less(requests.scalars, lack),
    )


def leaves_enough(requests: Requests, lack: Lack) -> bool:
    """Whether each request that is lowered is still at least a quarter of what it was."""
    after = dict(amounts(lowered(requests, lack)))
    return all(after[name] == before or after[name] * LEAST_LEFT >= before for name, before in amounts(requests))


def amounts(requests: Requests) -> Iterator[tuple[str, int]]:
    """Yield each resource with how much of it is requested."""
    yield from ((CPU, requests.milli_cpu), (MEMORY, requests.memory), (STORAGE, requests.ephemeral_storage))
    yield from requests.scalars


def share(lack: Lack, allocatable: Allocatable) -> float:
    """Return the largest share that is lacking of what the node has."""
    has = dict(allocatable.scalars)
    pairs = [
        (lack.pods, allocatable.pods),
        (lack.milli_cpu, allocatable.milli_cpu),
        (lack.memory, allocatable.memory),
        (lack.ephemeral_storage, allocatable.ephemeral_storage),
        *((amount, has.get(name, 0)) for name, amount in lack.scalars),
    ]
    return max(amount / max(total, 1) for amount, total in pairs)


def _less(scalars: Scalars, lack: Lack) -> Scalars:
    fewer = dict(lack.scalars)
    return tuple([(name, amount - fewer.get(name, 0)) for name, amount in scalars])


def _cpu(milli: int) -> str:
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def _bytes(amount: int, *, up: bool = True) -> str:
    """Write bytes in the largest unit of which there are at least ten, or that divides them; rounded up, or down."""
    for suffix, size in _STEPS:
        if amount >= 10 * size or (amount >= size and amount % size == 0):
            return f"{-(-amount // size) if up else amount // size}{suffix}"
    return str(amount)
