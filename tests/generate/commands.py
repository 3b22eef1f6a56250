"""What commands print, for documents."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT
from webhook.cli import main as cli

MAKE_RUN = ["make", "run", "ONCE=1"]
HEAD = re.compile(r" \| head -n (\d+)$")


def output(command: str, folder: Path = ROOT) -> str:
    """
    What a command prints in a folder, after `| head -n NUMBER` only the first lines.

    `make run` is `python -m tests.example`, here on a port that is free.
    """
    if head := HEAD.search(command):
        return "".join(output(command[: head.start()], folder).splitlines(keepends=True)[: int(head[1])])
    words = shlex.split(command)
    if words == MAKE_RUN:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        example = [sys.executable, "-m", "tests.example", "--once", "--port", port]
        text = subprocess.run(example, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return re.sub(r"/\S+/evenkeel-\w+/", "/tmp/evenkeel-…/", text.replace(port, "8443"))
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        os.environ["COLUMNS"] = "100"
        cli.main(words[1:])
    return printed.getvalue()
