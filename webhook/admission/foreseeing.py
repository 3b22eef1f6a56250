"""What can be said of an object where the labels of its namespace, by which overrides apply, are not known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from webhook.admission.decision import Judged
from webhook.findings.finding import Severity
from webhook.findings.wording import some
from webhook.objects.fields import FieldPath

HOW_TO_KNOW = "give --namespace-labels, --cluster, or a Namespace in the input"
Place = tuple[str, FieldPath]


def agreed(possible: Mapping[str, Sequence[Judged]]) -> tuple[list[Judged], bool]:
    """
    The findings under each override that may apply, by its name, as the findings of one; and whether these differ.

    One that not all of them make, or make as grave, says so, and is at most a warning, unless each would deny the
    object.  Nothing denies where any of them does not.
    """
    hopeless = all(any(each.would_deny for each in judged) for judged in possible.values())
    denied = all(any(each.denies for each in judged) for judged in possible.values())
    by_place: dict[Place, dict[str, list[Judged]]] = {}
    for name, judged in possible.items():
        for each in judged:
            by_place.setdefault((each.finding.rule, each.finding.path), {}).setdefault(name, []).append(each)
    found, differ = list[Judged](), False
    for place in by_place.values():
        grades = {name: _grade(judged) for name, judged in place.items()}
        gravest = min(grades.values())
        there = {name: place[name] for name in sorted(place, key=bool) if grades[name] == gravest}  # "" first
        chosen = (max if denied else min)(there.values(), key=lambda judged: [each.denies for each in judged])
        if len(there) < len(possible):
            graver = len(place) < len(possible) or len({rank for rank, _ in grades.values()}) > 1
            differ, chosen = True, [*_in_doubt(chosen, there, possible, hopeless, graver)]
        found += chosen if denied else [each._replace(denies=False) for each in chosen]
    return sorted(found, key=lambda each: each.finding.path), differ


def _grade(judged: Sequence[Judged]) -> tuple[int, bool]:
    """How grave findings are, the gravest first: their severity, then whether they deny."""
    return min(each.finding.severity.rank for each in judged), not any(each.denies for each in judged)


def _in_doubt(
    judged: Sequence[Judged], there: Collection[str], possible: Collection[str], hopeless: bool, graver: bool
) -> Iterator[Judged]:
    """
    Findings that are so grave only under the overrides `there`; "" is what applies if none of the possible does.

    They are `graver` by their severity, or else only by the enforcement, which denies.
    """
    names = [name for name in possible if (name in there) != ("" in there)]
    which = f"override {some(names)} applies" if len(names) == 1 else f"one of the overrides {some(names)} applies"
    for each in judged:
        severity = each.finding.severity
        what = severity if graver else "denied"
        message = f"{each.finding.message} ({what} {'unless' if '' in there else 'if'} {which})"
        if severity is Severity.ERROR and graver and not hopeless:
            severity = Severity.WARNING
        finding = each.finding._replace(message=message, severity=severity)
        yield each._replace(finding=finding, would_deny=each.would_deny and (hopeless or not graver))
