"""The images that a Pod needs, and those that a node has, as kube-scheduler compares them: by name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from webhook.objects.fields import FieldPath, integer
from webhook.objects.reading import Reader
from webhook.scheduler.features import Features

MOST_NUMBERS = 256  # Of an image; before the first of them, the number is taken to be the same.
_MOST_SHARED = 8192  # Images of which one value is kept: nodes of a cluster list mostly the same ones.


class NodeImage(NamedTuple):
    """An image as a node reports it, under all of its names; `size` is in bytes."""

    names: tuple[str, ...]
    size: int


def normalized_name(name: str) -> str:
    """
    Return the name of an image with its tag: `latest` where it has none.

    upstream: image_locality.go:normalizedImageName (v1.37)
    """
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


class PodImages(NamedTuple):
    """The images of a Pod whose sizes are added up; `number` is that of the images of which the share is taken."""

    names: tuple[str, ...] = ()
    number: int = 0


NO_IMAGES = PodImages()


def read_images(reader: Reader, spec: Mapping[str, object], features: Features) -> PodImages:
    """
    Return the images in the spec of a raw Pod: of containers and init containers, and those that are mounted.

    upstream: image_locality.go:sumImageScores (v1.37)
    """
    names, mounted = list[str](), list[str]()
    for field in ("initContainers", "containers"):
        for container, path in reader.mappings(spec.get(field), ("spec", field)):
            names.append(reader.string(container.get("image"), path, "image") or "")
    for volume, path in reader.mappings(spec.get("volumes"), ("spec", "volumes")):
        if features.scores_image_volumes and volume.get("image") is not None:
            image = reader.mapping(volume["image"], (*path, "image"))
            mounted.append(reader.string(image.get("reference"), path, "image", "reference") or "")
    number = len(names) + (len(mounted) if features.counts_image_volumes else 0)
    return PodImages(tuple([normalized_name(name) for name in (*names, *mounted)]), number)


def read_node_images(reader: Reader, raw: object, path: FieldPath) -> tuple[NodeImage, ...]:
    """Return the images of a node, from its status."""
    return tuple(
        [
            _shared(reader.strings(image.get("names"), at, "names"), integer(image.get("sizeBytes")) or 0)
            for image, at in reader.mappings(raw, path)
        ]
    )


class ImageNumbers:
    """
    How many nodes have an image, as kube-scheduler knows it for each of them: as many as had it when the scheduler last
    looked at that node.  It looks at nodes before each decision, and only at those on which something has happened.

    upstream: types.go:NodeInfo.SnapshotConcrete, ImageStateSummary.Snapshot
    """

    def __init__(self, images: Iterable[tuple[NodeImage, ...]]) -> None:
        self._look, self._stirred = 0, set[str]()
        self._seen: dict[str, int] = {}  # The last look at a node, 0 for the first.
        self._numbers: dict[str, list[tuple[int, int]]] = {}  # By image: from which look on so many nodes have it.
        for of_node in images:
            self._count(of_node, 1)

    def happen(self, node: str) -> None:
        """Note that something has happened on a node, or to a Pod there."""
        self._stirred.add(node)

    def change(self, before: tuple[NodeImage, ...], after: tuple[NodeImage, ...]) -> None:
        """Count the images of a node as they are after a change."""
        if before != after:
            self._count(before, -1)
            self._count(after, 1)

    def _count(self, images: Iterable[NodeImage], more: int) -> None:
        for name in {name for image in images for name in image.names}:
            numbers = self._numbers.setdefault(name, [(0, 0)])
            since, number = numbers[-1]
            if since == self._look:
                numbers[-1] = since, number + more
            else:
                numbers.append((self._look, number + more))
                del numbers[:-MOST_NUMBERS]

    def forget(self, node: str) -> None:
        """Forget a node that is gone."""
        self._stirred.discard(node)
        self._seen.pop(node, None)

    def look(self) -> None:
        """Let kube-scheduler look at the nodes on which something has happened: it is about to decide."""
        self._seen.update(dict.fromkeys(self._stirred, self._look))
        self._stirred.clear()
        self._look += 1

    def groups(self, image: str, nodes: Iterable[str]) -> Mapping[int, Sequence[str]]:
        """Return the names of the nodes, all of which have an image, by the number of nodes that is known there."""
        numbers = self._numbers.get(image, [(0, 0)])
        groups: dict[int, list[str]] = {}
        for node in nodes:
            seen = self._look if node in self._stirred else self._seen.get(node, 0)
            place = max(0, bisect_right(numbers, seen, key=lambda number: number[0]) - 1)
            groups.setdefault(numbers[place][1], []).append(node)
        return groups


@lru_cache(_MOST_SHARED)
def _shared(names: tuple[str, ...], size: int) -> NodeImage:
    """Return an image; equal ones are one value in memory."""
    return NodeImage(tuple(map(intern, names)), size)
