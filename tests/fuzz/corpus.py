"""What is worth to be changed again: an input for each way in which one was answered, in a folder for each target."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from pathlib import Path

MOST_FILES, MOST_BYTES = 2_000, 32 << 10
FOUND = "found"


class Corpus:
    """Inputs that are files of `folder`; those that failed are in a folder beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inputs = [file.read_bytes() for file in sorted(folder.glob("*")) if file.is_file()]
        self.seen: set[Hashable] = set()

    def failed(self) -> Iterator[bytes]:
        """What was found before."""
        return (file.read_bytes() for file in sorted((self.folder / FOUND).glob("*")))

    def keep(self, given: bytes, signature: Hashable) -> None:
        """Keep an input if no other was answered alike."""
        if signature in self.seen:
            return
        self.seen.add(signature)
        if len(given) <= MOST_BYTES and len(self.inputs) < MOST_FILES and given not in self.inputs:
            self.inputs.append(given)
            _write(self.folder, given)

    def found(self, given: bytes) -> Path:
        """Keep an input that failed; its file."""
        return _write(self.folder / FOUND, given)


def _write(folder: Path, given: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / hashlib.sha256(given).hexdigest()[:16]
    file.write_bytes(given)
    return file
