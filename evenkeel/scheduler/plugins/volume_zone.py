"""VolumeZone: a node is in the zone and region that the labels of the Pod's PersistentVolumes name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from evenkeel.scheduler.in_tree_volumes import MANY_ZONES
from evenkeel.scheduler.plugins.plugin import EVERY_NODE, Plugin, PreFilterResult, Reason, Refusal
from evenkeel.scheduler.plugins.volume_restrictions import not_found
from evenkeel.scheduler.profile import VOLUME_ZONE, Cycle
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import BETA_REGION, BETA_ZONE, REGION, ZONE
from webhook.spread.nodes import NodeSet, union

OTHER_ZONE = Reason("node(s) had no available volume zone", "not in the zone of the volume")
# Every label that names a zone or region, with the one of today in its place.
NOT_BETA = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}


class VolumeZone(Plugin):
    name = VOLUME_ZONE

    def pre_filter(self) -> PreFilterResult:
        """
        Reject a Pod with a claim that is neither bound nor waits for its first consumer.

        upstream: volume_zone.go:VolumeZone.getPVbyPod (v1.37)
        """
        mounts, storage = self.cycle.mounts, self.cycle.storage
        for volume in mounts.claims:
            if volume.ephemeral:
                continue
            claim = storage.claim(mounts.namespace, volume.claim)
            if claim is None:
                return PreFilterResult(not_found(volume.claim))
            if claim.volume_name:
                if claim.volume_name not in storage.volumes:
                    return PreFilterResult(f'persistentvolume "{claim.volume_name}" not found')
                continue
            if not claim.class_name:
                return PreFilterResult("PersistentVolumeClaim had no pv name and storageClass name")
            storage_class = storage.classes.get(claim.class_name)
            if storage_class is None:
                return PreFilterResult(f'storageclass.storage.k8s.io "{claim.class_name}" not found')
            if not storage_class.binding_mode:
                return PreFilterResult(f'VolumeBindingMode not set for StorageClass "{claim.class_name}"')
            if not storage_class.waits:
                return PreFilterResult("PersistentVolume had no name")
        return EVERY_NODE

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes in another zone or region; a node without any such label passes.

        upstream: volume_zone.go:VolumeZone.Filter (v1.37)
        """
        if not self._topologies:
            return
        passing = self.nodes.all
        for key, values in self._topologies:
            inside = union(self.nodes.domains(key).get(value, 0) for value in values)
            inside_by_new_label = union(self.nodes.domains(NOT_BETA[key]).get(value, 0) for value in values)
            passing &= inside | (inside_by_new_label & ~self.nodes.carrying(key))
        labelled = union(self.nodes.carrying(key) for key in NOT_BETA)
        yield Refusal(self.name, (OTHER_ZONE,), remaining & labelled & ~passing)

    @cached_property
    def _topologies(self) -> list[tuple[str, frozenset[str]]]:
        """The labels of the Pod's PersistentVolumes that name zones and regions, with their values."""
        mounts, storage = self.cycle.mounts, self.cycle.storage
        topologies = list[tuple[str, frozenset[str]]]()
        for volume in mounts.claims:
            claim = storage.claim(mounts.namespace, volume.claim)
            persistent_volume = None if claim is None or volume.ephemeral else storage.volumes.get(claim.volume_name)
            if persistent_volume is not None:
                topologies += _topologies_of(persistent_volume.labels)
        return topologies

    def of(self, cycle: Cycle) -> VolumeZone:
        return VolumeZone(cycle)


def _topologies_of(labels: Labels) -> list[tuple[str, frozenset[str]]]:
    """
    Return the zones and regions in a PersistentVolume's labels; a label is ignored if any of its values is empty.

    upstream: volume_zone.go:VolumeZone.getPVTopologies (v1.37)
    """
    topologies = [(key, [text.strip() for text in labels[key].split(MANY_ZONES)]) for key in NOT_BETA if key in labels]
    return [(key, frozenset(values)) for key, values in topologies if all(values)]
