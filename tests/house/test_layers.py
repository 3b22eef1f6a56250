"""The architecture document: who may import whom, and what stays pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent

# Imports point down only, one row to those below it.
LAYERS = [
    row.split(" · ")
    for row in """\
cli
server
app · worker
manifests · service · watching
cluster · files · logs · metrics · render · settings
lint
apply · wire
admission
wording
defaulting
policy
rules
workload
documents · example · scheduler""".splitlines()
]
PURE = {*chain(*LAYERS[LAYERS.index(["lint"]) :])}

MAY_IMPORT = {
    layer: {"__version__", layer, *chain(*LAYERS[row + 1 :])} for row, layers in enumerate(LAYERS) for layer in layers
}
# certs stands apart: only the top two rows import it, and it imports nothing of webhook.
for layer in ("cli", "server"):
    MAY_IMPORT[layer].add("certs")
MAY_IMPORT["certs"] = {"certs"}

IMPURE_IMPORTS = {
    *("flask", "gunicorn", "kubernetes", "requests", "urllib3", "http", "socket", "ssl"),
    *("threading", "asyncio", "subprocess", "multiprocessing"),
    *("time", "datetime", "random", "os", "pathlib", "io", "logging", "importlib", "pkgutil"),
}
IMPURE_CALLS = {"open", "print", "__import__"}
DISCOVERY = {"importlib", "pkgutil"}  # How webhook.rules finds the files beside it.


def layer_of(name: str) -> str | None:
    """The layer that a dotted name lies in, None for what is not ours."""
    top, _, rest = name.partition(".")
    return {"webhook": rest.partition(".")[0], "certs": "certs"}.get(top)


def imports(module: str, source: str) -> Iterator[str]:
    """Every name that a module imports, in full; a package is given as `package.__init__`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            origin = [*package, node.module] if node.module else package
            yield from (".".join([*origin, alias.name]) for alias in node.names)


def misdirected(module: str, source: str) -> list[str]:
    """The imports of a module that point up, sideways, or to where it has no business."""
    names = list(imports(module, source))
    if module == "webhook.__init__":
        return names
    allowed = MAY_IMPORT.get(layer_of(module), set())
    return [name for name in names if layer_of(name) not in {None, *allowed}]


def impurities(module: str, source: str) -> list[str]:
    """The imports and calls by which a module would reach outside its arguments."""
    barred = IMPURE_IMPORTS - DISCOVERY if module == "webhook.rules.__init__" else IMPURE_IMPORTS
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        *(name for name in imports(module, source) if name.partition(".")[0] in barred),
        *(f"{call.id}()" for call in calls if isinstance(call, ast.Name) and call.id in IMPURE_CALLS),
    ]


def modules() -> dict[str, str]:
    """The source of every module of ours, by its dotted name."""
    paths = [path for top in ("webhook", "certs") for path in sorted((ROOT / top).rglob("*.py"))]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8") for path in paths}


def test_every_module_belongs_to_a_layer():
    """Nobody adds a layer without adding it here."""
    unknown = [name for name in modules() if layer_of(name) not in MAY_IMPORT.keys() | {"__init__"}]

    assert [] == unknown


def test_imports_point_down_only():
    """A module imports its own layer and those in the rows below."""
    found = {name: misdirected(name, source) for name, source in modules().items()}

    assert {} == {name: names for name, names in found.items() if names}


def test_everything_from_admission_down_is_pure():
    """Values in, values out: no network, no threads, no clock, no files, no logging."""
    found = {name: impurities(name, source) for name, source in modules().items() if layer_of(name) in PURE}

    assert {} == {name: names for name, names in found.items() if names}


class Case(NamedTuple):
    name: str
    module: str
    source: str
    found: str = ""


DIRECTIONS = [
    Case("down is allowed", "webhook.serving.app", "import webhook.scheduler.filtering, json"),
    Case(
        "up is not", "webhook.rules.pinned_pod", "from webhook.app import create_app", "webhook.serving.app.create_app"
    ),
    Case(
        "up, as a name of the package",
        "webhook.policy.policy",
        "from webhook import admission",
        "webhook.admission.review",
    ),
    Case("up, inside a function", "webhook.objects.workload", "def f():\n import webhook.rules", "webhook.rules"),
    Case("up, for types", "webhook.objects.workload", "if TYPE_CHECKING:\n import webhook.rules", "webhook.rules"),
    Case("up, from a module, relative", "webhook.policy.policy", "from .app import x", "webhook.serving.app.x"),
    Case("up, from a package, relative", "webhook.rules.__init__", "from .. import policy", "webhook.policy.policy"),
    Case("sideways", "webhook.cluster.cluster.live", "from webhook import metrics", "webhook.serving.metrics"),
    Case("up, near the top", "webhook.serving.server", "import webhook.cli", "webhook.cli.main"),
    Case("within a package is allowed", "webhook.scheduler.scoring", "from .filtering import f\nfrom . import x"),
    Case("the version is for all", "webhook.serving.metrics", "from webhook import __version__"),
    Case("certs for the server", "webhook.serving.server", "from certs.rotation import renewal_reason"),
    Case("certs for no other", "webhook.serving.app", "import certs", "certs"),
    Case("certs knows nothing of webhook", "certs.authority", "from webhook import __version__", "webhook.__version__"),
    Case("certs knows itself", "certs.rotation", "from . import authority\nimport certs.authority"),
    Case("the package itself imports nothing", "webhook.__init__", "import json", "json"),
]

PURITY = [
    Case("json is pure", "webhook.policy.policy", "import json, sys\nfrom collections import Counter"),
    Case("a clock", "webhook.policy.policy", "from datetime import datetime", "datetime.datetime"),
    Case("a submodule", "webhook.rules.pinned_pod", "import os.path", "os.path"),
    Case("discovery by the rules", "webhook.rules.__init__", "import importlib, pkgutil"),
    Case("discovery by others", "webhook.rules.pinned_pod", "import importlib", "importlib"),
    Case("a file", "webhook.admission.review.defaulting", "text = open('f').read()", "open()"),
    Case("output", "webhook.admission.review", "def f():\n print(1)", "print()"),
]


@pytest.mark.parametrize("case", DIRECTIONS, ids=lambda case: case.name)
def test_the_checker_sees_where_an_import_points(case):
    """A misdirected import is found wherever it stands and however it is written."""
    assert case.found.split() == misdirected(case.module, case.source)


@pytest.mark.parametrize("case", PURITY, ids=lambda case: case.name)
def test_the_checker_sees_what_is_impure(case):
    """An import or a call that reaches outside is found."""
    assert case.found.split() == impurities(case.module, case.source)
