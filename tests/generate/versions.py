"""The parts of docs/how-true.md about minor versions: what was compared, by recordings, and what changed in each."""

from __future__ import annotations

import gzip
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tests.conformance import MODES
from tests.generate.markdown import table as markdown_table
from tests.support import DATA
from webhook.kubernetes.features import NEWEST, OLDEST, PRE_RELEASE, features

MESSAGE = "Some messages of kube-scheduler have other words."
# What comes with a feature; where it goes again, the second text is what comes then.
CHANGES = {
    "selector_merge": ("kube-apiserver merges `matchLabelKeys` into `labelSelector`.",),
    "topology_labels": ("kube-apiserver copies zone and region onto a Pod when the Pod is bound.",),
    "empty_selector_counts": (
        "The selector `{}` of a constraint counts every Pod of the namespace: see [before you upgrade the "
        "cluster](operate.md#before-you-upgrade-the-cluster).",
    ),
    "lengths_in_bytes": ("Errors of labels give lengths in bytes, not in characters.",),
    "names_untolerated_taint": (MESSAGE, MESSAGE),
    "node_name_in_pre_filter": (MESSAGE,),
    "pod_level_resources": ("Requests of a whole Pod (`spec.resources`) count.",),
    "allocated_resources": ("Of a bound Pod, the resources that its node has allocated to its containers count, too.",),
    "pod_allocated_resources": (
        "Of a bound Pod, the resources that its node has allocated to the whole Pod count, too.",
    ),
    "greatest_of_sums": (
        "Of a bound Pod, kube-scheduler counts the greatest of three sums: requested, allocated and actuated, "
        "not the sum of each container's greatest amount.",
    ),
    "skips_best_effort": ("NodeResourcesBalancedAllocation skips a Pod that requests neither CPU nor memory.",),
    "scores_balance_gained": (
        "NodeResourcesBalancedAllocation scores how the Pod changes the balance of a node, not the balance itself.",
    ),
    "affinity_keys_merge": (
        "kube-apiserver merges `matchLabelKeys` and `mismatchLabelKeys` of a Pod's affinity into its selectors.",
    ),
    "pod_defaults_last": ("kube-apiserver sets default requests of a whole Pod after those of its containers.",),
    "matches_unlabelled_namespaces": (
        "A `namespaceSelector` of a Pod's own affinity that matches a namespace without labels selects all namespaces.",
        "A `namespaceSelector` of a Pod's own affinity that matches a namespace without labels no longer selects all.",
    ),
    "scores_image_volumes": ("ImageLocality adds the sizes of images that are mounted as volumes.",),
    "counts_image_volumes": (
        "ImageLocality adds images that are mounted as volumes to the number of the Pod's images.",
    ),
    "extended_resources_of_devices": ("DynamicResources decides on extended resources that a DeviceClass offers.",),
    "counts_volume_attachments": ("Volumes that only a VolumeAttachment names count for the limit of a node.",),
    "migrates_portworx_by_annotation": (
        "Disks of Portworx count for its CSI driver where the CSINode says that they are migrated.",
        "Disks of Portworx count for its CSI driver on every node that has a CSINode.",
    ),
    "prevents_missing_driver": (
        "A Pod waits if the CSI driver of its volume is missing and the CSIDriver has `preventPodSchedulingIfMissing`.",
    ),
    "volume_attributes_class": ("A claim gets only volumes of its VolumeAttributesClass.",),
    "claim_in_use_reason": (MESSAGE,),
    "scores_storage_capacity": ("VolumeBinding scores nodes by their free storage.",),
    "breaks_ties_by_heap": ("Of several best nodes, kube-scheduler takes the first in a heap of them, not any.",),
    "requests_beyond_preemption": ("kube-scheduler preempts no Pod on a node that is too small for the request.",),
    "nominates_before_binding": ("kube-scheduler also nominates a node for a Pod while it binds the Pod's volumes.",),
    "speaks_of_deallocation": (MESSAGE, MESSAGE),
    "rejection_ends_post_filter": (MESSAGE,),
    "spares_ending_victims": ("Preemption sets no condition DisruptionTarget on a Pod that is being deleted already.",),
    "counts_budgets_to_violated": (
        "A Pod that would be preempted counts for PodDisruptionBudgets up to the first one that it violates.",
    ),
    "tells_preemption": (MESSAGE,),
    "scores_pod_level_requests": ("NodeResourcesFit also scores what a Pod requests as a whole (`spec.resources`).",),
    "empty_selector_protects": (
        "A PodDisruptionBudget with the selector `{}` protects all Pods of its namespace from preemption, too.",
    ),
    "equal_victims_by_uid": (
        "Of Pods with the same priority and start time, kube-scheduler preempts those whose UIDs come last.",
    ),
    "victimless_node_is_refused": ("A node where no Pod has to go no longer makes preemption on all nodes fail.",),
    "stateful_set_update_range": (
        "A rolling update of a StatefulSet takes `maxUnavailable` in percent of the Pods from the partition on. "
        "Pods below it that are not available no longer hold it up.",
    ),
    "stateful_set_recreate": ("A StatefulSet with the updateStrategy `Recreate` replaces all its Pods at once.",),
    "deletes_surplus_first": (
        "A StatefulSet with `podManagementPolicy: Parallel` deletes the Pods that are too many before it makes others.",
    ),
    "stateful_set_max_unavailable": ("A rolling update of a StatefulSet stops up to `maxUnavailable` Pods at once.",),
}
# Changes of what no recording has, nor the e2e tests of simulations: admission, and what comes after a verdict.
NOT_COMPARED = frozenset(
    {
        *("affinity_keys_merge", "topology_labels", "breaks_ties_by_heap", "nominates_before_binding"),
        "spares_ending_victims",
    }
)
FIRST_LISTED = 30  # of the minor versions: what older ones do is not compared with Kubernetes
LINE_WIDTH = 125
HEAD = """\
The minor version is that of the live cluster, of the dump, of the newest kubelet in a file of kubectl, or of
`--kubernetes-version`. evenkeel knows 1.{oldest} to 1.{newest}. It judges a newer version as the newest that it
knows, with a note.
"""
PRE_RELEASED = """\
The newest is {pre_release}: later pre-releases of 1.{minor} may differ.
"""


def compared() -> str:
    """The number of recorded cases of each version, and what each kind of them compares."""
    kinds = (f"* **{name}**: {inspect.cleandoc(mode.__doc__ or '')}" for name, mode in MODES.items())
    pre_release = PRE_RELEASED.format(minor=NEWEST + 1, pre_release=PRE_RELEASE) if PRE_RELEASE else ""
    head = HEAD.format(oldest=OLDEST, newest=NEWEST) + pre_release
    return "\n".join((head, _table(), *kinds, ""))


def changed() -> str:
    """What each version changes."""
    return "\n".join(_changed())


def _table() -> str:
    return markdown_table(("minor", *MODES), _counted())


def _counted() -> Iterator[tuple[str, ...]]:
    """Each version that has recorded cases, with their number of each kind."""
    for minor in range(FIRST_LISTED, NEWEST + 1 + bool(PRE_RELEASE)):
        counted = [sum(map(cases, DATA.glob(f"1.{minor}/{mode.RECORDED}"))) for mode in MODES.values()]
        name = f"1.{minor}" if minor <= NEWEST else f"{PRE_RELEASE} (pre-release)"
        if any(counted):
            yield name, *(str(count or "") for count in counted)


def _changed() -> Iterator[str]:
    """Each version with what it changes; the last is the one to come."""
    for minor in range(FIRST_LISTED, NEWEST + 2):
        if found := changes(minor):
            yield from (f"### 1.{minor}", "", *map(_bullet, found), "")


def _bullet(text: str) -> str:
    return textwrap.fill(f"* {text}", LINE_WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def cases(path: Path) -> int:
    """The number of cases that were recorded."""
    return len(gzip.decompress(path.read_bytes()).splitlines())


def changes(minor: int) -> list[str]:
    """What a minor version does otherwise than the one before."""
    before, now = features(minor - 1), features(minor)
    turned = [name for name in CHANGES if getattr(before, name) != getattr(now, name)]
    words = (
        f"{CHANGES[name][0 if getattr(now, name) else 1]}{' *(not compared)*' if name in NOT_COMPARED else ''}"
        for name in turned
    )
    return [*dict.fromkeys(words)]
