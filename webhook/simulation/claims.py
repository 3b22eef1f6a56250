"""
The claims of simulated Pods: made for them, bound where they are placed, and kept from then on.

    maker, ordinal ──> the volumes of a Pod; a Pod on a node ──what VolumeBinding chose there──> its claims bound
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.claim_templates import claims_of_set, ephemeral_claims, template_name, with_claims
from webhook.objects.fields import Raw, as_list, as_mapping
from webhook.objects.names import HOSTNAME, ZONE
from webhook.objects.reading import Reader
from webhook.placement.subject import with_expected
from webhook.scheduler.affinity import NodeTerm
from webhook.scheduler.nodes import Node
from webhook.scheduler.plugins.volume_binding import Binding
from webhook.scheduler.profile import Cycle
from webhook.scheduler.selectors import IN, Requirement
from webhook.scheduler.storage import Claim, ClaimRef, PersistentVolume, PersistentVolumes, Storage
from webhook.scheduler.volumes import Mounts, read_mounts


class Volumes(NamedTuple):
    """
    What the Pods of a maker have for volumes: the spec of its template, and the templates of claims of a StatefulSet.

    `kept` is False if the claims go with the Pods when there are fewer.
    """

    namespace: str
    spec: Raw
    templates: tuple[Raw, ...] = ()
    stateful_set: str = ""
    kept: bool = True

    def of_pod(self, ordinal: int, serial: int) -> tuple[Mounts, tuple[Raw, ...]]:
        """Return the volumes of a new Pod, and the claims that are made for it; `serial` tells Pods apart."""
        name = f"{self.stateful_set}-{ordinal}" if self.templates else f"#{serial}"
        spec = with_claims(self.spec, self.templates, self.stateful_set, ordinal)
        raw = {"metadata": {"namespace": self.namespace, "name": name, "uid": name}, "spec": spec}
        of_set = claims_of_set(self.templates, self.stateful_set, self.namespace, ordinal)
        return read_mounts(Reader(), raw), (*of_set, *ephemeral_claims(raw))


def own_volumes(spec: Raw, templates: tuple[Raw, ...]) -> Raw:
    """Return the spec of a StatefulSet's Pod without the volumes of its templates."""
    names = {template_name(template) for template in templates}
    volumes = [volume for volume in as_list(spec.get("volumes")) if as_mapping(volume).get("name") not in names]
    return {"volumes": volumes}


def with_made(storage: Storage, claims: tuple[Raw, ...]) -> Storage:
    """Return what there is of volumes once these claims have been made, as far as they are not there."""
    return with_expected(storage, claims) if claims else storage


def with_volumes(cycle: Cycle, volumes: Volumes, replicas: int) -> Cycle:
    """Return an attempt for a Pod with the volumes of so many Pods that are made alike, and of one more."""
    made = [volumes.of_pod(ordinal, 0) for ordinal in (range(replicas + 1) if volumes.templates else (0,))]
    mounts = made[0][0]._replace(volumes=tuple([volume for of_pod, _ in made for volume in of_pod.volumes]))
    storage = with_made(cycle.storage, tuple([claim for _, claims in made for claim in claims]))
    return replace(cycle, pod=replace(cycle.pod, mounts=mounts), snapshot=replace(cycle.snapshot, storage=storage))


def bound_on(storage: Storage, mounts: Mounts, binding: Binding | None, node: Node | None) -> Storage:
    """
    Return what there is of volumes once a Pod is on a node: its claims that waited are bound.

    A new volume is in the domains of the node by which its CSI driver places volumes; in its zone if that is not known.
    """
    if binding is None or node is None:
        return storage
    claims, volumes = list[Claim](), list[PersistentVolume]()
    for claim, free in binding.free:
        ref = ClaimRef(claim.namespace, claim.name, claim.uid)
        volumes.append(replace(free, claim=ref, available=False))
        claims.append(_bound(claim, free.name))
    for claim, _ in binding.made:
        name = f"{claim.namespace}/{claim.name}"
        of_class = storage.classes[claim.class_name]
        volumes.append(
            PersistentVolume(
                name,
                {},
                claim.class_name,
                claim.requested or 0,
                claim.access_modes,
                claim.mode,
                ClaimRef(claim.namespace, claim.name, claim.uid),
                attributes_class=claim.attributes_class,
                terms=_accessible(storage, of_class.provisioner, node),
                driver=of_class.provisioner,
                handle=name,
            )
        )
        claims.append(_bound(claim, name))
    if not claims:
        return storage
    return storage.with_claims(claims).with_volumes(volumes)


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


def without_claims(storage: Storage, mounts: Mounts) -> Storage:
    """Return what there is of volumes without the claims of a Pod, and without their volumes."""
    gone = {(mounts.namespace, volume.claim) for volume in mounts.claims}
    volumes = {claim.volume_name for key, claim in storage.claims.items() if key in gone}
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
        if of_class is not None and makes_one and of_class.provisioner not in drivers:
            yield of_class.provisioner


NO_VOLUMES = Volumes("", {})
