"""Replicas that renew one certificate: served from files, trusted by the API server, and what is told when it fails."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from certs.files import CertificateError, read
from certs.pem import inspect
from certs.rotation import Lifetimes
from certs.serving import ServingCertificate
from tests.support.memory import Memory
from tests.support.registered import MUTATING, VALIDATING, refusing, registered, registration
from webhook.cluster.client import ClusterError
from webhook.cluster.secret import Secret
from webhook.serving.renewal import Renewal

NAMES = ("keel.guard.svc",)


@pytest.fixture
def replica(tmp_path):
    """Makes a replica on a client; each has a folder of its own."""

    def make(client, name="one", lifetimes=Lifetimes()):  # noqa: B008
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        files = folder / "tls.crt", folder / "tls.key"
        return Renewal(client, Secret(client, "guard", "keel"), registration(client), NAMES, files, lifetimes)

    return make


def test_the_first_round_serves_and_is_trusted(replica):
    client = registered()
    one = replica(client)
    one.round()
    ServingCertificate(*one.files)

    assert NAMES == inspect(read(one.files[0]))[0].names
    assert 0o600 == one.files[1].stat().st_mode & 0o777
    assert (True, "8 of 8 webhooks trust the certificate") == (one.check().ok, one.check().detail)


def test_a_second_replica_serves_the_same(replica):
    client = registered()
    one, other = replica(client), replica(client, "other")
    one.round()
    other.round()

    assert one.files[0].read_bytes() == other.files[0].read_bytes()
    assert one.files[1].read_bytes() == other.files[1].read_bytes()


def test_the_ca_is_trusted_from_the_round_on_in_which_it_was_seen_everywhere(replica):
    client = registered()
    one = replica(client)
    one.round()
    before = one.secret.read()[0]["trusted"]
    one.round()

    assert (b"", True) == (before, bool(one.secret.read()[0]["trusted"]))


def test_what_was_stripped_or_deleted_is_repaired(replica):
    client = registered()
    one = replica(client)
    one.round()
    served, kept = one.files[0].read_bytes(), one.secret.read()[0]
    del client.objects[VALIDATING]["webhooks"][0]["clientConfig"]["caBundle"]
    del client.objects["/api/v1/namespaces/guard/secrets/keel"]
    one.round()

    assert served == one.files[0].read_bytes()
    assert {**kept, "trusted": one.secret.read()[0]["trusted"]} == one.secret.read()[0]
    assert one.check().ok


def test_files_are_written_only_when_the_leaf_changes(replica):
    one = replica(registered())
    one.round()
    written = [Path(file).stat().st_ino for file in one.files]
    one.round()

    assert written == [Path(file).stat().st_ino for file in one.files]


def test_a_leaf_is_renewed_in_the_files(replica):
    client = registered()
    one = replica(client, lifetimes=Lifetimes(timedelta(minutes=10), timedelta(seconds=0.01), timedelta()))
    one.round()
    first = one.files[0].read_bytes()
    one.round()

    assert first != one.files[0].read_bytes()


@pytest.mark.parametrize("seen", [False, True], ids=["from the start", "later"])
def test_an_api_server_that_is_away_is_told_and_survived(replica, capsys, seen):
    client = registered()
    one = replica(client)
    if seen:
        assert one.round()
    client.away = True
    worked = [one.round(), one.round()]

    assert (seen, [False, False]) == (one.check().ok, worked)
    assert "connection refused" in one.check().detail
    client.away = False
    one.round()
    assert "8 of 8 webhooks trust the certificate" == one.check().detail


@pytest.mark.parametrize("read_again", ["authenticate", "reconnect"])
def test_a_token_that_has_expired_is_read_again(replica, read_again):
    """A service account's file has another after an hour; a kubeconfig may have other credentials altogether."""
    client = registered()
    one = replica(client)
    one.round()
    client.expired = read_again
    one.round()
    one.round()

    assert "" == one.problem


def test_a_token_that_stays_refused_is_told(replica, monkeypatch):
    client = registered()
    one = replica(client)
    client.expired = "never"
    monkeypatch.setattr(client, "reconnect", raises(ClusterError("configuration: no such file")))
    one.round()

    assert "not known yet; /api/v1/namespaces/guard/secrets/keel: Unauthorized; configuration: no such file" == (
        one.check().detail
    )


def test_a_defect_is_told_as_a_failure_is(replica, monkeypatch):
    one = replica(registered())
    monkeypatch.setattr("webhook.serving.renewal.rotate", lambda *given: {}["gone"])

    assert not one.round()
    assert "not known yet; KeyError: 'gone'" == one.check().detail


def raises(error):
    def call():
        raise error

    return call


def test_a_bundle_that_cannot_be_given_leaves_the_replica_not_ready(replica):
    """Somebody else writes it again and again."""
    client = registered(b"stranger")
    one = replica(client)
    real = client.send

    def contested(method, path, body, seconds, query=None):
        if method == "PUT" and path == VALIDATING:
            client.put(path, client.objects[path])
        return real(method, path, body, seconds)

    client.send = contested
    one.round()

    assert (False, "1 of 8 webhooks trust the certificate") == (one.check().ok, one.check().detail)


def test_one_that_lost_the_right_to_repair_a_bundle_is_not_ready(replica, monkeypatch):
    client = registered()
    one = replica(client)
    one.round()
    del client.objects[MUTATING]["webhooks"][0]["clientConfig"]["caBundle"]
    refusing(client, monkeypatch, [("PUT", MUTATING)])
    one.round()

    assert (False, f"7 of 8 webhooks trust the certificate; {MUTATING}: 403 forbidden") == (
        one.check().ok,
        one.check().detail,
    )


def test_without_configurations_nobody_distrusts_it(replica):
    one = replica(Memory())
    one.round()

    assert (True, "0 of 0 webhooks trust the certificate") == (one.check().ok, one.check().detail)


def test_a_start_without_an_api_server_ends_in_words(replica):
    client = Memory()
    client.away = True

    with pytest.raises(CertificateError, match="connection refused"):
        replica(client).first(patience=0)


def test_a_folder_that_cannot_be_written_is_named(replica, tmp_path):
    one = replica(registered())
    one.files = tmp_path / "none" / "tls.crt", tmp_path / "none" / "tls.key"
    one.round()

    assert f"{tmp_path}/none/tls.key: No such file or directory" in one.check().detail
