"""
VolumeBinding: the node reaches the volumes of the Pod's claims, or they can be bound or made there.

    bound claims ──node affinity of their volumes──────────────────────┐
    claims that wait for a Pod ──a free volume that fits, else a new──┴──> nodes, each with what would be bound there
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from webhook.objects.quantities import whole
from webhook.scheduler.affinity import NodeTerm
from webhook.scheduler.attached_volumes import SchedulerError, not_owned
from webhook.scheduler.fit import MAX_NODE_SCORE, on_line
from webhook.scheduler.in_tree_volumes import IN_TREE, TranslationError
from webhook.scheduler.nodes import NodeSet, union
from webhook.scheduler.plugins.plugin import EVERY_NODE, Parts, Plugin, PreFilterResult, Refusal
from webhook.scheduler.plugins.volume_restrictions import not_found
from webhook.scheduler.profile import VOLUME_BINDING, Cycle
from webhook.scheduler.storage import Claim, PersistentVolume, StorageCapacity, StorageClass

OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


class NewVolume(NamedTuple):
    """A claim for which a volume is made, from the storage that its driver reports, None if it reports none."""

    claim: Claim
    capacity: StorageCapacity | None


class Binding(NamedTuple):
    """Nodes on which the claims that wait get the same volumes: free ones, or `made` for them."""

    nodes: NodeSet
    free: tuple[tuple[Claim, PersistentVolume], ...] = ()
    made: tuple[NewVolume, ...] = ()
    unmatched: tuple[Claim, ...] = ()


class VolumeBinding(Plugin):
    name = VOLUME_BINDING

    def pre_filter(self) -> PreFilterResult:
        """
        Reject a Pod with a claim that is missing, lost or going, or that is to be bound before the Pod is placed.

        upstream: volume_binding.go:VolumeBinding.PreFilter (v1.37)
        """
        rejected = next(self._rejections(), "")
        if rejected:
            return PreFilterResult(rejected)
        for claim in self._unbound:
            of_class = self.cycle.storage.classes.get(claim.class_name)
            if of_class is not None and not of_class.binding_mode:
                unset = f'VolumeBindingMode not set for StorageClass "{claim.class_name}"'
                raise SchedulerError(f'running PreFilter plugin "{self.name}": {unset}')
        immediate = not all(map(self.cycle.storage.waits, self._unbound))
        return PreFilterResult(UNBOUND) if immediate else EVERY_NODE

    def _rejections(self) -> Iterator[str]:
        """
        Yield what is wrong with claims.

        upstream: volume_binding.go:VolumeBinding.podHasPVCs (v1.37)
        """
        mounts = self.cycle.mounts
        for volume in mounts.claims:
            claim = self.cycle.storage.claim(mounts.namespace, volume.claim)
            if claim is None and volume.ephemeral:
                waiting = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
                yield f'{waiting} "{volume.claim}"'
            elif claim is None:
                yield not_found(volume.claim)
            elif claim.lost:
                lost = f'bound to non-existent persistentvolume "{claim.volume_name}"'
                yield f'persistentvolumeclaim "{claim.name}" {lost}'
            elif claim.deleting:
                yield f'persistentvolumeclaim "{claim.name}" is being deleted'
            elif volume.ephemeral and not claim.expected and (not mounts.uid or claim.controller != mounts.uid):
                yield not_owned(claim, mounts)

    @cached_property
    def _claims(self) -> list[Claim]:
        """The claims of the Pod that are there, in its order."""
        mounts, storage = self.cycle.mounts, self.cycle.storage
        claims = (storage.claim(mounts.namespace, volume.claim) for volume in mounts.claims)
        return [claim for claim in claims if claim is not None]

    @cached_property
    def _unbound(self) -> list[Claim]:
        return [claim for claim in self._claims if not claim.bound]

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes that do not reach a volume, or where a claim gets none.

        upstream: binder.go:volumeBinder.FindPodVolumes (v1.37)
        """
        if not self._claims or not remaining:
            return
        reached, out_of_reach = self._reached(remaining)
        missing = remaining & ~reached & ~out_of_reach
        refused = [(OUT_OF_REACH, out_of_reach), (NO_VOLUME, 0), (NOT_ENOUGH_SPACE, 0), (VOLUME_MISSING, missing)]
        if self._unbound:
            refused[1:3] = [
                (NO_VOLUME, self._bindings.without_volume),
                (NOT_ENOUGH_SPACE, self._bindings.without_space),
            ]
        groups: dict[tuple[str, ...], NodeSet] = {(): remaining}
        for reason, nodes in refused:
            for reasons, group in list(groups.items()):
                if both := group & nodes:
                    groups[*reasons, reason] = both
                    groups[reasons] = group & ~nodes
        for reasons, group in groups.items():
            if reasons:
                yield Refusal(self.name, reasons, group)

    def _reached(self, remaining: NodeSet) -> tuple[NodeSet, NodeSet]:
        """
        Return the nodes that reach the volumes of all bound claims, and those that do not reach one.

        On the others a volume is missing.

        upstream: binder.go:volumeBinder.checkBoundClaims (v1.37)
        """
        reached, out_of_reach = remaining, 0
        for claim in self._claims:
            if not claim.bound:
                continue
            volume = self.cycle.storage.volumes.get(claim.volume_name)
            if volume is None:
                return 0, out_of_reach
            within = self.reaching(volume, reached)
            out_of_reach |= reached & ~within
            reached = within
        return reached, out_of_reach

    def reaching(self, volume: PersistentVolume, nodes: NodeSet) -> NodeSet:
        """
        Return those of the nodes that reach the volume of a bound claim.

        upstream: binder.go:volumeBinder.tryTranslatePVToCSI (v1.37)
        """
        within = nodes & self._meeting(volume.terms)
        if volume.in_tree is None:
            return within
        plugin, csi_nodes = IN_TREE[volume.in_tree.kind].name, self.cycle.storage.csi_nodes
        migrated = nodes & self.nodes.named(name for name, each in csi_nodes.items() if plugin in each.migrated)
        if not migrated:
            return within
        try:
            terms = volume.translated().terms
        except TranslationError as error:
            raise SchedulerError(f'running "{self.name}" filter plugin: could not translate pv: {error}') from error
        return (within & ~migrated) | (migrated & self._meeting(terms))

    def _meeting(self, terms: Sequence[NodeTerm] | None) -> NodeSet:
        return self.nodes.all if terms is None else union(term.matching(self.nodes) for term in terms)

    def bindings(self, nodes: NodeSet) -> list[Binding]:
        """Return what would be bound or made for the claims that wait, on those of the nodes where that is possible."""
        return [each._replace(nodes=both) for each in self._bindings.possible if (both := each.nodes & nodes)]

    @cached_property
    def _bindings(self) -> Bindings:
        """
        What would be bound or made for the claims that wait on each node, or why it is not possible.

        upstream: binder.go:volumeBinder.FindPodVolumes (v1.37)
        """
        chosen = self.nodes.all
        for claim in self._unbound:
            if claim.selected_node is not None:
                chosen &= self.nodes.named((claim.selected_node,))
        selected = tuple([claim for claim in self._unbound if claim.selected_node is not None])
        others = [claim for claim in self._unbound if claim.selected_node is None]
        parts = [Binding(chosen)] if chosen else []
        for claim in sorted(others, key=lambda claim: claim.requested or 0):
            parts = [part for before in parts for part in self._matched(claim, before)]
        possible, without_volume, without_space = list[Binding](), self.nodes.all & ~chosen, 0
        for part in parts:
            made = self._made(part._replace(unmatched=()), (*selected, *part.unmatched))
            possible += made.possible
            without_volume |= made.without_volume
            without_space |= made.without_space
        return Bindings(possible, without_volume, without_space)

    def _matched(self, claim: Claim, part: Binding) -> Iterator[Binding]:
        """
        Divide nodes by the free volume that a claim gets there: the smallest that fits.

        upstream: pv_helpers.go:FindMatchingVolume (v1.37)
        """
        left, taken = part.nodes, {volume.name for _, volume in part.free}
        for volume in self._candidates(claim):
            if volume.name in taken:
                continue
            if within := left & self._meeting(volume.terms):
                yield part._replace(nodes=within, free=(*part.free, (claim, volume)))
                left &= ~within
            if not left or volume.claim is not None:
                break
        if left:
            yield part._replace(nodes=left, unmatched=(*part.unmatched, claim))

    def _candidates(self, claim: Claim) -> list[PersistentVolume]:
        """Return the free volumes that fit a claim, the smallest first; or only that which is kept for it."""
        features = self.cycle.features
        if claim.attributes_class and not features.volume_attributes_class:
            of_claim = f"volumeAttributesClassName is set on claim {claim.namespace}/{claim.name}"
            off = f"unsupported {of_claim} when the feature-gate VolumeAttributesClass is disabled"
            raise SchedulerError(f'running "{self.name}" filter plugin: {off}')
        fitting = []
        for volume in self.cycle.storage.volumes.candidates(claim):
            if volume.deleting:
                continue
            if volume.capacity < (claim.requested or 0) or volume.mode != claim.mode:
                continue
            if volume.attributes_class != claim.attributes_class:
                continue
            if volume.claim is not None:
                return [volume]
            if volume.available and _fits(claim, volume):
                fitting.append(volume)
        return fitting

    def _made(self, part: Binding, claims: Sequence[Claim]) -> Bindings:
        """
        Return on which of the nodes of a part volumes can be made for these claims.

        upstream: binder.go:volumeBinder.checkVolumeProvisions (v1.37)
        """
        storage = self.cycle.storage
        parts, without_volume, without_space = [part], 0, 0
        for claim in claims:
            of_class = storage.classes[claim.class_name]
            if not of_class.makes_volumes:
                return Bindings([], without_volume | union(each.nodes for each in parts), without_space)
            allowed = self._meeting(of_class.allowed)
            divided = []
            for before in parts:
                without_volume |= before.nodes & ~allowed
                left = before.nodes & allowed
                for nodes, capacity in self._with_space(claim, of_class, left):
                    divided.append(before._replace(nodes=nodes, made=(*before.made, NewVolume(claim, capacity))))
                    left &= ~nodes
                without_space |= left
            parts = divided
        return Bindings(parts, without_volume, without_space)

    def _with_space(
        self, claim: Claim, of_class: StorageClass, nodes: NodeSet
    ) -> Iterator[tuple[NodeSet, StorageCapacity | None]]:
        """
        Yield the nodes where the storage for a claim is enough, with what is reported of it, if it is.

        upstream: binder.go:volumeBinder.hasEnoughCapacity (v1.37)
        """
        storage = self.cycle.storage
        driver = storage.csi_drivers.get(of_class.provisioner)
        if claim.requested is None or driver is None or not driver.tracks_capacity:
            if nodes:
                yield nodes, None
            return
        for capacity in storage.capacities:
            limit = capacity.limit
            if capacity.class_name != of_class.name or capacity.nodes is None or limit is None:
                continue
            if whole(limit) >= whole(claim.requested):
                within = nodes & NodeTerm(capacity.nodes.requirements, ()).matching(self.nodes)
                if within:
                    yield within, capacity
                    nodes &= ~within

    def scores(self, candidates: NodeSet) -> Parts | None:
        """
        Score nodes by how much of their storage stays free, or of the volumes that they have for the claims.

        upstream: volume_binding.go:VolumeBinding.Score (v1.37)
        """
        if not self.cycle.features.scores_storage_capacity or not self._unbound:
            return None
        scored = [(binding.nodes, self._score(binding)) for binding in self.bindings(candidates)]
        return [*scored, (candidates & ~union(nodes for nodes, _ in scored), 0)]

    def _score(self, binding: Binding) -> int:
        """
        Return the mean of the classes' scores, rounded.

        upstream: scorer.go:buildScorerFunction (v1.37)
        """
        used: dict[str, tuple[int, int]] = {}
        for claim, volume in binding.free:
            requested, capacity = used.get(volume.class_name, (0, 0))
            used[volume.class_name] = requested + whole(claim.requested or 0), capacity + whole(volume.capacity)
        for claim, reported in binding.made if not binding.free else ():
            if reported is not None:
                requested, _ = used.get(claim.class_name, (0, 0))
                used[claim.class_name] = requested + whole(claim.requested or 0), whole(reported.capacity or 0)
        total = sum(
            on_line(
                self.cycle.profile.free_storage,
                MAX_NODE_SCORE if not capacity or requested > capacity else requested * MAX_NODE_SCORE // capacity,
            )
            for requested, capacity in used.values()
        )
        return (2 * total + len(used)) // (2 * len(used)) if used else 0

    def of(self, cycle: Cycle) -> VolumeBinding:
        return VolumeBinding(cycle)


class Bindings(NamedTuple):
    """What is `possible`, and the nodes where a claim gets no volume, or where there is no space for a new one."""

    possible: list[Binding]
    without_volume: NodeSet
    without_space: NodeSet


def _fits(claim: Claim, volume: PersistentVolume) -> bool:
    """Return whether labels and access modes of a volume are those that a claim asks for."""
    if claim.selector is not None and not claim.selector.matches(volume.labels):
        return False
    return set(claim.access_modes) <= set(volume.access_modes)
