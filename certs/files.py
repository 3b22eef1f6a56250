"""Files with certificates and keys, read and written without a look at what is in them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path


class CertificateError(ValueError):
    """A certificate or key that cannot be used; the message names the file and never shows the content of a key."""


class NotNowError(CertificateError):
    """It cannot be used now, for a reason outside of the content, such as too many open files; later it may be."""


@dataclass(frozen=True)
class Pem:
    """PEM and its source: a file or an entry of a Secret. repr does not show the content, which may be a key."""

    source: str
    content: bytes = field(repr=False)


def read(path: Path) -> Pem:
    """Read a file; CertificateError if that fails."""
    try:
        return Pem(str(path), path.read_bytes())
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


def write_pair(chain: Path, chain_content: bytes, key: Path, key_content: bytes) -> None:
    """
    Replace a certificate and its key, which may be in any folder.

    A process that is killed meanwhile leaves the previous pair, or a key without a certificate, but never a certificate
    with the key of another.  CertificateError if a file cannot be written.
    """
    with _filled(chain, chain_content, 0o644) as new_chain, _filled(key, key_content, 0o600) as new_key:
        with _naming(chain):
            chain.unlink(missing_ok=True)
        with _naming(key):
            os.replace(new_key, key)
        with _naming(chain):
            os.replace(new_chain, chain)


@contextmanager
def _filled(path: Path, content: bytes, mode: int) -> Iterator[Path]:
    """Write a new file that is to replace `path`, with this `mode`; remove those that a killed process has left."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with _naming(path):
        for leftover in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 16}"):
            leftover.unlink(missing_ok=True)
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raise an error of the system as CertificateError with the file's name."""
    try:
        yield
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


@contextmanager
def in_memory(content: bytes) -> Iterator[str]:
    """
    Yield the path of a file in memory, for a function that reads only files.

    The file lasts as long as the descriptor, which is closed right afterwards. No other user can open it. OSError if
    there is no memory for it.
    """
    descriptor = os.memfd_create("pem")
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
