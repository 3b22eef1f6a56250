"""The generated documents: written by `make docs`, compared by test_docs.py."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import socket
from pathlib import Path

from tests import chart, metrics
from webhook import cli
from webhook.render import catalogue
from webhook.settings import SETTINGS

MAKE_RUN = ["make", "run", "ONCE=1"]
ROOT = Path(__file__).parent.parent
_TABLE = re.compile(r"(<!-- (?P<name>settings|values|metrics|reasons|alerts) -->\n).*?(<!-- /(?P=name) -->)", re.DOTALL)
_BLOCK = re.compile(r"(<!-- output of: (?P<command>.+?) -->\n```[a-z]*\n)(?P<output>.*?)(```\n)", re.DOTALL)


def filled(name: str) -> str:
    """A document with its generated parts as they should be today."""
    text = (ROOT / name).read_text("utf-8")
    tables = {"settings": settings, "values": chart.table, "alerts": metrics.alerts}
    tables |= {"metrics": metrics.table, "reasons": metrics.reasons}
    return _TABLE.sub(lambda block: f"{block[1]}{tables[block['name']]()}{block[3]}", fill(text))


GENERATED = {
    "README.md": lambda: filled("README.md"),
    "docs/lint.md": lambda: filled("docs/lint.md"),
    "docs/metrics.md": lambda: filled("docs/metrics.md"),
    "docs/policy.md": lambda: filled("docs/policy.md"),
    "docs/serve.md": lambda: filled("docs/serve.md"),
    "docs/rules.md": catalogue.page,
    "charts/evenkeel/README.md": lambda: filled("charts/evenkeel/README.md"),
    "charts/evenkeel/values.schema.json": chart.schema,
    "charts/evenkeel/files/program.yaml": chart.program,
}


def fill(text: str) -> str:
    """`text` with the output of the command above each marked block, as it is today, in that block."""
    return _BLOCK.sub(lambda block: f"{block[1]}$ {block['command']}\n{output(block['command'])}{block[4]}", text)


def settings() -> str:
    """The table of the server's settings."""
    rows = (f"| `{one.flag}` | `{one.variable}` | {one.default or '–'} | {one.help} |" for one in SETTINGS)
    return "\n".join(("| flag | variable | default | what it is |", "| --- | --- | --- | --- |", *rows, ""))


def output(command: str) -> str:
    """What a command prints; `make run` is `evenkeel example`, here on a port that is free."""
    words = shlex.split(command)
    if words == MAKE_RUN:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        text = output(f"evenkeel example --once --port {port}")
        return re.sub(r"/\S+/evenkeel-\w+/", "/tmp/evenkeel-…/", text.replace(port, "8443"))
    printed = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        os.environ["COLUMNS"] = "100"
        cli.main(words[1:])
    return printed.getvalue()


if __name__ == "__main__":
    for name, content in GENERATED.items():
        (ROOT / name).write_text(content(), "utf-8")
