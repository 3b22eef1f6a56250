"""The plan of the house: who may import whom, and what is pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support import ROOT

# A folder imports from itself and from the rows below its own. Pure is what has a *: values in, values out.
PLAN = """\
evenkeel.commands
evenkeel.policy_test
evenkeel.lint, evenkeel.report
evenkeel.pending
evenkeel.explain
evenkeel.simulate
evenkeel.clusters
evenkeel.placement*
evenkeel.scheduler*
evenkeel.objects*, evenkeel.admit, evenkeel.catalogue, evenkeel.policy
evenkeel.terminal
webhook.cli
webhook.server
webhook.manifests
webhook.cluster
webhook.admission*
webhook.policy*
webhook.rules*
webhook.findings*
webhook.spread*
webhook.kubernetes*
webhook.server.transport, certs
webhook.__version__
"""
ROWS = {name.strip("* "): row for row, names in enumerate(PLAN.splitlines()) for name in names.split(",")}
PURE = [name.strip("* ") for name in PLAN.replace("\n", ",").split(",") if name.endswith("*")]
# What reaches the disk, the network, other threads and processes, the clock, and the terminal.
IMPURE = {
    *("asyncio", "concurrent", "ctypes", "fcntl", "glob", "http", "io", "logging", "mmap", "multiprocessing", "os"),
    *("pathlib", "secrets", "select", "shutil", "signal", "socket", "socketserver", "ssl", "subprocess", "tempfile"),
    *("threading", "time", "urllib", "uuid"),
    *("cryptography", "flask", "gunicorn", "jinja2", "kubernetes", "prometheus_client", "urllib3", "werkzeug"),
    *("builtins.eval", "builtins.exec", "builtins.input", "builtins.open", "builtins.print", "builtins.__import__"),
    *("datetime.datetime.now", "random.random", "sys.argv", "sys.stdin", "sys.stdout", "sys.stderr"),
}
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file.read_text("utf-8")
    for top in ("certs", "evenkeel", "webhook")
    for file in sorted((ROOT / top).rglob("*.py"))
}
STARTS = {"webhook", "webhook.__main__", "evenkeel"}  # What starts the command, and says what a package is.


def folder_of(name: str) -> str:
    """The entry of the plan that has a module; the longest, and "" where none has it."""
    return max((entry for entry in ROWS if f"{name}.".startswith(f"{entry}.")), key=len, default="")


def names_in(source: str) -> Iterator[str]:
    """Every name that is imported or read, in full, wherever it stands."""
    known: dict[str, str] = {}
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.partition(".")[0]] = alias.name
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        is_read = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        name = ast.unparse(node) if is_read else ""
        first, dot, rest = name.partition(".")
        yield f"{known.get(first, f'builtins.{first}')}{dot}{rest}"


def misdirected(module: str, source: str) -> set[str]:
    """What a module imports from a folder that is not below its own."""
    ours = {name for name in names_in(source) if name.split(".")[0] in ("certs", "evenkeel", "webhook")}
    own = folder_of(module)
    return {name for name in ours if folder_of(name) != own and ROWS.get(folder_of(name), -1) <= ROWS[own]}


def impure(source: str) -> set[str]:
    """The names in a module that reach outside."""
    return {name for name in names_in(source) if any(f"{name}.".startswith(f"{outside}.") for outside in IMPURE)}


@pytest.mark.parametrize("module", sorted(MODULES.keys() - STARTS))
def test_imports_point_down_and_what_decides_is_pure(module):
    assert folder_of(module)
    assert set() == misdirected(module, MODULES[module])
    assert folder_of(module) not in PURE or set() == impure(MODULES[module])


def test_every_entry_of_the_plan_is_a_folder():
    assert set() == {entry for entry in ROWS if entry not in MODULES} - {"webhook.__version__"}


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("webhook.rules.a", "from webhook.spread import nodes", set()),
        ("webhook.spread.a", "from webhook.rules import b", {"webhook.rules.b"}),
        ("webhook.server.app", "def f():\n from evenkeel.lint.files import x", {"evenkeel.lint.files.x"}),
        ("evenkeel.lint.a", "if TYPE_CHECKING:\n import evenkeel.report.b", {"evenkeel.report.b"}),
        ("certs.pem", "from webhook import __version__", set()),
        ("webhook.server.transport.tls", "from webhook.server import app", {"webhook.server.app"}),
    ],
)
def test_the_check_sees_where_an_import_points(module, source, found):
    assert found == misdirected(module, source)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import json, re\nfrom random import Random\nRandom(1).random()", set()),
        ("from os import path as p\np.exists('a')", {"os.path", "os.path.exists"}),
        ("def f():\n return open('a')", {"builtins.open"}),
        ("from datetime import datetime\ndatetime.now()", {"datetime.datetime.now"}),
    ],
)
def test_the_check_sees_what_reaches_outside(source, found):
    assert found == impure(source)
