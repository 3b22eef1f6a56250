"""deprecated-topology-key: a key that another one has replaced."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import Subject, rule
from webhook.kubernetes.likeness import REPLACED
from webhook.kubernetes.reader import brief


@rule(
    title="topologyKey is deprecated",
    severity=Severity.WARNING,
    fix="use the key that has replaced it",
    bad="topologyKey: failure-domain.beta.kubernetes.io/zone",
    good="topologyKey: topology.kubernetes.io/zone",
)
def deprecated_topology_key(subject: Subject) -> Iterator[Cause]:
    """
    Kubernetes 1.14 and 1.17 replaced the keys that contain `beta.kubernetes.io`. Cloud providers still give some of
    them to nodes, but other nodes have only the new key. The rule does not report a key that a node of the cluster has.
    """
    carried, repairs = subject.nodes.label_keys, Repairs(subject)
    for constraint in subject.constraints:
        key = constraint.topology_key
        if key in REPLACED and key not in carried:
            path, (fix, edit) = subject.at(constraint, "topologyKey"), repairs.of_key(constraint)
            message = f"is deprecated: {REPLACED[key]} has replaced it"
            yield Cause(path, message, brief(key), REPLACED[key], fix=fix, edit=edit, said_by_api_server=True)
