"""Certificates and private keys, from PEM and to PEM, and what certificates contain."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from certs.files import CertificateError, Pem, write_pair

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
_Extension = TypeVar("_Extension", bound=x509.ExtensionType)


@dataclass(frozen=True)
class Pair:
    """A certificate, the CA certificates that are sent with it, and its private key."""

    chain: tuple[x509.Certificate, ...]
    key: PrivateKey = field(repr=False)

    @classmethod
    def parse(cls, chain: Pem, key: Pem) -> Pair:
        """Read a chain and the key of its first certificate; CertificateError if it is the key of another."""
        pair = cls(certificates(chain), _private_key(key))
        if pair.key.public_key() != pair.certificate.public_key():
            raise CertificateError(f"{key.source}: is not the key of {chain.source}")
        return pair

    @property
    def certificate(self) -> x509.Certificate:
        return self.chain[0]

    def chain_pem(self) -> bytes:
        return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in self.chain)

    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def write(self, chain: Path, key: Path) -> None:
        """
        Write both files, the key first; a reader that watches the certificate then finds both files new.

        CertificateError if a file cannot be written.
        """
        write_pair(chain, self.chain_pem(), key, self.key_pem())

    def pem(self, source: str) -> tuple[Pem, Pem]:
        """The chain and the key as PEM; errors about them name `source`."""
        return Pem(source, self.chain_pem()), Pem(source, self.key_pem())


@dataclass(frozen=True)
class Inspection:
    """What a certificate contains; times in UTC."""

    subject: str
    names: tuple[str, ...]  # The subject alternative names.
    not_before: datetime
    not_after: datetime
    is_ca: bool


def inspect(pem: Pem) -> tuple[Inspection, ...]:
    """Describe each certificate in a file, in order; CertificateError if one cannot be read."""
    return tuple(map(describe, certificates(pem)))


def ca_bundle(pem: Pem) -> bytes:
    """Only the certificates in a file, as PEM; CertificateError if one of them is not a CA."""
    chain = certificates(pem)
    if leaf := next((inspection for inspection in map(describe, chain) if not inspection.is_ca), None):
        raise CertificateError(f'{pem.source}: has the certificate of "{leaf.subject}", which is not a CA')
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in chain)


def describe(certificate: x509.Certificate) -> Inspection:
    constraints = extension(certificate, x509.BasicConstraints)
    names = extension(certificate, x509.SubjectAlternativeName)
    return Inspection(
        subject=certificate.subject.rfc4514_string(),
        names=tuple(str(name.value) for name in names or ()),
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        is_ca=constraints is not None and constraints.ca,
    )


def invalid_reason(inspection: Inspection, now: datetime) -> str | None:
    """Why the certificate is not valid now, with the time; None if it is valid."""
    reason = invalid_since(inspection, now)
    return f"{reason}; the time is now {stamp(now)}" if reason else None


def invalid_since(inspection: Inspection, now: datetime) -> str | None:
    """Why the certificate is not valid now, in words that stay the same as time passes; None if it is valid."""
    if now < inspection.not_before:
        return f"is not valid before {stamp(inspection.not_before)}"
    if now > inspection.not_after:
        return f"expired at {stamp(inspection.not_after)}"
    return None


def stamp(when: datetime) -> str:
    """A time in UTC, as 2026-01-31T12:00:00Z."""
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def certificates(pem: Pem) -> tuple[x509.Certificate, ...]:
    """
    All certificates in PEM, at least one; CertificateError if there is none, or one cannot be parsed.

    The error does not have the library's message, which quotes what a broken file has: that may be a key.
    """
    labels = [label.decode() for label in re.findall(rb"-----BEGIN ([A-Z0-9 ]+)-----", pem.content)]
    if not labels:
        raise CertificateError(f"{pem.source}: is not PEM")
    if "CERTIFICATE" not in labels:
        raise CertificateError(f"{pem.source}: has no certificate, found {', '.join(dict.fromkeys(labels))}")
    if not (readable := _readable(pem.content)):
        raise CertificateError(f"{pem.source}: has a certificate that cannot be read; write it again, as it was issued")
    return readable


def _readable(content: bytes) -> tuple[x509.Certificate, ...]:
    """The certificates in PEM, none if one cannot be parsed."""
    try:
        readable = tuple(x509.load_pem_x509_certificates(content))
        for certificate in readable:  # The library parses these parts only when they are asked for.
            describe(certificate)
            certificate.issuer.rfc4514_string()
            certificate.public_key()
    except Exception:  # the library raises many types, which differ between its versions
        return ()
    return readable


def _private_key(pem: Pem) -> PrivateKey:
    """The key in PEM.  CertificateError, without the library's message, which could quote the key."""
    try:
        key = serialization.load_pem_private_key(pem.content, password=None)
    except TypeError:
        raise CertificateError(f"{pem.source}: is encrypted; give a key without a password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError(f"{pem.source}: is not a private key in PEM") from None
    if not isinstance(key, PrivateKey):
        raise CertificateError(f"{pem.source}: must be an ECDSA, RSA or Ed25519 key")
    return key


def extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    """The extension of this type, or None."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
