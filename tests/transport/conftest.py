"""The servers that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clients import SHORT, Server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave it as it was; none of them may make it fail or lose its worker."""
    yield from unharmed(Server(tmp_path_factory.mktemp("server")))


@pytest.fixture(scope="package")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same, with so little patience that a polite client on a busy machine may try it."""
    yield from unharmed(Server(tmp_path_factory.mktemp("hasty"), limits=SHORT))


def unharmed(server: Server) -> Iterator[Server]:
    with server:
        worker = server.worker
        yield server
        assert worker == server.worker
    assert [] == [line for line in server.log.read_text().splitlines() if "[ERROR]" in line or "[CRITICAL]" in line]
