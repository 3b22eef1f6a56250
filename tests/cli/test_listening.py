"""Addresses that an option names, and the sockets that listen there."""

from __future__ import annotations

import socket

import pytest

from tests.support.serving import free_ports
from webhook.cli.listening import address, listen
from webhook.cli.usage import UsageError


@pytest.mark.parametrize(
    ("bind", "wanted"),
    [
        (":8443", ("", 8443)),
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:0", ("localhost", 0)),
        (":65535", ("", 65535)),
    ],
)
def test_an_address(bind, wanted):
    assert wanted == address("--bind", bind)


@pytest.mark.parametrize("bind", ["", "8443", ":65536", "[::1]", "a:b", "::1:80", ":80 "])
def test_what_is_no_address(bind):
    with pytest.raises(UsageError) as refused:
        address("--bind", bind)

    assert f'--bind: found "{bind}", wanted HOST:PORT with a port up to 65535' == str(refused.value)


def test_a_port_that_is_taken():
    (port,) = free_ports(1)
    with listen("--bind", f"127.0.0.1:{port}"), pytest.raises(UsageError) as refused:
        listen("--bind", f"127.0.0.1:{port}")

    assert f"--bind: 127.0.0.1:{port}: Address already in use; name another address or port" == str(refused.value)


def test_every_address_of_the_host():
    (port,) = free_ports(1)
    with listen("--bind", f":{port}"), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        assert port == client.getpeername()[1]
