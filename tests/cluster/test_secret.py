"""A Secret as a store: what is kept, and who is told that somebody else was first."""

from __future__ import annotations

from base64 import b64encode

import pytest

from certs.rotation import Lifetimes, parse, rotate
from tests.certs.test_rotation import NAMES, NOW
from tests.support.memory import Memory
from webhook.cluster.client import ClusterError
from webhook.cluster.secret import Secret

PATH = "/api/v1/namespaces/guard/secrets/keel"
EMPTY = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": "keel", "labels": {"a": "b"}}}


def secret(client):
    return Secret(client, "guard", "keel")


def test_one_that_is_not_there_is_made():
    client = Memory()
    store = secret(client)

    assert ({}, "") == store.read()
    assert store.replace({"tls.crt": b"\x00pem"}, "")
    assert ({"tls.crt": b"\x00pem"}, "1") == store.read()


def test_one_that_a_chart_made_is_filled_and_keeps_its_labels():
    client = Memory({PATH: EMPTY})
    store = secret(client)
    content, version = store.read()

    assert {} == content
    assert store.replace({"tls.crt": b"pem"}, version)
    assert ("Opaque", {"a": "b"}) == (client.objects[PATH]["type"], client.objects[PATH]["metadata"]["labels"])


@pytest.mark.parametrize("there", [{}, {PATH: EMPTY}], ids=["none", "empty"])
def test_who_comes_second_is_told(there):
    client = Memory(there)
    one, other = secret(client), secret(client)
    (_, version), (_, seen) = one.read(), other.read()

    assert one.replace({"tls.crt": b"one"}, version)
    assert not other.replace({"tls.crt": b"other"}, seen)
    assert b"one" == one.read()[0]["tls.crt"]


def test_one_that_is_deleted_meanwhile_is_not_replaced():
    client = Memory({PATH: EMPTY})
    store = secret(client)
    _, version = store.read()
    client.meanwhile = client.objects.clear

    assert not store.replace({"tls.crt": b"pem"}, version)


@pytest.mark.parametrize(
    "data", [None, {"tls.crt": None}, {"tls.crt": 7}, {"tls.crt": "no base64!"}, "text", {"a": ""}]
)
def test_what_is_damaged_reads_as_nothing(data):
    store = secret(Memory({PATH: {**EMPTY, "data": data}}))

    assert not any(store.read()[0].values())


def test_entries_are_read_as_they_were_encoded():
    store = secret(Memory({PATH: {**EMPTY, "data": {"a": b64encode(b"\xff").decode()}}}))

    assert {"a": b"\xff"} == store.read()[0]


def test_an_api_server_that_is_away_is_an_error():
    client = Memory()
    client.away = True

    with pytest.raises(ClusterError, match="refused"):
        secret(client).read()
    with pytest.raises(ClusterError, match="refused"):
        secret(client).replace({}, "")


def test_a_namespace_that_is_not_there_is_an_error():
    """Not somebody else who was first."""
    client = Memory()
    client.missing = "/api/v1/namespaces/guard"

    with pytest.raises(ClusterError, match="not found"):
        rotate(secret(client), NAMES, NOW, None, Lifetimes())


def test_replicas_that_start_together_serve_the_same_certificate():
    client = Memory()
    client.meanwhile = lambda: rotate(secret(client), NAMES, NOW, None, Lifetimes())
    rotation = rotate(secret(client), NAMES, NOW, None, Lifetimes())

    assert ((), [("POST", PATH)]) == (rotation.reasons, client.writes)
    assert parse(secret(client).read()[0]).leaf.chain == rotation.held.leaf.chain
