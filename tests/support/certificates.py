"""One CA and one leaf, which certificate tests share, and CAs that other tools made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID

from certs.authority import Authority
from certs.files import Pem
from certs.pem import Pair

NOW, DAY = datetime(2026, 3, 1, 12, tzinfo=UTC), timedelta(days=1)


@cache
def the_ca():
    return Authority.create(NOW)


@cache
def the_leaf():
    return the_ca().issue(["web.shop.svc", "10.0.0.1", "2001:db8::1"], NOW)


def extension(pair, kind):
    """What an extension says, and whether it is critical."""
    found = pair.certificate.extensions.get_extension_for_class(kind)
    return found.value, found.critical


def chain(pair, source="tls.crt"):
    return Pem(source, pair.chain_pem())


def key(pair, source="tls.key"):
    return Pem(source, pair.key_pem())


def foreign(key, now, above=None, path_length=None, identifier=b"not a hash"):
    """A CA that another tool made: `above` signs it, or it itself; its key identifier is as it likes, or missing."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Foreign {type(key).__name__}")])
    signer = above.pair if above else None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.certificate.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(extension(the_ca().pair, x509.KeyUsage)[0], critical=True)
    )
    if identifier is not None:
        builder = builder.add_extension(x509.SubjectKeyIdentifier(identifier), critical=False)
    if signer:
        named = extension(signer, x509.SubjectKeyIdentifier)[0]
        above_key = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(named)
        builder = builder.add_extension(above_key, critical=False)
    signing = signer.key if signer else key
    hashed = None if isinstance(signing, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    chained = signer.chain if signer else ()
    return Authority(Pair((builder.sign(signing, hashed), *chained), key))
