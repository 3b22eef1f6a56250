"""A certificate that changes under a running server."""

from __future__ import annotations

import ssl

from tests.support.serving import certificate, serving, until


def test_a_certificate_is_read_again_without_dropping_a_connection(tmp_path):
    with serving(tmp_path) as running:
        kept = running.connection()
        kept.request("GET", "/healthz")
        kept.getresponse().read()
        ca = certificate(tmp_path)
        until(lambda: running.lines("certificate reloaded"), "the new certificate")
        running.context = ssl.create_default_context(cadata=ca)
        kept.request("GET", "/healthz")

        assert 200 == kept.getresponse().status
        assert 200 == running.call("GET", "/healthz")[0]
        kept.close()


def test_a_certificate_that_cannot_be_used_changes_nothing_and_is_told(tmp_path):
    with serving(tmp_path) as running:
        (tmp_path / "tls.crt").write_text("garbage")
        until(lambda: running.metric("evenkeel_certificate_reload_failures_total"), "the refusal")

        assert "refused: " in running.call("GET", "/readyz?verbose")[1].decode()
        assert 1 == len(running.lines("cannot use the certificate files, serving the previous certificate"))
