"""
What Pods request and nodes have, as kube-scheduler adds it up.

    containers and sidecars, or an init container if it needs more ──> or the Pod as a whole ──> + overhead
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, cast

from evenkeel.objects.quantities import MILLI, NANOS, read_quantity, thousandths, whole
from evenkeel.scheduler.pod_counts import Requests, in_order
from evenkeel.scheduler.scheduler_nodes import Allocatable
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldError, FieldPath, as_mapping, value_at, with_value
from webhook.kubernetes.labels import LONGEST_KEPT, label_key_errors
from webhook.kubernetes.names import DEVICE_PREFIX, RESTART_ALWAYS
from webhook.kubernetes.reader import Reader

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
HUGE_PAGES, VOLUME_PREFIX, NATIVE = "hugepages-", "attachable-volumes-", "kubernetes.io/"
REQUESTS: FieldPath = ("resources", "requests")
LIMITS: FieldPath = ("resources", "limits")
# What a container that states no request of it counts for where nodes are scored: 0.1 CPUs, 200 MiB.
NON_ZERO = {CPU: 100 * MILLI, MEMORY: (200 << 20) * NANOS}
Amounts = dict[str, int]  # Nanos by the name of the resource, a ResourceList.
Stated = tuple[tuple[str, int], ...]  # The same as it was read, which does not change.
# All fields of a Pod that decide its requests, but for the condition that a resize is infeasible.
_IN_SPEC = ("containers", "initContainers", "resources", "overhead")
_IN_STATUS = ("containerStatuses", "initContainerStatuses", "resources", "allocatedResources")
# Pods of a workload request the same, so results are cached.  These limits bound the memory of the caches.
_CACHE_SIZE = 512  # Results in each cache.
_MOST_CACHED_AMOUNTS = 64  # Amounts of one Pod, some 25 kB at most; a larger Pod is computed each time.
_LARGEST_CACHED_CONTENT = 4 << 10  # Bytes of the fields of one Pod; three containers take some 1,500.


class _Container(NamedTuple):
    """The requests of a container: of its spec, and of its status, where None means that it says nothing."""

    init: bool  # Sidecars are init containers, too.
    sidecar: bool
    spec: Stated
    reported: bool = False  # The status has `resources`, even if empty.
    allocated: Stated | None = None  # status.allocatedResources
    actuated: Stated | None = None  # status.resources.requests


class _PodResources(NamedTuple):
    """What the requests of a Pod are computed from."""

    containers: tuple[_Container, ...]
    pod_level: Stated  # spec.resources.requests
    overhead: Stated
    infeasible: bool  # A resize that was asked for cannot be done on its node.
    reported: bool  # These three are those of the Pod's status, as for a container.
    allocated: Stated | None
    actuated: Stated | None


def read_requests(reader: Reader, raw: Mapping[str, object], features: Features, *, bound: bool) -> Requests:
    """
    Return what a raw Pod requests; `reader` collects what cannot be read, which counts as 0.

    Of a Pod to be placed only the spec counts.  Of a `bound` one, what its node has allocated counts, too.  The
    `non_zero_` amounts of a bound one heed Pod-level requests; those of one to be placed only since 1.38.

    upstream: types.go:PodInfo.CalculateResource, resource_allocation.go:calculatePodResourceRequest (v1.38)
    """
    spec = reader.mapping(raw.get("spec"), ("spec",))
    status = reader.mapping(raw.get("status"), ("status",)) if bound and features.allocated_resources else {}
    pod, errors = _read_cached(spec, status)
    reader.errors += errors
    if _is_infeasible(reader, status):
        pod = pod._replace(infeasible=True)
    size = sum(
        [
            len(container.spec) + len(container.allocated or ()) + len(container.actuated or ()) + 1
            for container in pod.containers
        ]
    )
    size += len(pod.pod_level) + len(pod.overhead) + len(pod.allocated or ()) + len(pod.actuated or ())
    compute = _requests if size <= _MOST_CACHED_AMOUNTS else _requests.__wrapped__  # The latter is not cached.
    return compute(pod, features, bound)


@lru_cache(maxsize=_CACHE_SIZE)
def _requests(pod: _PodResources, features: Features, bound: bool) -> Requests:
    requested = _pod_requests(pod, features, {})
    if not bound and not features.scores_pod_level_requests:
        non_zero = _pod_requests(pod._replace(pod_level=()), features, NON_ZERO)
    elif bound and features.pod_level_resources and any(_is_pod_level(name) for name, _ in pod.pod_level):
        missing = {name: amount for name, amount in NON_ZERO.items() if name not in requested}
        non_zero = _pod_requests(pod, features, missing) if missing else requested
    else:
        non_zero = _pod_requests(pod, features, NON_ZERO)
    return Requests(
        thousandths(requested.get(CPU, 0)),
        whole(requested.get(MEMORY, 0)),
        whole(requested.get(EPHEMERAL_STORAGE, 0)),
        in_order({name: whole(amount) for name, amount in requested.items() if is_scalar(name)}),
        thousandths(non_zero.get(CPU, 0)),
        whole(non_zero.get(MEMORY, 0)),
    )


def with_default_requests(spec: Mapping[str, object]) -> Mapping[str, object]:
    """
    Return the raw spec of a Pod that is made from a template or a file, with the requests that the API server gives it.

    A container requests its limits where it states no request, and a Pod with limits of its own requests what its
    containers do together, or its limit where none states a request.  What has the wrong type stays as it is.

    upstream: defaults.go:SetDefaults_Pod, defaultPodRequests (v1.38)
    """
    completed = dict(spec)
    for field in ("containers", "initContainers"):
        if isinstance(containers := spec.get(field), list):
            completed[field] = [_requesting_limits(container) for container in containers]
    limits, requests = value_at(spec, LIMITS), value_at(spec, REQUESTS)
    if not limits or not isinstance(limits, dict) or not isinstance(requests, dict | None):
        return completed
    pod, _ = _read_cached({**completed, "resources": None}, {})
    together = _sum(pod.containers, [container.spec for container in pod.containers], {})
    defaults = {name: limit for name, limit in limits.items() if _is_pod_level(name)}
    defaults |= {name: f"{amount}n" for name, amount in together.items() if name in (CPU, MEMORY)}
    completed["resources"] = {**as_mapping(spec["resources"]), "requests": {**defaults, **(requests or {})}}
    return completed


def _requesting_limits(container: object) -> object:
    """Have a container request its limits where it states no request."""
    limits, requests = value_at(container, LIMITS), value_at(container, REQUESTS)
    if not isinstance(limits, dict) or not isinstance(requests, dict | None):
        return container
    return with_value(container, REQUESTS, {**limits, **(requests or {})}) if limits else container


def read_allocatable(reader: Reader, raw: object, path: FieldPath) -> Allocatable:
    """
    Return the allocatable resources of a node, from its status; `reader` collects what cannot be read.

    upstream: types.go:NewResource (v1.37)
    """
    amounts = dict(_read_amounts(reader, raw, path))
    return Allocatable(
        thousandths(amounts.get(CPU, 0)),
        whole(amounts.get(MEMORY, 0)),
        whole(amounts.get(EPHEMERAL_STORAGE, 0)),
        in_order({name: whole(amount) for name, amount in amounts.items() if is_scalar(name)}),
        whole(amounts.get(PODS, 0)),
    )


@lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """
    Whether a resource is one that Kubernetes does not know by itself, such as `example.com/gpu`.

    upstream: helpers.go:IsExtendedResourceName (v1.37)
    """
    native = "/" not in name or NATIVE in name
    return not native and not name.startswith("requests.") and not label_key_errors(f"requests.{name}")


def is_of_devices(name: str) -> bool:
    """
    Whether a resource is one that a DeviceClass may give out.

    upstream: fit.go:shouldDelegateResourceToDRA (v1.37)
    """
    return is_extended(name) or name.startswith(DEVICE_PREFIX)


@lru_cache(maxsize=1024)
def is_scalar(name: str) -> bool:
    """
    Whether the scheduler counts a resource by its name, besides CPU, memory, ephemeral storage and Pods.

    upstream: utils.go:IsScalarResourceName (v1.37)
    """
    return name.startswith((HUGE_PAGES, VOLUME_PREFIX)) or NATIVE in name or is_extended(name)


def _is_pod_level(name: str) -> bool:
    """
    Whether a Pod may request a resource for all of its containers together.

    upstream: helpers.go:IsSupportedPodLevelResource (v1.37)
    """
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES)


def _pod_requests(pod: _PodResources, features: Features, missing: Amounts) -> Amounts:
    """
    Return the requests of a Pod; a container that states no request of a resource in `missing` has that much of it.

    upstream: helpers.go:PodRequests (v1.37)
    """
    requests = _aggregate(pod, features, missing)
    if features.pod_level_resources:
        requests |= _pod_level(pod, features)
    _add(requests, dict(pod.overhead))
    return requests


def _pod_level(pod: _PodResources, features: Features) -> Amounts:
    """Return the requests of the Pod as a whole, which replace the sums over its containers."""
    requests = {name: amount for name, amount in pod.pod_level if _is_pod_level(name)}
    if not requests or not (features.pod_allocated_resources and pod.reported):
        return requests
    in_effect = _greatest(() if pod.infeasible else pod.pod_level, pod.actuated or (), pod.allocated or ())
    if features.greatest_of_sums:
        return {name: amount for name, amount in in_effect.items() if _is_pod_level(name)}
    return {name: in_effect.get(name, 0) for name in requests}


def _aggregate(pod: _PodResources, features: Features, missing: Amounts) -> Amounts:
    """
    Return the sum of the greatest amounts of each container; since 1.37 the greatest of three sums: as the containers
    are specified, as allocated and as actuated.

    upstream: helpers.go:AggregateContainerRequests (v1.37)
    """
    containers = pod.containers
    if not features.greatest_of_sums:
        return _sum(containers, [_in_effect(container, pod.infeasible) for container in containers], missing)
    specified = [container.spec for container in containers]
    lists = [] if pod.infeasible else [specified]  # Each with the amounts of all containers.
    pod_level: list[Stated] = []
    if features.pod_allocated_resources and pod.allocated is not None and pod.actuated is not None:
        pod_level = [pod.actuated, pod.allocated]
    else:
        unreported: Sequence[Stated] = [()] * len(containers) if pod.infeasible else specified
        allocated = [
            _first(container.allocated, other) for container, other in zip(containers, unreported, strict=True)
        ]
        actuated = [_first(container.actuated, other) for container, other in zip(containers, allocated, strict=True)]
        lists += [amounts for amounts in (allocated, actuated) if amounts not in lists]
    return _greatest(*[tuple(_sum(containers, amounts, missing).items()) for amounts in lists], *pod_level)


def _first(amounts: Stated | None, otherwise: Stated) -> Stated:
    return otherwise if amounts is None else amounts


def _in_effect(container: _Container, infeasible: bool) -> Stated:
    """Return the greatest amounts of a container; until 1.36 a status counts only where it has `resources`."""
    if not container.reported or (container.init and not container.sidecar):
        return container.spec
    most = _greatest(() if infeasible else container.spec, container.actuated or (), container.allocated or ())
    return tuple(most.items())


def _sum(containers: Sequence[_Container], amounts: Sequence[Stated], missing: Amounts) -> Amounts:
    """
    Return the greater of two: what containers and sidecars need together, and what any init container needs with the
    sidecars before it.

    upstream: helpers.go:aggregateContainerResourcesByFn (v1.37)
    """
    total: Amounts = {}
    sidecars: Amounts = {}
    starting: list[Amounts] = []
    for container, own in zip(containers, amounts, strict=True):
        needed = missing | dict(own)
        if not container.init or container.sidecar:
            _add(total, needed)
        if container.sidecar:
            _add(sidecars, needed)
            starting.append(dict(sidecars))
        elif container.init:
            _add(needed, sidecars)
            starting.append(needed)
    return _greatest(*[tuple(amounts.items()) for amounts in (total, *starting)])


def _add(amounts: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        amounts[name] = amounts.get(name, 0) + amount


def _greatest(*lists: Stated) -> Amounts:
    """
    Return the greatest amount of each resource.

    upstream: helpers.go:max (v1.37)
    """
    greatest: Amounts = {}
    for name, amount in chain.from_iterable(lists):
        greatest[name] = max(amount, greatest.get(name, amount))
    return greatest


def _read_cached(
    spec: Mapping[str, object], status: Mapping[str, object]
) -> tuple[_PodResources, Sequence[FieldError]]:
    """Read a Pod's resources, once for all Pods whose fields are the same."""
    fields = ([spec.get(name) for name in _IN_SPEC], [status.get(name) for name in _IN_STATUS])
    try:
        content = marshal.dumps(cast(Any, fields), 2)  # Unlike equality, it tells 1 from true.
    except ValueError:  # nested too deep
        return _read(fields)
    return _read_content(content) if len(content) <= _LARGEST_CACHED_CONTENT else _read(fields)


@lru_cache(maxsize=_CACHE_SIZE)
def _read_content(content: bytes) -> tuple[_PodResources, Sequence[FieldError]]:
    return _read(marshal.loads(content))


def _read(fields: tuple[Sequence[object], Sequence[object]]) -> tuple[_PodResources, Sequence[FieldError]]:
    """Read the values of the fields _IN_SPEC and _IN_STATUS; what cannot be read is among the errors."""
    reader = Reader()
    spec, status = (
        dict(zip(names, values, strict=True)) for names, values in zip((_IN_SPEC, _IN_STATUS), fields, strict=True)
    )
    resources = reader.mapping(spec["resources"], ("spec", "resources"))
    pod = _PodResources(
        tuple(_read_containers(reader, spec, status)),
        _read_amounts(reader, resources.get("requests"), ("spec", "resources", "requests")),
        _read_amounts(reader, spec["overhead"], ("spec", "overhead")),
        False,
        *_read_status(reader, status, ("status",)),
    )
    return pod, tuple(reader.errors)


def _read_containers(reader: Reader, spec: Mapping[str, object], status: Mapping[str, object]) -> Iterator[_Container]:
    statuses: dict[str | None, tuple[Mapping[str, object], FieldPath]] = {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for item, path in reader.mappings(status.get(field), ("status", field)):
            statuses.setdefault(reader.string(item.get("name"), path, "name"), (item, path))
    for field in ("containers", "initContainers"):
        for item, path in reader.mappings(spec.get(field), ("spec", field)):
            resources = reader.mapping(item.get("resources"), (*path, "resources"))
            amounts = _read_amounts(reader, resources.get("requests"), (*path, "resources", "requests"))
            init = field == "initContainers"
            sidecar = init and item.get("restartPolicy") == RESTART_ALWAYS
            own_status = statuses.get(reader.string(item.get("name"), path, "name")) if statuses else None
            amounts_of_status = _read_status(reader, *own_status) if own_status is not None else ()
            yield _Container(init, sidecar, amounts, *amounts_of_status)


def _read_status(
    reader: Reader, status: Mapping[str, object], path: FieldPath
) -> tuple[bool, Stated | None, Stated | None]:
    """Whether the status of a Pod or a container has `resources`, what is allocated, and what is actuated."""
    resources = reader.mapping(status.get("resources"), (*path, "resources"))
    allocated, actuated = status.get("allocatedResources"), resources.get("requests")
    return (
        status.get("resources") is not None,
        None if allocated is None else _read_amounts(reader, allocated, (*path, "allocatedResources")),
        None if actuated is None else _read_amounts(reader, actuated, (*path, "resources", "requests")),
    )


def _is_infeasible(reader: Reader, status: Mapping[str, object]) -> bool:
    """
    Whether the kubelet has found that a resize can never be done.

    upstream: helpers.go:IsPodResizeInfeasible (v1.37)
    """
    for condition, _ in reader.mappings(status.get("conditions"), ("status", "conditions")):
        if condition.get("type") == "PodResizePending":
            return condition.get("reason") == "Infeasible"
    return False


def _read_amounts(reader: Reader, raw: object, path: FieldPath) -> Stated:
    """Read amounts by name; names longer than any that the API server takes are dropped."""
    if raw is None:
        return ()
    stated = reader.mapping(raw, path).items()
    return tuple(
        [(name, read_quantity(reader, value, path, name)) for name, value in stated if len(name) <= LONGEST_KEPT]
    )
