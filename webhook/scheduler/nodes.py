"""Nodes, and what a Pod asks of them: node selector, required node affinity, tolerations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from webhook.objects.fields import FieldPath
from webhook.objects.labels import Labels, label_key_errors, label_value_errors
from webhook.objects.reading import Reader
from webhook.scheduler.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement, Selector, selecting

HOSTNAME = "kubernetes.io/hostname"
NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
DO_NOT_SCHEDULE = (NO_SCHEDULE, NO_EXECUTE)  # The effects of taints that keep Pods off a node.
EQUAL, TOLERATION_EXISTS = "Equal", "Exists"
GREATER, LESS = "Gt", "Lt"
NAME_FIELD = "metadata.name"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = 1 << 63


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """A toleration of a Pod; an empty key or effect is any."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """
        upstream: toleration.go:Toleration.ToleratesTaint (v1.37)

        Whether a Pod with this toleration tolerates `taint`; the operators Gt and Lt are behind a gate that is off.
        """
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == TOLERATION_EXISTS or (self.operator in ("", EQUAL) and self.value == taint.value)


def untolerated_taint(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: Collection[str]
) -> Taint | None:
    """
    upstream: helpers.go:FindMatchingUntoleratedTaint (v1.37)

    The first taint with one of the `effects` that no toleration tolerates, or None.
    """
    for taint in taints:
        if taint.effect in effects and not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the scheduler sees it; `unschedulable` is that of its spec, which `kubectl cordon` sets."""

    name: str
    labels: Labels
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeTerm(NamedTuple):
    """One term of a node selector: all of its requirements, on labels and on fields, must hold."""

    expressions: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, node: Node) -> bool:
        """
        upstream: nodeaffinity.go:nodeSelectorTerm.match (v1.37)

        Whether `node` meets the term.
        """
        return all(_holds(one, node.labels.get(one.key)) for one in self.expressions) and all(
            _holds(one, node.name if one.key == NAME_FIELD else "") for one in self.fields
        )


def _holds(requirement: Requirement, value: str | None) -> bool:
    """Like `Requirement.matches`, with the operators Gt and Lt, which compare integers."""
    if requirement.operator not in (GREATER, LESS):
        return requirement.matches({} if value is None else {requirement.key: value})
    found, wanted = _integer(value), _integer(requirement.values[0])
    if found is None or wanted is None:
        return False
    return found > wanted if requirement.operator == GREATER else found < wanted


def _integer(text: str | None) -> int | None:
    """The integer that strconv.ParseInt reads, within 64 bits, or None."""
    if text is None or len(text) > 20 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """A Pod's nodeSelector, and the terms of its required node affinity: one must hold.  None: it has no affinity."""

    selector: Selector
    terms: tuple[NodeTerm, ...] | None = None

    def matches(self, node: Node) -> bool:
        """
        upstream: nodeaffinity.go:RequiredNodeAffinity.Match (v1.37)

        Whether the Pod may run on `node`, as far as its labels and its name go.
        """
        if not self.selector.matches(node.labels):
            return False
        return self.terms is None or any(term.matches(node) for term in self.terms)


ANY_NODE = RequiredNodeAffinity(selecting({}))


@dataclass(frozen=True, slots=True)
class IncomingPod:
    """A Pod that is to be placed; of its constraints only those in force count, which are given apart."""

    namespace: str
    labels: Labels
    affinity: RequiredNodeAffinity = ANY_NODE
    tolerations: tuple[Toleration, ...] = ()


def read_taints(reader: Reader, raw: object, path: FieldPath) -> tuple[Taint, ...]:
    """The taints of a node; `reader` collects what has the wrong type."""
    return tuple(
        [
            Taint(*[reader.string(item.get(name), at, name) or "" for name in Taint._fields])
            for item, at in reader.mappings(raw, path)
        ]
    )


def read_incoming_pod(reader: Reader, raw: Mapping[str, object]) -> IncomingPod:
    """A raw Pod; `reader` collects what has the wrong type."""
    metadata = reader.mapping(raw.get("metadata"), ("metadata",))
    spec = reader.mapping(raw.get("spec"), ("spec",))
    return IncomingPod(
        namespace=reader.string(metadata.get("namespace"), ("metadata", "namespace")) or "",
        labels=reader.string_map(metadata.get("labels"), ("metadata", "labels")),
        affinity=_read_affinity(reader, spec),
        tolerations=tuple(
            [
                Toleration(*[reader.string(item.get(name), at, name) or "" for name in Toleration._fields])
                for item, at in reader.mappings(spec.get("tolerations"), ("spec", "tolerations"))
            ]
        ),
    )


def _read_affinity(reader: Reader, spec: Mapping[str, object]) -> RequiredNodeAffinity:
    """upstream: nodeaffinity.go:GetRequiredNodeAffinity (v1.37)"""
    selector = selecting(reader.string_map(spec.get("nodeSelector"), ("spec", "nodeSelector")))
    path: FieldPath = ("spec",)
    found: object = spec
    for name in ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"):
        found, path = reader.mapping(found, path).get(name), (*path, name)
    if found is None:
        return RequiredNodeAffinity(selector)
    terms = reader.mappings(reader.mapping(found, path).get("nodeSelectorTerms"), (*path, "nodeSelectorTerms"))
    read = [_read_term(reader, item, at) for item, at in terms]
    return RequiredNodeAffinity(selector, tuple([term for term in read if term is not None]))


def _read_term(reader: Reader, raw: Mapping[str, object], path: FieldPath) -> NodeTerm | None:
    """
    upstream: nodeaffinity.go:newNodeSelectorTerm (v1.37)

    A term, or None if it can match no node: it is empty, or a requirement cannot be parsed.
    """
    expressions, fields = (
        _read_requirements(reader, raw.get(name), (*path, name)) for name in ("matchExpressions", "matchFields")
    )
    if not expressions and not fields:
        return None
    valid = all(map(_is_valid, expressions)) and all(map(_is_valid_field, fields))
    return NodeTerm(expressions, fields) if valid else None


def _read_requirements(reader: Reader, raw: object, path: FieldPath) -> tuple[Requirement, ...]:
    return tuple(
        [
            Requirement(
                reader.string(item.get("key"), at, "key") or "",
                reader.string(item.get("operator"), at, "operator") or "",
                reader.strings(item.get("values"), at, "values"),
            )
            for item, at in reader.mappings(raw, path)
        ]
    )


def _is_valid(requirement: Requirement) -> bool:
    """upstream: selector.go:NewRequirement (v1.37)"""
    key, operator, values = requirement
    if label_key_errors(key) or any(map(label_value_errors, values)):
        return False
    if operator in (IN, NOT_IN):
        return len(values) > 0
    if operator in (EXISTS, DOES_NOT_EXIST):
        return not values
    return operator in (GREATER, LESS) and len(values) == 1 and _integer(values[0]) is not None


def _is_valid_field(requirement: Requirement) -> bool:
    """upstream: nodeaffinity.go:nodeSelectorRequirementsAsFieldSelector (v1.37)"""
    return requirement.operator in (IN, NOT_IN) and len(requirement.values) == 1
