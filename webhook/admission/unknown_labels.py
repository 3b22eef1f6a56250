"""What can be said of an object where the labels of its namespace, by which overrides apply, are not known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from webhook.admission.ownership import JudgedFinding
from webhook.findings.finding import Severity
from webhook.findings.wording import some
from webhook.kubernetes.fields import FieldPath

HOW_TO_KNOW = "give --namespace-labels, --cluster, or a Namespace in the input"
Place = tuple[str, FieldPath]


def agreed(possible: Mapping[str, Sequence[JudgedFinding]]) -> tuple[list[JudgedFinding], bool]:
    """
    Return the findings that hold whichever override applies, and whether their outcome depends on the override.

    `possible` has the findings under each override that may apply, by its name.  A finding that is graver under some
    of them says so.  It is at most a warning, unless each would deny the object, and none denies unless each does.
    """
    would_be_denied = all(any(each.would_deny for each in judged) for judged in possible.values())
    denied = all(any(each.denies for each in judged) for judged in possible.values())
    by_place: dict[Place, dict[str, list[JudgedFinding]]] = {}
    for name, judged in possible.items():
        for each in judged:
            by_place.setdefault((each.finding.rule, each.finding.path), {}).setdefault(name, []).append(each)
    agreed_on, differ = list[JudgedFinding](), False
    for place in by_place.values():
        gravities = {name: min(map(_gravity, judged)) for name, judged in place.items()}
        gravity = min(gravities.values())
        gravest = {name: place[name] for name in sorted(place, key=bool) if gravities[name] == gravity}  # "" first
        loudest = max(gravest.values(), key=lambda judged: [each.warns for each in judged])
        differ |= len({(*(each.warns for each in judged),) for judged in place.values()}) > 1
        if len(gravest) < len(possible):
            ranks = {rank for rank, _ in gravities.values()}
            as_grave = len(place) == len(possible) and len(ranks) == 1
            in_doubt = _in_doubt(loudest, _which(gravest, possible), as_grave, would_be_denied)
            differ, loudest = True, [*in_doubt]
        agreed_on += loudest if denied else [each._replace(denies=False) for each in loudest]
    return sorted(agreed_on, key=lambda each: each.finding.path), differ


def _gravity(judged: JudgedFinding) -> tuple[int, bool]:
    return judged.finding.severity.rank, not judged.denies


def _which(gravest: Collection[str], possible: Collection[str]) -> str:
    """Return under which overrides a finding is gravest; "" is the policy where none of the possible applies."""
    names = [name for name in possible if (name in gravest) != ("" in gravest)]
    which = f"override {some(names)} applies" if len(names) == 1 else f"one of the overrides {some(names)} applies"
    return f"{'unless' if '' in gravest else 'if'} {which}"


def _in_doubt(
    judged: Sequence[JudgedFinding], which: str, as_grave: bool, would_be_denied: bool
) -> Iterator[JudgedFinding]:
    """Yield findings that are so grave only under some overrides, or if `as_grave`, that deny only under some."""
    keeps_severity = as_grave or would_be_denied
    for each in judged:
        message, severity = each.finding.message, each.finding.severity
        finding = each.finding._replace(message=f"{message} ({'denied' if as_grave else severity} {which})")
        if severity is Severity.ERROR and not keeps_severity:
            finding = finding._replace(severity=Severity.WARNING)
        yield each._replace(finding=finding, would_deny=each.would_deny and keeps_severity)
