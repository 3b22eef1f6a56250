"""A certificate that changes under a running server."""

from __future__ import annotations

import http.client
import ssl
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from certs.authority import Authority
from certs.clients import Clients
from certs.serving import ServingCertificate
from tests.support.admission_reviews import raw
from tests.support.handshakes import accepted, client_certificate, client_context
from tests.support.serving import PATIENCE, certificate, serving, until
from webhook.server.certificate_files import CertificateFiles
from webhook.server.metrics import Metrics
from webhook.server.transport.tls import NOT_ACCEPTED


def test_a_certificate_is_read_again_without_dropping_a_connection(tmp_path):
    with serving(tmp_path) as running:
        kept = running.connection()
        kept.request("POST", "/validate", raw(), {"Content-Type": "application/json"})
        kept.getresponse().read()
        ca = certificate(tmp_path)
        until(lambda: running.lines("certificate reloaded"), "the new certificate")
        running.context = ssl.create_default_context(cadata=ca)
        kept.request("POST", "/validate", raw(), {"Content-Type": "application/json"})

        assert 200 == kept.getresponse().status
        assert 200 == running.review("/validate", raw())[0]
        kept.close()


def test_a_certificate_that_cannot_be_used_changes_nothing_and_is_told(tmp_path):
    with serving(tmp_path) as running:
        (tmp_path / "tls.crt").write_text("garbage")
        until(lambda: running.metric("evenkeel_certificate_reload_failures_total"), "the refusal")

        assert "refused: " in running.probe("/readyz?verbose")[1].decode()
        assert 1 == len(running.lines("cannot use the certificate files, serving the previous certificate"))


def refusal(running, folder=None):
    """What a client gets for a request right behind its certificate in `folder`: nothing."""
    context = client_context(running.ca, folder)
    connection = http.client.HTTPSConnection(running.host, running.port, context=context, timeout=PATIENCE)
    with closing(connection), pytest.raises((OSError, http.client.RemoteDisconnected)):
        connection.request("GET", "/validate")
        connection.getresponse()


def test_only_clients_with_a_certificate_of_the_ca_and_one_of_the_names_are_served(tmp_path):
    ours = tmp_path / "ours"
    ca = client_certificate(ours, "kube-apiserver")
    client_certificate(tmp_path / "foreign", "kube-apiserver")
    client_certificate(tmp_path / "another", "somebody", ca=ca)
    options = ("--client-ca", ours / "ca.crt", "--client-names", "nobody, kube-apiserver")
    with serving(tmp_path, *options, client=ours) as running:
        before = {reason: refused(running, reason) for reason in NOT_ACCEPTED}
        for folder in (None, tmp_path / "foreign", tmp_path / "another"):
            refusal(running, folder)

        assert 200 == running.review("/validate", raw())[0]
        assert "client CA: CAs of clients valid until" in running.probe("/readyz?verbose")[1].decode()
        added = {reason: refused(running, reason) - before[reason] for reason in NOT_ACCEPTED}
        assert {"none": 1, "untrusted": 1, "expired": 0, "name": 1, "resumed": 0} == added


def refused(running, reason):
    return running.metric(f'evenkeel_clients_refused_total{{reason="{reason}"}}')


def test_a_client_ca_is_read_again_and_a_broken_one_changes_nothing(tmp_path):
    ours, new = tmp_path / "ours", tmp_path / "new"
    client_certificate(ours)
    client_certificate(new)
    with serving(tmp_path, "--client-ca", ours / "ca.crt", client=ours) as running:
        (ours / "ca.crt").write_text("garbage")
        until(lambda: running.metric("evenkeel_certificate_reload_failures_total"), "the refusal")
        assert f"refused: {ours}/ca.crt: is not PEM" in running.probe("/readyz?verbose")[1].decode()
        assert 1 == len(running.lines("cannot use the client CA file, keeping the previous CAs"))

        (ours / "ca.crt").write_bytes((new / "ca.crt").read_bytes())
        until(lambda: running.lines("client CA reloaded"), "the new CA")
        refusal(running, ours)
        running.context.load_cert_chain(new / "tls.crt", new / "tls.key")
        assert 200 == running.review("/validate", raw())[0]
        assert ["CN=client CA"] == running.lines("client CA reloaded")[0]["subjects"]


def test_a_client_ca_is_out_of_force_once_the_log_says_so(tmp_path, monkeypatch):
    """Also while the certificate files cannot be used: else who has its key would still be let in."""
    told = []
    monkeypatch.setattr("webhook.server.certificate_files.log", lambda level, message, **fields: told.append(message))
    ours, new, ca = tmp_path / "ours", tmp_path / "new", certificate(tmp_path)
    client_certificate(ours)
    client_certificate(new)
    clients = Clients(ours / "ca.crt")
    served = ServingCertificate.of_files(tmp_path / "tls.crt", tmp_path / "tls.key", clients=clients)
    files = CertificateFiles(served, Metrics())
    (tmp_path / "tls.crt").write_text("garbage")
    (ours / "ca.crt").write_bytes((new / "ca.crt").read_bytes())
    for _ in range(3):
        files.reload()
        old, current = (accepted(client_context(ca, folder), served.context) for folder in (ours, new))
        assert ("client CA reloaded" in told) == current == (not old)

    assert "client CA reloaded" in told
    assert 1 == sum(message.startswith("cannot use") for message in told)
    assert ["; refused: " in check.detail for check in files.checks()] == [True, False]


def test_a_connection_of_a_client_whose_ca_was_replaced_is_closed_after_its_next_answer(tmp_path):
    """Not before: kube-apiserver would not send its review again."""
    ours, new = tmp_path / "ours", tmp_path / "new"
    client_certificate(ours)
    client_certificate(new)
    options = ("--client-ca", ours / "ca.crt")
    with serving(tmp_path, *options, client=ours) as running, closing(running.connection()) as kept:
        assert "close" != asked(kept).headers["Connection"]
        (ours / "ca.crt").write_bytes((new / "ca.crt").read_bytes())
        until(lambda: running.lines("client CA reloaded"), "the new CA")
        response = asked(kept)
        assert (200, "close") == (response.status, response.headers["Connection"])


def asked(connection):
    """The response to one review."""
    connection.request("POST", "/validate", raw(), {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response


def test_the_metric_follows_a_pair_that_is_handed_over():
    """Nobody reads a file then."""
    now = datetime.now(UTC)
    ca, metrics = Authority.create(now), Metrics()
    first, next_ = (ca.issue(["localhost"], now, timedelta(days=days)).pem("--tls-secret") for days in (1, 2))
    served = ServingCertificate(*first)
    CertificateFiles(served, metrics)
    served.serve(*next_)

    assert served.not_after == now.replace(microsecond=0) + timedelta(days=2)
    lines = metrics.text().decode().splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith("evenkeel_certificate_expiry_timestamp_seconds "))
    assert served.not_after.timestamp() == float(value)
