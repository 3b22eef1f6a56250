"""The architecture: who may import whom, what stays pure, and that no modules import each other in a circle."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.house.layers import (
    APART,
    HOUSE,
    PURE,
    PURE_NAMES,
    USERS,
    cycles,
    entries,
    entry_of,
    house,
    imports,
    is_pure,
    lies_in,
    misdirected,
    misused,
    sources,
)

SOURCES = sources()

PURE_FOLDERS = ("lint", "admission", "policy", "rules", "findings", "scheduler", "documents", "objects")
READ_THE_DISK = {
    f"webhook.lint.{name}" for name in ("building", "files", "overlays", "session", "since", "walk", "writing")
}
KNOWN_CYCLES: set[str] = set()


def test_every_module_belongs_to_a_row():
    """Nobody adds a module without saying where it stands."""
    unknown = [name for name in SOURCES if not entry_of(name)]

    assert ["webhook.__init__"] == unknown


def test_every_entry_names_a_module_or_a_package():
    """Nothing stays in the tables when the last of its modules is gone."""
    users = [user for row in (*USERS.values(), *APART.values()) for user in entries(row)]
    named = {*HOUSE.rows, *HOUSE.apart, *users} - {"webhook.__version__"}

    assert [] == sorted(name for name in named if not any(lies_in(module, name) for module in SOURCES))


def test_imports_point_down_only():
    """A module imports from its own entry and from those in the rows below."""
    found = {name: misdirected(name, source) for name, source in SOURCES.items()}

    assert {} == {name: names for name, names in found.items() if names}


def test_what_comes_from_outside_is_granted():
    """Values in, values out, from lint down: no network, threads, clock, files or logs; libraries where they belong."""
    found = {name: misused(name, source) for name, source in SOURCES.items()}

    assert {} == {name: names for name, names in found.items() if names}


def test_what_decides_is_pure():
    """The line in the table may move up, and down past nothing but what is named here."""
    deciding = [f"webhook.{folder}" for folder in PURE_FOLDERS]

    assert READ_THE_DISK == {name for name in SOURCES if lies_in(name, *deciding) and not is_pure(name)}


def test_nothing_is_granted_that_nobody_uses():
    """The lists of what may be used are no longer than they have to be."""
    used = {(module, name) for module, source in SOURCES.items() for name in imports(module, source)}
    unused = [name for name in PURE_NAMES if not any(lies_in(n, name) and is_pure(module) for module, n in used)]
    unused += [
        f"{name} in {user}"
        for name, row in USERS.items()
        for user in entries(row)
        if not any(lies_in(n, name) and lies_in(module, user) for module, n in used)
    ]

    assert [] == sorted(unused)


def test_no_modules_import_each_other_in_a_circle():
    """What is imported for types and inside functions counts, too."""
    assert KNOWN_CYCLES == cycles(SOURCES)


SAMPLE = house(
    f"""\
cli
serving.server
serving
manifests · render
cluster.live
cluster.store · cluster.secret
cluster
{PURE}\
lint
policy
rules
policy.defaults
scheduler
""",
    {"transport": "serving", "certs": "cli · serving.server"},
)


class Case(NamedTuple):
    name: str
    module: str
    source: str
    found: str = ""


DIRECTIONS = [
    Case("down is allowed", "webhook.server.app", "import evenkeel.scheduler.filtering, json"),
    Case("up is not", "webhook.rules.a", "from webhook.server.app import create", "webhook.server.app.create"),
    Case("up, as a name of the package", "webhook.policy", "from webhook import lint", "webhook.lint"),
    Case("up, inside a function", "webhook.scheduler.a", "def f():\n import webhook.rules", "webhook.rules"),
    Case("up, for types", "webhook.scheduler.a", "if TYPE_CHECKING:\n import webhook.rules", "webhook.rules"),
    Case("up, under another name", "webhook.scheduler.a", "import webhook.rules.b as c", "webhook.rules.b"),
    Case("up, all of a module", "webhook.scheduler.a", "from webhook.rules import *", "webhook.rules.*"),
    Case("up, from a module, relative", "webhook.policy", "from .lint import x", "webhook.lint.x"),
    Case("up, from a package, relative", "webhook.rules.__init__", "from .. import policy", "webhook.policy"),
    Case("up, near the top", "webhook.server.gunicorn_server", "import webhook.cli", "webhook.cli"),
    Case("sideways", "evenkeel.lint.sarif", "from webhook import manifests", "webhook.manifests"),
    Case("within a package is allowed", "evenkeel.scheduler.scoring", "from .filtering import f\nfrom . import x"),
    Case("to what has no row", "evenkeel.commands.lint", "import webhook.nowhere", "webhook.nowhere"),
    Case("from what has no row", "webhook.nowhere", "import webhook.scheduler", "webhook.scheduler"),
    Case("from one such to another", "webhook.nowhere", "import webhook.elsewhere", "webhook.elsewhere"),
    Case("the version is for all", "webhook.scheduler.a", "from webhook import __version__"),
    Case("the package itself imports nothing", "webhook.__init__", "import json", "json"),
    Case("down inside a folder is allowed", "webhook.cluster.live", "from webhook.cluster.store import Store"),
    Case("up inside a folder", "webhook.cluster.store", "from .live import Live", "webhook.cluster.live.Live"),
    Case("sideways inside a folder", "webhook.cluster.store", "from . import secret", "webhook.cluster.secret"),
    Case("up from the folder's own row", "webhook.cluster.client", "from . import live", "webhook.cluster.live"),
    Case("down to the folder's own row", "webhook.cluster.live", "from webhook.cluster import State, client"),
    Case(
        "longest prefix: above its folder",
        "webhook.server.app",
        "from . import server",
        "webhook.server.gunicorn_server",
    ),
    Case("longest prefix: below its folder", "webhook.rules.a", "from webhook.policy.defaults import x"),
    Case("the folder is not lower with it", "webhook.rules.a", "import webhook.policy.b", "webhook.policy.b"),
    Case("what is lower sees what is lower", "webhook.policy.defaults", "import webhook.rules", "webhook.rules"),
    Case("what is lower does not see its folder", "webhook.policy.defaults", "from . import b", "webhook.policy.b"),
    Case("a prefix ends where a word does", "webhook.cluster.client", "from webhook.cluster import live_reads"),
    Case("certs for the server", "webhook.server.gunicorn_server", "from certs.rotation import renewal_reason"),
    Case("certs for no other", "webhook.server.app", "import certs", "certs"),
    Case("certs knows nothing of webhook", "certs.authority", "import webhook.scheduler", "webhook.scheduler"),
    Case("certs does not know the version", "certs.pem", "from webhook import __version__", "webhook.__version__"),
    Case("certs knows itself", "certs.rotation", "from . import authority\nimport certs.authority"),
    Case("transport for serving", "webhook.server.app", "from webhook.server.transport.worker import Worker"),
    Case("transport not for what is higher", "webhook.cli.serve", "import webhook.transport", "webhook.transport"),
    Case(
        "transport not for what is lower",
        "webhook.lint.a",
        "import webhook.server.transport.tls",
        "webhook.server.transport.tls",
    ),
    Case(
        "transport does not look up",
        "webhook.server.transport.tls",
        "from webhook.serving import x",
        "webhook.serving.x",
    ),
    Case(
        "transport does not look down", "webhook.server.transport.tls", "import webhook.scheduler", "webhook.scheduler"
    ),
    Case("transport does not look at certs", "webhook.server.transport.tls", "from certs import pem", "certs.pem"),
    Case("transport knows itself", "webhook.server.transport.worker", "from webhook.server.transport.tls import Tls"),
]


class Outside(NamedTuple):
    name: str
    source: str
    found: str = ""
    module: str = "webhook.policy.defaults"


OUTSIDE = [
    Outside("json is pure", "import json\nfrom collections import Counter\njson.dumps(Counter())"),
    Outside("a method of a value is its own", "import re\nre.compile('x').match('x')\nx.open()\nx.sys.exit()"),
    Outside("one name of a module", "from sys import intern"),
    Outside("not the module", "import sys", "sys"),
    Outside("files: os", "import os\nos.remove('f')", "os.remove"),
    Outside("files: a submodule", "import os.path", "os.path"),
    Outside("files: a submodule, by another name", "from os import path as p\np.exists('f')", "os.path.exists"),
    Outside("files: open", "text = open('f').read()", "builtins.open"),
    Outside("files: open by another name", "read = open", "builtins.open"),
    Outside("files: open as a value", "texts = map(open, names)", "builtins.open"),
    Outside("files: open of builtins", "from builtins import open as read", "builtins.open"),
    Outside("files: __builtins__", "__builtins__['open']('f')", "builtins.__builtins__"),
    Outside("files: pathlib", "from pathlib import Path", "pathlib.Path"),
    Outside("files: io", "import io\nio.open('f')", "io.open"),
    Outside("files: tempfile", "import tempfile", "tempfile"),
    Outside("files: shutil", "from shutil import copy as c", "shutil.copy"),
    Outside("files: glob", "from glob import glob", "glob.glob"),
    Outside("clock: time", "import time as clock\nclock.time()", "time.time"),
    Outside("clock: datetime", "from datetime import datetime\ndatetime.now()", "datetime.datetime.now"),
    Outside("output: print", "def f():\n print(1)", "builtins.print"),
    Outside("output: sys.stdout", "import sys\nsys.stdout.write('')", "sys.stdout.write"),
    Outside("output: stdout by its name", "from sys import stdout", "sys.stdout"),
    Outside("output: logging", "import logging\nlogging.info('')", "logging.info"),
    Outside("network: urllib", "from urllib.request import urlopen", "urllib.request.urlopen"),
    Outside("network: socket", "import socket", "socket"),
    Outside("network: ssl", "import ssl", "ssl"),
    Outside("network: http.client", "import http.client", "http.client"),
    Outside("network: select", "import select", "select"),
    Outside("process: subprocess", "from subprocess import run", "subprocess.run"),
    Outside("process: signal", "import signal", "signal"),
    Outside("process: multiprocessing", "import multiprocessing", "multiprocessing"),
    Outside("process: futures", "from concurrent.futures import Future", "concurrent.futures.Future"),
    Outside("process: threading", "import threading", "threading"),
    Outside("process: asyncio", "import asyncio", "asyncio"),
    Outside("process: ctypes", "import ctypes", "ctypes"),
    Outside("process: fcntl", "import fcntl", "fcntl"),
    Outside("process: exit", "exit(1)", "builtins.exit"),
    Outside("environment: os.environ", "import os\nos.environ['X']", "os.environ"),
    Outside("environment: environ", "from os import environ", "os.environ"),
    Outside("environment: sys.argv", "import sys\nsys.argv[1:]", "sys.argv"),
    Outside("input: input", "input()", "builtins.input"),
    Outside("input: sys.stdin", "import sys\nsys.stdin.read()", "sys.stdin.read"),
    Outside("randomness: random", "import random", "random"),
    Outside("randomness: secrets", "import secrets", "secrets"),
    Outside("randomness: uuid", "from uuid import uuid4", "uuid.uuid4"),
    Outside("code: eval", "eval('1')", "builtins.eval"),
    Outside("code: exec", "exec('')", "builtins.exec"),
    Outside("code: compile", "compile('', '', 'exec')", "builtins.compile"),
    Outside("code: __import__", "__import__('os')", "builtins.__import__"),
    Outside("code: breakpoint", "breakpoint()", "builtins.breakpoint"),
    Outside("code: globals", "globals()['x'] = 1", "builtins.globals"),
    Outside("code: inspect", "from inspect import getsource", "inspect.getsource"),
    Outside("discovery by others", "import importlib", "importlib", "webhook.rules.pinned_pod"),
    Outside("discovery by the rules", "import importlib, pkgutil", "", "webhook.rules.__init__"),
    Outside("discovery opens no other door", "import importlib.sys", "importlib.sys", "webhook.rules.__init__"),
    Outside("through a module that is pure", "import json\njson.codecs.open('f')", "json.codecs.open"),
    Outside("imported from a module that is pure", "from dataclasses import sys", "dataclasses.sys"),
    Outside("through a private name", "import collections\ncollections._sys.stdout", "collections._sys.stdout"),
    Outside("inside a function", "def f():\n from os import getpid", "os.getpid"),
    Outside("for types", "if TYPE_CHECKING:\n import socket", "socket"),
    Outside("two at once", "import os, time\nprint(os.getpid())", "builtins.print os.getpid time"),
    Outside("a library: cryptography", "from cryptography import x509", "cryptography.x509"),
    Outside("a library: prometheus_client", "import prometheus_client", "prometheus_client"),
    Outside("a library: flask", "from flask import Flask", "flask.Flask"),
    Outside("a library: kubernetes", "import kubernetes.client", "kubernetes.client"),
    Outside("a library: gunicorn", "import gunicorn", "gunicorn"),
    Outside("a library that is not installed", "import numpy", "numpy"),
    Outside("YAML for who reads documents", "import yaml\nyaml.parse('')", "", "webhook.kubernetes.json_values"),
    Outside("YAML for no other", "import yaml", "yaml"),
    Outside("schemas for the policy's", "from jsonschema import validate", "", "webhook.kubernetes.json_schema"),
    Outside("schemas for no other", "from jsonschema import validate", "jsonschema.validate"),
    Outside(
        "files outside the pure half", "import os, sys\nprint(open('f'), file=sys.stderr)", "", "evenkeel.commands.lint"
    ),
    Outside("a library outside, at the wrong place", "import kubernetes", "kubernetes", "evenkeel.commands.lint"),
    Outside("a library outside, unknown", "import requests", "requests", "evenkeel.commands.lint"),
    Outside("what stands apart has the standard library", "import ssl", "", "certs.pem"),
    Outside("what stands apart has no other library", "import flask", "flask", "certs.pem"),
]


class Circle(NamedTuple):
    name: str
    modules: dict[str, str]
    found: str = ""


CIRCLES = [
    Circle("none", {"webhook.a": "import webhook.b", "webhook.b": "import webhook.c", "webhook.c": "import json"}),
    Circle("two", {"webhook.a": "import webhook.b", "webhook.b": "from .a import x"}, "webhook.a webhook.b"),
    Circle(
        "two, one of them for types only",
        {"webhook.a": "import webhook.b", "webhook.b": "if TYPE_CHECKING:\n from webhook.a import x"},
        "webhook.a webhook.b",
    ),
    Circle(
        "two, one of them inside a function",
        {"webhook.a": "def f():\n import webhook.b", "webhook.b": "from webhook import a"},
        "webhook.a webhook.b",
    ),
    Circle(
        "three, and one beside them",
        {
            "webhook.a": "import webhook.b",
            "webhook.b": "import webhook.c",
            "webhook.c": "import webhook.a",
            "webhook.d": "import webhook.a",
        },
        "webhook.a webhook.b webhook.c",
    ),
    Circle("a module and itself", {"certs.a": "from certs.a import x"}, "certs.a"),
    Circle(
        "a name of the package is from its __init__",
        {"webhook.p.__init__": "from webhook.p.a import x", "webhook.p.a": "from webhook.p import y"},
        "webhook.p.__init__ webhook.p.a",
    ),
    Circle(
        "a submodule is not",
        {
            "webhook.p.__init__": "from webhook.p.a import x",
            "webhook.p.a": "from webhook.p import b\nimport webhook.p.b",
            "webhook.p.b": "",
        },
    ),
    Circle(
        "a package that discovers what imports it",
        {
            "webhook.p.__init__": "import pkgutil",
            "webhook.p.a": "from webhook.p import x",
            "webhook.p.b": "from webhook.q import x",
            "webhook.q": "",
        },
        "webhook.p.__init__ webhook.p.a",
    ),
    Circle(
        "a module that discovers those beside it",
        {"webhook.p.__init__": "", "webhook.p.main": "import importlib", "webhook.p.a": "import webhook.p.main"},
        "webhook.p.a webhook.p.main",
    ),
    Circle(
        "it does not discover the package itself",
        {"webhook.p.__init__": "from webhook.p.main import main", "webhook.p.main": "import importlib"},
    ),
]


@pytest.mark.parametrize("case", DIRECTIONS, ids=lambda case: case.name)
def test_the_checker_sees_where_an_import_points(case):
    """A misdirected import is found wherever it stands and however it is written."""
    assert case.found.split() == misdirected(case.module, case.source, SAMPLE)


@pytest.mark.parametrize("case", OUTSIDE, ids=lambda case: case.name)
def test_the_checker_sees_what_reaches_outside(case):
    """A name that is not granted is found, imported or read."""
    assert case.found.split() == misused(case.module, case.source)


@pytest.mark.parametrize("case", CIRCLES, ids=lambda case: case.name)
def test_the_checker_sees_circles(case):
    """Modules that import each other are found, by whatever way."""
    assert ({case.found} if case.found else set()) == cycles(case.modules)
