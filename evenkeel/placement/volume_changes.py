"""Changes against what refuses a Pod because of its volumes: volumes and storage that are missing, and Pods that go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from evenkeel.objects.quantities import size_text
from evenkeel.placement.claims import wanted_labels
from evenkeel.placement.kubectl_commands import ClusterEdit
from evenkeel.placement.obstacles import pods_on_nodes
from evenkeel.placement.variants import MOST_REMEDIES, Finder, Variant, largest_first, place_name, with_new
from evenkeel.scheduler.framework import Feasibility
from evenkeel.scheduler.plugins.node_volume_limits import TOO_MANY
from evenkeel.scheduler.plugins.volume_binding import NO_VOLUME, NOT_ENOUGH_SPACE, UNBOUND
from evenkeel.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, CLAIM_IN_USE_TO_33, DISK_CONFLICT
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import NamedPod
from evenkeel.scheduler.storage import FILESYSTEM, Claim, ClaimRef, PersistentVolume, StorageCapacity
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import HOSTNAME, SELECTED_NODE, ZONE
from webhook.spread.affinity import NodeTerm
from webhook.spread.nodes import NodeSet
from webhook.spread.selectors import IN, Requirement, Selector

READ_WRITE_ONCE = "ReadWriteOnce"
NEW_VOLUME = "a new volume"  # Its name; no volume that is there is called so.


def in_cluster(cycle: Cycle, feasibility: Feasibility, key: str) -> Iterator[Finder]:
    """Yield the functions that find changes in the cluster; places are those of the topology key `key`, or zones."""
    if not cycle.mounts:
        return
    nodes = cycle.snapshot.nodes
    place = next((named for named in (key, ZONE) if named and nodes.domains(named)), HOSTNAME)
    by_key = nodes.domains(place)
    without, full = feasibility.refused_for(NO_VOLUME), feasibility.refused_for(NOT_ENOUGH_SPACE)
    for domain, members in islice(largest_first(by_key, without), MOST_REMEDIES):
        yield partial(_with_volume, which=members & without, place=place_name(place, domain))
    for domain, members in islice(largest_first(by_key, full), MOST_REMEDIES):
        yield partial(_with_storage, which=members & full, place=place_name(place, domain))
    if feasibility.rejected == UNBOUND:
        for domain, members in islice(largest_first(by_key, nodes.all), MOST_REMEDIES):
            yield partial(_bound, which=members, place=place_name(place, domain))
    if _missing(cycle):
        yield _created
    if wanted := _wanted(cycle):
        yield partial(_with_node, labels=wanted)
    if any(claim.selected_node and nodes.get(claim.selected_node) is None for claim in cycle.claims):
        yield _chosen_anew


def in_the_way(cycle: Cycle, feasibility: Feasibility) -> Iterator[list[list[NamedPod]]]:
    """Yield, of each sort of refusal, the groups of Pods of which one has to go."""
    snapshot, own = cycle.snapshot, set(cycle.mounts.shared_claims)
    if feasibility.refused_for(CLAIM_IN_USE, CLAIM_IN_USE_TO_33):
        there = pods_on_nodes(snapshot)
        yield [[named for named in there if named.pod.mounts and own.intersection(named.pod.mounts.shared_claims)]]
    if crowded := feasibility.refused_for(TOO_MANY, DISK_CONFLICT):
        names = sorted(snapshot.nodes.names(crowded))[:MOST_REMEDIES]
        yield [[named] for name in names for named in snapshot.pods_of(name) if named.pod.mounts]


def _waiting(cycle: Cycle) -> list[Claim]:
    """Return the claims of the Pod that wait for it, the largest first."""
    waiting = [claim for claim in cycle.claims if cycle.storage.waits(claim)]
    return sorted(waiting, key=lambda claim: -(claim.requested or 0))


def _wanted(cycle: Cycle) -> Labels:
    """Return the labels of a node that all claims of the Pod need and none has."""
    return {key: value for claim in cycle.claims for key, value in wanted_labels(cycle, claim).items()}


def _within(cycle: Cycle, which: NodeSet) -> Requirement:
    """Return the requirement that these nodes meet alone."""
    names = tuple(node.labels[HOSTNAME] for node in cycle.snapshot.nodes.members(which) if HOSTNAME in node.labels)
    return Requirement(HOSTNAME, IN, names)


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
            terms=(NodeTerm((_within(cycle, which),), ()),),
        )
        storage = storage.with_volumes([volume])
        made.append(_volume_text(claim))
        yield Variant(f"add {' and '.join(made)} in {place}", _with(cycle, storage=storage))


def _volume_text(claim: Claim) -> str:
    """Return in words the volume that a claim asks for; what most claims ask for goes without saying."""
    modes = [mode for mode in claim.access_modes if mode != READ_WRITE_ONCE]
    labels = [f"label {key}={value}" for key, value in sorted(claim.selector_labels.items())]
    volume_mode = [f"volumeMode {claim.mode}"] if claim.mode != FILESYSTEM else []
    *others, last = [f"class {claim.class_name}", *modes, *volume_mode, *labels]
    asked = f"{', '.join(others)} and {last}" if others else last
    return f"a free PersistentVolume of {size_text(claim.requested or 0)} and {asked}"


def _with_storage(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Yield as much free storage in a place as each claim, and all of them, that waits requests there."""
    storage, made = cycle.storage, list[str]()
    selector = Selector((_within(cycle, which),))
    for claim in _waiting(cycle):
        free = StorageCapacity("", claim.class_name, selector, claim.requested, None)
        storage = replace(storage, capacities=(free, *storage.capacities))
        made.append(_storage_text(cycle, claim, which))
        yield Variant(f"{' and '.join(made)} in {place}", _with(cycle, storage=storage))


def _storage_text(cycle: Cycle, claim: Claim, which: NodeSet) -> str:
    """Return in words what a claim needs of a driver that has too little for it on these nodes."""
    size = size_text(claim.requested or 0)
    largest = [
        each.largest
        for each in cycle.storage.capacities
        if each.class_name == claim.class_name
        and each.largest is not None
        and (each.capacity or 0) >= (claim.requested or 0)
        and each.nodes is not None
        and which & NodeTerm(each.nodes.requirements, ()).matching(cycle.snapshot.nodes)
    ]
    if largest:
        return f"volumes of {size} (class {claim.class_name} creates volumes of at most {size_text(max(largest))})"
    return f"{size} of free storage of class {claim.class_name}"


def _with_node(cycle: Cycle, *, labels: Labels) -> Iterator[Variant]:
    """Yield a node with these labels, else as one that is there."""
    pairs = " and ".join(f"{key}={value}" for key, value in labels.items())
    ((key, value),) = labels.items() if len(labels) == 1 else (("", ""),)
    words = f"add a node in {place_name(key, value)}" if key == ZONE else f"add a node with {pairs}"
    for node in islice(cycle.snapshot.nodes, 1):
        yield Variant(words, with_new(cycle, node, labels))


def _chosen_anew(cycle: Cycle) -> Iterator[Variant]:
    """Yield the claims whose volume is to be made for a node that is gone, without that choice."""
    there = cycle.snapshot.nodes
    stuck = [claim for claim in cycle.claims if claim.selected_node and there.get(claim.selected_node) is None]
    free = [replace(claim, selected_node=None) for claim in stuck]
    names, namespace = [claim.name for claim in stuck], cycle.pod.namespace
    words = f"remove the annotation {SELECTED_NODE} from claim{'s' * (len(stuck) > 1)} {' and '.join(names)}"
    edit = ClusterEdit(("annotate", "pvc", *names, "-n", namespace, f"{SELECTED_NODE}-"), (namespace, *names))
    yield Variant(words, _with(cycle, storage=cycle.storage.with_claims(free)), (edit,))


def _bound(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Yield the claims that are to be bound before the Pod is placed, bound to volumes in a place."""
    storage, names = cycle.storage, list[str]()
    for volume in cycle.mounts.claims:
        claim = storage.claim(cycle.mounts.namespace, volume.claim)
        if claim is not None and not claim.bound and not storage.waits(claim):
            new = f"{NEW_VOLUME} {volume.claim}"
            made = PersistentVolume(
                new, {}, terms=(NodeTerm((_within(cycle, which),), ()),), claim=ClaimRef(claim.namespace, claim.name)
            )
            storage = storage.with_volumes([made]).with_claims([replace(claim, bound=True, volume_name=new)])
            names.append(claim.name)
    plural = "s" * (len(names) > 1)
    words = f"bind claim{plural} {' and '.join(names)} to {'volumes' if plural else 'a volume'} in {place}"
    yield Variant(words, _with(cycle, storage=storage))


def _missing(cycle: Cycle) -> list[str]:
    """Return the claims that are not there, but for those that are made with the Pod."""
    named = [volume.claim for volume in cycle.mounts.claims if not volume.ephemeral]
    return [name for name in named if cycle.storage.claim(cycle.mounts.namespace, name) is None]


def _created(cycle: Cycle) -> Iterator[Variant]:
    """Yield the claims that are not there, as new ones of the default class."""
    storage, namespace = cycle.storage, cycle.mounts.namespace
    missing = _missing(cycle)
    new = [Claim(namespace, name, class_name=storage.default_class) for name in missing]
    if storage.default_class and storage.classes[storage.default_class].waits:
        words = f"create claim{'s' * (len(new) > 1)} {' and '.join(missing)} of class {storage.default_class}"
        yield Variant(words, _with(cycle, storage=storage.with_claims(new)))


def _with(cycle: Cycle, **changed: object) -> Cycle:
    return replace(cycle, snapshot=replace(cycle.snapshot, **changed))  # type: ignore[arg-type]
