"""What is certain about an object if the labels of its namespace are not known, by which overrides apply."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from webhook.admission.ownership import JudgedFinding
from webhook.findings.finding import Severity
from webhook.findings.wording import some
from webhook.kubernetes.fields import FieldPath

HOW_TO_KNOW = "give --namespace-labels, --cluster, or a Namespace in the input"
Place = tuple[str, FieldPath]  # the rule, and the path


def agreed(possible: Mapping[str, Sequence[JudgedFinding]]) -> tuple[list[JudgedFinding], bool]:
    """
    Return the findings that hold whichever override applies, and whether their outcome depends on the override.

    `possible` has the findings under each override that may apply, by its name, and under "" those of the policy if
    none applies.  A finding that is graver under some of them says so.  Such a finding is at most a warning, unless the
    object would be denied under each.  No finding denies, unless the object is denied under each.
    """
    would_be_denied = all(any(judged.would_deny for judged in findings) for findings in possible.values())
    denied = all(any(judged.denies for judged in findings) for findings in possible.values())
    by_place: dict[Place, dict[str, list[JudgedFinding]]] = {}
    for name, findings in possible.items():
        for judged in findings:
            by_place.setdefault((judged.finding.rule, judged.finding.path), {}).setdefault(name, []).append(judged)
    agreed_on: list[JudgedFinding] = []
    differ = False
    for by_override in by_place.values():
        gravities = {name: min(map(_gravity, findings)) for name, findings in by_override.items()}
        gravity = min(gravities.values())
        names = sorted(by_override, key=bool)  # "" first, so that of equal findings the policy's are taken
        gravest = {name: by_override[name] for name in names if gravities[name] == gravity}
        loudest = max(gravest.values(), key=lambda findings: [judged.warns for judged in findings])
        differ |= len({tuple([judged.warns for judged in findings]) for findings in by_override.values()}) > 1
        if len(gravest) < len(possible):
            ranks = {rank for rank, _ in gravities.values()}
            as_grave = len(by_override) == len(possible) and len(ranks) == 1
            differ = True
            loudest = [*_in_doubt(loudest, _which(gravest, possible), as_grave, would_be_denied)]
        agreed_on += loudest if denied else [judged._replace(denies=False) for judged in loudest]
    return sorted(agreed_on, key=lambda judged: judged.finding.path), differ


def _gravity(judged: JudgedFinding) -> tuple[int, bool]:
    return judged.finding.severity.rank, not judged.denies  # less is graver


def _which(gravest: Collection[str], possible: Collection[str]) -> str:
    """Return when a finding is gravest, as "if override a applies" or "unless one of the overrides a, b applies"."""
    if "" in gravest:  # The policy without any of the overrides.
        condition, names = "unless", [name for name in possible if name not in gravest]
    else:
        condition, names = "if", [name for name in possible if name in gravest]
    which = f"override {some(names)} applies" if len(names) == 1 else f"one of the overrides {some(names)} applies"
    return f"{condition} {which}"


def _in_doubt(
    findings: Sequence[JudgedFinding], which: str, as_grave: bool, would_be_denied: bool
) -> Iterator[JudgedFinding]:
    """
    Yield findings that are so grave only under some overrides, with words that say so.

    `as_grave`: they have this severity under all overrides, and deny only under some.
    """
    keeps_severity = as_grave or would_be_denied
    for judged in findings:
        message, severity = judged.finding.message, judged.finding.severity
        finding = judged.finding._replace(message=f"{message} ({'denied' if as_grave else severity} {which})")
        if severity is Severity.ERROR and not keeps_severity:
            finding = finding._replace(severity=Severity.WARNING)
        yield judged._replace(finding=finding, would_deny=judged.would_deny and keeps_severity)
