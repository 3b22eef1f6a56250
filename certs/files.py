"""Files with certificates and keys, read and written without a look at what is in them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import escape
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
    with _filled(path, content, mode) as temporary:
        os.replace(temporary, path)


def write_pair(chain: Path, chain_content: bytes, key: Path, key_content: bytes) -> None:
    """
    Replace a certificate and its key, which may be in any folder.

    A process that is killed meanwhile leaves the pair before, or no certificate, but never the key of another.
    CertificateError if a file cannot be written.
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
    """A file beside `path` that is to take its place; those that a killed process has left are removed."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with _naming(path):
        for left in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 16}"):
            left.unlink(missing_ok=True)
        try:
            _fill(temporary, content, mode)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raise what the system refuses as CertificateError with the file's name."""
    try:
        yield
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


def write_together(files: Mapping[Path, tuple[bytes, int]]) -> None:
    """
    Replace files of one folder, each with its content and mode, at one moment; a process that is killed changes none.

        tls.crt ──> .current/tls.crt        .current ──> .made-1f0c…/, which one rename replaces
        tls.key ──> .current/tls.key

    What a killed process has left is removed.  CertificateError, which names the first file, if they cannot be written.
    """
    first = next(iter(files))
    made = first.with_name(f"{_MADE}{secrets.token_hex(8)}")
    with _naming(first):
        made.mkdir()
        try:
            for path, (content, mode) in files.items():
                _fill(made / path.name, content, mode)
            _link(first.with_name(_CURRENT), made.name)
        except BaseException:
            _remove(made)
            raise
        unlinked = [path for path in files if not path.is_symlink()]
        for path in reversed(unlinked):
            path.unlink(missing_ok=True)  # so that none of them stands beside one that does not belong to it
        for path in unlinked:
            _link(path, f"{_CURRENT}/{path.name}")
        for left in first.parent.glob(f"{_MADE}*"):
            if left.name != made.name:
                _remove(left)


_CURRENT, _MADE = ".current", ".made-"


def _fill(path: Path, content: bytes, mode: int) -> None:
    """A new file; it has `mode` from the start."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _link(path: Path, target: str) -> None:
    """Replace a symbolic link atomically."""
    temporary = path.with_name(f"{_MADE}{secrets.token_hex(8)}")
    temporary.symlink_to(target)
    try:
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    """Remove a link, or a folder and the files in it."""
    if path.is_symlink():
        path.unlink()
        return
    for file in path.iterdir():
        file.unlink()
    path.rmdir()


@contextmanager
def in_memory(content: bytes) -> Iterator[str]:
    """The path of a file for what reads only files; it is on no disk, and no other user can open it.  OSError."""
    descriptor = os.memfd_create("pem")
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
