"""
The claims of simulated Pods: made for them, bound where they are placed, and kept from then on.

    maker, ordinal ──> the volumes of a Pod; a Pod on a node ──what VolumeBinding chose there──> its claims bound
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.objects.claim_templates import claim_from_template, claim_name, ephemeral_claims, template_name
from evenkeel.objects.workload_object import WorkloadObject
from evenkeel.placement.subject import expected_claim
from evenkeel.scheduler.in_tree_volumes import driver_of
from evenkeel.scheduler.plugins.volume_binding import Binding
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.storage import Claim, ClaimRef, PersistentVolume, PersistentVolumes, Storage, StorageCapacity
from evenkeel.scheduler.volumes import Mounts, PodVolume, read_mounts
from webhook.kubernetes.fields import Raw, as_list, as_mapping, as_text
from webhook.kubernetes.names import HOSTNAME, ZONE
from webhook.kubernetes.reader import Reader
from webhook.spread.affinity import NodeTerm
from webhook.spread.nodes import Node
from webhook.spread.selectors import IN, Requirement


class VolumeTemplates(NamedTuple):
    """
    What the Pods of a maker have for volumes: `volumes` that the Pod template has, and claims that are made for each.

    `claims` are those of a StatefulSet, by the names of their templates, `ephemeral` those of ephemeral volumes, by the
    ends of their names.  `kept` is False if the claims of a StatefulSet go with the Pods when there are fewer.
    """

    namespace: str = ""
    volumes: tuple[PodVolume, ...] = ()
    ephemeral: tuple[tuple[str, Claim], ...] = ()
    claims: tuple[tuple[str, Claim], ...] = ()
    stateful_set: str = ""
    kept: bool = True

    def of_pod(self, ordinal: int, serial: int) -> tuple[Mounts, tuple[Claim, ...]]:
        """Return the volumes of a new Pod, and the claims that are made for it; `serial` tells Pods apart."""
        name = f"{self.stateful_set}-{ordinal}" if self.claims else f"#{serial}"
        of_set = self.of_set(ordinal)
        ephemeral = [replace(claim, name=f"{name}{end}", controller=name) for end, claim in self.ephemeral]
        others = [each._replace(claim=f"{name}{each.claim}") if each.ephemeral else each for each in self.volumes]
        volumes = (*[PodVolume(claim.name) for claim in of_set], *others)
        own = (name, name) if ephemeral else ()
        return Mounts(self.namespace, volumes, *own), (*of_set, *ephemeral)

    def of_set(self, ordinal: int) -> list[Claim]:
        """Return the claims that the StatefulSet makes for a Pod."""
        return [replace(claim, name=claim_name(named, self.stateful_set, ordinal)) for named, claim in self.claims]


def read_volume_templates(namespace: str, spec: Raw, storage: Storage, owner: WorkloadObject | None) -> VolumeTemplates:
    """Return what the Pods with this spec have for volumes; the claims are made by the StatefulSet `owner`, if any."""
    templates = owner.volume_claim_templates if owner is not None else []
    names = {template_name(template) for template in templates}
    others = [volume for volume in as_list(spec.get("volumes")) if as_text(as_mapping(volume).get("name")) not in names]
    unnamed = {"metadata": {"namespace": namespace, "name": ""}, "spec": {"volumes": others}}
    ephemeral = [expected_claim(storage, raw) for raw in ephemeral_claims(unnamed)]
    made = [
        (template_name(template), expected_claim(storage, claim_from_template(template, "", namespace)))
        for template in templates
    ]
    return VolumeTemplates(
        namespace,
        read_mounts(Reader(), unnamed).volumes,
        tuple([(claim.name, claim) for claim in ephemeral]),
        tuple(made),
        owner.ref.name if owner is not None else "",
        owner is None or not owner.deletes_claims_when_scaled,
    )


def with_made(storage: Storage, claims: Sequence[Claim]) -> Storage:
    """Return what there is of volumes once these claims have been made, as far as they are not there."""
    return storage.with_claims([claim for claim in claims if (claim.namespace, claim.name) not in storage.claims])


def with_volumes(cycle: Cycle, templates: VolumeTemplates, replicas: int) -> Cycle:
    """Return an attempt for a Pod with the volumes of so many Pods that are made alike, and of one more."""
    made = [templates.of_pod(ordinal, 0) for ordinal in (range(replicas + 1) if templates.claims else (0,))]
    mounts = made[0][0]._replace(volumes=tuple([volume for of_pod, _ in made for volume in of_pod.volumes]))
    storage = with_made(cycle.storage, [claim for _, claims in made for claim in claims])
    return replace(cycle, pod=replace(cycle.pod, mounts=mounts), snapshot=replace(cycle.snapshot, storage=storage))


def bound_on(storage: Storage, binding: Binding | None, node: Node | None) -> Storage:
    """
    Return what there is of volumes once a Pod is on a node: its claims that waited are bound.

    A new volume is in the domains of the node by which its CSI driver places volumes; in its zone if that is not known.
    What it takes of free storage its driver reports at once.
    """
    if binding is None or node is None or not (binding.free or binding.made):
        return storage
    claims = [_bound(claim, free.name) for claim, free in binding.free]
    volumes = [replace(free, claim=_ref(claim), available=False) for claim, free in binding.free]
    taken: dict[StorageCapacity, int] = {}
    for claim, capacity in binding.made:
        volume = _new_volume(storage, claim, node)
        volumes.append(volume)
        claims.append(_bound(claim, volume.name))
        if capacity is not None:
            taken[capacity] = taken.get(capacity, 0) + (claim.requested or 0)
    left = tuple([_shrunk(capacity, taken.get(capacity, 0)) for capacity in storage.capacities])
    return replace(storage.with_claims(claims).with_volumes(volumes), capacities=left if taken else storage.capacities)


def _ref(claim: Claim) -> ClaimRef:
    return ClaimRef(claim.namespace, claim.name, claim.uid)


def _new_volume(storage: Storage, claim: Claim, node: Node) -> PersistentVolume:
    """Return the volume that is made for a claim of a Pod on a node."""
    name, driver = f"{claim.namespace}/{claim.name}", driver_of(storage.classes[claim.class_name].provisioner)
    return PersistentVolume(
        name,
        {},
        claim.class_name,
        claim.requested or 0,
        claim.access_modes,
        claim.mode,
        _ref(claim),
        attributes_class=claim.attributes_class,
        terms=_accessible(storage, driver, node),
        driver=driver,
        handle=name,
    )


def _shrunk(capacity: StorageCapacity, taken: int) -> StorageCapacity:
    """Return what is reported once so much has been taken."""
    if not taken or capacity.capacity is None:
        return capacity
    left = max(0, capacity.capacity - taken)
    return capacity._replace(capacity=left, largest=None if capacity.largest is None else min(capacity.largest, left))


def _bound(claim: Claim, volume: str) -> Claim:
    return replace(claim, bound=True, expected=False, volume_name=volume, selected_node=None)


def _accessible(storage: Storage, driver: str, node: Node) -> tuple[NodeTerm, ...] | None:
    """Return the node affinity of a volume that a driver makes for a node; None if every node reaches it."""
    csi_node = storage.csi_nodes.get(node.name)
    keys = csi_node.topology_keys(driver) if csi_node is not None else None
    if keys is None:
        keys = (ZONE,) if ZONE in node.labels else (HOSTNAME,)
    there = [Requirement(key, IN, (node.labels[key],)) for key in keys if key in node.labels]
    return (NodeTerm(tuple(there), ()),) if there else None


def without_claims(storage: Storage, claims: Sequence[Claim]) -> Storage:
    """Return what there is of volumes without these claims, and without their volumes."""
    gone = {(claim.namespace, claim.name) for claim in claims}
    volumes = {there.volume_name for key in gone if (there := storage.claims.get(key)) is not None}
    return replace(
        storage,
        claims={key: claim for key, claim in storage.claims.items() if key not in gone},
        volumes=PersistentVolumes({name: each for name, each in storage.volumes.items() if name not in volumes}),
    )


def unknown_topologies(storage: Storage, mounts: Mounts) -> Iterator[str]:
    """Yield the provisioners of claims of a Pod of which no CSINode says where their volumes can be used."""
    drivers = {driver.name for csi_node in set(storage.csi_nodes.values()) for driver in csi_node.drivers}
    for volume in mounts.claims:
        claim = storage.claim(mounts.namespace, volume.claim)
        of_class = storage.classes.get(claim.class_name) if claim is not None else None
        makes_one = claim is not None and of_class is not None and storage.waits(claim) and of_class.makes_volumes
        if of_class is not None and makes_one and driver_of(of_class.provisioner) not in drivers:
            yield of_class.provisioner


NO_VOLUMES = VolumeTemplates()
