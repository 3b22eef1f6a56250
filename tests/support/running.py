"""The fixture by which tests run a command where its files lie."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run
from webhook.cli.main import main


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a command, in one text or word by word, where `files` lie; each holds objects, or is text or bytes."""
    monkeypatch.chdir(tmp_path)

    def run(command, **files):
        for name, content in files.items():
            if isinstance(content, dict):
                content = [content]
            if isinstance(content, list):
                content = "\n---\n".join(map(json.dumps, content))
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            code = main(command.split() if isinstance(command, str) else command)
        except SystemExit as error:
            code = error.code
        return Run(code, *capsys.readouterr())

    return run
