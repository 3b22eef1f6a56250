"""What a Pod asks of a node's labels and name: its nodeSelector, and required and preferred node affinity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.labels import label_key_errors, label_value_errors
from webhook.kubernetes.names import POD_AFFINITY, POD_ANTI_AFFINITY, PREFERRED_TERMS, REQUIRED_TERMS
from webhook.kubernetes.reader import Reader
from webhook.spread.nodes import Nodes, NodeSet, integer, union
from webhook.spread.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement, Selector, selecting

GREATER, LESS = "Gt", "Lt"
NAME_FIELD = "metadata.name"


class NodeTerm(NamedTuple):
    """One term of a node selector: all of its requirements, on labels and on fields, must hold."""

    expressions: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def values(self, key: str) -> frozenset[str] | None:
        """Return the values of a label that nodes may have that meet the term; None where it names none."""
        named = [
            frozenset(expression.values)
            for expression in self.expressions
            if expression.key == key and expression.operator == IN
        ]
        return frozenset.intersection(*named) if named else None

    def matching(self, nodes: Nodes) -> NodeSet:
        """
        Return the nodes that meet the term.

        upstream: nodeaffinity.go:nodeSelectorTerm.match (v1.37)
        """
        nodes_left = nodes.all
        for requirement in self.expressions:
            nodes_left &= _with_label(requirement, nodes)
        for requirement in self.fields:
            nodes_left &= _with_field(requirement, nodes)
        return nodes_left


def _with_label(requirement: Requirement, nodes: Nodes) -> NodeSet:
    """Return the nodes whose labels meet a requirement."""
    key, operator, values = requirement
    if operator in (EXISTS, DOES_NOT_EXIST):
        carrying = nodes.carrying(key)
    elif operator in (GREATER, LESS):
        carrying = _compared(requirement, nodes)
    else:
        carrying = union(nodes.domains(key).get(value, 0) for value in values)
    return nodes.all & ~carrying if operator in (NOT_IN, DOES_NOT_EXIST) else carrying


def _with_field(requirement: Requirement, nodes: Nodes) -> NodeSet:
    """Return the nodes whose fields meet a requirement; of a node only `metadata.name` is one, any other is ""."""
    if requirement.key == NAME_FIELD:
        named = nodes.named(requirement.values)
    else:
        named = nodes.all if "" in requirement.values else 0
    return nodes.all & ~named if requirement.operator == NOT_IN else named


def _compared(requirement: Requirement, nodes: Nodes) -> NodeSet:
    """Return the nodes whose label is an integer above or below that of a requirement with Gt or Lt."""
    wanted = integer(requirement.values[0])
    if wanted is None:
        return 0
    by_number = nodes.integers(requirement.key)
    if requirement.operator == GREATER:
        return union([members for number, members in by_number if number > wanted])
    return union([members for number, members in by_number if number < wanted])


class RequiredNodeAffinity(NamedTuple):
    """
    A Pod's nodeSelector, and the terms of its required node affinity: one must hold.  None: it has no affinity.

    `names` are the nodes to which matchFields restrict every term, or None where one is not restricted so.
    """

    selector: Selector
    terms: tuple[NodeTerm, ...] | None = None
    names: frozenset[str] | None = None

    def values(self, key: str) -> frozenset[str] | None:
        """
        Return the values of a label that nodes may have on which the Pod can run, whatever nodes join; None if any.

        A node has at most one value, so that In narrows them; other operators leave them open.
        """
        left: frozenset[str] | None = None
        if self.terms is not None:
            of_terms = [term.values(key) for term in self.terms]
            named = [values for values in of_terms if values is not None]
            left = frozenset().union(*named) if len(named) == len(of_terms) else None
        for requirement in self.selector.requirements:
            if requirement.key == key:
                asked = frozenset(requirement.values)
                left = asked if left is None else left & asked
        return left

    def matching(self, nodes: Nodes) -> NodeSet:
        """
        Return the nodes on which the Pod may run, as far as their labels and names go.

        upstream: nodeaffinity.go:RequiredNodeAffinity.Match (v1.37)
        """
        nodes_left = nodes.all
        for requirement in self.selector.requirements:
            nodes_left &= nodes.domains(requirement.key).get(requirement.values[0], 0)
        return nodes_left if self.terms is None else nodes_left & union(term.matching(nodes) for term in self.terms)


ANY_NODE = RequiredNodeAffinity(selecting({}))


def for_node(affinity: RequiredNodeAffinity, name: str) -> RequiredNodeAffinity:
    """
    Return what a Pod of a DaemonSet asks for whose node has this name, in place of the required terms.

    upstream: daemonset_util.go:ReplaceDaemonSetPodNodeNameNodeAffinity (v1.37)
    """
    named = NodeTerm((), (Requirement(NAME_FIELD, IN, (name,)),))
    return RequiredNodeAffinity(affinity.selector, (named,), frozenset({name}))


class PreferredTerm(NamedTuple):
    """A term of preferred node affinity: a node that meets it is worth `weight` more."""

    weight: int
    term: NodeTerm


def read_required(reader: Reader, spec: Mapping[str, object]) -> RequiredNodeAffinity:
    """
    Return the required affinity in the spec of a raw Pod; `reader` collects what has the wrong type.

    upstream: nodeaffinity.go:GetRequiredNodeAffinity (v1.37)
    """
    selector = selecting(reader.string_map(spec.get("nodeSelector"), ("spec", "nodeSelector")))
    written, path = _node_affinity(reader, spec, REQUIRED_TERMS)
    if written is None:
        return RequiredNodeAffinity(selector)
    terms = _read_terms(reader, written, path)
    return RequiredNodeAffinity(selector, _valid(terms), _names(terms))


def read_volume_affinity(reader: Reader, written: object, path: FieldPath) -> tuple[NodeTerm, ...]:
    """
    Return the terms of a volume's required node affinity, one of which must hold.

    They are held against the labels of a node alone: a term on its name holds for every node.

    upstream: helpers.go:CheckNodeAffinity (v1.37)
    """
    return tuple([NodeTerm(term.expressions, ()) for term in _valid(_read_terms(reader, written, path))])


def _read_terms(reader: Reader, written: object, path: FieldPath) -> list[NodeTerm]:
    raw = reader.mappings(reader.mapping(written, path).get("nodeSelectorTerms"), (*path, "nodeSelectorTerms"))
    return [_read_term(reader, item, at) for item, at in raw]


def _valid(terms: list[NodeTerm]) -> tuple[NodeTerm, ...]:
    return tuple([term for term in terms if _is_valid_term(term)])


def read_preferred(reader: Reader, spec: Mapping[str, object]) -> tuple[PreferredTerm, ...] | None:
    """
    Return the preferred affinity in the spec of a raw Pod; None if it has none, not even an empty one.

    upstream: nodeaffinity.go:NewPreferredSchedulingTerms (v1.37)
    """
    written, path = _node_affinity(reader, spec, PREFERRED_TERMS)
    if written is None:
        return None
    preferred: list[PreferredTerm] = []
    for item, at in reader.mappings(written, path):
        weight = reader.integer(item.get("weight"), at, "weight") or 0
        term = _read_term(reader, reader.mapping(item.get("preference"), (*at, "preference")), (*at, "preference"))
        if weight and _is_valid_term(term):
            preferred.append(PreferredTerm(weight, term))
    return tuple(preferred)


def has_pod_affinity(affinity: object) -> bool:
    """Return whether `spec.affinity` of a raw Pod has affinity or anti-affinity to other Pods."""
    return isinstance(affinity, dict) and bool(affinity.get(POD_AFFINITY) or affinity.get(POD_ANTI_AFFINITY))


def _node_affinity(reader: Reader, spec: Mapping[str, object], name: str) -> tuple[object, FieldPath]:
    """Return what stands at a field of `spec.affinity.nodeAffinity`, and its path."""
    path: FieldPath = ("spec",)
    value: object = spec
    for field in ("affinity", "nodeAffinity", name):
        value, path = reader.mapping(value, path).get(field), (*path, field)
    return value, path


def _names(terms: list[NodeTerm]) -> frozenset[str] | None:
    """
    Return the nodes that the terms ask for by `metadata.name`, together; None if a term asks for none.

    upstream: node_affinity.go:NodeAffinity.PreFilter (v1.37)
    """
    names: frozenset[str] = frozenset()
    for term in terms:
        asked = [frozenset(field.values) for field in term.fields if field.key == NAME_FIELD and field.operator == IN]
        if not asked:
            return None
        names |= frozenset.intersection(*asked)
    return names if terms else None


def _read_term(reader: Reader, raw: Mapping[str, object], path: FieldPath) -> NodeTerm:
    expressions, fields = (
        _read_requirements(reader, raw.get(name), (*path, name)) for name in ("matchExpressions", "matchFields")
    )
    return NodeTerm(expressions, fields)


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


def _is_valid_term(term: NodeTerm) -> bool:
    """
    Return whether a term can match a node: it is not empty, and each of its requirements can be parsed.

    upstream: nodeaffinity.go:newNodeSelectorTerm (v1.37)
    """
    return any(term) and all(map(_is_valid_expression, term.expressions)) and all(map(_is_valid_field, term.fields))


def _is_valid_expression(requirement: Requirement) -> bool:
    """
    Return whether the API server takes a requirement on labels.

    upstream: selector.go:NewRequirement (v1.37)
    """
    key, operator, values = requirement
    if label_key_errors(key) or any(map(label_value_errors, values)):
        return False
    if operator in (IN, NOT_IN):
        return len(values) > 0
    if operator in (EXISTS, DOES_NOT_EXIST):
        return not values
    return operator in (GREATER, LESS) and len(values) == 1 and integer(values[0]) is not None


def _is_valid_field(requirement: Requirement) -> bool:
    """
    Return whether the API server takes a requirement on fields: on one value.

    upstream: nodeaffinity.go:nodeSelectorRequirementsAsFieldSelector (v1.37)
    """
    return requirement.operator in (IN, NOT_IN) and len(requirement.values) == 1
