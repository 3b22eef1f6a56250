"""The kinds of operators: as text, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from evenkeel.terminal.json_forms import dumped, fields, form
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.operators import ConstraintPlace, versions_of


def text(listed: Iterable[ConstraintPlace]) -> str:
    """Return, for each kind, its name and a line for each place."""
    return "\n".join(line for kind in _by_name(listed) for line in _lines(kind))


def _lines(kind: Sequence[ConstraintPlace]) -> Iterator[str]:
    versions = versions_of(kind)
    yield f"{kind[0].name}  {kind[0].group}/{','.join(versions)} {kind[0].kind}"
    for place in kind:
        of_versions = "" if place.versions == versions else f" ({','.join(place.versions)})"
        labels = f"; gives {', '.join(map(str, place.gives))}" if place.gives else ""
        yield f"  {path_text(place.path)}{of_versions}: {_done(place)}{labels}"


def as_json(listed: Iterable[ConstraintPlace]) -> str:
    """Return the form `KindList`, for programs; null is what is not known."""
    return dumped(form("KindList", {"kinds": [_json(kind) for kind in _by_name(listed)]}))


def _json(kind: Sequence[ConstraintPlace]) -> dict[str, object]:
    first = kind[0]
    return {
        "name": first.name,
        "apiVersions": [f"{first.group}/{version}" for version in versions_of(kind)],
        **fields(first, "kind", "resource"),
        "places": [
            {
                "podTemplate" if place.in_template else "constraints": path_text(place.path),
                "apiVersions": [f"{place.group}/{version}" for version in place.versions],
                "labels": [
                    {"key": label.key, "value": label.value, "unlessGiven": label.yields, "item": label.item or None}
                    for label in place.gives
                ],
                "fills": None if place.fills is None else sorted(place.fills),
                "sets": sorted(place.sets),
                "ownFields": sorted(place.own_fields),
                "replicas": path_text(place.replicas) if place.replicas is not None else None,
                "source": {"repository": place.repository, "commit": place.commit or None, "path": place.file},
            }
            for place in kind
        ],
    }


def _by_name(listed: Iterable[ConstraintPlace]) -> Iterator[list[ConstraintPlace]]:
    return (list(kind) for _, kind in groupby(listed, key=lambda place: place.name))


def _done(place: ConstraintPlace) -> str:
    """Return what the operator does with the constraints there."""
    if place.fills is None:
        done = "not known"
    elif place.fills:
        done = f"fills in {', '.join(sorted(place.fills))}"
    elif place.sets:
        done = f"sets {', '.join(sorted(place.sets))} itself, whatever the object says"
    else:
        done = "keeps them as they are"
    own = f"; adds to the selector for {', '.join(sorted(place.own_fields))}" if place.own_fields else ""
    counted = f"; replicas at {path_text(place.replicas)}" if place.replicas is not None else ""
    return f"{'a Pod template; ' if place.in_template else ''}{done}{own}{counted}"
