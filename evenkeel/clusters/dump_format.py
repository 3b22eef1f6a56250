"""
The file that `evenkeel dump` writes: gzipped lines of JSON, first a header and then one object a line.

    {"kind": "ClusterDump", "version": 1, "kubernetesVersion": "v1.37.1", "time": "2026-01-31T10:00:00Z"}
    {"apiVersion": "apps/v1", "kind": "Deployment", …}

Objects are in the order of kind, namespace and name.  The header also has `namespace` if it is limited to one,
`servesNodePools` if the API server has those of Karpenter, and `missing` if something could not be read.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

from evenkeel.clusters.contents import Contents, FormatError
from evenkeel.clusters.reduction import as_line, from_line, only_read, only_read_custom
from webhook.cli.options import DUMP_KIND
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.kubernetes.fields import texts_at
from webhook.kubernetes.kinds import NO_KINDS, Kinds
from webhook.kubernetes.references import ObjectRef

VERSION = 1
CHUNK = 1 << 18  # Bytes of lines that are compressed together.
_GVKS = {kind.gvk for kind in LISTED_RESOURCES}


class CompressedLines:
    """
    Lines of objects in compressed form, some hundred bytes for each, until all of them can be written in order.

    An API server lists objects by namespace and name, but `shop-eu` before `shop`.  Files may have any order.
    """

    def __init__(self) -> None:
        # By kind and namespace:
        self._done: dict[tuple[str, str], list[bytes]] = {}  # compressed chunks
        self._last: dict[tuple[str, str], str] = {}  # the last name
        self._mixed: set[tuple[str, str]] = set()  # those whose names are not in order
        # The chunk that is not compressed yet:
        self._place, self._size = ("", ""), 0
        self._lines: list[bytes] = []

    def add(self, obj: Mapping[str, object]) -> None:
        """Take an object; ValueError names it if JSON cannot hold it."""
        kind, namespace, name = texts_at(obj, "kind", "metadata.namespace", "metadata.name")
        place = (kind, namespace)
        if place != self._place or self._size > CHUNK:
            self._compress()
            self._place = place
        if name < self._last.get(place, ""):
            self._mixed.add(place)
        self._last[place] = name
        with _naming(obj):
            line = as_line(obj)
        self._lines.append(line)
        self._size += len(line)

    def __iter__(self) -> Iterator[bytes]:
        """Yield chunks of whole lines, in the order of kinds, namespaces and names."""
        self._compress()
        for place in sorted(self._done):
            chunks = map(zlib.decompress, self._done[place])
            yield from [_in_order(b"".join(chunks))] if place in self._mixed else chunks

    def _compress(self) -> None:
        if self._lines:
            self._done.setdefault(self._place, []).append(zlib.compress(b"".join(self._lines), 1))
        self._lines, self._size = [], 0


def _in_order(chunk: bytes) -> bytes:
    """Return the lines of one kind and namespace by name."""
    lines = sorted(chunk.splitlines(keepends=True), key=_name)
    return b"".join(lines)


def _name(line: bytes) -> str:
    return texts_at(from_line(line), "metadata.name")[0]


def write(out: BinaryIO, contents: Contents, lines: Iterable[bytes]) -> None:
    """Write a dump to `out`: header and `lines`.  The objects of `contents` must have been gone through."""
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=out, mtime=0) as file:
        file.write(json.dumps(header(contents)).encode() + b"\n")
        for chunk in lines:
            file.write(chunk)


def header(contents: Contents) -> dict[str, object]:
    """Return the first line of a dump."""
    fields: dict[str, object] = {"kind": DUMP_KIND, "version": VERSION}
    fields |= {"kubernetesVersion": contents.kubernetes_version, "time": contents.time}
    if contents.namespace:
        fields["namespace"] = contents.namespace
    if contents.serves_node_pools:
        fields["servesNodePools"] = True
    if contents.missing:
        fields["missing"] = contents.missing
    return fields


def reduced(objects: Iterable[Mapping[str, object]], kinds: Kinds = NO_KINDS) -> Iterator[Mapping[str, object]]:
    """
    Yield the objects of the kinds that are listed, and custom resources of `kinds`, with the fields that are read.

    ValueError names an object that has another form.
    """
    for obj in objects:
        api_version, kind = texts_at(obj, "apiVersion", "kind")
        if (api_version, kind) in _GVKS:
            with _naming(obj):
                reduced_obj = only_read(obj)
            yield reduced_obj
        elif custom := kinds.by_name.get((api_version, kind)):
            yield only_read_custom(obj, custom)


@contextmanager
def _naming(obj: Mapping[str, object]) -> Iterator[None]:
    """Put the object's name before an error in it."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{ObjectRef.of(obj)}: {error}") from error


def is_header(line: bytes) -> bool:
    """Return whether the first line of a file is that of a dump."""
    if DUMP_KIND.encode() not in line:
        return False
    header = _value_in(line)
    return isinstance(header, dict) and header.get("kind") == DUMP_KIND


def read(first: bytes, rest: Iterable[bytes]) -> Contents:
    """
    Return the contents of a dump, whose first line is its header; FormatError if its version is not supported.

    Going through the objects raises FormatError at the first line that is no JSON object.
    """
    header = _value_in(first)
    assert isinstance(header, dict)
    if header.get("version") != VERSION:
        raise FormatError(
            f"version: found {json.dumps(header.get('version'))}, wanted {VERSION}; "
            "read it with the evenkeel that wrote it, or write it again with this one"
        )
    texts = {name: value for name, value in header.items() if isinstance(value, str)}
    missing = header.get("missing")
    return Contents(
        _objects(rest),
        missing={str(name): str(why) for name, why in missing.items()} if isinstance(missing, dict) else {},
        namespace=texts.get("namespace", ""),
        kubernetes_version=texts.get("kubernetesVersion", ""),
        time=texts.get("time", ""),
        serves_node_pools=header.get("servesNodePools") is True,
    )


def _objects(lines: Iterable[bytes]) -> Iterator[Mapping[str, object]]:
    for number, line in enumerate(lines, 2):
        obj = _value_in(line)
        if not isinstance(obj, dict):
            raise FormatError(f"line {number}: must be a JSON object; the file is incomplete or changed, so dump again")
        yield obj


def _value_in(line: bytes) -> object:
    """Return the value in a line, None if it is not JSON."""
    try:
        return from_line(line)
    except (ValueError, RecursionError):
        return None
