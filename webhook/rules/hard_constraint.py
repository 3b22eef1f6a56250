"""hard-constraint: whenUnsatisfiable is DoNotSchedule, and a platform team does not want it."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import TOPOLOGY_KEY, Subject, rule


@rule(
    title="whenUnsatisfiable is DoNotSchedule, which the policy forbids",
    severity=Severity.IGNORE,
    fix="write whenUnsatisfiable: ScheduleAnyway",
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
    variables.constraints.all(c, c.whenUnsatisfiable != 'DoNotSchedule'
      || parameters.topologyKeys.size() > 0 && !(c.topologyKey in parameters.topologyKeys))
    """,
    bad="whenUnsatisfiable: DoNotSchedule",
    good="whenUnsatisfiable: ScheduleAnyway",
)
def hard_constraint(subject: Subject) -> Iterator[Cause]:
    """
    With a hard constraint, Pods stay Pending when a zone is full or lost. A platform team may not want every team to
    decide this.
    """
    keys, repairs = subject.keys("topologyKeys"), Repairs(subject)
    for constraint in subject.constraints:
        if constraint.hard and (not keys or constraint.topology_key in keys):
            path, fix = subject.at(constraint, "whenUnsatisfiable"), repairs.of_mode(constraint)
            yield Cause(path, "must be ScheduleAnyway by this cluster's policy", "DoNotSchedule", "ScheduleAnyway", fix)
