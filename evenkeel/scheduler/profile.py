"""
A profile of kube-scheduler: which plugins run, and one attempt to place a Pod by them.

Dynamic resources, preemption and extenders are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.pod_affinity import PodTerm
from evenkeel.scheduler.pod_counts import Requests
from evenkeel.scheduler.resource_fit import CPU, MEMORY, USUAL_SCORING, ScoringStrategy, heeded
from evenkeel.scheduler.resources import is_of_devices
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.storage import NO_STORAGE, Claim, Storage
from evenkeel.scheduler.volumes import Mounts
from webhook.kubernetes.features import Features
from webhook.kubernetes.names import DEFAULT_SCHEDULER
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.affinity import ANY_NODE, PreferredTerm, RequiredNodeAffinity
from webhook.spread.constraint import Constraint
from webhook.spread.domains import Reach

NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION = "NodeName", "NodeUnschedulable", "TaintToleration"
NODE_AFFINITY, NODE_RESOURCES_FIT = "NodeAffinity", "NodeResourcesFit"
NODE_PORTS, INTER_POD_AFFINITY = "NodePorts", "InterPodAffinity"
VOLUME_RESTRICTIONS, NODE_VOLUME_LIMITS = "VolumeRestrictions", "NodeVolumeLimits"
VOLUME_BINDING, VOLUME_ZONE = "VolumeBinding", "VolumeZone"
NODE_DECLARED_FEATURES, IMAGE_LOCALITY = "NodeDeclaredFeatures", "ImageLocality"
BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation"
DYNAMIC_RESOURCES, DEFAULT_PREEMPTION = "DynamicResources", "DefaultPreemption"
FILTERS = (
    *(NODE_UNSCHEDULABLE, NODE_NAME, TAINT_TOLERATION, NODE_AFFINITY, NODE_PORTS, NODE_RESOURCES_FIT),
    *(VOLUME_RESTRICTIONS, NODE_VOLUME_LIMITS, VOLUME_BINDING, VOLUME_ZONE),
    *(POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY, NODE_DECLARED_FEATURES),
)
WEIGHTS = {
    TAINT_TOLERATION: 3,
    NODE_AFFINITY: 2,
    NODE_RESOURCES_FIT: 1,
    VOLUME_BINDING: 1,
    POD_TOPOLOGY_SPREAD: 2,
    INTER_POD_AFFINITY: 2,
    BALANCED_ALLOCATION: 1,
    IMAGE_LOCALITY: 1,
}
# upstream: defaults.go:SetDefaults_VolumeBindingArgs (v1.37)
FREE_STORAGE_SHAPE = ((0, 100), (100, 0))
A_PLUGIN = "the plugin "  # before the name of one that is not computed


@dataclass(frozen=True, slots=True)
class Profile:
    """
    What a KubeSchedulerProfile says: the plugins that filter, in their order, and those that score, with their weights.

    A plugin may be among `pre_filters`, and leave out nodes, without filtering.
    `added` and `added_preferred` are the addedAffinity of NodeAffinity.  `ignored` are resources, `ignored_groups`
    groups of them that NodeResourcesFit does not look at; `strategy` is how it scores.  `balanced` are the resources of
    NodeResourcesBalancedAllocation.  `defaults` are the default constraints, or None for kube-scheduler's own.
    `hard_pod_affinity_weight` is what a Pod weighs whose required affinity selects the Pod; InterPodAffinity may ignore
    what other Pods prefer.  `free_storage` are the points, in percent in use and score,
    by which VolumeBinding scores.  `unmodelled` names the plugins and extenders that are not computed, in a few words
    each.  It `preempts` if DefaultPreemption runs, which is content with so many candidates at least, and with such a
    share of the nodes, in percent; it `deallocates` if DynamicResources runs before that.  `together` are the names of
    all profiles of the same kube-scheduler.
    """

    name: str = DEFAULT_SCHEDULER
    filters: tuple[str, ...] = FILTERS
    pre_filters: frozenset[str] = frozenset(FILTERS)
    weights: Mapping[str, int] = field(default_factory=lambda: WEIGHTS)
    added: RequiredNodeAffinity = ANY_NODE
    added_preferred: tuple[PreferredTerm, ...] = ()
    ignored: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    strategy: ScoringStrategy = USUAL_SCORING
    balanced: tuple[str, ...] = (CPU, MEMORY)
    defaults: tuple[Mapping[str, object], ...] | None = None
    hard_pod_affinity_weight: int = 1
    free_storage: tuple[tuple[int, int], ...] = FREE_STORAGE_SHAPE
    ignores_preferences_of_others: bool = False
    unmodelled: tuple[str, ...] = ()
    preempts: bool = True
    deallocates: bool = True
    preemption_candidates: int = 100
    preemption_percentage: int = 10
    together: frozenset[str] = frozenset({DEFAULT_SCHEDULER})

    def heeds(self, constraint: Constraint) -> bool:
        """Return whether PodTopologySpread runs where the constraint has its effect."""
        return POD_TOPOLOGY_SPREAD in (self.filters if constraint.hard else self.weights)


USUAL_PROFILE = Profile()
Profiles = Mapping[str, Profile]  # by the name that Pods have as their schedulerName
USUAL_PROFILES: Profiles = {DEFAULT_SCHEDULER: USUAL_PROFILE}


@dataclass(frozen=True)
class Cycle:
    """
    One attempt to place a Pod: with the constraints in force, in the cluster as it is.

    With `system_defaults` these are the scheduler's own defaults.
    """

    pod: IncomingPod
    constraints: Sequence[Constraint]
    snapshot: Snapshot
    features: Features
    system_defaults: bool = False
    profile: Profile = USUAL_PROFILE

    @cached_property
    def of_devices(self) -> frozenset[str]:
        """The extended resources that the Pod requests and that a DeviceClass gives out, or may give out."""
        given_out = self.snapshot.device_resources
        if given_out == frozenset() or not self.features.extended_resources_of_devices:
            return frozenset()
        requested = [name for name, _ in self.pod.requests.scalars if is_of_devices(name)]
        return frozenset(requested if given_out is None else given_out.intersection(requested))

    @cached_property
    def requests(self) -> Requests:
        """The requests at which NodeResourcesFit looks."""
        return heeded(self.pod.requests, self.profile.ignored, self.profile.ignored_groups)

    @cached_property
    def mounts(self) -> Mounts:
        """The volumes of the Pod of which enough is known to judge them."""
        return self.storage.judged(self.pod.mounts)

    @cached_property
    def storage(self) -> Storage:
        """What the cluster has for volumes."""
        return self.snapshot.storage or NO_STORAGE

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims among these volumes that are there, in the order of the Pod."""
        claims = (self.storage.claim(self.mounts.namespace, volume.claim) for volume in self.mounts.claims)
        return [claim for claim in claims if claim is not None]

    def is_selected_by(self, term: PodTerm) -> bool:
        """Return whether a term of another Pod selects the Pod."""
        pod, namespaces = self.pod, self.snapshot.namespaces
        return term.selects(pod.namespace, pod.labels, namespaces.get(pod.namespace, {}))

    @cached_property
    def reach(self) -> Reach:
        """The nodes that the Pod may run on, whatever it requests and whatever other Pods there are."""
        return Reach(self.pod, self.snapshot.nodes)
