"""Counts, filter and scores of the plugin PodTopologySpread, by node, in a small cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenkeel.scheduler.incoming import IncomingPod, read_incoming_pod
from evenkeel.scheduler.plugins.plugin import Reason
from evenkeel.scheduler.plugins.pod_topology_spread import UNLABELLED
from evenkeel.scheduler.snapshot import Snapshot, from_objects
from evenkeel.scheduler.spread_score import Scores
from tests.conformance.cases import CONSTRAINTS, Difference, IllFormed, compared, objects
from tests.conformance.defaults import in_force
from tests.support.placement import by_node, filter_nodes, match_nums, score_nodes, worth
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_mapping, path_text, value_at
from webhook.kubernetes.reader import Reader
from webhook.spread.cluster_view import SnapshotError
from webhook.spread.default_constraints import SYSTEM

RECORDED = "placement.jsonl.gz"
PLACED = (
    *("nodes", "pods", "namespaces", "persistentVolumes", "persistentVolumeClaims", "storageClasses"),
    *("csiNodes", "csiDrivers", "csiStorageCapacities", "volumeAttachments", "waiting", "podDisruptionBudgets"),
)
SUCCESS, SKIP = "Success", "Skip"


def differences(case: Mapping[str, object], features: Features) -> Iterator[Difference]:
    """Candidates for a score are the nodes that pass the filter; none are scored where no constraint is soft."""
    pod, constraints = read_pod(case, features), in_force(case, features)[1]
    snapshot = read_snapshot(case, features)
    verdicts = filter_nodes(pod, constraints, snapshot, features)
    hard, soft = ([one for one in constraints if one.hard], [one for one in constraints if one.soft])
    candidates, scores = verdicts.passing, Scores((), 0)
    if soft or not features.skips_unconstrained:
        scores = score_nodes(pod, constraints, snapshot, candidates, features, system_defaults=system_defaults(case))
    reasons = by_node(snapshot, verdicts)
    raw, normalized = worth(snapshot, scores)

    yield from compared(case, "preFilter", _status(hard, features))
    yield from compared(case, "domainCounts", [match_nums(domains) for domains in verdicts.domains])
    yield from compared(case, "filter", {node.name: _filter(reasons.get(node.name)) for node in snapshot.nodes})
    yield from compared(case, "filterReason", {name: reason.text for name, reason in reasons.items()})
    yield from compared(case, "preScore", _status(soft if len(snapshot.nodes) else [], features))
    yield from compared(case, "rawScore", raw)
    yield from compared(case, "score", normalized)


def _status(constraints: list[object], features: Features) -> str:
    return SUCCESS if constraints or not features.skips_unconstrained else SKIP


def _filter(reason: Reason | None) -> str:
    if reason is None:
        return SUCCESS
    return "UnschedulableAndUnresolvable" if reason is UNLABELLED else "Unschedulable"


def system_defaults(case: Mapping[str, object]) -> bool:
    """Whether the Pod is placed by the scheduler's own defaults."""
    own = value_at(case["pod"], CONSTRAINTS)
    return not own and as_mapping(case.get("config")).get("defaultingType") == SYSTEM


def read_pod(case: Mapping[str, object], features: Features) -> IncomingPod:
    """The Pod that is to be placed."""
    reader = Reader()
    pod = read_incoming_pod(reader, as_mapping(case["pod"]), features)
    if reader.errors:
        raise IllFormed(f"pod: {path_text(reader.errors[0].path)}: {reader.errors[0].detail}")
    return pod


def read_snapshot(case: Mapping[str, object], features: Features) -> Snapshot:
    """The nodes, the Pods that run on them, and the namespaces of those."""
    try:
        there = (one for name in PLACED for one in objects(case.get(name), name))
        return from_objects(there, features)
    except SnapshotError as error:
        raise IllFormed(str(error)) from error
