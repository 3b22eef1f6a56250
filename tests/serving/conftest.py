"""The server that the tests of this folder share."""

from __future__ import annotations

import json

import pytest

from tests.support.build import service
from tests.support.serving import serving


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    dump = folder / "dump.json"
    dump.write_text(json.dumps(service()))
    with serving(folder, "--cluster", dump) as running:
        yield running
