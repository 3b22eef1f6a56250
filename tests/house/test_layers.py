"""The plan of the house: who may import whom, and what is pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter

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
webhook.server.transport
certs
"""
ROWS = {name.strip("* "): row for row, names in enumerate(PLAN.splitlines()) for name in names.split(",")}
PURE = [name.strip("* ") for name in PLAN.replace("\n", ",").split(",") if name.endswith("*")]
# All that the pure folders use besides each other: no clock, disk, network, thread or terminal.
GRANTED = {
    *("__future__", "bisect", "collections", "copy.copy", "dataclasses", "difflib", "enum", "functools", "itertools"),
    *("inspect.cleandoc", "json", "marshal", "math", "operator", "random.Random", "re", "shlex.join", "sys.intern"),
    *("types", "typing"),
}
# A new rule is imported without being listed; the kinds of operators are a table.
GRANTED_TO = {
    "webhook.rules": {"importlib", "pkgutil"},
    "webhook.kubernetes": {"jsonschema", "pkgutil.get_data", "yaml"},
}
BUILTINS = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file.read_text("utf-8")
    for top in ("certs", "evenkeel", "webhook")
    for file in sorted((ROOT / top).rglob("*.py"))
}
STARTS = {"webhook", "webhook.__main__", "evenkeel"}  # What starts the command, and says what a package is.
VERSION = "webhook.__version__"


def folder_of(name: str) -> str:
    """The entry of the plan that has a module; the longest, and "" where none has it."""
    return max((entry for entry in ROWS if f"{name}.".startswith(f"{entry}.")), key=len, default="")


def imports(source: str) -> Iterator[str]:
    """Every name that is imported, in full, wherever it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "an import that is relative"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_ours(name: str) -> bool:
    return name.split(".")[0] in ("certs", "evenkeel", "webhook")


def misdirected(module: str, source: str) -> set[str]:
    """What a module imports from a folder that is not below its own; of what is pure, also what is not."""
    own = folder_of(module)
    below = {entry for entry, row in ROWS.items() if row > ROWS[own] and (own not in PURE or entry in PURE)} | {own}
    return {name for name in imports(source) if is_ours(name) and name != VERSION and folder_of(name) not in below}


def impure(folder: str, source: str) -> set[str]:
    """The names in a module that reach outside."""
    granted = GRANTED | GRANTED_TO.get(folder, set())
    foreign = {name for name in imports(source) if not is_ours(name)}
    found = {name for name in foreign if not any(f"{name}.".startswith(f"{grant}.") for grant in granted)}
    read = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and is_read(node)}
    return found | (read & BUILTINS)


def is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


@pytest.mark.parametrize("module", sorted(MODULES.keys() - STARTS))
def test_imports_point_down_and_what_decides_is_pure(module):
    assert folder_of(module)
    assert set() == misdirected(module, MODULES[module])
    assert folder_of(module) not in PURE or set() == impure(folder_of(module), MODULES[module])


def test_what_starts_the_command_imports_nothing_else():
    assert {"webhook.cli.main.main"} == {name for start in STARTS for name in imports(MODULES[start]) if is_ours(name)}


def test_no_modules_import_each_other_in_a_circle():
    """What is imported for types and inside functions counts, too."""
    names = {module: {*imports(source)} for module, source in MODULES.items()}
    modules = {name: name if name in MODULES else name.rpartition(".")[0] for found in names.values() for name in found}
    graph = {module: {modules[name] for name in found} - {module} for module, found in names.items()}

    TopologicalSorter(graph).prepare()


def test_every_entry_of_the_plan_is_a_folder():
    assert set() == ROWS.keys() - MODULES.keys()


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("webhook.rules.a", "from webhook.spread import nodes", set()),
        ("webhook.spread.a", "from webhook.rules import b", {"webhook.rules.b"}),
        ("webhook.server.app", "def f():\n from evenkeel.lint.files import x", {"evenkeel.lint.files.x"}),
        ("evenkeel.lint.a", "if TYPE_CHECKING:\n import evenkeel.report.b", {"evenkeel.report.b"}),
        ("webhook.cli.main", "from webhook import __version__", set()),
        ("certs.pem", "from webhook.kubernetes import names", {"webhook.kubernetes.names"}),
        ("webhook.spread.a", "from webhook.server.transport import tls", {"webhook.server.transport.tls"}),
        ("evenkeel.scheduler.a", "from webhook.cluster.client import Client", {"webhook.cluster.client.Client"}),
        ("webhook.server.transport.tls", "from webhook.server import app", {"webhook.server.app"}),
    ],
)
def test_the_check_sees_where_an_import_points(module, source, found):
    assert found == misdirected(module, source)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import json, re\nfrom random import Random\nopened = Random(1).random()", set()),
        ("from os import path as p\np.exists('a')", {"os.path"}),
        ("def f():\n return open('a')", {"open"}),
        ("from random import shuffle", {"random.shuffle"}),
        ("import yaml", {"yaml"}),
    ],
)
def test_the_check_sees_what_reaches_outside(source, found):
    assert found == impure("webhook.spread", source)
