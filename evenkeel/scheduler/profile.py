"""
A profile of kube-scheduler: which plugins run; and a Cycle: what they look at in one attempt to place a Pod.

evenkeel.scheduler.framework makes the attempt, without preemption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from webhook.policy.scheduler_configuration import CURRENT, POD_TOPOLOGY_SPREAD
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
    """What a KubeSchedulerProfile says."""

    name: str = DEFAULT_SCHEDULER
    filters: tuple[str, ...] = FILTERS  # The plugins that filter, in their order.
    pre_filters: frozenset[str] = frozenset(FILTERS)  # A plugin here may leave out nodes, even if it does not filter.
    weights: Mapping[str, int] = field(default_factory=lambda: WEIGHTS)  # The plugins that score.
    # addedAffinity of NodeAffinity: required and preferred.
    added: RequiredNodeAffinity = ANY_NODE
    added_preferred: tuple[PreferredTerm, ...] = ()
    # NodeResourcesFit: the resources and groups of them at which it does not look, and how it scores.
    ignored: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    strategy: ScoringStrategy = USUAL_SCORING
    balanced: tuple[str, ...] = (CPU, MEMORY)  # The resources of NodeResourcesBalancedAllocation.
    defaults: tuple[Mapping[str, object], ...] | None = None  # The default constraints; None: kube-scheduler's own.
    hard_pod_affinity_weight: int = 1  # The score of a Pod whose required affinity selects the incoming Pod.
    free_storage: tuple[tuple[int, int], ...] = FREE_STORAGE_SHAPE  # VolumeBinding: points (percent in use, score).
    ignores_preferences_of_others: bool = False  # InterPodAffinity: ignorePreferredTermsOfExistingPods
    unmodelled: tuple[str, ...] = ()  # Plugins and extenders that are not computed, in a few words each.
    preempts: bool = True  # DefaultPreemption runs.
    deallocates: bool = True  # DynamicResources runs before it.
    # DefaultPreemption stops at so many candidates, or at this share of the nodes if that is more.
    preemption_candidates: int = 100
    preemption_percentage: int = 10
    together: frozenset[str] = frozenset({DEFAULT_SCHEDULER})  # The names of all profiles of the same kube-scheduler.
    api_version: str = CURRENT  # Of the configuration.
    assumed: str = ""  # A sentence: why these default constraints are taken for the cluster's; "" if they are given.

    def heeds(self, constraint: Constraint) -> bool:
        """Whether PodTopologySpread filters, for a hard constraint, or scores, for a soft one."""
        return POD_TOPOLOGY_SPREAD in (self.filters if constraint.hard else self.weights)


USUAL_PROFILE = Profile()
Profiles = Mapping[str, Profile]  # by the name that Pods have as their schedulerName
USUAL_PROFILES: Profiles = {DEFAULT_SCHEDULER: USUAL_PROFILE}


@dataclass(frozen=True)
class Cycle:
    """One attempt to place a Pod in the cluster as it is."""

    pod: IncomingPod
    constraints: Sequence[Constraint]  # Those in force.
    snapshot: Snapshot
    features: Features
    system_defaults: bool = False  # The constraints are the scheduler's own defaults.
    profile: Profile = USUAL_PROFILE

    @cached_property
    def of_devices(self) -> frozenset[str]:
        """The extended resources that the Pod requests and that a DeviceClass gives out, or may give out."""
        device_resources = self.snapshot.device_resources
        if device_resources == frozenset() or not self.features.extended_resources_of_devices:
            return frozenset()
        requested = [name for name, _ in self.pod.requests.scalars if is_of_devices(name)]
        return frozenset(requested if device_resources is None else device_resources.intersection(requested))

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
        """The claims among these volumes that exist, in the order of the Pod."""
        claims = (self.storage.claim(self.mounts.namespace, volume.claim) for volume in self.mounts.claims)
        return [claim for claim in claims if claim is not None]

    def is_selected_by(self, term: PodTerm) -> bool:
        """Whether a term of another Pod selects the Pod."""
        pod, namespaces = self.pod, self.snapshot.namespaces
        return term.selects(pod.namespace, pod.labels, namespaces.get(pod.namespace, {}))

    @cached_property
    def reach(self) -> Reach:
        """The nodes that the Pod may run on, whatever it requests and whatever other Pods there are."""
        return Reach(self.pod, self.snapshot.nodes)

    @cached_property
    def with_nodes_in_service(self) -> Cycle:
        """The same attempt once all nodes are in service; itself if they are already."""
        nodes = self.snapshot.nodes.in_service
        return self if nodes == self.snapshot.nodes else replace(self, snapshot=replace(self.snapshot, nodes=nodes))
