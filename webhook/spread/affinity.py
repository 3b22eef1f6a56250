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
        """Return the values of the label `key` to which In restricts nodes that meet the term; None if it does not."""
        value_sets = [
            frozenset(expression.values)
            for expression in self.expressions
            if expression.key == key and expression.operator == IN
        ]
        return frozenset.intersection(*value_sets) if value_sets else None

    def matching(self, nodes: Nodes) -> NodeSet:
        """
        Return the nodes that meet the term.

        upstream: nodeaffinity.go:nodeSelectorTerm.match (v1.37)
        """
        matching = nodes.all
        for requirement in self.expressions:
            matching &= _with_label(requirement, nodes)
        for requirement in self.fields:
            matching &= _with_field(requirement, nodes)
        return matching


def _with_label(requirement: Requirement, nodes: Nodes) -> NodeSet:
    """Return the nodes whose labels meet a requirement; NotIn and DoesNotExist are also met without the label."""
    key, operator, values = requirement
    if operator in (EXISTS, DOES_NOT_EXIST):
        having = nodes.carrying(key)
    elif operator in (GREATER, LESS):
        having = _compared(requirement, nodes)
    else:
        having = union(nodes.domains(key).get(value, 0) for value in values)
    return nodes.all & ~having if operator in (NOT_IN, DOES_NOT_EXIST) else having


def _with_field(requirement: Requirement, nodes: Nodes) -> NodeSet:
    """Return the nodes whose fields meet a requirement; the only field of a node is `metadata.name`, others are ""."""
    if requirement.key == NAME_FIELD:
        named = nodes.named(requirement.values)
    else:
        named = nodes.all if "" in requirement.values else 0
    return nodes.all & ~named if requirement.operator == NOT_IN else named


def _compared(requirement: Requirement, nodes: Nodes) -> NodeSet:
    """Return the nodes whose label is an integer above (Gt) or below (Lt) that of the requirement."""
    wanted = integer(requirement.values[0])
    if wanted is None:
        return 0
    by_number = nodes.integers(requirement.key)
    if requirement.operator == GREATER:
        return union([members for number, members in by_number if number > wanted])
    return union([members for number, members in by_number if number < wanted])


class RequiredNodeAffinity(NamedTuple):
    """A Pod's nodeSelector, and the terms of its required node affinity."""

    selector: Selector  # the nodeSelector
    terms: tuple[NodeTerm, ...] | None = None  # one of them must hold; None: there is no affinity
    names: frozenset[str] | None = None  # of the nodes that matchFields leave; None if a term has none

    def values(self, key: str) -> frozenset[str] | None:
        """
        Return the values of the label `key` that a node may have for the Pod to run there; None if any will do.

        This also holds for nodes that join later.  Only In and the nodeSelector restrict the values.
        """
        allowed: frozenset[str] | None = None
        if self.terms is not None:
            values_of_terms = [term.values(key) for term in self.terms]
            restricted = [values for values in values_of_terms if values is not None]
            # One term that does not restrict the label is enough to run anywhere.
            allowed = frozenset().union(*restricted) if len(restricted) == len(values_of_terms) else None
        for requirement in self.selector.requirements:
            if requirement.key == key:
                selected = frozenset(requirement.values)
                allowed = selected if allowed is None else allowed & selected
        return allowed

    def matching(self, nodes: Nodes) -> NodeSet:
        """
        Return the nodes on which the Pod may run, as far as their labels and names go.

        upstream: nodeaffinity.go:RequiredNodeAffinity.Match (v1.37)
        """
        matching = nodes.all
        for requirement in self.selector.requirements:
            matching &= nodes.domains(requirement.key).get(requirement.values[0], 0)
        return matching if self.terms is None else matching & union(term.matching(nodes) for term in self.terms)


ANY_NODE = RequiredNodeAffinity(selecting({}))


def for_node(affinity: RequiredNodeAffinity, name: str) -> RequiredNodeAffinity:
    """
    Return the affinity that the controller of a DaemonSet writes into the Pod for the node of this name.

    A term on the name takes the place of all required terms.

    upstream: daemonset_util.go:ReplaceDaemonSetPodNodeNameNodeAffinity (v1.37)
    """
    term = NodeTerm((), (Requirement(NAME_FIELD, IN, (name,)),))
    return RequiredNodeAffinity(affinity.selector, (term,), frozenset({name}))


class PreferredTerm(NamedTuple):
    """A term of preferred node affinity: a node that meets it is worth `weight` more."""

    weight: int
    term: NodeTerm


def read_required(reader: Reader, spec: Mapping[str, object]) -> RequiredNodeAffinity:
    """
    Read the required affinity in the spec of a raw Pod; `reader` collects what has the wrong type.

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
    Read the terms of a volume's required node affinity, one of which must hold.

    Only the labels of a node matter: a term on its name holds for every node.

    upstream: helpers.go:CheckNodeAffinity (v1.37)
    """
    return tuple([NodeTerm(term.expressions, ()) for term in _valid(_read_terms(reader, written, path))])


def _read_terms(reader: Reader, written: object, path: FieldPath) -> list[NodeTerm]:
    raw = reader.mappings(reader.mapping(written, path).get("nodeSelectorTerms"), (*path, "nodeSelectorTerms"))
    return [_read_term(reader, item, item_path) for item, item_path in raw]


def _valid(terms: list[NodeTerm]) -> tuple[NodeTerm, ...]:
    return tuple([term for term in terms if _is_valid_term(term)])


def read_preferred(reader: Reader, spec: Mapping[str, object]) -> tuple[PreferredTerm, ...] | None:
    """
    Read the preferred affinity in the spec of a raw Pod; None if it has none, not even an empty one.

    upstream: nodeaffinity.go:NewPreferredSchedulingTerms (v1.37)
    """
    written, path = _node_affinity(reader, spec, PREFERRED_TERMS)
    if written is None:
        return None
    preferred: list[PreferredTerm] = []
    for item, item_path in reader.mappings(written, path):
        weight = reader.integer(item.get("weight"), item_path, "weight") or 0
        term_path = (*item_path, "preference")
        term = _read_term(reader, reader.mapping(item.get("preference"), term_path), term_path)
        if weight and _is_valid_term(term):
            preferred.append(PreferredTerm(weight, term))
    return tuple(preferred)


def has_pod_affinity(affinity: object) -> bool:
    """Return whether `spec.affinity` of a raw Pod has affinity or anti-affinity to other Pods."""
    return isinstance(affinity, dict) and bool(affinity.get(POD_AFFINITY) or affinity.get(POD_ANTI_AFFINITY))


def _node_affinity(reader: Reader, spec: Mapping[str, object], name: str) -> tuple[object, FieldPath]:
    """Return the value of a field of `spec.affinity.nodeAffinity`, and its path."""
    path: FieldPath = ("spec",)
    value: object = spec
    for field in ("affinity", "nodeAffinity", name):
        value, path = reader.mapping(value, path).get(field), (*path, field)
    return value, path


def _names(terms: list[NodeTerm]) -> frozenset[str] | None:
    """
    Return the names of the nodes that any of the terms asks for by `metadata.name`; None if a term does not ask so.

    upstream: node_affinity.go:NodeAffinity.PreFilter (v1.37)
    """
    names: frozenset[str] = frozenset()
    for term in terms:
        in_term = [frozenset(field.values) for field in term.fields if field.key == NAME_FIELD and field.operator == IN]
        if not in_term:
            return None
        names |= frozenset.intersection(*in_term)
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
                reader.string(item.get("key"), item_path, "key") or "",
                reader.string(item.get("operator"), item_path, "operator") or "",
                reader.strings(item.get("values"), item_path, "values"),
            )
            for item, item_path in reader.mappings(raw, path)
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
    Return whether the API server takes a requirement on fields: it must have one value.

    upstream: nodeaffinity.go:nodeSelectorRequirementsAsFieldSelector (v1.37)
    """
    return requirement.operator in (IN, NOT_IN) and len(requirement.values) == 1
