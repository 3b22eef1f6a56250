"""A CA and the certificates it issues: `ca = Authority.create(now)`, `ca.issue(["web.shop.svc"], now)`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.files import CertificateError, Pem
from certs.pem import Pair, describe, extension, invalid_reason

# Long, because a new CA may sign only after it is in every caBundle. Only calls to this webhook trust it.
CA_LIFETIME = timedelta(days=3650)
# Renewed after two thirds, so that a month is left to notice a failed renewal.
SERVING_LIFETIME = timedelta(days=90)
# A certificate is valid from this long before it was issued, for clients whose clock is behind.
CLOCK_SKEW = timedelta(hours=1)
LONGEST_COMMON_NAME = 64  # RFC 5280, ub-common-name

_AlternativeName = x509.DNSName | x509.IPAddress

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_DNS_NAME = re.compile(rf"(?=.{{1,253}}$)(\*\.)?({_LABEL}\.)*(?!\d+$){_LABEL}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Authority:
    """A CA: its certificate, and the key that signs the certificates it issues."""

    pair: Pair

    @classmethod
    def create(cls, now: datetime, name: str = "evenkeel CA", lifetime: timedelta = CA_LIFETIME) -> Authority:
        """Make a new self-signed CA, with path length 0: it issues serving certificates, and no other CA."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(name, key.public_key(), now - CLOCK_SKEW, now + lifetime)
            .issuer_name(_subject(name))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage("key_cert_sign", "crl_sign"), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        )
        return cls(Pair((builder.sign(key, hashes.SHA256()),), key))

    @classmethod
    def parse(cls, certificate: Pem, key: Pem) -> Authority:
        """Read an existing CA.  CertificateError if it cannot be read, is not a CA, or the key does not match."""
        pair = Pair.parse(certificate, key)
        if not describe(pair.certificate).is_ca:
            raise CertificateError(f"{certificate.source}: is not the certificate of a CA")
        return cls(pair)

    def issue(
        self, names: Iterable[str], now: datetime, lifetime: timedelta = SERVING_LIFETIME, *, client: bool = False
    ) -> Pair:
        """
        Issue a certificate of a server, or of a `client`, for DNS names and IP addresses.

        It expires no later than its CA.  CertificateError if a name is neither, or the CA is not valid now.
        """
        ca = describe(self.pair.certificate)
        if reason := invalid_reason(ca, now):
            raise CertificateError(f'the CA "{ca.subject}" {reason}')
        sans = _alternative_names(names)
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        key = ec.generate_private_key(ec.SECP256R1())
        begin, end = max(now - CLOCK_SKEW, ca.not_before), min(now + lifetime, ca.not_after)
        builder = (
            _builder(str(sans[0].value), key.public_key(), begin, end)
            .issuer_name(self.pair.certificate.subject)
            .add_extension(x509.SubjectAlternativeName(sans), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage("digital_signature"), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(_issuer_key(self.pair), critical=False)
        )
        hashes_itself = isinstance(self.pair.key, ed25519.Ed25519PrivateKey)
        leaf = builder.sign(self.pair.key, None if hashes_itself else hashes.SHA256())
        # Without the root, which clients must have.
        intermediates = (certificate for certificate in self.pair.chain if certificate.subject != certificate.issuer)
        return Pair((leaf, *intermediates), key)


def _builder(name: str, key: ec.EllipticCurvePublicKey, begin: datetime, end: datetime) -> x509.CertificateBuilder:
    """What the certificates of CAs and of servers have in common."""
    return (
        x509.CertificateBuilder()
        .subject_name(_subject(name))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _subject(name: str) -> x509.Name:
    """The common name, cut to its limit.  It is for people; clients verify the subject alternative names."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:LONGEST_COMMON_NAME])])


def normal_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names as a certificate spells them; CertificateError for bad names, or for none."""
    return tuple(str(name.value) for name in _alternative_names(names))


def is_name(text: str) -> bool:
    """Whether certificates are issued for this name."""
    return _alternative_name(text) is not None


def _alternative_names(names: Iterable[str]) -> tuple[_AlternativeName, ...]:
    by_name = {name: _alternative_name(name) for name in names}
    if wrong := [name for name, san in by_name.items() if san is None]:
        raise CertificateError("\n".join(f'"{name}": must be a DNS name or an IP address' for name in wrong))
    if not by_name:
        raise CertificateError("a serving certificate must have a name")
    return tuple(dict.fromkeys(filter(None, by_name.values())))


def _alternative_name(name: str) -> _AlternativeName | None:
    if "%" not in name:  # as in fe80::1%eth0, which is valid on one host only
        with suppress(ValueError):
            return x509.IPAddress(ip_address(name))
    return x509.DNSName(name.lower()) if _DNS_NAME.fullmatch(name) else None


def _key_usage(*allowed: str) -> x509.KeyUsage:
    usages = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    )
    return x509.KeyUsage(**{usage: usage in allowed for usage in usages})


def _issuer_key(issuer: Pair) -> x509.AuthorityKeyIdentifier:
    """The identifier of the signing key, copied from the issuer's certificate."""
    identifier = extension(issuer.certificate, x509.SubjectKeyIdentifier)
    if identifier is None:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
