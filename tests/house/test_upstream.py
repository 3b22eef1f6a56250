"""What mirrors Kubernetes names the function that it mirrors; what does not is listed here."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support import ROOT

FORM = re.compile(r"upstream: [a-z_]+\.go:[A-Za-z]+(\.[A-Za-z]+)? \(v1\.37\)")
OURS = """
constraint.Reading.topology_keys constraint.Reading.words nodes.Nodes.closed_to_some nodes.Nodes.common_label_keys
nodes.Nodes.integers nodes.Nodes.number_of_domains nodes.Nodes.replaced_by nodes.integer
constraint.read_constraints constraint.read_selector constraint.same
constraint.Reading.merges constraint.Reading.parsed
constraint.Reading.unmerged counts.in_order counts.label_set counts.NodeUsage.add
counts.NodeUsage.by_node counts.NodeUsage.remove counts.PodCounts.add counts.PodCounts.groups
counts.PodCounts.remove filtering.DomainCounts.match_num filtering.DomainCounts.refused
filtering.DomainCounts.skew filtering.Verdicts.reasons incoming.places_quickly incoming.pod_of
incoming.read_incoming_pod nodes.Nodes.by_taints nodes.Nodes.carrying nodes.Nodes.domains
nodes.Nodes.get nodes.Nodes.label_keys nodes.Nodes.members nodes.Nodes.named nodes.Nodes.names
nodes.Nodes.placed domains.reach domains.Reach.eligible domains.Reach.usable domains.is_confined
domains.leaves_one_domain affinity.NodeTerm.values affinity.RequiredNodeAffinity.values
nodes.Nodes.tolerated nodes.Nodes.unschedulable nodes.Nodes.untolerated nodes.read_taints
nodes.union features.features features.parse_version features.unknown
selectors.as_label_selector selectors.equals selectors.selecting selectors.LabelSelector.keys
selectors.Requirement.implies selectors.Requirement.match selectors.Selector.implies
selectors.Selector.keys selectors.Selector.match capacity.bound
profile.feasible_nodes profile.usable_nodes profile.Profile.heeds
resources.with_default_requests scoring.domain_of scoring.number_of_domains scoring.rounded
snapshot.by_rarest_label snapshot.from_objects snapshot.read_object snapshot.Service.selects
snapshot.Snapshot.controller snapshot.Snapshot.with_controller snapshot.Snapshot.with_namespace
validation.errors_in validation.in_one_line validation.on_stored_pod validation.shown_path
"""


def functions(body, prefix):
    """Every function and method, by its dotted name."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{prefix}.{node.name}")
        elif isinstance(node, ast.FunctionDef):
            yield f"{prefix}.{node.name}", (ast.get_docstring(node) or "").partition("\n")[0]


FIRST_LINES = {
    name: line
    for file in sorted((ROOT / "webhook" / "scheduler").glob("*.py"))
    for name, line in functions(ast.parse(file.read_text("utf-8")).body, file.stem)
}
MIRRORED = {name for name, line in FIRST_LINES.items() if FORM.fullmatch(line)}
PUBLIC = {name for name in FIRST_LINES if not any(part.startswith("_") for part in name.split("."))}


def test_every_public_function_mirrors_one_of_upstream_or_is_ours():
    assert PUBLIC - MIRRORED == set(OURS.split())


@pytest.mark.parametrize("name", sorted(FIRST_LINES))
def test_upstream_is_named_in_one_form(name):
    assert "upstream: " not in FIRST_LINES[name] or name in MIRRORED
