"""Files with certificates and keys, read and written without a look at what is in them."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path


class CertificateError(ValueError):
    """A certificate or key that cannot be used; the message names the file and never shows the content of a key."""


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
