"""excessive-max-skew: a maxSkew larger than a platform team allows."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import LARGEST_NUMBER, TOPOLOGY_KEY, Subject, rule


@rule(
    title="maxSkew is larger than the policy allows",
    severity=Severity.IGNORE,
    fix="lower maxSkew",
    parameters={
        "properties": {
            "maxSkew": {
                "type": "integer",
                "minimum": 1,
                "maximum": LARGEST_NUMBER,
                "description": "the largest maxSkew that is allowed",
            },
            "topologyKeys": {
                "type": "array",
                "items": TOPOLOGY_KEY,
                "default": [],
                "description": "the keys that the rule applies to; empty: all",
            },
        },
        "required": ["maxSkew"],
        "examples": [{"maxSkew": 5}],
    },
    cel="""
    variables.constraints.all(c, c.maxSkew <= parameters.maxSkew
      || parameters.topologyKeys.size() > 0 && !(c.topologyKey in parameters.topologyKeys))
    """,
    bad="""
    replicas: 20
    maxSkew: 10
    """,
    good="""
    replicas: 20
    maxSkew: 1
    """,
)
def excessive_max_skew(subject: Subject) -> Iterator[Cause]:
    """
    A maxSkew that is never reached spreads nothing, but the workload still passes a check that only asks for a
    constraint.
    """
    most, keys = subject.number("maxSkew"), subject.keys("topologyKeys")
    for constraint in subject.constraints:
        if constraint.max_skew > most and (not keys or constraint.topology_key in keys):
            message = f"must be at most {most}, but is {constraint.max_skew}"
            path, value = subject.at(constraint, "maxSkew"), constraint.max_skew
            yield Cause(path, message, str(value), f"{most} or less", f"write maxSkew: {most}", extents=(value,))
