"""malformed-topology-key: a key that no node can have."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import Subject, rule
from webhook.kubernetes.labels import QUALIFIED_NAME, SUBDOMAIN, label_key_errors, wanted_instead
from webhook.kubernetes.reader import brief
from webhook.rules.misspelt_topology_key import effect


@rule(
    title="topologyKey is no valid label name",
    severity=Severity.ERROR,
    fix="use a label key that nodes can carry, such as topology.kubernetes.io/zone",
    cel=f"""
    variables.constraints.all(c, c.topologyKey.indexOf('/') <= 253
      && c.topologyKey.size() - c.topologyKey.indexOf('/') <= 64
      && c.topologyKey.matches(r'^({SUBDOMAIN}/)?{QUALIFIED_NAME}$'))
    """,
    bad="topologyKey: topology/kubernetes.io/zone",
    good="topologyKey: topology.kubernetes.io/zone",
)
def malformed_topology_key(subject: Subject) -> Iterator[Cause]:
    """
    The API server checks only that the key is not empty. No node can have a label whose name is not valid. So a
    hard constraint leaves every Pod Pending, and a soft one has no effect.
    """
    repairs = Repairs(subject)
    for constraint in subject.constraints:
        key = constraint.topology_key
        if key and (errors := label_key_errors(key)):
            path, meant = subject.at(constraint, "topologyKey"), repairs.meant_key(key)
            wanted = f"a label key: {wanted_instead(errors[0])}"
            fix, edit = (f"use {wanted}", None) if meant == key else repairs.of_key(constraint)
            message = f"no node can have such a key: {effect(constraint)}"
            yield Cause(path, message, brief(key), wanted, fix, edit)
