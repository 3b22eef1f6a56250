"""A finding with what becomes of it, and what can be said where it is not known which override applies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.findings.finding import Finding, Severity
from webhook.findings.wording import some
from webhook.objects.fields import FieldPath
from webhook.policy.policy import AUDIT, DENY, WARN

HOW_TO_KNOW = "give --namespace-labels, --cluster, or a Namespace in the input"


class Judged(NamedTuple):
    """A finding, and whether it denies, under the enforcement for it; if `audited`, it goes only to the audit log."""

    finding: Finding
    certain: bool
    audited: bool
    old: bool
    enforcement: str

    @property
    def would_deny(self) -> bool:
        """Whether it denies if the enforcement is Deny."""
        grave = self.finding.severity is Severity.ERROR
        return grave and not self.old and self.certain and not self.audited

    @property
    def denies(self) -> bool:
        return self.enforcement == DENY and self.would_deny

    @property
    def warns(self) -> bool:
        grave = self.finding.severity in (Severity.ERROR, Severity.WARNING)
        return grave and not (self.audited or self.denies or self.finding.said_by_api_server) and not self.silent

    @property
    def silent(self) -> bool:
        return self.enforcement == AUDIT


Place = tuple[str, FieldPath]


def agreed(possible: Mapping[str, Sequence[Judged]]) -> tuple[list[Judged], bool]:
    """
    The findings under each override that may apply, by its name, as the findings of one; and whether these differ.

    One that not all of them make, or make as grave, says so, and is at most a warning, unless each would deny the
    object.  Nothing denies where any of them does not.
    """
    by_place: dict[Place, dict[str, list[Judged]]] = {}
    for name, judged in possible.items():
        for each in judged:
            by_place.setdefault((each.finding.rule, each.finding.path), {}).setdefault(name, []).append(each)
    hopeless = all(any(each.would_deny for each in judged) for judged in possible.values())
    denied = all(any(each.denies for each in judged) for judged in possible.values())
    found, differ = list[Judged](), False
    for place in by_place.values():
        gravest = min(each.finding.severity.rank for judged in place.values() for each in judged)
        there = {
            name: judged for name, judged in place.items() if gravest in (each.finding.severity.rank for each in judged)
        }
        chosen = (max if denied else min)(there.values(), key=lambda judged: [each.denies for each in judged])
        if len(there) < len(possible):
            differ, chosen = True, [*_in_doubt(chosen, there, possible, hopeless)]
        found += chosen if denied else [each._replace(enforcement=_mild(each.enforcement)) for each in chosen]
    return sorted(found, key=lambda each: each.finding.path), differ


def _mild(enforcement: str) -> str:
    return WARN if enforcement == DENY else enforcement


def _in_doubt(
    judged: Sequence[Judged], there: Collection[str], possible: Collection[str], hopeless: bool
) -> Iterator[Judged]:
    """Findings that are so grave only under the overrides `there`; "" is what applies if none of the possible does."""
    names = [name for name in possible if (name in there) != ("" in there)]
    which = f"override {some(names)} applies" if len(names) == 1 else f"one of the overrides {some(names)} applies"
    for each in judged:
        severity = each.finding.severity
        message = f"{each.finding.message} ({severity} {'unless' if '' in there else 'if'} {which})"
        if not hopeless and severity is Severity.ERROR:
            severity = Severity.WARNING
        yield each._replace(finding=each.finding._replace(message=message, severity=severity))
