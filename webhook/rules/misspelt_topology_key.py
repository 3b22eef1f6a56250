"""misspelt-topology-key: a key that is nearly one that nodes have."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import Subject, rule
from webhook.kubernetes.likeness import likely_meant
from webhook.kubernetes.reader import brief
from webhook.spread.constraint import Constraint


@rule(
    title="topologyKey is nearly a well-known one",
    severity=Severity.WARNING,
    fix="use the well-known key, or label your nodes with the key as it is written",
    yields_to=("malformed-topology-key",),
    bad="topologyKey: kubernetes.io/zone",
    good="topologyKey: topology.kubernetes.io/zone",
)
def misspelt_topology_key(subject: Subject) -> Iterator[Cause]:
    """
    No node has a label with a misspelt key. So a hard constraint leaves every Pod Pending, and a soft one has no
    effect.

    The rule does not report your own keys, such as `rack` or `example.com/zone`, or a key that a node of the cluster
    has.
    """
    carried = subject.snapshot.nodes.label_keys if subject.snapshot is not None else ()
    repairs = Repairs(subject)
    for constraint in subject.constraints:
        key = constraint.topology_key
        if key not in carried and (meant := likely_meant(key)) is not None:
            path, (fix, edit) = subject.at(constraint, "topologyKey"), repairs.of_key(constraint)
            absent = "no node has this label:" if subject.nodes.all else "unless nodes have this label,"
            yield Cause(
                path,
                f"{absent} {effect(constraint)}",
                found=brief(key),
                wanted=meant,
                fix=fix,
                edit=edit,
            )


def effect(constraint: Constraint) -> str:
    """Return what a constraint does while no node has its topology key."""
    return "no Pod can be placed" if constraint.hard else "it spreads nothing"
