"""A Snapshot from files, as `kubectl get nodes,namespaces,pods,services,… -A -o yaml` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from webhook.documents.reading import read_objects
from webhook.documents.scalars import DocumentError
from webhook.scheduler.snapshot import Snapshot, SnapshotError, from_objects

SUFFIXES = {".yaml", ".yml", ".json"}


class DumpError(ValueError):
    """A dump that cannot be used; the message names the file."""


def load(path: Path) -> Snapshot:
    """The cluster in a file, or in all YAML and JSON files below a folder."""
    files = (
        sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        if path.is_dir()
        else [path]
    )
    if not files:
        raise DumpError(f"{path}: found no file that ends in {', '.join(sorted(SUFFIXES))}")
    return from_files(files)


def from_files(files: list[Path]) -> Snapshot:
    reading = [files[0]]
    try:
        return from_objects(_objects(files, reading))
    except (DocumentError, SnapshotError) as error:
        raise DumpError(f"{reading[0]}: {error}") from error


def _objects(files: list[Path], reading: list[Path]) -> Iterator[Mapping[str, object]]:
    """Every object in `files`; `reading` holds the file that the latest came from."""
    for reading[0] in files:
        yield from read_objects(read_text(reading[0]))


def read_text(path: Path) -> str:
    """The text of a file; DumpError says why there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise DumpError(f"{path}: {reason}") from error
