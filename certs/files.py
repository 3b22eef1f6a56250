"""Files with certificates and keys, read and written without a look at what is in them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


class CertificateError(ValueError):
    """A certificate or key that cannot be used; the message names the file and never shows the content of a key."""


class NotNowError(CertificateError):
    """For a reason outside of the content, such as too many open files: the same content may be used later."""


@dataclass(frozen=True)
class Pem:
    """PEM and its source: a file or an entry of a Secret. repr does not show the content, which may be a key."""

    source: str
    content: bytes = field(repr=False)


def read(path: Path) -> Pem:
    """The content of a file; CertificateError if it cannot be read."""
    try:
        return Pem(str(path), path.read_bytes())
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


def write(path: Path, content: bytes, mode: int) -> None:
    """Replace a file atomically; it has `mode` from the start. CertificateError if it cannot be written."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


@contextmanager
def in_memory(content: bytes) -> Iterator[str]:
    """The path of a file for what reads only files; it is on no disk, and no other user can open it.  OSError."""
    descriptor = os.memfd_create("pem")
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
