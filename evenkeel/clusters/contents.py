"""The objects of a cluster at one moment, for commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Contents(NamedTuple):
    """
    The objects of a cluster at one moment, for a command that reads each once.

    `objects` are raw, with at least the fields of `read_fields.OBJECT_FIELDS`, and can be gone through once.  After
    that `missing` says why a kind could not be read, by its resource, such as `nodes`.  Namespaced objects are those of
    `namespace`, or of all if it is empty.  `kubernetes_version` and `time`, as RFC 3339 has it, are empty if they are
    not known.  `serves_node_pools` says whether the API server has Karpenter's NodePools.
    """

    objects: Iterator[Mapping[str, object]]
    missing: Mapping[str, str]
    namespace: str = ""
    kubernetes_version: str = ""
    time: str = ""
    serves_node_pools: bool = False


class FormatError(ValueError):
    """A file of contents that was cut off or changed, or is of a version that is not known."""
