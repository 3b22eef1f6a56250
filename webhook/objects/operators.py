"""
The kinds of well-known operators: where their custom resources keep constraints, and what the operator makes of them.

    OPERATOR_PLACES ──places──> Place(name, apiVersion…, path, fills) ──kinds──> Kind(…, operator)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from webhook.objects.fields import FieldPath
from webhook.objects.kinds import FIELD, GivenLabel, Kind, Kinds, Operator, parse_path
from webhook.objects.operator_places import (
    FILLS,
    LABELS_GIVEN,
    OPERATOR_PLACES,
    REPLICAS,
    RULE_OF_ITS_OWN,
    SETS,
    UNKNOWN,
)


class ConstraintPlace(NamedTuple):
    """
    One place where a kind has constraints, or a Pod template.

    `name` is that of the kind in a policy; `versions` are those of the API that have the place.  `repository`, `commit`
    and `file` say where it was read; no commit means that its version is not known.
    """

    name: str
    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    path: FieldPath
    fills: frozenset[str] | None
    sets: frozenset[str]
    own_fields: frozenset[str]
    replicas: FieldPath | None
    gives: tuple[GivenLabel, ...]
    repository: str
    commit: str
    file: str

    @property
    def in_template(self) -> bool:
        """Whether it is a Pod template, and not a list of constraints."""
        return self.path[-1] != FIELD

    def kinds(self, from_policy: bool = False) -> Iterator[Kind]:
        """Yield the place as a kind of each version; `from_policy` if a policy names it."""
        for version in self.versions:
            yield Kind(
                f"{self.group}/{version}",
                self.kind,
                self.resource,
                template=self.path if self.in_template else None,
                replicas=self.replicas,
                constraints=None if self.in_template else self.path,
                built_in=False,
                from_policy=from_policy,
                operator=Operator(self.name, self.fills, self.sets, self.own_fields, self.gives),
            )


@cache
def places() -> tuple[ConstraintPlace, ...]:
    """Return every place, by the name of its kind."""
    return tuple(sorted(_parsed(OPERATOR_PLACES), key=lambda place: place.name))


def _parsed(text: str) -> Iterator[ConstraintPlace]:
    source, kind = [""] * 3, [""] * 4
    for line in filter(None, text.splitlines()):
        words = line.split()
        if not line.startswith(" "):
            source = words
        elif not line.startswith("    "):
            kind = words
        else:
            group, _, versions = kind[1].rpartition("/")
            path, said = parse_path(words[0]), words[1:]
            fills = None if UNKNOWN in said else _fields(said, FILLS)
            resource = kind[3] if len(kind) > 3 else f"{kind[2].lower()}s"
            place = group, tuple(versions.split(",")), kind[2], resource, path
            repository, commit, file = source
            made = fills, _fields(said, SETS), _fields(said, RULE_OF_ITS_OWN), _replicas(said)
            gives = _labels_given().get(kind[0], ())
            yield ConstraintPlace(kind[0], *place, *made, gives, repository, commit.strip("-"), file)


def _fields(said: Sequence[str], what: str) -> frozenset[str]:
    """Return the fields in the word that begins with `what`, such as `fills:labelSelector,maxSkew`."""
    fields = [word.removeprefix(what) for word in said if word.startswith(what)]
    return frozenset(name for names in fields for name in names.split(","))


def _replicas(said: Sequence[str]) -> FieldPath | None:
    return next((parse_path(word.removeprefix(REPLICAS)) for word in said if word.startswith(REPLICAS)), None)


@cache
def _labels_given() -> Mapping[str, tuple[GivenLabel, ...]]:
    """Return the labels that the operator of a kind gives, by the name of the kind."""
    given: dict[str, tuple[GivenLabel, ...]] = {}
    for line in LABELS_GIVEN.splitlines():
        label, *kinds = line.split()
        key, _, value = label.partition("=")
        for kind in kinds:
            given[kind] = (*given.get(kind, ()), GivenLabel(key.removesuffix("?"), value, key.endswith("?")))
    return given


@cache
def labelled_by_name() -> tuple[str, ...]:
    """Return the kinds, as an object names them, whose Pods have a label by the name of the object."""
    return tuple(sorted({place.kind for place in places() if any(not label.value for label in place.gives)}))


@cache
def names() -> tuple[str, ...]:
    """Return the names by which a policy calls the kinds, in their order."""
    return tuple(dict.fromkeys(place.name for place in places()))


def kinds_named(name: str) -> Iterator[Kind]:
    """Yield the kinds, one for each place and version, that a policy means by a name."""
    for place in places():
        if place.name == name:
            yield from place.kinds(from_policy=True)


def with_operators(kinds: Kinds) -> Kinds:
    """Add the operators' kinds to `kinds`, without the places that are described there already."""
    known = {(kind.api_version, kind.kind, kind.anchor) for kind in kinds}
    more = (kind for place in places() for kind in place.kinds())
    return Kinds((*kinds, *(kind for kind in more if (kind.api_version, kind.kind, kind.anchor) not in known)))
