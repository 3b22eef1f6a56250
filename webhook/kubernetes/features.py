"""What a minor version of Kubernetes does with constraints and requests (pkg/features/kube_features.go)."""

from __future__ import annotations

import re
from typing import NamedTuple

OLDEST, NEWEST = 25, 37
PRE_RELEASE = "v1.38.0-beta.0"  # what the tests compare of the version to come; "" if nothing


class Features(NamedTuple):
    """Feature gates at their defaults, and changes that came without one."""

    minor: int
    min_domains: bool  # MinDomainsInPodTopologySpread
    node_inclusion_policies: bool  # NodeInclusionPolicyInPodTopologySpread
    selector_validation: bool  # an invalid labelSelector is rejected (kubernetes#111802)
    match_label_keys: bool  # MatchLabelKeysInPodTopologySpread
    selector_merge: bool  # MatchLabelKeysInPodTopologySpreadSelectorMerge
    topology_labels: bool  # PodTopologyLabelsAdmission: zone and region are copied onto Pods at binding
    empty_selector_counts: bool  # `{}` counts every Pod of the namespace, not none (kubernetes#116607 and #141340)
    null_selector_warning: bool  # kube-apiserver warns of a null labelSelector (kubernetes#117025)
    prefixed_job_labels: bool  # Pods of a Job have batch.kubernetes.io/job-name and …/controller-uid, too
    skips_unconstrained: bool  # PodTopologySpread skips a Pod without constraints; before, it scores all nodes alike
    lengths_in_bytes: bool  # errors of labels say "bytes" for "characters" (kubernetes#134020)
    names_untolerated_taint: bool  # kube-scheduler's reasons name the taint that a Pod does not tolerate
    node_name_in_pre_filter: bool  # for a Pod with a nodeName, NodeName leaves out all other nodes in PreFilter
    pod_level_resources: bool  # PodLevelResources: what a Pod requests as a whole counts
    allocated_resources: bool  # InPlacePodVerticalScaling: what a node has allocated to a Pod's containers counts
    pod_allocated_resources: bool  # InPlacePodLevelResourcesVerticalScaling: and what it has allocated to a whole Pod
    greatest_of_sums: bool  # of a bound Pod the greatest sum counts, not the sum of each container's greatest amount
    skips_best_effort: bool  # NodeResourcesBalancedAllocation skips a Pod without requests (kubernetes#129138)
    scores_balance_gained: bool  # NodeResourcesBalancedAllocation scores the change of the balance, not the result
    affinity_keys_merge: bool  # MatchLabelKeysInPodAffinity: merged into the selectors of a Pod's affinity
    pod_defaults_last: bool  # PodLevelResourcesFixDefaulting: a Pod as a whole gets its requests after its containers
    matches_unlabelled_namespaces: bool  # a namespaceSelector that matches no labels matches every namespace
    scores_image_volumes: bool  # ImageLocality adds up the sizes of image volumes, too
    counts_image_volumes: bool  # ImageLocality counts image volumes in the number of the Pod's images, too
    extended_resources_of_devices: bool  # DRAExtendedResource: a DeviceClass may give out an extended resource
    counts_volume_attachments: bool  # NodeVolumeLimits counts volumes that a VolumeAttachment names and no Pod uses
    migrates_portworx_by_annotation: bool  # NodeVolumeLimits counts Portworx's if the CSINode says they are migrated
    prevents_missing_driver: bool  # VolumeLimitScaling: a missing driver keeps a Pod waiting, if its CSIDriver says so
    volume_attributes_class: bool  # VolumeAttributesClass: claim and volume must have the same one
    claim_in_use_reason: bool  # kube-scheduler says "already in-use by another pod" of a ReadWriteOncePod claim
    scores_storage_capacity: bool  # StorageCapacityScoring: VolumeBinding scores nodes by their free storage
    breaks_ties_by_heap: bool  # the first of the best nodes in a heap is taken, not any (until kubernetes#141024)
    stateful_set_max_unavailable: bool  # MaxUnavailableStatefulSet: a rolling update may take several Pods at once
    requests_beyond_preemption: bool  # no Pod is preempted on a node that is too small for the request
    nominates_before_binding: bool  # NominatedNodeNameForExpectation: a Pod whose volumes are being bound is nominated
    speaks_of_deallocation: bool  # DynamicResources says that it deallocated no claim, even of a Pod without claims
    rejection_ends_post_filter: bool  # where PreFilter rejects a Pod, DynamicResources fails before preemption
    spares_ending_victims: bool  # a victim that is being deleted already is not marked as preempted
    counts_budgets_to_violated: bool  # a Pod counts for budgets up to the first that it violates, not for all
    tells_preemption: bool  # the message of a Pod that preempts others names the node and the number of victims
    scores_pod_level_requests: bool  # NodeResourcesFit scores what a new Pod requests as a whole, too
    empty_selector_protects: bool  # in preemption, a PodDisruptionBudget with the selector `{}` matches every Pod
    equal_victims_by_uid: bool  # of Pods with the same priority and start, those with the last UIDs are preempted
    victimless_node_is_refused: bool  # a node where no Pod has to go no longer makes preemption fail
    stateful_set_update_range: bool  # maxUnavailable is of the Pods from the partition on, and only these count
    stateful_set_recreate: bool  # StatefulSetRecreateStrategy: the updateStrategy Recreate
    deletes_surplus_first: bool  # a Parallel StatefulSet deletes the Pods that are too many before it makes others


def features(minor: int) -> Features:
    """Return the features of Kubernetes 1.`minor`; later versions than 1.38 are taken to behave as 1.38."""
    return Features(
        minor=minor,
        min_domains=minor >= 27,
        node_inclusion_policies=minor >= 26,
        selector_validation=minor >= 27,
        match_label_keys=minor >= 27,
        selector_merge=minor >= 34,
        topology_labels=minor >= 35,
        empty_selector_counts=minor <= 26 or minor >= 38,
        null_selector_warning=minor >= 28,
        prefixed_job_labels=minor >= 27,
        skips_unconstrained=minor >= 28,
        lengths_in_bytes=minor >= 35,
        names_untolerated_taint=minor <= 33,
        node_name_in_pre_filter=minor >= 37,
        pod_level_resources=minor >= 34,
        allocated_resources=minor >= 33,
        pod_allocated_resources=minor >= 36,
        greatest_of_sums=minor >= 37,
        skips_best_effort=minor >= 33,
        scores_balance_gained=minor >= 36,
        affinity_keys_merge=minor >= 31,
        pod_defaults_last=minor >= 37,
        matches_unlabelled_namespaces=34 <= minor <= 36,
        scores_image_volumes=minor >= 36,
        counts_image_volumes=minor >= 37,
        extended_resources_of_devices=minor >= 36,
        counts_volume_attachments=minor >= 32,
        migrates_portworx_by_annotation=minor <= 35,
        prevents_missing_driver=minor >= 37,
        volume_attributes_class=minor >= 34,
        claim_in_use_reason=minor >= 34,
        scores_storage_capacity=minor >= 37,
        breaks_ties_by_heap=minor >= 35,
        stateful_set_max_unavailable=minor >= 37,
        requests_beyond_preemption=minor >= 34,
        nominates_before_binding=minor >= 35,
        speaks_of_deallocation=34 <= minor <= 36,
        rejection_ends_post_filter=minor >= 34,
        spares_ending_victims=minor >= 35,
        counts_budgets_to_violated=minor >= 37,
        tells_preemption=minor >= 37,
        scores_pod_level_requests=minor >= 38,
        empty_selector_protects=minor >= 38,
        equal_victims_by_uid=minor >= 38,
        victimless_node_is_refused=minor >= 38,
        stateful_set_update_range=minor >= 38,
        stateful_set_recreate=minor >= 38,
        deletes_surplus_first=minor >= 38,
    )


def parse_version(text: str) -> Features:
    """Return the features of a version such as `1.34`, `v1.34.2` or `1.34+`; ValueError for others, or before 1.25."""
    match = re.fullmatch(r"v?1\.(\d{1,3})([.+-].*)?", text.strip())
    if match is None:
        raise ValueError(f'found "{text}", wanted a version such as 1.{NEWEST}')
    if int(match[1]) < OLDEST:
        raise ValueError(f'found "{text}", wanted 1.{OLDEST} or newer')
    return features(int(match[1]))


def unknown(features: Features) -> str:
    """Return a note on a version that is newer than all releases that the tests compare, or ""."""
    if features.minor <= NEWEST:
        return ""
    if features.minor == NEWEST + 1 and PRE_RELEASE:
        return f"evenkeel was tested with {PRE_RELEASE}, a pre-release of Kubernetes: later ones may differ from it"
    return f"Kubernetes 1.{features.minor} is newer than 1.{NEWEST}, the newest version that evenkeel was tested with"


LATEST = features(NEWEST)
