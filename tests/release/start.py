"""
Unpack what lies beside this file in the archive, once for each build, Python and user, and run evenkeel from there.

This is `__main__.py` of `evenkeel.pyz`.  Python 3.6 and newer can read it, to say what is wrong.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

from built import NAME, PACKAGES, SUFFIXES, WANTED  # written when the file is built


def start() -> int:
    """Return the exit code of evenkeel, or 2 after one line that says why it cannot run."""
    suffix = EXTENSION_SUFFIXES[0]
    if suffix not in SUFFIXES:
        python = f"Python {sys.version.split()[0]} ({suffix})"
        return refuse(f"{sys.executable}: found {python}, wanted {WANTED}; put such a python3 first in PATH")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(caches, "evenkeel", NAME + suffix[: -len(".so")])
    try:
        if not os.path.isdir(folder):
            unpack(os.path.dirname(os.path.abspath(__file__)), folder, suffix)
    except OSError as error:
        return refuse(f"{folder}: cannot be unpacked: {error.strerror}; set XDG_CACHE_HOME to a folder that has room")
    except KeyboardInterrupt:
        return 130
    sys.path[0] = folder
    from webhook.cli.main import main

    return main()


def refuse(why: str) -> int:
    print("evenkeel: " + why, file=sys.stderr)
    return 2


def unpack(archive: str, folder: str, suffix: str) -> None:
    """Make the folder, whole or not at all, without the modules that are compiled for other Pythons."""
    from tempfile import TemporaryDirectory
    from zipfile import ZipFile

    parent = os.path.dirname(folder)
    os.makedirs(parent, exist_ok=True)
    with ZipFile(archive) as file, TemporaryDirectory(dir=parent) as new:
        names = [name for name in file.namelist() if name.startswith(PACKAGES + "/")]
        file.extractall(new, [name for name in names if name.endswith(suffix) or not name.endswith((*SUFFIXES,))])
        try:
            os.rename(os.path.join(new, PACKAGES), folder)
        except OSError:
            if not os.path.isdir(folder):  # or another process was faster
                raise


if __name__ == "__main__":
    sys.exit(start())
