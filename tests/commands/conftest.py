"""A command, run where its files lie, and an API server that it finds by itself."""

from __future__ import annotations

import pytest

from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.running import run

__all__ = ["run"]


@pytest.fixture
def api(tmp_path, monkeypatch):
    running = ApiServer()
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(running.url, tmp_path)))
    yield running
    running.stop()
