"""unlabelled-nodes: nodes that the Pod could use if they carried the key."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import UNLABELLED_NODES, Nature, Need, Subject, rule
from webhook.findings.wording import some
from webhook.spread.constraint import HARD


@rule(
    title="nodes that would take the Pod lack the topologyKey of a hard constraint",
    severity=Severity.INFO,
    fix="label these nodes",
    where=(HARD, UNLABELLED_NODES, Need.LABELS, Need.POD_SPEC, Need.NODES, Nature.ADVICE),
    yields_to=("unknown-topology-key",),
    bad="whenUnsatisfiable: DoNotSchedule",
    good="whenUnsatisfiable: ScheduleAnyway",
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n3, labels: {kubernetes.io/hostname: n3}}
    """,
)
def unlabelled_nodes(subject: Subject) -> Iterator[Cause]:
    """
    A hard constraint keeps its Pods off every node that lacks the key. The rule names nodes that pass the Pod's node
    affinity and tolerations.
    """
    if subject.workload.pinned:
        return
    usable = subject.reach.usable
    for constraint in subject.hard:
        lacking = usable & ~subject.nodes.carrying(constraint.topology_key)
        if lacking and not subject.may_carry(constraint.topology_key):
            lack, pronoun = ("lacks", "it") if lacking.bit_count() == 1 else ("lack", "them")
            of_all = f"{lacking.bit_count()} of {usable.bit_count()} nodes"
            message = f"{of_all} that would take the Pod {lack} this label, so no such Pod runs on {pronoun}"
            path, names = subject.at(constraint, "topologyKey"), some(subject.nodes.names(lacking))
            fix = f"label {names} with {constraint.topology_key}"
            yield Cause(path, message, f"without it: {names}", "a label that all these nodes have", fix=fix)
