"""What kube-scheduler reads of nodes, beyond what the webhook keeps of them: room, images and declared features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from evenkeel.scheduler.images import NodeImage
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.names import HOSTNAME
from webhook.spread.nodes import Node, NodeSet, NodesOf, lasting_taints


class Allocatable(NamedTuple):
    """What a node has for Pods: CPU in thousandths, all else in whole units."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: tuple[tuple[str, int], ...] = ()  # Extended resources, hugepages and the like, by name.
    pods: int = 0  # The most Pods that it takes.


NO_ROOM = Allocatable()


@dataclass(frozen=True, slots=True)
class SchedulerNode(Node):
    """A node as kube-scheduler sees it."""

    allocatable: Allocatable = NO_ROOM
    images: tuple[NodeImage, ...] = ()
    declared: frozenset[str] = frozenset()  # The features that its kubelet declares.


def another(like: SchedulerNode, name: str, labels: Labels) -> SchedulerNode:
    """
    Return a new node like an existing one, with these labels besides.

    It is without what a cordon or a controller has set on that, and has no images yet.
    """
    # Labels that hold the other node's name hold that of the new one.
    own = {key: name for key, value in like.labels.items() if value == like.name or key == HOSTNAME}
    all_labels = {**like.labels, **own, **labels}
    return replace(
        like, name=name, labels=all_labels, taints=lasting_taints(like.taints), unschedulable=False, images=()
    )


class ImageState(NamedTuple):
    """An image that nodes have."""

    size: int  # In bytes, as the first of the nodes reports it.
    nodes: NodeSet


class SchedulerNodes(NodesOf[SchedulerNode]):
    """The nodes of a cluster as kube-scheduler sees them."""

    @cached_property
    def images(self) -> Mapping[str, ImageState]:
        """
        The images by their names.

        upstream: cache.go:cacheImpl.addNodeImageStates (v1.37)
        """
        positions: dict[NodeImage, list[int]] = defaultdict(list)  # Most nodes report the same ones, in their order.
        for position, node in enumerate(self):
            for image in node.images:
                positions[image].append(position)
        states: dict[str, ImageState] = {}
        for image in sorted(positions, key=lambda image: positions[image][0]):
            nodes = _at(positions[image])
            for name in image.names:
                size_of_first, before = states.get(name, (image.size, 0))
                states[name] = ImageState(size_of_first, before | nodes)
        return states

    @cached_property
    def by_allocatable(self) -> Mapping[Allocatable, NodeSet]:
        return self.grouped(self.all, lambda node: node.allocatable)


def _at(positions: Sequence[int]) -> NodeSet:
    """Return the nodes at these rising positions; through a text of digits, since setting bit by bit is quadratic."""
    digits = bytearray(b"0" * (positions[-1] + 1))
    for position in positions:
        digits[-1 - position] = ord("1")
    return int(digits, 2)
