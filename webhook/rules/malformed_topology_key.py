"""malformed-topology-key: a key that no node can have."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Subject, rule
from webhook.objects.labels import label_key_errors
from webhook.objects.reading import brief


@rule(
    title="topologyKey is no valid label name",
    severity=Severity.ERROR,
    fix="use a label key that nodes can carry, such as topology.kubernetes.io/zone",
    operators_too=True,
    defaults_keep=True,
    bad="""
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology/kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
    """,
    good="""
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
    """,
)
def malformed_topology_key(subject: Subject) -> Iterator[Cause]:
    """
    The API server only checks that the key is not empty.  No node can have a label whose key is not valid: a hard
    constraint leaves every Pod Pending, a soft one does nothing.
    """
    for constraint in subject.constraints:
        if constraint.topology_key and (errors := label_key_errors(constraint.topology_key)):
            wanted = f"a label key: {errors[0].partition(' (e.g.')[0]}"
            key = brief(constraint.topology_key)
            path = subject.at(constraint, "topologyKey")
            yield Cause(path, "must be a valid label key", key, wanted, extent=constraint.hard)
