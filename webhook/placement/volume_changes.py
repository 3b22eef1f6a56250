"""Changes against what refuses a Pod because of its volumes: volumes and storage that are missing, and Pods that go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from webhook.objects.names import HOSTNAME, ZONE
from webhook.placement.variants import MOST_REMEDIES, Finder, Variant, largest_first, place_name
from webhook.scheduler.affinity import NodeTerm
from webhook.scheduler.framework import Feasibility
from webhook.scheduler.nodes import NodeSet, union
from webhook.scheduler.plugins.node_volume_limits import TOO_MANY
from webhook.scheduler.plugins.volume_binding import NO_VOLUME, NOT_ENOUGH_SPACE, UNBOUND
from webhook.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, CLAIM_IN_USE_TO_33, DISK_CONFLICT, not_found
from webhook.scheduler.profile import Cycle
from webhook.scheduler.selectors import IN, Requirement, Selector
from webhook.scheduler.storage import Claim, ClaimRef, PersistentVolume, StorageCapacity

_SIZES = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
_NANOS = 10**9
NEW_VOLUME = "a new volume"  # Its name; no volume that is there is called so.


def in_cluster(cycle: Cycle, feasibility: Feasibility, key: str) -> Iterator[Finder]:
    """Yield the functions that find changes in the cluster; places are those of the topology key `key`, or zones."""
    if not cycle.mounts:
        return
    nodes = cycle.snapshot.nodes
    by_key = nodes.domains(key or ZONE) or nodes.domains(HOSTNAME)
    place = key or (ZONE if nodes.domains(ZONE) else HOSTNAME)
    refused = partial(_refused_for, feasibility)
    without, full = refused(NO_VOLUME), refused(NOT_ENOUGH_SPACE)
    for domain, members in islice(largest_first(by_key, without), MOST_REMEDIES):
        yield partial(_with_volume, which=members & without, place=place_name(place, domain))
    for domain, members in islice(largest_first(by_key, full), MOST_REMEDIES):
        yield partial(_with_storage, which=members & full, place=place_name(place, domain))
    if feasibility.rejected == UNBOUND:
        for domain, members in islice(largest_first(by_key, nodes.all), MOST_REMEDIES):
            yield partial(_bound, which=members, place=place_name(place, domain))
    if _missing(cycle, feasibility):
        yield _created
    if refused(CLAIM_IN_USE, CLAIM_IN_USE_TO_33):
        yield _without_user
    if crowded := refused(TOO_MANY, DISK_CONFLICT):
        yield partial(_without_pods, which=crowded)


def _refused_for(feasibility: Feasibility, *reasons: str) -> NodeSet:
    return union(refusal.nodes for refusal in feasibility.refusals if set(refusal.reasons) & set(reasons))


def size_text(nanos: int) -> str:
    """Return a size as people write it, in the largest unit of which it is a multiple."""
    size = -(-nanos // _NANOS)
    for suffix, unit in _SIZES:
        if size and size % unit == 0:
            return f"{size // unit}{suffix}"
    return str(size)


def _waiting(cycle: Cycle) -> list[Claim]:
    """Return the claims of the Pod that wait for it, the largest first."""
    claims = (cycle.storage.claim(cycle.mounts.namespace, volume.claim) for volume in cycle.mounts.claims)
    waiting = [claim for claim in claims if claim is not None and cycle.storage.waits(claim)]
    return sorted(waiting, key=lambda claim: -(claim.requested or 0))


def _within(cycle: Cycle, which: NodeSet) -> tuple[NodeTerm, ...]:
    """Return the terms of a volume that these nodes reach."""
    names = tuple(node.labels[HOSTNAME] for node in cycle.snapshot.nodes.members(which) if HOSTNAME in node.labels)
    return (NodeTerm((Requirement(HOSTNAME, IN, names),), ()),)


def _with_volume(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Yield a free PersistentVolume for each claim, and for all of them, that waits, in a place."""
    storage, made = cycle.storage, list[str]()
    for i, claim in enumerate(_waiting(cycle)):
        volume = PersistentVolume(
            f"{NEW_VOLUME} {i}",
            claim.selector_labels,
            claim.class_name,
            claim.requested or 0,
            claim.access_modes,
            claim.mode,
            available=True,
            attributes_class=claim.attributes_class,
            terms=_within(cycle, which),
        )
        storage = storage.with_volumes([volume])
        made.append(f"a free PersistentVolume of {size_text(claim.requested or 0)} and class {claim.class_name}")
        yield Variant(f"{' and '.join(made)} in {place}", _with(cycle, storage=storage))


def _with_storage(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Yield as much free storage in a place as each claim, and all of them, that waits requests there."""
    storage, made = cycle.storage, list[str]()
    names = tuple(node.labels[HOSTNAME] for node in cycle.snapshot.nodes.members(which) if HOSTNAME in node.labels)
    selector = Selector((Requirement(HOSTNAME, IN, names),))
    for claim in _waiting(cycle):
        free = StorageCapacity("", claim.class_name, selector, claim.requested, None)
        storage = replace(storage, capacities=(free, *storage.capacities))
        made.append(f"{size_text(claim.requested or 0)} of free storage of class {claim.class_name}")
        yield Variant(f"{' and '.join(made)} in {place}", _with(cycle, storage=storage))


def _bound(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Yield the claims that are to be bound before the Pod is placed, bound to volumes in a place."""
    storage, names = cycle.storage, list[str]()
    for volume in cycle.mounts.claims:
        claim = storage.claim(cycle.mounts.namespace, volume.claim)
        if claim is not None and not claim.bound and not storage.waits(claim):
            new = f"{NEW_VOLUME} {volume.claim}"
            made = PersistentVolume(new, {}, terms=_within(cycle, which), claim=ClaimRef(claim.namespace, claim.name))
            storage = storage.with_volumes([made]).with_claims([replace(claim, bound=True, volume_name=new)])
            names.append(claim.name)
    plural = "s" * (len(names) > 1)
    words = f"bind claim{plural} {' and '.join(names)} to {'volumes' if plural else 'a volume'} in {place}"
    yield Variant(words, _with(cycle, storage=storage))


def _missing(cycle: Cycle, feasibility: Feasibility) -> bool:
    return feasibility.rejected in {not_found(volume.claim) for volume in cycle.mounts.claims}


def _created(cycle: Cycle) -> Iterator[Variant]:
    """Yield the claims that are not there, as new ones of the default class."""
    storage, namespace = cycle.storage, cycle.mounts.namespace
    missing = [volume.claim for volume in cycle.mounts.claims if storage.claim(namespace, volume.claim) is None]
    new = [Claim(namespace, name, class_name=storage.default_class) for name in missing]
    if storage.default_class and storage.classes[storage.default_class].waits:
        words = f"create claim{'s' * (len(new) > 1)} {' and '.join(missing)} of class {storage.default_class}"
        yield Variant(words, _with(cycle, storage=storage.with_claims(new)))


def _without_user(cycle: Cycle) -> Iterator[Variant]:
    """Yield the claims without the Pods that use them; a ReadWriteOncePod claim has one."""
    own = set(cycle.mounts.shared_claims)
    left = {mounts: nodes for mounts, nodes in cycle.snapshot.mounts.items() if own.isdisjoint(mounts.shared_claims)}
    users = [mounts for mounts in cycle.snapshot.mounts if mounts not in left]
    names = sorted({name for mounts in users for _, name in own.intersection(mounts.shared_claims)})
    yield Variant(f"delete the Pod that uses claim {' and '.join(names)}", _with(cycle, mounts=left))


def _without_pods(cycle: Cycle, *, which: NodeSet) -> Iterator[Variant]:
    """Yield a node without one of the Pods that have volumes there."""
    snapshot = cycle.snapshot
    for node in islice(snapshot.nodes.names(which), MOST_REMEDIES):
        for mounts in sorted(mounts for mounts, nodes in snapshot.mounts.items() if nodes.get(node)):
            left = {**snapshot.mounts, mounts: {**snapshot.mounts[mounts], node: snapshot.mounts[mounts][node] - 1}}
            names = [volume.claim or (volume.disk.identity if volume.disk else "") for volume in mounts.volumes]
            named = f"claim {names[0]}" if mounts.volumes[0].claim else f"disk {names[0]}"
            yield Variant(f"move the Pod with {named} off {node}", _with(cycle, mounts=left))


def _with(cycle: Cycle, **changed: object) -> Cycle:
    return replace(cycle, snapshot=replace(cycle.snapshot, **changed))  # type: ignore[arg-type]
