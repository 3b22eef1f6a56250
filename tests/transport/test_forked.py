"""A gunicorn worker without gunicorn's arbiter."""

from __future__ import annotations

import inspect
import platform
import threading

import pytest
from gunicorn.config import Config
from gunicorn.sock import create_sockets
from gunicorn.workers.base import Worker

from tests.support.clients import LARGE, Server, post
from tests.support.serving import until


def test_it_tells_where_it_listens(server):
    host, port = server.address
    with server.client() as client:
        client.ask(post())

    assert f"Listening at: https://{host}:{port} ({server.worker})" in server.log.read_text()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another libc gives memory back by itself, or cannot")
def test_the_memory_of_large_requests_goes_back(tmp_path):
    """Whatever the environment says to glibc, which by default keeps it."""
    with Server(tmp_path) as server:

        def ask():
            with server.client() as client:
                assert 200 == client.ask(post(LARGE)).status

        with server.client() as client:
            client.ask(post())
        before = server.usage().megabytes
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        until(lambda: server.usage().megabytes < before + 10, "its memory to go back", 5)


def test_gunicorn_still_has_what_is_needed_to_run_one_worker():
    """All that the docstring of webhook/transport/forked.py names; a release that changes it fails here."""
    config = Config()
    worker = Worker(1, 1, [], None, 0, config, None)
    worker.tmp.close()

    given = ["age", "ppid", "sockets", "app", "timeout", "cfg", "log"]
    assert given == list(inspect.signature(Worker).parameters)
    assert [] == list(inspect.signature(worker.init_process).parameters)
    assert [] == list(inspect.signature(worker.notify).parameters)
    assert ["conf", "log", "fds"] == list(inspect.signature(create_sockets).parameters)
    assert ["server", "worker"] == list(inspect.signature(config.worker_exit).parameters)
    for name in ("logger_class", "worker_class"):
        assert inspect.isclass(getattr(config, name)), name
