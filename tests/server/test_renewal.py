"""Replicas that renew one certificate: kept in memory, trusted by the API server, and what is told when it fails."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from certs.files import CertificateError
from certs.rotation import Lifetimes
from certs.serving import ServingCertificate
from tests.support.memory import Memory
from tests.support.registered import MUTATING, VALIDATING, refusing, registered, registration
from webhook.cluster.client import ClusterError
from webhook.cluster.secret import Secret
from webhook.server import renewal
from webhook.server.renewal import Renewal

NAMES = ("keel.guard.svc",)
TRUST = "entries of the webhook configurations have a caBundle that trusts the certificate"


@pytest.fixture
def replica():
    """Makes a replica on a client."""

    def make(client, lifetimes=Lifetimes()):  # noqa: B008
        secret = Secret(client, "guard", "keel")
        return Renewal(client, secret, registration(client), NAMES, ServingCertificate, lifetimes)

    return make


def test_the_first_round_serves_and_is_trusted(replica):
    one = replica(registered())
    serving = one.first()

    assert NAMES == serving.served.contents.names
    assert (True, f"8 of 8 {TRUST}") == (one.check().ok, one.check().detail)


def test_a_second_replica_serves_the_same(replica):
    client = registered()

    assert replica(client).first().served == replica(client).first().served


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
    served, kept = one.first().served, one.secret.read()[0]
    del client.objects[VALIDATING]["webhooks"][0]["clientConfig"]["caBundle"]
    del client.objects["/api/v1/namespaces/guard/secrets/keel"]
    one.round()

    assert served == one.serving.served
    assert {**kept, "trusted": one.secret.read()[0]["trusted"]} == one.secret.read()[0]
    assert one.check().ok


def test_a_new_context_is_made_only_when_the_leaf_changes(replica):
    one = replica(registered())
    context = one.first().context
    one.round()

    assert context is one.serving.context


def test_a_renewed_leaf_is_handed_over(replica, lines):
    one = replica(registered(), Lifetimes(timedelta(minutes=10), timedelta(seconds=0.01), timedelta()))
    serving = one.first()
    first = serving.served.chain
    assert [] == [line for line in lines() if "certificate reloaded" in line]
    one.round()

    assert one.serving is serving and first != serving.served.chain
    assert one.served is one.held.leaf
    assert 1 == len([line for line in lines() if "certificate reloaded" in line])


def test_a_pair_that_cannot_be_served_for_want_of_a_descriptor_is_handed_over_again(replica, monkeypatch):
    one = replica(registered())
    with monkeypatch.context() as patched:
        patched.setattr("certs.files.os.memfd_create", raises(OSError(24, "Too many open files")))
        assert not one.round()
    assert "not known yet; --tls-secret: cannot be served: Too many open files" == one.check().detail

    assert one.round() and one.check().ok


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
    assert f"8 of 8 {TRUST}" == one.check().detail


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
    monkeypatch.setattr("webhook.server.renewal.rotate", lambda *given: {}["gone"])

    assert not one.round()
    assert "not known yet; KeyError: 'gone'" == one.check().detail


def raises(error):
    def call(*_):
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

    assert (False, f"1 of 8 {TRUST}") == (one.check().ok, one.check().detail)


def test_one_that_lost_the_right_to_repair_a_bundle_is_not_ready(replica, monkeypatch):
    client = registered()
    one = replica(client)
    one.round()
    del client.objects[MUTATING]["webhooks"][0]["clientConfig"]["caBundle"]
    refusing(client, monkeypatch, [("PUT", MUTATING)])
    one.round()

    assert (False, f"7 of 8 {TRUST}; {MUTATING}: 403 forbidden") == (
        one.check().ok,
        one.check().detail,
    )


def test_without_configurations_nobody_distrusts_it(replica):
    one = replica(Memory())
    one.round()

    assert (True, f"0 of 0 {TRUST}") == (one.check().ok, one.check().detail)


def test_a_start_without_an_api_server_ends_in_words(replica, monkeypatch):
    client = Memory()
    client.away = True
    monkeypatch.setattr("webhook.server.renewal.sleep", lambda seconds: None)

    with pytest.raises(CertificateError, match="connection refused"):
        replica(client).first()


def test_a_failure_is_told_once_until_it_is_another_one(replica, monkeypatch, lines):
    one, problems = replica(registered()), ["a", "a", "b", "", "b"]
    rotate = renewal.rotate

    def failing(*given):
        if problem := problems.pop(0):
            raise ClusterError(problem)
        return rotate(*given)

    monkeypatch.setattr(renewal, "rotate", failing)
    worked = [one.round() for _ in range(5)]

    assert [False, False, False, True, False] == worked
    told = [json.loads(line) for line in lines()]
    assert ["a", "b", "b"] == [line["problem"] for line in told if line["message"].startswith("renewing")]


def test_of_a_failure_that_no_token_mends_the_configuration_is_not_read_again(replica, monkeypatch):
    client, asked = registered(), []
    monkeypatch.setattr(client, "reconnect", lambda: asked.append(1), raising=False)
    one = replica(client)
    for status in (403, 500, 401):
        monkeypatch.setattr(renewal, "rotate", raises(ClusterError("no", status)))
        one.round()

    assert [1] == asked


@pytest.mark.parametrize("rounds", [60, 61])
def test_a_start_waits_for_a_minute(replica, monkeypatch, rounds):
    """One round more than there are pauses of a second."""
    one, waited = replica(registered()), []
    real = renewal.rotate
    monkeypatch.setattr(renewal, "sleep", waited.append)
    monkeypatch.setattr(renewal, "rotate", lambda *given: real(*given) if len(waited) >= rounds else {}["gone"])
    if rounds == 60:
        assert one.first() is one.serving
        return
    with pytest.raises(CertificateError, match="gone"):
        one.first()
    assert [1.0] * 60 == waited
