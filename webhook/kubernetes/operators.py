"""
The kinds of well-known operators: where their custom resources keep constraints, and what the operator makes of them.

    operators.tsv ──places──> ConstraintPlace(name, group…, path, fills) ──kinds──> Kind(…, operator)

The table has a line for each place, sorted by `name`, and is read at the first custom resource:

    name       of the kind in a policy
    versions   of the API that have the place
    path       of the constraints, or of a Pod template
    fills      fields of a constraint that the operator fills in where they are absent, "" or 0; `?`: not known
    sets       fields that the operator overwrites with its own values
    own        fields of its constraints besides the API's; with any of them the operator adds labels to the selector
    replicas   path of the number of these Pods, if the operator adds no constraints to an object without constraints
    labels     keys of labels of the Pods.  `key=value` gives the value, NAME by default (see GivenLabel).
               `?` after the key: the object may set another value, if it names the key anywhere but in a selector, or
               the field behind the `?`.  `item:` in front: only at this item.  `!` in front: other Pods have the label.
               `+` in front: the Pods have the labels of their template, and besides only these, with any value; the
               first one is of the revision
    source     where this was read: the repository, the commit (`-`: its version is not known), and the folder or file
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pkgutil import get_data
from typing import NamedTuple, cast

from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.kinds import FIELD, NAME, GivenLabel, Kind, Kinds, Operator, parse_path

TABLE = "operators.tsv"
UNKNOWN = "?"
OTHERS, ADDED = "!", "+"


class Row(NamedTuple):
    """A line of the table; several names in a column are separated by commas."""

    name: str
    group: str
    versions: str
    kind: str
    resource: str
    path: str
    fills: str
    sets: str
    own: str
    replicas: str
    labels: str
    source: str


class ConstraintPlace(NamedTuple):
    """One place where a kind has constraints, or a Pod template: a row of the table, parsed."""

    name: str
    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    path: FieldPath
    fills: frozenset[str] | None  # None: not known
    sets: frozenset[str]
    own_fields: frozenset[str]
    replicas: FieldPath | None
    gives: tuple[GivenLabel, ...]
    others: tuple[GivenLabel, ...]
    repository: str
    commit: str  # "" if its version is not known
    file: str
    added_labels: tuple[str, ...] = ()  # keys; the labels of the Pods are known but for these

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
                added_labels=self.added_labels,
                revision_key=next(iter(self.added_labels), None),
                constraints=None if self.in_template else self.path,
                built_in=False,
                from_policy=from_policy,
                operator=Operator(self.name, self.fills, self.sets, self.own_fields, self.gives, self.others),
            )


@cache
def _rows() -> Sequence[Row]:
    table = cast(bytes, get_data(__name__, TABLE))  # It is None only if the package's loader reads no files.
    _, *lines = table.decode().splitlines()
    return [Row(*line.split("\t")) for line in lines]


def places() -> Iterator[ConstraintPlace]:
    """Yield every place, by the name of its kind."""
    return map(_place, _rows())


def _place(row: Row) -> ConstraintPlace:
    repository, commit, file = row.source.split(" ")
    labels = _names_in(row.labels)
    return ConstraintPlace(
        row.name,
        row.group,
        _names_in(row.versions),
        row.kind,
        row.resource,
        parse_path(row.path),
        None if row.fills == UNKNOWN else frozenset(_names_in(row.fills)),
        frozenset(_names_in(row.sets)),
        frozenset(_names_in(row.own)),
        parse_path(row.replicas) if row.replicas else None,
        tuple([_given_label(text) for text in labels if OTHERS not in text and ADDED not in text]),
        tuple([_given_label(text) for text in labels if OTHERS in text]),
        repository,
        commit.strip("-"),
        file,
        tuple([text.removeprefix(ADDED) for text in labels if ADDED in text]),
    )


def _names_in(column: str) -> tuple[str, ...]:
    return tuple(filter(None, column.split(",")))


def _given_label(text: str) -> GivenLabel:
    item, _, label = text.replace(OTHERS, "").rpartition(":")
    name, _, value = label.partition("=")
    key, yields, unless = name.partition("?")
    return GivenLabel(key, value or NAME, bool(yields), unless, item)


def versions_of(kind: Iterable[ConstraintPlace]) -> tuple[str, ...]:
    """Return the versions of the API that have any of the places of a kind."""
    return tuple(dict.fromkeys(version for place in kind for version in place.versions))


@cache
def names() -> tuple[str, ...]:
    """Return the names by which a policy calls the kinds, sorted."""
    return tuple(dict.fromkeys(row.name for row in _rows()))


def kinds_named(name: str) -> Iterator[Kind]:
    """Yield the kinds that a policy means by a name, one for each place and version."""
    for row in _rows():
        if row.name == name:
            yield from _place(row).kinds(from_policy=True)


@lru_cache(maxsize=128)
def kinds_of(api_version: str, kind: str) -> Sequence[Kind]:
    """Return the kinds of an operator's objects, one for each place; none if no operator has this kind."""
    group = api_version.rpartition("/")[0]
    if "." not in group:  # The API group of a custom resource is a domain.
        return ()
    places = map(_place, _rows_by_kind().get((group, kind), ()))
    return [described for place in places for described in place.kinds() if described.api_version == api_version]


@cache
def _rows_by_kind() -> Mapping[tuple[str, str], Sequence[Row]]:
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in _rows():
        rows.setdefault((row.group, row.kind), []).append(row)
    return rows


def with_operators(kinds: Kinds) -> Kinds:
    """Return `kinds` with those of the operators, but for the places that `kinds` describes already."""
    return Kinds(kinds, kinds_of)
