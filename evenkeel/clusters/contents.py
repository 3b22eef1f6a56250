"""The objects of a cluster at one moment, for commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Contents(NamedTuple):
    """The objects of a cluster at one moment, for a command that reads each once."""

    objects: Iterator[Mapping[str, object]]  # raw, with at least the fields of OBJECT_FIELDS
    missing: Mapping[str, str]  # why a kind cannot be read, by resource, such as nodes; complete after the objects
    namespace: str = ""  # that of namespaced objects, "" for all namespaces
    kubernetes_version: str = ""  # "" if it is not known
    time: str = ""  # as in RFC 3339, "" if it is not known
    serves_node_pools: bool = False  # the API server has Karpenter's NodePools


class FormatError(ValueError):
    """A file of contents is cut off or changed, or has an unknown version."""
