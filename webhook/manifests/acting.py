"""Which checks act in which part of a policy: the policy itself is part 0, its overrides are those from 1 on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from webhook.findings.evaluation import depth
from webhook.findings.finding import TOLD, Severity
from webhook.manifests.cel import literal
from webhook.manifests.check import KEYS, CelCheck, CelObject
from webhook.manifests.kinds import judged_kinds
from webhook.manifests.policies import CHECKS
from webhook.objects.kinds import Kind
from webhook.policy.policy import AUDIT, DENY, WARN, InForce, Policy
from webhook.rules import RULES
from webhook.scheduler.features import Features

OF_OLD = "_before"  # ends the names of the variables of the old object
PartNumbers = frozenset[int]


@dataclass(frozen=True)
class Export:
    """
    A policy that is to be written in CEL, and for which Kubernetes; nothing is judged in the namespaces `excluded`.
    """

    policy: Policy
    features: Features
    excluded: Sequence[str] = ()

    @cached_property
    def kinds(self) -> Sequence[Kind]:
        """The kinds whose objects are judged."""
        return judged_kinds(self.policy)

    @property
    def parts(self) -> Sequence[InForce]:
        return self.policy.in_force_by_part

    def parts_where(self, holds: Callable[[InForce], bool]) -> PartNumbers:
        """Return the parts of the policy of which this holds."""
        return PartNumbers(number for number, part in enumerate(self.parts) if holds(part))

    def enforcing(self, rule: str) -> PartNumbers:
        """Return the parts in which a rule is enforced, so that no annotation and no owner silences it."""
        return self.parts_where(lambda part: part.settings[rule].enforced)

    def acting_in(self, rule: str, action: str) -> PartNumbers:
        """Return the parts in which an action comes of what a rule finds in a new object."""
        return self.parts_where(lambda part: action_of(part, rule) == action)

    def within(self, parts: PartNumbers, suffix: str = "") -> str:
        """Return CEL for: one of these parts is in force for the object."""
        if len(parts) == len(self.parts):
            return "true"
        return f"variables.part{suffix} in {literal(sorted(parts))}" if parts else "false"


class Acting(NamedTuple):
    """
    A check that acts in `parts`; `variable` names the list of its items, and `before` is CEL for the items of the old
    object.

    In those of the parts that are `excusing`, only what the policy that denies excuses is told.
    """

    rule: str
    variable: str
    check: CelCheck
    before: str
    parts: PartNumbers
    excusing: PartNumbers


def acting_checks(export: Export, action: str) -> tuple[Acting, ...]:
    """Return the checks that act in the policy for an action, in the order in which the webhook tells of them."""
    acting: list[Acting] = []
    for rule, checks in CHECKS.items():
        parts = export.acting_in(rule, action)
        excusing = export.acting_in(rule, DENY) if action == WARN else PartNumbers()
        if not parts | excusing:
            continue
        parameters = [part.settings[rule].parameters for part in export.parts]
        now, before = (checks(CelObject(rule, end, parameters, export.kinds, export.features)) for end in ("", OF_OLD))
        for number, (check, old) in enumerate(zip(now, before, strict=True)):
            variable = rule.replace("-", "_") + (f"_{number}" if number else "")
            acting.append(Acting(rule, variable, check, old.items, parts | excusing, excusing))
    return tuple(sorted(acting, key=_order))


def _order(acting: Acting) -> tuple[bool, str, int, str]:
    return not acting.check.whole, acting.check.field, depth(acting.rule), acting.rule


def silencing(export: Export, acting: Acting, others: Sequence[Acting]) -> dict[str, PartNumbers]:
    """
    Return the variables of the checks on the same field that silence this one, with the parts in which they do.

    See findings.evaluation.one_per_field.
    """
    silenced = dict[str, PartNumbers]()
    for other in others:
        parts = _graver(export, other.rule, acting.rule) & other.parts & acting.parts
        if parts and other.rule != acting.rule and _is_on_field(other, acting.check):
            silenced[other.variable] = parts
    return silenced


def _is_on_field(other: Acting, check: CelCheck) -> bool:
    """Return whether another check is on the same field, or the API server rejects what is deeper in it."""
    if other.check.whole != check.whole or check.whole:
        return other.check.whole and check.whole
    rejected = RULES[other.rule].rejected_by_api_server and other.check.field.startswith(check.field)
    return check.field != KEYS and (other.check.field == check.field or rejected)  # KEYS are several fields


def _graver(export: Export, rule: str, other: str) -> PartNumbers:
    """Return the parts in which a rule silences another one on the same field."""
    rejected, kept = (RULES[each].rejected_by_api_server for each in (rule, other))
    if rejected or kept:
        return PartNumbers() if kept else export.parts_where(lambda part: _rejects(part, rule, other))
    return export.parts_where(lambda part: _silences(part, rule, other))


def _rejects(part: InForce, rule: str, other: str) -> bool:
    """Return whether what the API server rejects silences another finding: one that is not enforced, nor graver."""
    rejected, silenced = part.settings[rule], part.settings[other]
    return not silenced.enforced and rejected.severity.rank <= silenced.severity.rank


def _silences(part: InForce, rule: str, other: str) -> bool:
    enforced, silenced = part.settings[rule].enforced, part.settings[other].enforced
    return (enforced or not silenced) and _gravity(part, rule) < _gravity(part, other)


def _gravity(part: InForce, rule: str) -> tuple[int, bool, int, str]:
    setting = part.settings[rule]
    return setting.severity.rank, not setting.enforced, depth(rule), rule


def action_of(part: InForce, rule: str) -> str:
    """Return which action comes of what a rule finds in a new object, "" if none."""
    severity = part.settings[rule].severity
    if severity not in TOLD:
        return ""
    return part.enforcement if severity is Severity.ERROR or part.enforcement == AUDIT else WARN
