"""Writes a file completely or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile

from webhook.kubernetes.documents import encoding


class Changed(OSError):
    """The file has changed since it was read."""


def write_over(file: str, old: str, new: str) -> None:
    """
    Replace the content `old` of a file with `new`, in its own encoding.

    OSError if that fails; the file is then unchanged.
    """
    with open(file, "rb") as opened:
        content = opened.read()
    if content != old.encode(encoding(content)):
        raise Changed(None, "another program has changed it since it was read")
    write_new(file, new, encoding(content))


def write_new(file: str, text: str, encoded: str = "utf-8") -> None:
    """
    Write `text` to a new file, then give it the name and mode of `file`, or of what a link leads to.

    OSError if that fails.
    """
    target = os.path.realpath(file)
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target) or os.curdir, prefix=".evenkeel-")
    try:
        with open(descriptor, "wb") as opened:
            opened.write(text.encode(encoded))
            opened.flush()
            os.fsync(opened.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: str) -> int:
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o7777
    umask = os.umask(0)  # it can only be read by setting it
    os.umask(umask)
    return 0o666 & ~umask
