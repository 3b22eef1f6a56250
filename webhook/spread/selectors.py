"""
Label selectors as apimachinery evaluates and prints them; the answer is unknown where a label may still be added.

    LabelSelector (as written) -> Selector: requirements, all of which must hold
    null matches nothing; {} matches everything
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from webhook.kubernetes.labels import Labels

EQUALS, IN, NOT_IN, EXISTS, DOES_NOT_EXIST = "=", "In", "NotIn", "Exists", "DoesNotExist"


class Match(Enum):
    """Whether a selector matches labels, of which some may not be known yet."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Requirement(NamedTuple):
    """One term of a selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()  # in the order in which they were written

    def matches(self, labels: Labels) -> bool:
        """
        Return whether `labels` meet the requirement; NotIn and DoesNotExist also match labels without the key.

        upstream: selector.go:Requirement.Matches (v1.37)
        """
        value = labels.get(self.key)
        if self.operator in (EQUALS, IN):
            return value is not None and value in self.values
        if self.operator == NOT_IN:
            return value is None or value not in self.values
        return (value is not None) == (self.operator == EXISTS)

    def match(self, labels: Labels, addable: Collection[str], added: Collection[str] = ()) -> Match:
        """
        Match as `matches` does, but UNKNOWN where a label of this key is absent and may still be added.

        Labels with a key in `addable` may be added; those with a key in `added` surely will be, with an unknown value.
        """
        if self.key in labels or (self.key not in addable and self.key not in added):
            return Match.YES if self.matches(labels) else Match.NO
        if self.key in added and self.operator in (EXISTS, DOES_NOT_EXIST):
            return Match.YES if self.operator == EXISTS else Match.NO
        return Match.UNKNOWN

    def implies(self, other: Requirement) -> bool:
        """Return whether all labels that meet this requirement meet the other one, too."""
        if self.key != other.key:
            return False
        own, wanted = set(self.values), set(other.values)
        if self.operator in (EQUALS, IN):
            if other.operator == NOT_IN:
                return own.isdisjoint(wanted)
            return other.operator == EXISTS or (other.operator in (EQUALS, IN) and own <= wanted)
        if other.operator == NOT_IN:
            return self.operator == DOES_NOT_EXIST or (self.operator == NOT_IN and wanted <= own)
        return self.operator == other.operator

    def __str__(self) -> str:
        """
        Return the requirement as kubectl prints it.

        upstream: selector.go:Requirement.String (v1.37)
        """
        form = _FORMS.get(self.operator)
        values = ",".join(sorted(self.values))
        return form(self.key, values) if form is not None else f"{self.key} {self.operator} ({values})"


_FORMS: dict[str, Callable[[str, str], str]] = {
    EQUALS: lambda key, values: f"{key}={values}",
    IN: lambda key, values: f"{key} in ({values})",
    NOT_IN: lambda key, values: f"{key} notin ({values})",
    EXISTS: lambda key, values: key,
    DOES_NOT_EXIST: lambda key, values: f"!{key}",
}
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)


@dataclass(frozen=True)
class Selector:
    """labels.Selector of apimachinery: requirements, all of which must hold."""

    requirements: tuple[Requirement, ...] = ()  # in the order of their keys
    matches_nothing: bool = False  # then it has no requirements
    empty: bool = field(init=False, repr=False, compare=False)  # it matches every label set

    def __post_init__(self) -> None:
        object.__setattr__(self, "empty", not self.requirements and not self.matches_nothing)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The label keys that it asks about."""
        return frozenset([requirement.key for requirement in self.requirements])

    def add(self, requirements: Iterable[Requirement]) -> Selector:
        """
        Return a selector that also has `requirements`; one that matches nothing stays as it is.

        upstream: selector.go:internalSelector.Add (v1.37)
        """
        return self if self.matches_nothing else Selector(_in_order((*self.requirements, *requirements)))

    def matches(self, labels: Labels) -> bool:
        """
        Return whether `labels` meet every requirement.

        upstream: selector.go:internalSelector.Matches (v1.37)
        """
        for requirement in self.requirements:
            if not requirement.matches(labels):
                return False
        return not self.matches_nothing

    def match(self, labels: Labels, addable: Collection[str] = (), added: Collection[str] = ()) -> Match:
        """Match as `matches` does, but UNKNOWN where labels that may be added decide it; see `Requirement.match`."""
        if self.matches_nothing:
            return Match.NO
        answer = Match.YES
        for requirement in self.requirements:
            match = requirement.match(labels, addable, added)
            if match is Match.NO:
                return match
            if match is Match.UNKNOWN:
                answer = match
        return answer

    def implies(self, other: Selector) -> bool:
        """
        Return whether `other` matches all that this one matches, as far as single requirements show it.

        False does not mean that it does not: two requirements together may imply one that neither implies alone.
        """
        if self.matches_nothing or other.matches_nothing:
            return self.matches_nothing
        return all(any(own.implies(wanted) for own in self.requirements) for wanted in other.requirements)

    def __str__(self) -> str:
        """
        Return the selector as kubectl prints it.

        upstream: selector.go:internalSelector.String (v1.37)
        """
        return ",".join(map(str, self.requirements))

    @property
    def in_words(self) -> str:
        """The selector as text: `no Pod`, `{}`, or its requirements without repetitions."""
        if self.matches_nothing:
            return "no Pod"
        if self.empty:
            return "{}"
        # Of a key in matchLabelKeys the API server has merged `a in (b)`, and the scheduler adds `a=b`: say it once.
        distinct = {
            (requirement.key, requirement.values if requirement.operator in (EQUALS, IN) else requirement): requirement
            for requirement in reversed(self.requirements)
        }
        return ",".join(map(str, reversed(distinct.values())))


def _in_order(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Sort requirements by key; those on one key stay in their order."""
    return tuple(sorted(requirements, key=lambda requirement: requirement.key))


NOTHING = Selector(matches_nothing=True)
EVERYTHING = Selector()


def any_of(selectors: Iterable[Selector]) -> Selector:
    """
    Return a selector that matches all that any of `selectors` matches, and perhaps more.

    It matches no more if they differ only in the values of one `In`.  `key=value` counts as an `In`.
    """
    term_lists = [[*map(_as_in, selector.requirements)] for selector in selectors if not selector.matches_nothing]
    if not term_lists:
        return NOTHING
    first, *others = term_lists
    common: list[Requirement] = []
    for requirement in first:
        counterparts = [_counterpart(requirement, other) for other in others]
        if None not in counterparts:
            terms = (requirement, *filter(None, counterparts))
            values = dict.fromkeys(value for term in terms for value in term.values)
            common.append(requirement._replace(values=tuple(values)))
    return Selector(tuple(common))


def _as_in(requirement: Requirement) -> Requirement:
    return requirement._replace(operator=IN) if requirement.operator == EQUALS else requirement


def _counterpart(requirement: Requirement, others: Sequence[Requirement]) -> Requirement | None:
    """Return the one of `others` that is equal, or else the first that is an `In` on the same key as this one."""
    if requirement in others:
        return requirement
    if requirement.operator != IN:
        return None
    return next((other for other in others if other.operator == IN and other.key == requirement.key), None)


class LabelSelector(NamedTuple):
    """metav1.LabelSelector, as it was written."""

    match_labels: Labels
    match_expressions: tuple[Requirement, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that it names."""
        return frozenset(self.match_labels) | {expression.key for expression in self.match_expressions}


def equals(labels: Labels) -> tuple[Requirement, ...]:
    """Return a requirement `key=value` for each label."""
    return tuple([Requirement(key, EQUALS, (value,)) for key, value in labels.items()])


def selecting(labels: Labels, requirements: Iterable[Requirement] = ()) -> Selector:
    """Return a selector that requires all of `labels`, and `requirements` after them."""
    return Selector(_in_order((*equals(labels), *requirements)))


def as_selector(selector: LabelSelector | None, first: Iterable[Requirement] = ()) -> Selector:
    """
    Parse a LabelSelector: None matches nothing, an empty one everything.

    Requirements in `first` come before others on the same key.

    upstream: helpers.go:LabelSelectorAsSelector (v1.37)
    """
    if selector is None:
        return NOTHING
    return Selector(_in_order([*first, *equals(selector.match_labels), *selector.match_expressions]))


def as_label_selector(selector: Selector) -> dict[str, object]:
    """
    Return the LabelSelector, as JSON, that matches exactly what `selector` matches; for NOTHING there is none.

    matchLabels can hold a key only once: further requirements on it, and every other operator, go to matchExpressions.
    Exact duplicates are dropped.
    """
    match_labels: dict[str, str] = {}
    expressions: list[dict[str, object]] = []
    for requirement in dict.fromkeys(selector.requirements):
        if requirement.operator == EQUALS and requirement.key not in match_labels:
            match_labels[requirement.key] = requirement.values[0]
        else:
            expressions.append(as_expression(requirement))
    raw: dict[str, object] = {"matchLabels": match_labels} if match_labels else {}
    return raw | ({"matchExpressions": expressions} if expressions else {})


def as_expression(requirement: Requirement) -> dict[str, object]:
    """Return the item of matchExpressions, as JSON, that asks what `requirement` asks."""
    operator = IN if requirement.operator == EQUALS else requirement.operator
    values = {"values": list(requirement.values)} if requirement.values else {}
    return {"key": requirement.key, "operator": operator, **values}
