"""unknown-topology-key: a key that no node carries."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import UNLABELLED_NODES, Nature, Need, Subject, rule
from webhook.kubernetes.reader import brief
from webhook.rules.misspelt_topology_key import effect


@rule(
    title="no node carries the topologyKey",
    severity=Severity.WARNING,
    fix="label the nodes, or use a key that they carry",
    where=(UNLABELLED_NODES, Need.NODES, Nature.ADVICE),
    yields_to=("deprecated-topology-key", "misspelt-topology-key"),
    bad="topologyKey: rack",
    good="topologyKey: topology.kubernetes.io/zone",
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}
    """,
)
def unknown_topology_key(subject: Subject) -> Iterator[Cause]:
    """
    While no node has the key, a hard constraint leaves every Pod Pending, and a soft one has no effect. evenkeel does
    not know the nodes of an empty, autoscaled pool.
    """
    carried, repairs = subject.nodes.label_keys, Repairs(subject)
    for constraint in subject.constraints:
        key = constraint.topology_key
        if key and key not in carried and not subject.may_carry(key):
            usable = repairs.domain_keys(constraint)
            use = f", or use {'one of ' * (len(usable) > 1)}{', '.join(usable)}" if usable else ""
            fix = f"label nodes with {brief(key)}{use}"
            message = f"no node has the label {brief(key, 40)}: {effect(constraint)}"
            yield Cause(subject.at(constraint, "topologyKey"), message, brief(key), "a key that nodes carry", fix=fix)
