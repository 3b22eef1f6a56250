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
    """The volumes of the Pods of a maker, and the claims that are made for each Pod."""

    namespace: str = ""
    volumes: tuple[PodVolume, ...] = ()  # of the Pod template
    ephemeral: tuple[tuple[str, Claim], ...] = ()  # claims of ephemeral volumes, by the part after the Pod's name
    claims: tuple[tuple[str, Claim], ...] = ()  # of a StatefulSet, by the name of the claim template
    stateful_set: str = ""  # its name
    kept: bool = True  # False: the StatefulSet deletes the claims of a Pod when it is scaled down

    def of_pod(self, ordinal: int, serial: int) -> tuple[Mounts, tuple[Claim, ...]]:
        """Return the volumes of a new Pod, and the claims that are made for it; `serial` tells Pods apart."""
        # No Pod of the API has a # in its name, so made-up names meet no real one.
        name = f"{self.stateful_set}-{ordinal}" if self.claims else f"#{serial}"
        of_stateful_set = self.of_set(ordinal)
        ephemeral = [replace(claim, name=f"{name}{suffix}", controller=name) for suffix, claim in self.ephemeral]
        from_template = [
            volume._replace(claim=f"{name}{volume.claim}") if volume.ephemeral else volume for volume in self.volumes
        ]
        volumes = (*[PodVolume(claim.name) for claim in of_stateful_set], *from_template)
        pod_and_controller = (name, name) if ephemeral else ()
        return Mounts(self.namespace, volumes, *pod_and_controller), (*of_stateful_set, *ephemeral)

    def of_set(self, ordinal: int) -> list[Claim]:
        """Return the claims that the StatefulSet makes for a Pod."""
        return [
            replace(claim, name=claim_name(template, self.stateful_set, ordinal)) for template, claim in self.claims
        ]


def read_volume_templates(namespace: str, spec: Raw, storage: Storage, owner: WorkloadObject | None) -> VolumeTemplates:
    """Return the volumes of the Pods with this spec; `owner` is the StatefulSet that makes claims for them, if any."""
    templates = owner.volume_claim_templates if owner is not None else []
    names = {template_name(template) for template in templates}
    other_volumes = [
        volume for volume in as_list(spec.get("volumes")) if as_text(as_mapping(volume).get("name")) not in names
    ]
    unnamed = {"metadata": {"namespace": namespace, "name": ""}, "spec": {"volumes": other_volumes}}
    ephemeral = [expected_claim(storage, raw) for raw in ephemeral_claims(unnamed)]
    claims = [
        (template_name(template), expected_claim(storage, claim_from_template(template, "", namespace)))
        for template in templates
    ]
    return VolumeTemplates(
        namespace,
        read_mounts(Reader(), unnamed).volumes,
        tuple([(claim.name, claim) for claim in ephemeral]),
        tuple(claims),
        owner.ref.name if owner is not None else "",
        owner is None or not owner.deletes_claims_when_scaled,
    )


def with_made(storage: Storage, claims: Sequence[Claim]) -> Storage:
    """Return the storage once these claims have been made; one that is there already is left alone."""
    return storage.with_claims([claim for claim in claims if (claim.namespace, claim.name) not in storage.claims])


def with_volumes(cycle: Cycle, templates: VolumeTemplates, replicas: int) -> Cycle:
    """Return an attempt for one Pod that has the volumes of all replicas, and of one more."""
    # Without claim templates all Pods have the same volumes.
    ordinals = range(replicas + 1) if templates.claims else (0,)
    mounts_and_claims = [templates.of_pod(ordinal, 0) for ordinal in ordinals]
    mounts = mounts_and_claims[0][0]._replace(
        volumes=tuple([volume for pod_mounts, _ in mounts_and_claims for volume in pod_mounts.volumes])
    )
    storage = with_made(cycle.storage, [claim for _, claims in mounts_and_claims for claim in claims])
    return replace(cycle, pod=replace(cycle.pod, mounts=mounts), snapshot=replace(cycle.snapshot, storage=storage))


def bound_on(storage: Storage, binding: Binding | None, node: Node | None) -> Storage:
    """
    Return the storage once a Pod is on a node: its claims that waited for the Pod are bound.

    A new volume is in the node's domains of the topology keys of its CSI driver, or in the node's zone if no CSINode
    tells the keys.  The driver reports at once that there is less free storage.
    """
    if binding is None or node is None or not (binding.free or binding.new_volumes):
        return storage
    claims = [_bound(claim, free.name) for claim, free in binding.free]
    volumes = [replace(free, claim=_ref(claim), available=False) for claim, free in binding.free]
    taken: dict[StorageCapacity, int] = {}
    for claim, capacity in binding.new_volumes:
        volume = _new_volume(storage, claim, node)
        volumes.append(volume)
        claims.append(_bound(claim, volume.name))
        if capacity is not None:
            taken[capacity] = taken.get(capacity, 0) + (claim.requested or 0)
    capacities = tuple([_shrunk(capacity, taken.get(capacity, 0)) for capacity in storage.capacities])
    return replace(
        storage.with_claims(claims).with_volumes(volumes), capacities=capacities if taken else storage.capacities
    )


def _ref(claim: Claim) -> ClaimRef:
    return ClaimRef(claim.namespace, claim.name, claim.uid)


def _new_volume(storage: Storage, claim: Claim, node: Node) -> PersistentVolume:
    name, driver = f"{claim.namespace}/{claim.name}", driver_of(storage.classes[claim.class_name].provisioner)
    return PersistentVolume(
        name,
        labels={},
        class_name=claim.class_name,
        capacity=claim.requested or 0,
        access_modes=claim.access_modes,
        mode=claim.mode,
        claim=_ref(claim),
        attributes_class=claim.attributes_class,
        terms=_accessible(storage, driver, node),
        driver=driver,
        handle=name,
    )


def _shrunk(capacity: StorageCapacity, taken: int) -> StorageCapacity:
    """Return the capacity that the driver reports once so much has been taken."""
    if not taken or capacity.capacity is None:
        return capacity
    free = max(0, capacity.capacity - taken)
    return capacity._replace(capacity=free, largest=None if capacity.largest is None else min(capacity.largest, free))


def _bound(claim: Claim, volume: str) -> Claim:
    return replace(claim, bound=True, expected=False, volume_name=volume, selected_node=None)


def _accessible(storage: Storage, driver: str, node: Node) -> tuple[NodeTerm, ...] | None:
    """Return the node affinity of a volume that a driver makes for a node; None if every node reaches it."""
    csi_node = storage.csi_nodes.get(node.name)
    keys = csi_node.topology_keys(driver) if csi_node is not None else None
    if keys is None:
        keys = (ZONE,) if ZONE in node.labels else (HOSTNAME,)
    requirements = [Requirement(key, IN, (node.labels[key],)) for key in keys if key in node.labels]
    return (NodeTerm(tuple(requirements), ()),) if requirements else None


def without_claims(storage: Storage, claims: Sequence[Claim]) -> Storage:
    """Return the storage without these claims, and without their volumes."""
    gone = {(claim.namespace, claim.name) for claim in claims}
    volumes = {claim.volume_name for key in gone if (claim := storage.claims.get(key)) is not None}
    return replace(
        storage,
        claims={key: claim for key, claim in storage.claims.items() if key not in gone},
        volumes=PersistentVolumes({name: volume for name, volume in storage.volumes.items() if name not in volumes}),
    )


def unknown_topologies(storage: Storage, mounts: Mounts) -> Iterator[str]:
    """Yield the provisioners of a Pod's claims for which no CSINode says where their volumes can be used."""
    drivers = {driver.name for csi_node in set(storage.csi_nodes.values()) for driver in csi_node.drivers}
    for volume in mounts.claims:
        claim = storage.claim(mounts.namespace, volume.claim)
        storage_class = storage.classes.get(claim.class_name) if claim is not None else None
        gets_new_volume = (
            claim is not None and storage_class is not None and storage.waits(claim) and storage_class.makes_volumes
        )
        if storage_class is not None and gets_new_volume and driver_of(storage_class.provisioner) not in drivers:
            yield storage_class.provisioner


NO_VOLUMES = VolumeTemplates()
