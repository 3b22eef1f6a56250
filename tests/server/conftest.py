"""The server that the tests of this folder share, and the log."""

from __future__ import annotations

import io
import json
import logging

import pytest

from tests.support.build import service
from tests.support.serving import serving
from webhook.server.logs import JsonLines


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    dump = folder / "dump.json"
    dump.write_text(json.dumps(service()))
    with serving(folder, "--cluster", dump) as running:
        yield running


@pytest.fixture
def lines(monkeypatch):
    """What is logged, whatever its level, as it is written."""
    logger, stream = logging.getLogger("evenkeel"), io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "propagate", False)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    yield lambda: stream.getvalue().splitlines()
    logger.setLevel(level)
