"""forbidden-topology-key: a key that a platform team does not allow."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import TOPOLOGY_KEY, Subject, rule
from webhook.kubernetes.reader import brief


@rule(
    title="topologyKey is one that the policy forbids",
    severity=Severity.IGNORE,
    fix="use a key that the policy allows",
    yields_to=("deprecated-topology-key", "misspelt-topology-key"),
    parameters={
        "properties": {
            "topologyKeys": {
                "type": "array",
                "items": TOPOLOGY_KEY,
                "default": [],
                "description": "the keys that are forbidden",
            },
            "allowedTopologyKeys": {
                "type": "array",
                "items": TOPOLOGY_KEY,
                "default": [],
                "description": "if not empty, every other key is forbidden",
            },
        },
        "anyOf": [{"required": ["topologyKeys"]}, {"required": ["allowedTopologyKeys"]}],
        "examples": [{"topologyKeys": ["rack"]}],
    },
    cel="""
    variables.constraints.all(c, !(c.topologyKey in parameters.topologyKeys)
      && (parameters.allowedTopologyKeys.size() == 0 || c.topologyKey in parameters.allowedTopologyKeys))
    """,
    bad="topologyKey: rack",
    good="topologyKey: topology.kubernetes.io/zone",
)
def forbidden_topology_key(subject: Subject) -> Iterator[Cause]:
    """
    Nodes have this label, but Pods should not be spread by it: it will be removed, or nodes that share it do not fail
    together.
    """
    forbidden, allowed = subject.keys("topologyKeys"), subject.keys("allowedTopologyKeys")
    repairs = Repairs(subject)
    for constraint in subject.constraints:
        key = constraint.topology_key
        if key in forbidden or (allowed and key not in allowed):
            keys = ", ".join(sorted(allowed or forbidden))
            wanted = f"one of {keys}" if allowed else f"a key other than {keys}"
            message = f"the policy does not allow {brief(key)}"
            fix = repairs.of_forbidden_key(constraint) if allowed else f"use {wanted}"
            yield Cause(subject.at(constraint, "topologyKey"), message, brief(key), wanted, fix=fix)
