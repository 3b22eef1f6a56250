"""What mirrors Kubernetes names its function there, as the last line of the docstring; what does not is listed here."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support import ROOT

FORM = re.compile(r"upstream: [a-z_]+\.go:[A-Za-z_]+(\.[A-Za-z]+)? \(v1\.37\)")
OURS = """\
affinity.NodeTerm.values affinity.RequiredNodeAffinity.values affinity.has_pod_affinity
attached_volumes.AttachedVolumes.add attached_volumes.AttachedVolumes.copy attached_volumes.AttachedVolumes.room
capacity.bound configuration.checked configuration.names_in configuration.profiles_of
configured_profiles.parse_profiles configured_profiles.read_profiles constraint.Reading.merges
constraint.Reading.parsed constraint.Reading.topology_keys constraint.Reading.unmerged constraint.Reading.words
constraint.read_constraints constraint.read_selector constraint.same counts.BoundPod.info counts.BoundPod.prioritized
counts.Demands.add counts.Demands.terminating counts.NodeUsage.add counts.NodeUsage.by_node counts.NodeUsage.remove
counts.PodCounts.add counts.PodCounts.groups counts.PodCounts.remove counts.PodInfo.reach counts.in_order
counts.label_set domain_counts.DomainCounts.add domain_counts.DomainCounts.copy
domain_counts.DomainCounts.largest_skew domain_counts.DomainCounts.match_num
domain_counts.DomainCounts.nodes_by_number domain_counts.DomainCounts.refused domain_counts.DomainCounts.refused_nodes
domain_counts.DomainCounts.selects domain_counts.DomainCounts.skew domain_counts.counted_by domains.Reach.affine
domains.Reach.cordoned domains.Reach.open domains.Reach.tolerated domains.Reach.untolerated domains.Reach.usable
domains.is_confined domains.leaves_one_domain features.features features.parse_version features.unknown
filtering.HardConstraints.copy filtering.HardConstraints.of filtering.HardConstraints.passing
filtering.Verdicts.reasons filtering.count_each filtering.count_soft framework.DryRun.give framework.DryRun.passes
framework.Feasibility.resolvable framework.Framework.add_pods framework.Framework.best framework.Framework.copy
framework.Framework.feasible framework.Framework.for_volumes framework.Framework.heeding
framework.Framework.heeds_room_alone framework.Framework.kept_off framework.Framework.nominated_on
framework.Framework.not_skipped framework.Framework.plugin framework.Framework.searched
framework.Framework.set_storage framework.Framework.set_usage framework.Framework.spread framework.Framework.try_pods
framework.Framework.try_usage framework.Framework.usable framework.Framework.usage_of framework.feasible_nodes
framework.find_feasible framework.nominated_for framework.usable_nodes images.ImageNumbers.change
images.ImageNumbers.forget images.ImageNumbers.groups images.ImageNumbers.happen images.ImageNumbers.look
images.read_node_images in_tree_volumes.driver_of incoming.places_quickly incoming.pod_of incoming.read_incoming_pod
inter_pod_affinity.InterPodAffinity.add_pods inter_pod_affinity.InterPodAffinity.copy
inter_pod_affinity.InterPodAffinity.heeds inter_pod_affinity.InterPodAffinity.kept_off
inter_pod_affinity.InterPodAffinity.skipped node_ports.NodePorts.add_pods node_ports.NodePorts.copy
node_ports.NodePorts.heeds node_ports.NodePorts.kept_off node_ports.NodePorts.skipped
node_resources_fit.NodeResourcesFit.copy node_resources_fit.NodeResourcesFit.follow_usage
node_resources_fit.NodeResourcesFit.passing node_resources_fit.NodeResourcesFit.try_usage
node_volume_limits.NodeVolumeLimits.add_pods node_volume_limits.NodeVolumeLimits.copy
node_volume_limits.NodeVolumeLimits.heeds node_volume_limits.NodeVolumeLimits.of
node_volume_limits.NodeVolumeLimits.set_storage node_volume_limits.NodeVolumeLimits.skipped nodes.Nodes.by_allocatable
nodes.Nodes.by_taints nodes.Nodes.carrying nodes.Nodes.closed_to_some nodes.Nodes.common_label_keys
nodes.Nodes.domains nodes.Nodes.get nodes.Nodes.grouped nodes.Nodes.integers nodes.Nodes.label_keys
nodes.Nodes.members nodes.Nodes.named nodes.Nodes.named_one nodes.Nodes.names nodes.Nodes.number_of_domains
nodes.Nodes.placed nodes.Nodes.replaced_by nodes.Nodes.tolerated nodes.Nodes.unschedulable nodes.Nodes.untolerated
nodes.another nodes.integer nodes.positions nodes.union nodes_by_usage.ChangingUsage.change
nodes_by_usage.ChangingUsage.changed_since nodes_by_usage.ChangingUsage.copy nodes_by_usage.ChangingUsage.grouped
nodes_by_usage.ChangingUsage.set nodes_by_usage.NodesByUsage.catch_up nodes_by_usage.NodesByUsage.copy
nodes_by_usage.NodesByUsage.look_at nodes_by_usage.NodesByUsage.try_usage plugin.Plugin.add_pods plugin.Plugin.copy
plugin.Plugin.follow_usage plugin.Plugin.heeds plugin.Plugin.kept_off plugin.Plugin.of plugin.Plugin.passing
plugin.Plugin.pre_filter plugin.Plugin.refusals plugin.Plugin.score_usage plugin.Plugin.scores
plugin.Plugin.set_storage plugin.Plugin.skipped plugin.Plugin.try_pods plugin.Plugin.try_usage
pod_affinity.PodAffinity.namespaces pod_affinity.PodAffinity.terms pod_affinity.preferring
pod_topology_spread.PodTopologySpread.add_pods pod_topology_spread.PodTopologySpread.copy
pod_topology_spread.PodTopologySpread.hard pod_topology_spread.PodTopologySpread.heeds
pod_topology_spread.PodTopologySpread.passing pod_topology_spread.PodTopologySpread.skipped
pod_topology_spread.PodTopologySpread.soft pod_topology_spread.PodTopologySpread.verdicts preemption.Alike.priority
preemption.Alike.started preemption.Preemption.clears_nomination preemption.Preemption.helps
preemption.Preemption.outcomes preemption.Victims.number profile.Cycle.claims profile.Cycle.is_selected_by
profile.Cycle.mounts profile.Cycle.of_devices profile.Cycle.reach profile.Cycle.requests profile.Cycle.storage
profile.Profile.heeds resources.with_default_requests scoring.SoftConstraints.copy scoring.domain_counting_unlabelled
scoring.number_of_domains_counting_unlabelled scoring.rounded selectors.LabelSelector.keys
selectors.Requirement.implies selectors.Requirement.match selectors.Selector.implies selectors.Selector.keys
selectors.Selector.match selectors.as_label_selector selectors.equals selectors.selecting snapshot.Service.selects
snapshot.Snapshot.attached_volumes snapshot.Snapshot.controller snapshot.Snapshot.pods_of
snapshot.Snapshot.with_controller snapshot.Snapshot.with_namespace snapshot.by_rarest_label snapshot.from_objects
snapshot.in_words snapshot.read_object snapshot_changes.ObjectChange.undone snapshot_changes.changed
snapshot_changes.put snapshot_changes.read_kept snapshot_changes.without_missing snapshot_changes.without_pod
storage.CSINode.is_limited storage.CSINode.limit storage.CSINode.topology_keys storage.Claim.selector_labels
storage.PersistentVolume.translated storage.PersistentVolumes.candidates storage.PersistentVolumes.plus
storage.Storage.claim storage.Storage.judged storage.Storage.lacking storage.Storage.names_cloud_disk
storage.Storage.replaced storage.Storage.with_claims storage.Storage.with_csi_nodes storage.Storage.with_volumes
storage.StorageClass.makes_volumes storage.StorageClass.waits storage_objects.StorageReader.add
storage_objects.StorageReader.storage storage_objects.read_claim storage_objects.read_storage_object
taints.read_taints topology_counts.TopologyCounts.add topology_counts.TopologyCounts.copy
topology_counts.TopologyCounts.keys topology_counts.TopologyCounts.nodes_by_weight
topology_counts.TopologyCounts.reached validation.errors_in validation.in_one_line validation.on_stored_pod
validation.shown_path volume_binding.VolumeBinding.bindings volume_binding.VolumeBinding.of
volume_restrictions.VolumeRestrictions.add_pods volume_restrictions.VolumeRestrictions.copy
volume_restrictions.VolumeRestrictions.heeds volume_restrictions.VolumeRestrictions.of
volume_restrictions.VolumeRestrictions.skipped volume_restrictions.not_found volume_zone.VolumeZone.of
volumes.Mounts.claims volumes.Mounts.disks volumes.Mounts.shared_claims volumes.Mounts.shares volumes.has_volumes
"""


def functions(body, prefix):
    """Every function and method, by its dotted name."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{prefix}.{node.name}")
        elif isinstance(node, ast.FunctionDef):
            yield f"{prefix}.{node.name}", (ast.get_docstring(node) or "").rpartition("\n")[2]


LAST_LINES = {
    name: line
    for file in sorted((ROOT / "webhook" / "scheduler").rglob("*.py"))
    for name, line in functions(ast.parse(file.read_text("utf-8")).body, file.stem)
}
MIRRORED = {name for name, line in LAST_LINES.items() if FORM.fullmatch(line)}
PUBLIC = {name for name in LAST_LINES if not any(part.startswith("_") for part in name.split("."))}


def test_every_public_function_mirrors_one_of_upstream_or_is_ours():
    assert PUBLIC - MIRRORED == set(OURS.split())


@pytest.mark.parametrize("name", sorted(LAST_LINES))
def test_upstream_is_named_in_one_form(name):
    assert "upstream: " not in LAST_LINES[name] or name in MIRRORED
