"""soft-constraint: whenUnsatisfiable is ScheduleAnyway, and a platform team does not want it."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import TOPOLOGY_KEY, Subject, rule


@rule(
    title="whenUnsatisfiable is ScheduleAnyway, which the policy forbids",
    severity=Severity.IGNORE,
    fix="write whenUnsatisfiable: DoNotSchedule",
    parameters={
        "properties": {
            "topologyKeys": {
                "type": "array",
                "items": TOPOLOGY_KEY,
                "default": [],
                "description": "the keys that the rule applies to; empty: all",
            },
        },
    },
    cel="""
    variables.constraints.all(c, c.whenUnsatisfiable != 'ScheduleAnyway'
      || parameters.topologyKeys.size() > 0 && !(c.topologyKey in parameters.topologyKeys))
    """,
    bad="whenUnsatisfiable: ScheduleAnyway",
    good="whenUnsatisfiable: DoNotSchedule",
)
def soft_constraint(subject: Subject) -> Iterator[Cause]:
    """
    A soft constraint is one of several scores, and others can outweigh it. This is not enough if you have promised an
    availability that depends on the spread.
    """
    keys, repairs = subject.keys("topologyKeys"), Repairs(subject)
    for constraint in subject.constraints:
        if constraint.soft and (not keys or constraint.topology_key in keys):
            path, fix = subject.at(constraint, "whenUnsatisfiable"), repairs.of_mode(constraint)
            yield Cause(path, "must be DoNotSchedule by this cluster's policy", "ScheduleAnyway", "DoNotSchedule", fix)
