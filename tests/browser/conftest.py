"""
A real browser, in which pages are opened as files: Chromium of this machine, driven by Playwright.

Without one of them a test is skipped, and says which.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.support.kubernetes_source import cache
from webhook.cli.main import main

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
AXE = "4.14.1"


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make browser", exc_type=ImportError
    )
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no Chromium: apt install chromium, or set CHROMIUM")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program)
        yield started
        started.close()


@pytest.fixture
def opened(browser):
    """Open a file, in a window of its own; whatever it asks for or complains of fails the test."""
    contexts, said = [], []

    def open_(file, width=1280, scheme="light", script=True):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        page.goto(file.as_uri())
        assert [file.as_uri()] == said, "it asks for itself alone"
        said.clear()
        page.said = said
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [] == said


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, which npm fetches once on a machine."""
    folder = cache() / f"axe-core-{AXE}"
    source = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm to fetch axe-core")
        options = ("--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder))
        done = subprocess.run(
            [npm, "install", *options, f"axe-core@{AXE}"], capture_output=True, text=True, check=False
        )
        if not source.exists():
            pytest.skip(f"npm cannot fetch axe-core: {done.stderr.strip()[-200:]}")
    return source.read_text("utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What a command prints with `-o html`, as a file."""

    def make(command):
        file = tmp_path_factory.mktemp("page") / "page.html"
        with file.open("w", encoding="utf-8") as out, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdout", out)
            assert 0 == main([*command, "-o", "html"])
        return file

    return make
