"""Changes against what refuses a Pod because of its volumes: volumes and storage that are missing, and Pods that go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from evenkeel.objects.quantities import size_text
from evenkeel.placement.claims import wanted_labels
from evenkeel.placement.kubectl_commands import ClusterEdit
from evenkeel.placement.new_nodes import model_of_new
from evenkeel.placement.obstacles import pods_on_nodes
from evenkeel.placement.variants import MOST_REMEDIES, Finder, Variant, largest_first, place_name, with_new
from evenkeel.scheduler.framework import Feasibility
from evenkeel.scheduler.plugins.node_volume_limits import TOO_MANY
from evenkeel.scheduler.plugins.volume_binding import NO_VOLUME, NOT_ENOUGH_SPACE, UNBOUND
from evenkeel.scheduler.plugins.volume_restrictions import CLAIM_IN_USE, CLAIM_IN_USE_TO_33, DISK_CONFLICT
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import NamedPod
from evenkeel.scheduler.storage import FILESYSTEM, Claim, ClaimRef, PersistentVolume, Storage, StorageCapacity
from evenkeel.scheduler.volumes import ClaimKey
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import HOSTNAME, SELECTED_NODE, ZONE
from webhook.spread.affinity import NodeTerm
from webhook.spread.nodes import NodeSet
from webhook.spread.selectors import IN, Requirement, Selector

READ_WRITE_ONCE = "ReadWriteOnce"
NEW_VOLUME = "a new volume"  # A name that no existing volume has.


def in_cluster(cycle: Cycle, feasibility: Feasibility, key: str) -> Iterator[Finder]:
    """Yield the functions that find changes in the cluster; `key` is the topology key of places, by default zones."""
    if not cycle.mounts:
        return
    nodes = cycle.snapshot.nodes
    place = next((candidate for candidate in (key, ZONE) if candidate and nodes.domains(candidate)), HOSTNAME)
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
    """Yield, for each sort of refusal, the groups of Pods; one of the groups has to go."""
    snapshot, own_claims = cycle.snapshot, set(cycle.mounts.shared_claims)
    if feasibility.refused_for(CLAIM_IN_USE, CLAIM_IN_USE_TO_33):
        yield [[named for named in pods_on_nodes(snapshot) if _uses(named, own_claims)]]
    if crowded := feasibility.refused_for(TOO_MANY, DISK_CONFLICT):
        names = sorted(snapshot.nodes.names(crowded))[:MOST_REMEDIES]
        yield [[named] for name in names for named in snapshot.pods_of(name) if named.pod.mounts]


def _uses(named: NamedPod, claims: set[ClaimKey]) -> bool:
    return named.pod.mounts is not None and not claims.isdisjoint(named.pod.mounts.shared_claims)


def _waiting(cycle: Cycle) -> list[Claim]:
    """Return the claims of the Pod that wait for it, the largest first."""
    waiting = [claim for claim in cycle.claims if cycle.storage.waits(claim)]
    return sorted(waiting, key=lambda claim: -(claim.requested or 0))


def _wanted(cycle: Cycle) -> Labels:
    """Return the labels that a node needs for the claims of the Pod, where no node has those of a claim."""
    return {key: value for claim in cycle.claims for key, value in wanted_labels(cycle, claim).items()}


def _within(cycle: Cycle, which: NodeSet) -> Requirement:
    """Return a requirement that only these nodes meet."""
    names = tuple(node.labels[HOSTNAME] for node in cycle.snapshot.nodes.members(which) if HOSTNAME in node.labels)
    return Requirement(HOSTNAME, IN, names)


def _with_volume(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Add free PersistentVolumes in a place: for the first claim that waits, then for the first two, and so on."""
    storage, added = cycle.storage, list[str]()
    for i, claim in enumerate(_waiting(cycle)):
        volume = PersistentVolume(
            f"{NEW_VOLUME} {i}",
            labels=claim.selector_labels,
            class_name=claim.class_name,
            class_in_spec=claim.class_name,
            capacity=claim.requested or 0,
            access_modes=claim.access_modes,
            mode=claim.mode,
            available=True,
            attributes_class=claim.attributes_class,
            terms=(NodeTerm((_within(cycle, which),), ()),),
        )
        storage = storage.with_volumes([volume])
        added.append(_volume_text(claim))
        yield Variant(f"add {' and '.join(added)} in {place}", _with(cycle, storage=storage))


def _volume_text(claim: Claim) -> str:
    """Describe the volume that a claim asks for; usual access and volume modes are left out."""
    modes = [mode for mode in claim.access_modes if mode != READ_WRITE_ONCE]
    labels = [f"label {key}={value}" for key, value in sorted(claim.selector_labels.items())]
    volume_mode = [f"volumeMode {claim.mode}"] if claim.mode != FILESYSTEM else []
    *others, last = [f"class {claim.class_name}", *modes, *volume_mode, *labels]
    asked = f"{', '.join(others)} and {last}" if others else last
    return f"a free PersistentVolume of {size_text(claim.requested or 0)} and {asked}"


def _with_storage(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Add free storage in a place: for the first claim that waits, then for the first two, and so on."""
    storage, added = cycle.storage, list[str]()
    selector = Selector((_within(cycle, which),))
    for claim in _waiting(cycle):
        free = StorageCapacity("", claim.class_name, selector, claim.requested, None)
        storage = replace(storage, capacities=(free, *storage.capacities))
        added.append(_storage_text(cycle, claim, which))
        yield Variant(f"{' and '.join(added)} in {place}", _with(cycle, storage=storage))


def _storage_text(cycle: Cycle, claim: Claim, which: NodeSet) -> str:
    """Describe what a claim needs of a driver that has too little for it on these nodes."""
    size = size_text(claim.requested or 0)
    largest = [
        capacity.largest
        for capacity in cycle.storage.capacities
        if capacity.class_name == claim.class_name
        and capacity.largest is not None
        and (capacity.capacity or 0) >= (claim.requested or 0)
        and capacity.nodes is not None
        and which & NodeTerm(capacity.nodes.requirements, ()).matching(cycle.snapshot.nodes)
    ]
    if largest:
        return f"volumes of {size} (class {claim.class_name} creates volumes of at most {size_text(max(largest))})"
    return f"{size} of free storage of class {claim.class_name}"


def _with_node(cycle: Cycle, *, labels: Labels) -> Iterator[Variant]:
    """Add a node like an existing one, but with these labels."""
    words = f"add a node with {' and '.join(f'{key}={value}' for key, value in labels.items())}"
    if labels.keys() == {ZONE}:
        words = f"add a node in {place_name(ZONE, labels[ZONE])}"
    if (node := model_of_new(cycle, labels)) is not None:
        yield Variant(words, with_new(cycle, node, labels))


def _chosen_anew(cycle: Cycle) -> Iterator[Variant]:
    """Have nodes chosen anew for the claims whose volume is to be made for a node that is gone."""
    nodes = cycle.snapshot.nodes
    stuck = [claim for claim in cycle.claims if claim.selected_node and nodes.get(claim.selected_node) is None]
    free = [replace(claim, selected_node=None) for claim in stuck]
    names, namespace = [claim.name for claim in stuck], cycle.pod.namespace
    words = f"remove the annotation {SELECTED_NODE} from {_claims_by_name(names)}"
    edit = ClusterEdit(("annotate", "pvc", *names, "-n", namespace, f"{SELECTED_NODE}-"), (namespace, *names))
    yield Variant(words, _with(cycle, storage=cycle.storage.with_claims(free)), (edit,))


def _bound(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Bind the claims that must be bound before the Pod is placed to volumes in a place."""
    storage, names = cycle.storage, list[str]()
    for volume in cycle.mounts.claims:
        claim = storage.claim(cycle.mounts.namespace, volume.claim)
        if claim is not None and not claim.bound and not storage.waits(claim):
            new_volume = PersistentVolume(
                f"{NEW_VOLUME} {volume.claim}",
                labels={},
                terms=(NodeTerm((_within(cycle, which),), ()),),
                claim=ClaimRef(claim.namespace, claim.name),
            )
            bound_claim = replace(claim, bound=True, volume_name=new_volume.name)
            storage = storage.with_volumes([new_volume]).with_claims([bound_claim])
            names.append(claim.name)
    words = f"bind {_claims_by_name(names)} to {'volumes' if len(names) > 1 else 'a volume'} in {place}"
    yield Variant(words, _with(cycle, storage=storage))


def _missing(cycle: Cycle) -> list[str]:
    """Return the names of the claims that do not exist, except those that are made with the Pod."""
    names = [volume.claim for volume in cycle.mounts.claims if not volume.ephemeral]
    return [name for name in names if cycle.storage.claim(cycle.mounts.namespace, name) is None]


def _created(cycle: Cycle) -> Iterator[Variant]:
    """Create the claims that do not exist, with the default class."""
    storage, namespace = cycle.storage, cycle.mounts.namespace
    missing = _missing(cycle)
    new = [Claim(namespace, name, class_name=storage.default_class) for name in missing]
    if storage.default_class and storage.classes[storage.default_class].waits:
        words = f"create {_claims_by_name(missing)} of class {storage.default_class}"
        yield Variant(words, _with(cycle, storage=storage.with_claims(new)))


def _claims_by_name(names: Sequence[str]) -> str:
    return f"{'claims' if len(names) > 1 else 'claim'} {' and '.join(names)}"


def _with(cycle: Cycle, *, storage: Storage) -> Cycle:
    return replace(cycle, snapshot=replace(cycle.snapshot, storage=storage))
