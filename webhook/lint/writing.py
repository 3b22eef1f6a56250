"""A file written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile


class Changed(OSError):
    """A file that is no longer what was read."""


def write(file: str, old: str, new: str) -> None:
    """Put `new` in the place of `old`; OSError if it cannot be, and then the file is as it was."""
    target = os.path.realpath(file)
    with open(target, "rb") as opened:
        if opened.read() != old.encode("utf-8"):
            raise Changed(None, "was changed by something else meanwhile")
    replace(target, new)


def replace(target: str, text: str) -> None:
    """Make `text` the content of `target`, new or not, by way of a file beside it."""
    descriptor, beside = tempfile.mkstemp(dir=os.path.dirname(target) or os.curdir, prefix=".evenkeel-")
    try:
        with open(descriptor, "wb") as opened:
            opened.write(text.encode("utf-8"))
            opened.flush()
            os.fsync(opened.fileno())
        os.chmod(beside, _mode(target))
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _mode(target: str) -> int:
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o7777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
