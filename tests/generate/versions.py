"""docs/versions.md: for which minor versions evenkeel speaks, by recordings, and what changed in each."""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Iterator
from pathlib import Path

from tests.conformance import MODES
from tests.support import DATA
from webhook.scheduler.features import NEWEST, OLDEST, features

# What it means that a feature comes; where one goes again, the second is what that means.
CHANGES = {
    "min_domains": ("`minDomains` counts",),
    "node_inclusion_policies": ("`nodeAffinityPolicy` and `nodeTaintsPolicy` count",),
    "selector_validation": ("an invalid `labelSelector` is rejected",),
    "match_label_keys": ("`matchLabelKeys` count",),
    "selector_merge": ("the API server merges `matchLabelKeys` into `labelSelector`",),
    "topology_labels": ("zone and region are copied onto Pods when they are bound",),
    "empty_selector_counts": (
        "a selector of `{}` counts every Pod of the namespace",
        "a selector of `{}` counts no Pod",
    ),
    "null_selector_warning": ("the API server warns of a null `labelSelector`",),
    "prefixed_job_labels": ("Pods of a Job have labels with the prefix `batch.kubernetes.io/`",),
    "skips_unconstrained": ("PodTopologySpread skips a Pod without constraints, instead of passing it",),
    "lengths_in_bytes": ("errors of labels name lengths in bytes, not characters",),
    "names_untolerated_taint": (
        "kube-scheduler's message names the taint that a Pod does not tolerate",
        "kube-scheduler's message says `untolerated taint(s)`, without naming them",
    ),
    "node_name_in_pre_filter": ("for a Pod with a `nodeName` the message sums up all other nodes as `[NodeName]`",),
    "pod_level_resources": ("requests of a Pod as a whole (`spec.resources`) count",),
    "allocated_resources": ("of a bound Pod the resources that its node has allocated count, too",),
    "pod_allocated_resources": ("and those that it has allocated to the Pod as a whole",),
    "greatest_of_sums": (
        "of a bound Pod the greatest sum counts, as requested, allocated or actuated, not the sum of the greatest",
    ),
    "skips_best_effort": ("NodeResourcesBalancedAllocation skips a Pod that requests no CPU and no memory",),
    "scores_balance_gained": (
        "NodeResourcesBalancedAllocation scores what the Pod does to the balance, not the balance that is then there",
    ),
    "affinity_keys_merge": (
        "the API server merges `matchLabelKeys` and `mismatchLabelKeys` of a Pod's affinity into its selectors",
    ),
    "pod_defaults_last": ("a Pod as a whole is given its requests after its containers were",),
    "matches_unlabelled_namespaces": (
        "a `namespaceSelector` of a Pod's own affinity that no label need meet selects every namespace",
        "such a `namespaceSelector` selects the namespaces whose labels meet it",
    ),
    "scores_image_volumes": ("ImageLocality adds up images that are mounted, too",),
    "counts_image_volumes": ("and counts them where it takes the share of all images",),
    "extended_resources_of_devices": ("extended resources that a DeviceClass gives out are left to DynamicResources",),
    "counts_volume_attachments": ("of the volumes of a node those count, too, that only a VolumeAttachment names",),
    "migrates_portworx_by_annotation": (
        "disks of Portworx count for its CSI driver where the CSINode says that they are migrated",
        "disks of Portworx count for its CSI driver on every node that has a CSINode",
    ),
    "prevents_missing_driver": (
        "Pods wait where a CSI driver is missing whose CSIDriver has `preventPodSchedulingIfMissing`",
    ),
    "volume_attributes_class": ("a claim gets only volumes of its VolumeAttributesClass",),
    "claim_in_use_reason": ("kube-scheduler's message of a ReadWriteOncePod claim says that another Pod uses it",),
    "scores_storage_capacity": ("VolumeBinding scores nodes by how much of their storage is free",),
    "breaks_ties_by_heap": ("of the best nodes kube-scheduler takes the first in a heap of them, not any",),
    "requests_beyond_preemption": ("no Pod is preempted on a node that has less than is requested",),
    "nominates_before_binding": ("a node is nominated, too, for a Pod whose volumes are being bound",),
    "speaks_of_deallocation": (
        "of every Pod that waits kube-scheduler's message says `no new claims to deallocate`",
        "its message says so no more",
    ),
    "rejection_ends_post_filter": (
        "of a Pod that PreFilter rejects its message ends with `not found`, and says nothing of preemption",
    ),
    "spares_ending_victims": ("a Pod that is being deleted already gets no condition DisruptionTarget by preemption",),
    "counts_budgets_to_violated": (
        "a Pod that would be preempted counts for PodDisruptionBudgets up to the first that it violates",
    ),
    "tells_preemption": ("its message of a Pod for which it preempts others names the node and their number",),
    "stateful_set_max_unavailable": ("a rolling update of a StatefulSet may take as many Pods as `maxUnavailable`",),
}
# How many decisions of a real kube-scheduler agreed, of how many that were compared, by minor version: what
# `CHURN=3000 pytest -s tests/e2e/test_verify.py` said.
VERIFIED = {33: (5110, 5112), 37: (5088, 5089)}
HEAD = """\
# Versions of Kubernetes

evenkeel judges by the minor version of the cluster, `--kubernetes-version` or what a live cluster says. To learn what a
version does, its own code was given Pods and clusters, and its answers were recorded. The numbers count the cases that
are tests: evenkeel's answer must be the same in every one. A version without recordings is not claimed.
"""
WATCHED = """\
* **verified**: How many decisions of a real kube-scheduler in a [cluster under churn](verify.md#how-it-is-held) agreed
  with what `evenkeel verify` computed.\
"""
TAIL = """\
`python -m tests.conformance MODE [FILE] [--kubernetes-version 1.X]` compares again, also with recordings of your own.
"""


def page() -> str:
    """The whole page."""
    compared = (f"* **{name}**: {inspect.cleandoc(mode.__doc__ or '')}" for name, mode in MODES.items())
    return "\n".join((HEAD, *compared, WATCHED, "", *_table(), "", TAIL))


def _table() -> Iterator[str]:
    yield f"| minor | {' | '.join(MODES)} | verified | what changed |"
    yield "| --- |" + " --- |" * (len(MODES) + 2)
    for minor in range(OLDEST + 1, NEWEST + 2):
        counted = [sum(map(cases, DATA.glob(f"1.{minor}/{mode.RECORDED}"))) for mode in MODES.values()]
        numbers = [*(str(count or "") for count in counted), verified(minor)]
        yield f"| 1.{minor} | {' | '.join(numbers)} | {'; '.join(changes(minor))} |"


def verified(minor: int) -> str:
    """How many decisions agreed, of how many; "" where none was watched."""
    return "{:,} of {:,}".format(*VERIFIED[minor]) if minor in VERIFIED else ""


def cases(path: Path) -> int:
    """The number of cases that were recorded."""
    return len(gzip.decompress(path.read_bytes()).splitlines())


def changes(minor: int) -> list[str]:
    """What a minor version does otherwise than the one before."""
    before, now = features(minor - 1), features(minor)
    turned = [name for name in CHANGES if getattr(before, name) != getattr(now, name)]
    return [CHANGES[name][0 if getattr(now, name) else 1] for name in turned]
