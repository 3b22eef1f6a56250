"""What commands print, for documents."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import socket
from pathlib import Path

from tests.support import ROOT
from webhook.cli import main as cli

MAKE_RUN = ["make", "run", "ONCE=1"]


def output(command: str, folder: Path = ROOT) -> str:
    """What a command prints in a folder; `make run` is `evenkeel example`, here on a port that is free."""
    words = shlex.split(command)
    if words == MAKE_RUN:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        text = output(f"evenkeel example --once --port {port}")
        return re.sub(r"/\S+/evenkeel-\w+/", "/tmp/evenkeel-…/", text.replace(port, "8443"))
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        os.environ["COLUMNS"] = "100"
        cli.main(words[1:])
    return printed.getvalue()
