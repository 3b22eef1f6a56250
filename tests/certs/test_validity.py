"""How long a certificate is valid is read as `cryptography` reads it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st

from certs.authority import Authority
from certs.files import CertificateError, Pem
from certs.pem import describe
from certs.validity import Validity, invalid_reason, stamp, validity
from tests.support.certificates import NOW, chain, foreign, the_ca, the_leaf

KEYS = {
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "ECDSA": lambda: ec.generate_private_key(ec.SECP384R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
}


def told(pair):
    found = describe(pair.certificate)
    return Validity(found.not_before, found.not_after)


@pytest.mark.parametrize("name", KEYS)
def test_of_every_kind_of_key(name):
    pair = foreign(KEYS[name](), NOW).pair

    assert told(pair) == validity(chain(pair))


@given(now=st.datetimes(datetime(1960, 1, 1), datetime(2200, 1, 1)), days=st.integers(3, 100_000))
def test_at_every_time(now, days):
    """From 2050 on a year is written with four digits."""
    pair = Authority.create(now.replace(tzinfo=UTC, microsecond=0), lifetime=timedelta(days=days)).pair

    assert told(pair) == validity(chain(pair))


def test_of_the_first_certificate():
    text = b"a note\n" + the_leaf().chain_pem() + the_ca().pair.chain_pem()

    assert told(the_leaf()) == validity(Pem("tls.crt", text))


@pytest.mark.parametrize("cut", [0, 1, 4, 30, 100, 150])
def test_what_is_no_certificate_is_refused(cut):
    lines = the_leaf().chain_pem().splitlines()
    text = b"\n".join((lines[0], lines[1][: cut // 4 * 4], lines[-1])) if cut else b"nothing"
    with pytest.raises(CertificateError, match=r"^tls\.crt: has no certificate that can be read$"):
        validity(Pem("tls.crt", text))


def test_why_it_is_not_valid():
    found = validity(chain(the_leaf()))
    before, after = found.not_before - timedelta(seconds=1), found.not_after + timedelta(seconds=1)

    assert invalid_reason(found, NOW) is None
    assert f"is not valid before {stamp(found.not_before)}, now is {stamp(before)}" == invalid_reason(found, before)
    assert f"expired at {stamp(found.not_after)}, now is {stamp(after)}" == invalid_reason(found, after)


def test_nothing_of_cryptography_is_imported():
    code = "import sys, certs.serving; print([m for m in sys.modules if m.startswith('cryptography')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
