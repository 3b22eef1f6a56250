"""PEM that can be used is read, other is refused by name, and keys are never shown."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

from certs.authority import Authority
from certs.files import CertificateError, Pem
from certs.pem import Pair, ca_bundle, describe, inspect, invalid_reason, stamp
from tests.support.certificates import NOW, chain, key, the_ca, the_leaf


def chain_pem():
    return the_leaf().chain_pem()


def key_pem():
    return the_leaf().key_pem()


class Wrong(NamedTuple):
    name: str
    message: str
    chain: Callable[[], bytes] = chain_pem
    key: Callable[[], bytes] = key_pem


def encoded(made, encryption=None, form=serialization.PrivateFormat.PKCS8):
    return made.private_bytes(serialization.Encoding.PEM, form, encryption or serialization.NoEncryption())


PASSWORD = serialization.BestAvailableEncryption(b"secret")
OPENSSL = serialization.PrivateFormat.TraditionalOpenSSL


def der():
    return the_leaf().certificate.public_bytes(serialization.Encoding.DER)


def misnamed():
    return ssl.DER_cert_to_PEM_cert(der().replace(b"\x82\x0cweb.", b"\x82\x7fweb.")).encode()


def cracked():
    return chain_pem().replace(b"\nM", b"\nN", 1)


WRONG = [
    Wrong("nothing at all", "tls.crt: is not PEM", chain=lambda: b""),
    Wrong("not PEM", "tls.crt: is not PEM", chain=der),
    Wrong("a key for a certificate", "tls.crt: has no certificate, found PRIVATE KEY", chain=key_pem),
    Wrong("a cracked certificate", "tls.crt: has a certificate that cannot be read; .*", chain=cracked),
    Wrong(
        "broken names",
        "tls.crt: has a certificate that cannot be read; .*",
        chain=misnamed,
    ),
    Wrong(
        "a second one is", "tls.crt: has a certificate that cannot be read; .*", chain=lambda: chain_pem() + cracked()
    ),
    Wrong("cut short", "tls.crt: has a certificate that cannot be read; .*", chain=lambda: chain_pem()[:-9]),
    Wrong("no key at all", "tls.key: is not a private key in PEM", key=lambda: b""),
    Wrong("a certificate for a key", "tls.key: is not a private key in PEM", key=chain_pem),
    Wrong("a cracked key", "tls.key: is not a private key in PEM", key=lambda: key_pem().replace(b"\nM", b"\nN", 1)),
    Wrong("a key cut short", "tls.key: is not a private key in PEM", key=lambda: key_pem()[:-9]),
    Wrong("a password", "tls.key: is encrypted; give .*", key=lambda: encoded(the_leaf().key, PASSWORD)),
    Wrong(
        "a password in the old form",
        "tls.key: is encrypted; give .*",
        key=lambda: encoded(the_leaf().key, PASSWORD, OPENSSL),
    ),
    Wrong("another key", "tls.key: is not the key of tls.crt", key=lambda: the_ca().pair.key_pem()),
    Wrong(
        "a key of another kind",
        "tls.key: is not the key of tls.crt",
        key=lambda: encoded(ed25519.Ed25519PrivateKey.generate()),
    ),
    Wrong(
        "a key TLS does not want", "tls.key: must be an .* key", key=lambda: encoded(x25519.X25519PrivateKey.generate())
    ),
]


class TestPem:
    @pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
    def test_that_cannot_be_used_is_named(self, case):
        with pytest.raises(CertificateError, match=f"^{case.message}$"):
            Pair.parse(Pem("tls.crt", case.chain()), Pem("tls.key", case.key()))

    def test_of_another_key_can_be_told_from_the_rest(self):
        with pytest.raises(CertificateError, match="is not the key of"):
            Pair.parse(chain(the_leaf()), key(the_ca().pair))

    @pytest.mark.parametrize("form", [serialization.PrivateFormat.PKCS8, OPENSSL])
    def test_comes_back_as_it_went(self, form):
        pair = Pair.parse(
            Pem("tls.crt", the_leaf().chain_pem() + the_ca().pair.chain_pem()),
            Pem("tls.key", encoded(the_leaf().key, form=form)),
        )

        assert (the_leaf().certificate, the_ca().pair.certificate) == pair.chain
        assert the_leaf().key_pem() == pair.key_pem()

    def test_is_inspected_whole(self):
        leaf, ca = inspect(Pem("tls.crt", b"a note\n" + the_leaf().chain_pem() + the_ca().pair.chain_pem()))

        assert ("CN=web.shop.svc", False) == (leaf.subject, leaf.is_ca)
        assert ("CN=evenkeel CA", True) == (ca.subject, ca.is_ca)
        assert (("web.shop.svc", "10.0.0.1", "2001:db8::1"), ()) == (leaf.names, ca.names)


def test_why_it_is_not_valid():
    found = describe(the_leaf().certificate)
    before, after = found.not_before - timedelta(seconds=1), found.not_after + timedelta(seconds=1)

    assert invalid_reason(found, NOW) is None
    assert (f"is not valid before {stamp(found.not_before)}; the time is now {stamp(before)}") == invalid_reason(
        found, before
    )
    assert f"expired at {stamp(found.not_after)}; the time is now {stamp(after)}" == invalid_reason(found, after)


def shown(error):
    """All that a traceback would show of an error and of those that led to it."""
    while error is not None:
        yield f"{error} {error!r} {error.args}"
        error = error.__cause__ or error.__context__


class TestSecrecy:
    def traces(self, pair):
        """What would give a key away, whatever form it is shown in."""
        number = pair.key.private_numbers().private_value
        lines = pair.key_pem().decode().splitlines()[1:-1]
        return [*lines, *(line[8:24] for line in lines), str(number), f"{number:x}", repr(number.to_bytes(32))[2:-1]]

    def test_no_repr_shows_a_key(self):
        held = [
            the_ca(),
            the_ca().pair,
            the_leaf(),
            key(the_leaf()),
            [the_leaf()],
            {"pair": the_ca().pair},
            describe(the_leaf().certificate),
        ]
        text = " ".join(f"{one} {one!r}" for one in held)

        assert "tls.key" in text and "PrivateKey" not in text
        assert [] == [trace for pair in (the_ca().pair, the_leaf()) for trace in self.traces(pair) if trace in text]

    @pytest.mark.parametrize("at", range(28, 200, 7))
    def test_no_error_and_no_log_shows_a_key(self, at, caplog):
        """Wherever the file is damaged; in most places it is no key any more."""
        caplog.set_level(logging.DEBUG)
        damaged = the_leaf().key_pem()[:at] + b"!" + the_leaf().key_pem()[at + 1 :]
        told = []
        for chain_pem, key_pem in (
            (the_leaf().chain_pem(), damaged),
            (damaged, the_leaf().key_pem()),
            (the_ca().pair.chain_pem(), damaged),
        ):
            with pytest.raises(CertificateError) as caught:
                Pair.parse(Pem("tls.crt", chain_pem), Pem("tls.key", key_pem))
            told += shown(caught.value)

        text = " ".join((*told, caplog.text))
        assert [] == [trace for trace in self.traces(the_leaf()) if trace in text]

    @pytest.mark.parametrize("length", [1, 6, 30, 90])
    def test_no_error_quotes_a_key_that_is_cut_anywhere(self, length):
        """Also where certificate and key are in one file, as the library quotes what it takes for a label."""
        chain, whole = the_leaf().chain_pem(), the_leaf().key_pem()
        told = []
        for at in range(0, len(whole), 3):
            cut = whole[:at] + whole[at + length :]
            for chain_pem, key_pem in ((chain, cut), (cut, whole), (chain + cut, whole), (cut + chain, whole)):
                try:
                    Pair.parse(Pem("tls.crt", chain_pem), Pem("tls.key", key_pem))
                except CertificateError as error:
                    told += shown(error)

        text = " ".join(told)
        assert len(told) > 50
        assert [] == [trace for trace in self.traces(the_leaf()) if trace in text]


def test_of_a_file_of_cas_all_are_trusted_and_nothing_else_is():
    cas = [the_ca().pair.chain_pem(), Authority.create(NOW).pair.chain_pem()]

    assert b"".join(cas) == ca_bundle(Pem("ca.crt", b"a note\n".join(cas)))
    with pytest.raises(
        CertificateError, match=r'^ca\.crt: has the certificate of "CN=web\.shop\.svc", which is not a CA$'
    ):
        ca_bundle(Pem("ca.crt", cas[0] + chain_pem()))


def test_it_is_valid_from_the_first_second_to_the_last():
    found = describe(the_leaf().certificate)

    assert (None, None) == (invalid_reason(found, found.not_before), invalid_reason(found, found.not_after))


def test_a_time_is_told_in_utc():
    assert "2026-03-01T12:00:00Z" == stamp(datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2))))
