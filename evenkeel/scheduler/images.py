"""The images that a Pod needs, and those that a node has, as kube-scheduler compares them: by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import FieldPath, integer
from webhook.kubernetes.reader import Reader

_MOST_SHARED = 8192  # Images that are kept once in memory: the nodes of a cluster list mostly the same ones.


class NodeImage(NamedTuple):
    """An image as a node reports it, under all of its names."""

    names: tuple[str, ...]
    size: int  # In bytes.


def normalized_name(name: str) -> str:
    """
    Return the name of an image with its tag: `latest` where it has none.

    upstream: image_locality.go:normalizedImageName (v1.37)
    """
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


class PodImages(NamedTuple):
    """The images of a Pod whose sizes ImageLocality adds up."""

    names: tuple[str, ...] = ()
    number: int = 0  # The largest score grows with it; up to 1.36 mounted images do not count.


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
    return tuple(
        [
            _shared(reader.strings(image.get("names"), image_path, "names"), integer(image.get("sizeBytes")) or 0)
            for image, image_path in reader.mappings(raw, path)
        ]
    )


@lru_cache(_MOST_SHARED)
def _shared(names: tuple[str, ...], size: int) -> NodeImage:
    return NodeImage(tuple(map(intern, names)), size)
