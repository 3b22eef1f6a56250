"""Read a Snapshot from files that `kubectl get nodes,namespaces,pods,services,… -A -o yaml` prints."""

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
    """The objects in a file, or in all YAML and JSON files below a folder; DumpError if there are none."""
    files = (
        sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        if path.is_dir()
        else [path]
    )
    if not files:
        raise DumpError(f"{path}: found no file that ends in {', '.join(sorted(SUFFIXES))}")
    return _from_files(files)


def _from_files(files: list[Path]) -> Snapshot:
    reading = files[0]

    def objects() -> Iterator[Mapping[str, object]]:
        nonlocal reading
        for file in files:
            reading = file
            text = read_text(file)
            if not text.strip():
                raise DumpError(f"{file}: is empty, wanted the output of kubectl get -o yaml; see what kubectl printed")
            yield from read_objects(text)

    try:
        return from_objects(objects())
    except (DocumentError, SnapshotError) as error:
        raise DumpError(f"{reading}: {error}") from error


def read_text(path: Path) -> str:
    """The text of a UTF-8 file; DumpError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise DumpError(f"{path}: {reason}") from error
