"""
VolumeBinding: the node reaches the volumes of the Pod's claims, or they can be bound or made there.

    bound claims ──node affinity of their volumes──────────────────────┐
    claims that wait for a Pod ──a free volume that fits, else a new──┴──> nodes, each with what would be bound there
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from evenkeel.objects.quantities import whole
from evenkeel.scheduler.attached_volumes import SchedulerError, is_owned, not_owned
from evenkeel.scheduler.in_tree_volumes import IN_TREE, TranslationError
from evenkeel.scheduler.plugins.plugin import EVERY_NODE, Parts, Plugin, PreFilterResult, Reason, Refusal
from evenkeel.scheduler.plugins.volume_restrictions import not_found
from evenkeel.scheduler.profile import VOLUME_BINDING, Cycle
from evenkeel.scheduler.resource_fit import MAX_NODE_SCORE, on_line
from evenkeel.scheduler.storage import CAPACITIES, Claim, PersistentVolume, StorageCapacity, StorageClass
from webhook.spread.affinity import NodeTerm
from webhook.spread.nodes import NodeSet, positions, union

OUT_OF_REACH = Reason("node(s) didn't match PersistentVolume's node affinity", "out of reach of the claim's volume")
NO_VOLUME = Reason("node(s) didn't find available persistent volumes to bind", "no volume for the claim")
NOT_ENOUGH_SPACE = Reason("node(s) did not have enough free storage", "too little free storage for the claim")
VOLUME_MISSING = Reason(
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    "the volume of the claim does not exist",
)
MOST_PAIRS = 10_000  # Pairs of sets of nodes that are compared; where there are more, each node is looked at instead.
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


class NewVolume(NamedTuple):
    """A claim for which a volume is made."""

    claim: Claim
    capacity: StorageCapacity | None  # What its driver reports of the storage; None if it reports nothing.


class Binding(NamedTuple):
    """Nodes on which the claims that wait get the same volumes: free ones, or new ones that are made for them."""

    nodes: NodeSet
    free: tuple[tuple[Claim, PersistentVolume], ...] = ()
    new_volumes: tuple[NewVolume, ...] = ()


class Choice(NamedTuple):
    """Nodes on which a claim gets a free volume, or a new one."""

    nodes: NodeSet
    free: tuple[Claim, PersistentVolume] | None = None
    new_volume: NewVolume | None = None


class Choices(NamedTuple):
    """What each claim that waits gets on which nodes."""

    possible: NodeSet  # Where each claim gets a volume.
    of_claims: tuple[Sequence[Choice], ...]
    without_volume: NodeSet  # Where a claim gets none.
    without_space: NodeSet  # Where there is no space for a new one.


NO_CHOICES = Choices(0, (), 0, 0)


class VolumeBinding(Plugin):
    """Finds what each of the Pod's claims gets on which nodes: its own volume, a free one, or a new one."""

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
            storage_class = self.cycle.storage.classes.get(claim.class_name)
            if storage_class is not None and not storage_class.binding_mode:
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
            elif volume.ephemeral and not is_owned(claim, mounts):
                yield not_owned(claim, mounts)

    @cached_property
    def _unbound(self) -> list[Claim]:
        return [claim for claim in self.cycle.claims if not claim.bound]

    @cached_property
    def _waiting(self) -> list[Claim]:
        return [claim for claim in self.cycle.claims if self.cycle.storage.waits(claim)]

    def refusals(self, remaining: NodeSet) -> Iterator[Refusal]:
        """
        Yield the nodes that do not reach a volume, or where a claim gets none.

        upstream: binder.go:volumeBinder.FindPodVolumes (v1.37)
        """
        if not self.cycle.claims or not remaining:
            return
        reached, out_of_reach = self._reached(remaining)
        unbound = self._choices if self._unbound else NO_CHOICES
        refused = (
            (OUT_OF_REACH, out_of_reach),
            (NO_VOLUME, unbound.without_volume),
            (NOT_ENOUGH_SPACE, unbound.without_space),
            (VOLUME_MISSING, remaining & ~reached & ~out_of_reach),
        )
        # A node may have several reasons: nodes with the same ones are one refusal.
        groups: dict[tuple[Reason, ...], NodeSet] = {(): remaining}
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
        for claim in self.cycle.claims:
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
        migrated = nodes & self.nodes.named(name for name, node in csi_nodes.items() if plugin in node.migrated)
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
        """Return what the claims that wait get, on those of the nodes where each gets something."""
        possible = nodes & self._choices.possible
        parts = [Binding(possible)] if possible else []
        for choices in self._choices.of_claims:
            parts = list(_divided(parts, choices, possible))
        return parts

    @cached_property
    def _choices(self) -> Choices:
        """
        What each claim that waits gets on each node, or why it gets nothing.

        upstream: binder.go:volumeBinder.FindPodVolumes (v1.37)
        """
        chosen = self.nodes.all
        for claim in self._waiting:
            if claim.selected_node is not None:
                chosen &= self.nodes.named((claim.selected_node,))
        # The claims, the nodes on which they have no free volume, and what they get on the others.
        unmatched = list[tuple[Claim, NodeSet, list[Choice]]]()
        taken = dict[str, NodeSet]()  # The nodes on which another claim of the Pod gets the volume of this name.
        for claim in self._waiting:
            if claim.selected_node is not None:
                unmatched.append((claim, chosen, []))
        for claim in sorted(self._waiting, key=lambda claim: claim.requested or 0):
            if claim.selected_node is None:
                choices = list(self._matched(claim, chosen, taken))
                unmatched.append((claim, chosen & ~union(choice.nodes for choice in choices), choices))
        possible, without_volume, without_space = chosen, self.nodes.all & ~chosen, 0
        for claim, nodes, choices in unmatched:
            new_volumes, no_volume, no_space = self._new_volumes(claim, nodes & possible)
            choices += new_volumes
            without_volume |= no_volume
            without_space |= no_space
            possible &= ~(no_volume | no_space)
        return Choices(possible, tuple(choices for _, _, choices in unmatched), without_volume, without_space)

    def _matched(self, claim: Claim, nodes: NodeSet, taken: dict[str, NodeSet]) -> Iterator[Choice]:
        """
        Yield the free volumes that a claim gets on some of the nodes: the smallest that fits, and is not taken there.

        upstream: pv_helpers.go:FindMatchingVolume (v1.37)
        """
        for volume in self._candidates(claim):
            free = nodes & ~taken.get(volume.name, 0)
            if within := free & self._meeting(volume.terms):
                yield Choice(within, (claim, volume))
                taken[volume.name] = taken.get(volume.name, 0) | within
            # A claim gets the volume that is kept for it, or none: on no node does it go on to others.
            nodes &= ~(free if volume.claim is not None else within)
            if not nodes:
                return

    def _candidates(self, claim: Claim) -> list[PersistentVolume]:
        """Return the volumes that fit a claim: those that are kept for it, and then free ones, the smallest first."""
        features = self.cycle.features
        if claim.attributes_class and not features.volume_attributes_class:
            is_set = f"volumeAttributesClassName is set on claim {claim.namespace}/{claim.name}"
            unsupported = f"unsupported {is_set} when the feature-gate VolumeAttributesClass is disabled"
            raise SchedulerError(f'running "{self.name}" filter plugin: {unsupported}')
        fitting = []
        for volume in self.cycle.storage.volumes.candidates(claim):
            if volume.deleting:
                continue
            if volume.capacity < (claim.requested or 0) or volume.mode != claim.mode:
                continue
            if volume.attributes_class != claim.attributes_class:
                continue
            if volume.claim is not None or (volume.available and _fits(claim, volume)):
                fitting.append(volume)
        return fitting

    def _new_volumes(self, claim: Claim, nodes: NodeSet) -> tuple[list[Choice], NodeSet, NodeSet]:
        """
        Return where a volume can be made for a claim; the nodes where it cannot; and those that lack space for it.

        upstream: binder.go:volumeBinder.checkVolumeProvisions (v1.37)
        """
        storage_class = self.cycle.storage.classes[claim.class_name]
        if not storage_class.makes_volumes:
            return [], nodes, 0
        allowed = nodes & self._meeting(storage_class.allowed)
        choices = [
            Choice(within, new_volume=NewVolume(claim, capacity))
            for within, capacity in self._with_space(claim, storage_class, allowed)
        ]
        return choices, nodes & ~allowed, allowed & ~union(choice.nodes for choice in choices)

    def _with_space(
        self, claim: Claim, storage_class: StorageClass, nodes: NodeSet
    ) -> Iterator[tuple[NodeSet, StorageCapacity | None]]:
        """
        Yield the nodes with enough storage for a claim, and what the driver reports of it, None if it reports nothing.

        upstream: binder.go:volumeBinder.hasEnoughCapacity (v1.37)
        """
        storage = self.cycle.storage
        driver = storage.csi_drivers.get(storage_class.provisioner)
        tracked = driver is not None and driver.tracks_capacity and CAPACITIES not in storage.unread
        if claim.requested is None or not tracked:
            if nodes:
                yield nodes, None
            return
        for capacity in storage.capacities:
            limit = capacity.limit
            if capacity.class_name != storage_class.name or capacity.nodes is None or limit is None:
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
        used: dict[str, tuple[int, int]] = {}  # (requested, capacity) by class.
        for claim, volume in binding.free:
            requested, capacity = used.get(volume.class_in_spec, (0, 0))
            used[volume.class_in_spec] = requested + whole(claim.requested or 0), capacity + whole(volume.capacity)
        # As upstream has it, new volumes count only where no free one is bound.
        for claim, reported in binding.new_volumes if not binding.free else ():
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


def _divided(parts: Sequence[Binding], choices: Sequence[Choice], possible: NodeSet) -> Iterator[Binding]:
    """Divide the parts by what one more claim gets; all are within the possible nodes, where it gets something."""
    if len(parts) * len(choices) <= MOST_PAIRS:
        for part in parts:
            for choice in choices:
                if both := part.nodes & choice.nodes:
                    yield _plus(part, choice, both)
        return
    by_place = {place: i for i, choice in enumerate(choices) for place in positions(choice.nodes & possible)}
    for part in parts:
        nodes: dict[int, NodeSet] = {}
        for place in positions(part.nodes):
            nodes[by_place[place]] = nodes.get(by_place[place], 0) | 1 << place
        for i, members in nodes.items():
            yield _plus(part, choices[i], members)


def _plus(part: Binding, choice: Choice, nodes: NodeSet) -> Binding:
    """Add the choice of one more claim to a binding, on those of its nodes where both hold."""
    free_volume = () if choice.free is None else (choice.free,)
    new_volume = () if choice.new_volume is None else (choice.new_volume,)
    return Binding(nodes, (*part.free, *free_volume), (*part.new_volumes, *new_volume))


def _fits(claim: Claim, volume: PersistentVolume) -> bool:
    """Whether a volume has the labels and access modes that a claim asks for."""
    if claim.selector is not None and not claim.selector.matches(volume.labels):
        return False
    return set(claim.access_modes) <= set(volume.access_modes)
