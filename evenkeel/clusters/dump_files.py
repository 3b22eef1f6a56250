"""
Reads files that hold a cluster's objects, gzipped or not, whatever their names.

    what `evenkeel dump` writes, known by its first line ─────────────────────┐
    what `kubectl get nodes,namespaces,pods,services,… -A -o yaml` prints ────┴──> Contents, Snapshot
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from evenkeel.clusters import dump_format
from evenkeel.clusters.contents import Contents, FormatError
from webhook.kubernetes.documents import decoded, read_objects
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.scalars import DocumentError
from webhook.spread.cluster_view import ClusterView, SnapshotError

ViewT = TypeVar("ViewT", bound=ClusterView)
DUMP_SUFFIXES = {".yaml", ".yml", ".json", ".jsonl"}
GZIP, GZ = b"\x1f\x8b", ".gz"
LONGEST_HEADER = 1 << 16


class DumpError(ValueError):
    """A dump that cannot be used; the message names the file."""


def load(path: Path, read: Callable[[Iterable[Raw]], ViewT]) -> ViewT:
    """
    Return what `read` returns of the objects in a file, or in all YAML and JSON files below a folder.

    DumpError if there are none, or `read` raises a SnapshotError.
    """
    files, reading, serves_node_pools = _files(path), path, False

    def objects() -> Iterator[Raw]:
        nonlocal reading, serves_node_pools  # an error names the file that is being read
        for reading in files:
            contents = _contents(reading)
            serves_node_pools |= contents.serves_node_pools
            yield from contents.objects

    try:
        view = read(objects())
    except SnapshotError as error:
        raise DumpError(f"{reading}: {error}") from error
    return replace(view, serves_node_pools=True) if serves_node_pools else view


def contents(path: Path) -> Contents:
    """
    Return the contents of a dump, as raw objects; DumpError if they cannot be read, also while they are iterated over.

    Namespace, version and time are only known of a file that `evenkeel dump` wrote.
    """
    files = _files(path)
    if files == [path]:
        return _contents(path)
    return Contents((obj for file in files for obj in _contents(file).objects), {})


def version_of(path: Path) -> str:
    """Return the version of the cluster of a file of `evenkeel dump`, "" for others and for a stream."""
    return _described(path).kubernetes_version


def namespace_of(path: Path) -> str:
    """Return the namespace that a file of `evenkeel dump` is limited to, "" for others and for a stream."""
    return _described(path).namespace


def _described(path: Path) -> Contents:
    """Return what the header of a file of `evenkeel dump` says; no object is read."""
    if path.is_file():
        with _naming_file(path), ExitStack() as opened:
            file = _open_file(path, opened)
            if contents := _of_evenkeel(file.readline(LONGEST_HEADER), file):
                return contents
    return Contents(iter(()), {})


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    with_suffix = (file for file in path.rglob("*") if Path(file.name.removesuffix(GZ)).suffix in DUMP_SUFFIXES)
    files = sorted(file for file in with_suffix if file.is_file())
    if not files:
        raise DumpError(f"{path}: found no file that ends in {', '.join(sorted(DUMP_SUFFIXES))}, or these with {GZ}")
    return files


def _contents(path: Path) -> Contents:
    """Return the contents of one file; `evenkeel dump` writes a header of one line."""
    with _naming_file(path), ExitStack() as opened:
        file = _open_file(path, opened)
        first = file.readline(LONGEST_HEADER)
        contents = _of_evenkeel(first, file) or Contents(_of_kubectl(first, file), {})
        return contents._replace(objects=_named(path, contents.objects, opened.pop_all()))


def _open_file(path: Path, opened: ExitStack) -> BinaryIO:
    """Open a file, gzipped or not, until `opened` is closed."""
    file = opened.enter_context(path.open("rb"))
    if file.peek(len(GZIP))[: len(GZIP)] != GZIP:
        return file
    return cast(BinaryIO, opened.enter_context(gzip.GzipFile(fileobj=file)))


def _of_evenkeel(first: bytes, file: BinaryIO) -> Contents | None:
    if b'"Cluster' not in first:
        return None
    return dump_format.read(first, file) if dump_format.is_header(first) else None


def _of_kubectl(first: bytes, file: BinaryIO) -> Iterator[Mapping[str, object]]:
    text = decoded(first + file.read())
    if not text.strip():
        raise DocumentError("is empty, wanted the output of kubectl get -o yaml; see what kubectl printed")
    yield from read_objects(text)


def _named(path: Path, objects: Iterator[Mapping[str, object]], opened: ExitStack) -> Iterator[Mapping[str, object]]:
    """Yield the objects; an error in the file names it, and the file is closed at its end."""
    with opened, _naming_file(path):
        yield from objects


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Raise whatever is wrong in the file as DumpError with its name."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DumpError(f"{path}: is not {error.encoding.upper()}") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DumpError(f"{path}: is damaged ({error}); dump again") from error
    except EOFError as error:
        raise DumpError(f"{path}: is incomplete: a disk was full, or a copy failed; dump again") from error
    except OSError as error:
        raise DumpError(f"{path}: {error.strerror}") from error
    except (DocumentError, FormatError) as error:
        raise DumpError(f"{path}: {error}") from error
