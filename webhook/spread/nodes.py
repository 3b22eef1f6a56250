"""Nodes, and sets of nodes by what they carry."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Generic, NamedTuple, Self, TypeVar

from webhook.kubernetes.labels import Labels
from webhook.spread.known_taints import is_set_by_controller
from webhook.spread.taints import DO_NOT_SCHEDULE, Taint, Toleration, untolerated_taint

GroupT = TypeVar("GroupT", bound=Hashable)
NodeT = TypeVar("NodeT", bound="Node", covariant=True)
NodeSet = int  # Bit i is set for the node at position i.
_PLACEMENTS_KEPT = 32  # results of `placed`; each takes some 0.3 MB for 5,000 nodes
_SPARSE = 12  # If a set has fewer than one in so many nodes, it is faster to take out one bit after the other.
_GO_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = 1 << 63
_LONGEST_VALUE = 63  # characters of a label's value
_ONE = ord("1")
_AS_NUMBERS = bytes.maketrans(b"01", bytes([0, 1]))


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the webhook sees it."""

    name: str
    labels: Labels
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False  # of its spec; `kubectl cordon` sets it


class Domains(NamedTuple):
    """The domains of some nodes: their values of a topology key."""

    of: Mapping[str, str]  # by the name of the node
    all: frozenset[str]


class NodesOf(Generic[NodeT]):
    """
    The nodes of a cluster, in an order that does not change; their names are unique.

    A set of them is an integer with one bit a node, so that sets of 5,000 nodes are joined in a tenth of a microsecond.
    Answers about labels and taints are cached, since the nodes never change.
    """

    def __init__(self, nodes: Iterable[NodeT] = ()) -> None:
        self._nodes = tuple(nodes)
        self._names = tuple([node.name for node in self._nodes])
        self.all: NodeSet = (1 << len(self._nodes)) - 1
        self._carried: dict[str, NodeSet] = {}
        self._domains: dict[str, Mapping[str, NodeSet]] = {}
        self._integers: dict[str, Sequence[tuple[int, NodeSet]]] = {}
        self._placed: dict[tuple[str, NodeSet], Domains] = {}

    def __iter__(self) -> Iterator[NodeT]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodesOf) and self._nodes == other._nodes

    __hash__ = None  # type: ignore[assignment]

    def replaced_by(self, nodes: Iterable[NodeT]) -> Self:
        """Return a cluster's nodes after a change; if names and labels are the same, the caches of labels stay."""
        new = type(self)(nodes)
        pairs = zip(self._nodes, new, strict=False)
        if len(self) == len(new) and all(a is b or (a.name == b.name and a.labels == b.labels) for a, b in pairs):
            new._carried, new._domains, new._integers, new._placed = (
                self._carried,
                self._domains,
                self._integers,
                self._placed,
            )
            new.label_keys, new.common_label_keys = self.label_keys, self.common_label_keys
        return new

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self._names)}

    def get(self, name: str) -> NodeT | None:
        """Return the node of this name, or None."""
        position = self._positions.get(name)
        return None if position is None else self._nodes[position]

    def named(self, names: Iterable[str]) -> NodeSet:
        """Return the nodes with these names; a name that no node has is passed over."""
        return union(1 << self._positions[name] for name in names if name in self._positions)

    def named_one(self, name: str) -> NodeSet:
        """Return the node with this name as a set; KeyError if there is none."""
        return 1 << self._positions[name]

    def members(self, chosen: NodeSet) -> Iterator[NodeT]:
        """Return the nodes of a set, in their order."""
        return compress(self._nodes, _as_selectors(chosen))

    def names(self, chosen: NodeSet) -> Iterator[str]:
        """Return the names of the nodes of a set, in their order."""
        return compress(self._names, _as_selectors(chosen))

    def grouped(self, chosen: NodeSet, key: Callable[[NodeT], GroupT]) -> dict[GroupT, NodeSet]:
        """Return the nodes of a set by what `key` returns for each."""
        length = chosen.bit_length()
        if chosen.bit_count() * _SPARSE < length:
            return self._grouped_bit_by_bit(chosen, key)
        # Write each group as binary digits, the first node's last: to set bits in a large integer copies it each time.
        digits: dict[GroupT, bytearray] = {}
        indices = compress(range(length - 1, -1, -1), _as_selectors(chosen))
        for index, node in zip(indices, self.members(chosen), strict=True):
            group = key(node)
            if group not in digits:
                digits[group] = bytearray(b"0" * length)
            digits[group][index] = _ONE
        return {group: int(binary, 2) for group, binary in digits.items()}

    def _grouped_bit_by_bit(self, chosen: NodeSet, key: Callable[[NodeT], GroupT]) -> dict[GroupT, NodeSet]:
        """Do what `grouped` does, without a look at the nodes that are not in the set."""
        groups: dict[GroupT, NodeSet] = {}
        while chosen:
            bit = chosen & -chosen  # the lowest
            chosen ^= bit
            group = key(self._nodes[bit.bit_length() - 1])
            groups[group] = groups.get(group, 0) | bit
        return groups

    def carrying(self, key: str) -> NodeSet:
        """Return the nodes that have the label `key`."""
        if key in self.common_label_keys:
            return self.all
        if key not in self.label_keys:
            return 0
        if key not in self._carried:
            self._carried[key] = union(self.domains(key).values())
        return self._carried[key]

    def domains(self, key: str) -> Mapping[str, NodeSet]:
        """Return the nodes by their value of the label `key`; those that lack it are left out."""
        by_value = self._domains.get(key)
        if by_value is None and key not in self.label_keys:
            return {}  # Cache nothing: whoever writes Pods could fill the memory with such keys.
        if by_value is None:
            domains: dict[str, NodeSet] = {}
            for position, node in enumerate(self._nodes):
                if (value := node.labels.get(key)) is not None:
                    domains[value] = domains.get(value, 0) | 1 << position
            by_value = self._domains[key] = domains
        return by_value

    def integers(self, key: str) -> Sequence[tuple[int, NodeSet]]:
        """Return the nodes by their value of the label `key`, where that is an integer."""
        if key not in self.label_keys:
            return ()
        if key not in self._integers:
            by_number = ((integer(value), members) for value, members in self.domains(key).items())
            self._integers[key] = [(number, members) for number, members in by_number if number is not None]
        return self._integers[key]

    def number_of_domains(self, key: str, chosen: NodeSet) -> int:
        """Return the number of values of the label `key` on the nodes of a set."""
        domains, carrying = self.domains(key), chosen & self.carrying(key)
        if len(domains) == self.carrying(key).bit_count():  # Each node is a domain of its own, as with hostname.
            return carrying.bit_count()
        return sum([1 for domain in domains.values() if domain & carrying])

    def placed(self, key: str, chosen: NodeSet) -> Domains:
        """Return the nodes of a set by their domain of `key`; those that lack it are left out."""
        domains = self._placed.get((key, chosen))
        if domains is None:
            domain_of = {node.name: node.labels[key] for node in self.members(chosen & self.carrying(key))}
            if len(self._placed) >= _PLACEMENTS_KEPT:
                self._placed.clear()
            domains = self._placed[key, chosen] = Domains(domain_of, frozenset(domain_of.values()))
        return domains

    @cached_property
    def label_keys(self) -> frozenset[str]:
        """The label keys that any node carries."""
        return frozenset[str]().union(*[node.labels for node in self._nodes])

    @cached_property
    def common_label_keys(self) -> frozenset[str]:
        """The label keys that every node carries; none if there is no node."""
        first, *others = [node.labels for node in self._nodes] or [{}]
        return frozenset(first).intersection(*others)

    @cached_property
    def closed_to_some(self) -> bool:
        """Whether any node is cordoned, or has a taint."""
        return bool(self.by_taints or self.unschedulable)

    @cached_property
    def unschedulable(self) -> NodeSet:
        """The nodes that `kubectl cordon` has closed."""
        return union(1 << position for position, node in enumerate(self._nodes) if node.unschedulable)

    @cached_property
    def in_service(self) -> Self:
        """The same nodes once they are uncordoned, and without the taints that controllers set and remove."""
        if not self.closed_to_some:
            return self
        nodes = [
            replace(
                node,
                taints=lasting_taints(node.taints),
                unschedulable=False,
            )
            if node.taints or node.unschedulable
            else node
            for node in self._nodes
        ]
        return self.replaced_by(nodes)

    @cached_property
    def by_taints(self) -> Mapping[tuple[Taint, ...], NodeSet]:
        """The nodes by all of their taints; those without are left out."""
        by_taints: dict[tuple[Taint, ...], NodeSet] = {}
        for position, node in enumerate(self._nodes):
            if node.taints:
                by_taints[node.taints] = by_taints.get(node.taints, 0) | 1 << position
        return by_taints

    def tainted_by(self, keys: Collection[str]) -> NodeSet:
        """Return the nodes that have a taint with one of these keys."""
        return union(
            members for taints, members in self.by_taints.items() if any(taint.key in keys for taint in taints)
        )

    def untolerated(self, tolerations: Sequence[Toleration]) -> Mapping[Taint, NodeSet]:
        """Return the nodes on which a taint keeps a Pod off, by the first such taint."""
        by_taint: dict[Taint, NodeSet] = {}
        for taints, members in self.by_taints.items():
            if taint := untolerated_taint(taints, tolerations, DO_NOT_SCHEDULE):
                by_taint[taint] = by_taint.get(taint, 0) | members
        return by_taint

    def tolerated(self, tolerations: Sequence[Toleration]) -> NodeSet:
        """Return the nodes that no taint keeps a Pod off."""
        return self.all & ~union(self.untolerated(tolerations).values())


Nodes = NodesOf[Node]  # Node, or a subclass of it with more fields


def lasting_taints(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return the taints without those that controllers set and remove."""
    return tuple([taint for taint in taints if not is_set_by_controller(taint)])


def integer(text: str) -> int | None:
    """Return the integer that strconv.ParseInt reads, within 64 bits, or None."""
    if len(text) > _LONGEST_VALUE or not _GO_INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


def positions(nodes: NodeSet) -> Iterator[int]:
    """Return the positions of the nodes of a set, in their order."""
    return compress(range(nodes.bit_length()), _as_selectors(nodes))


def union(sets: Iterable[NodeSet]) -> NodeSet:
    """Return the nodes that are in any of the sets."""
    members = 0
    for node_set in sets:
        members |= node_set
    return members


def _as_selectors(chosen: NodeSet) -> bytes:
    """
    Return a byte for each node up to the last of the set: 1 if it belongs to it, else 0.

    Binary text makes it without a loop over bits; `compress` takes it as selectors.
    """
    return f"{chosen:b}"[::-1].encode().translate(_AS_NUMBERS)
