"""A CA and the serving certificates it issues: `ca = Authority.create(now)`, `ca.issue(["web.shop.svc"], now)`."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A new CA has to reach every caBundle before it may sign, so it comes rarely; nothing but this webhook trusts it.
CA_LIFETIME = timedelta(days=3650)
# Renewed at two thirds of it: often enough to be known to work, with a month left to notice when it does not.
SERVING_LIFETIME = timedelta(days=90)
# A certificate begins this long ago, for those whose clock is behind.
CLOCK_SKEW = timedelta(hours=1)
LONGEST_COMMON_NAME = 64  # RFC 5280, ub-common-name

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
_AlternativeName = x509.DNSName | x509.IPAddress
_Extension = TypeVar("_Extension", bound=x509.ExtensionType)

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_DNS_NAME = re.compile(rf"(?=.{{1,253}}$)(\*\.)?({_LABEL}\.)*(?!\d+$){_LABEL}", re.ASCII | re.IGNORECASE)
_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


class CertificateError(ValueError):
    """A certificate or a key that cannot be used; the message names the file and never shows what a key holds."""


class KeyMismatchError(CertificateError):
    """A key that is another certificate's."""


@dataclass(frozen=True)
class Pem:
    """PEM and where it is from, a file or a Secret's entry; no repr shows it, for it may be a key."""

    source: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Pair:
    """A certificate, with those above it that are sent along, and its private key."""

    chain: tuple[x509.Certificate, ...]
    key: PrivateKey = field(repr=False)

    @classmethod
    def parse(cls, chain: Pem, key: Pem) -> Pair:
        """The certificate that comes first in `chain` with its key."""
        pair = cls(certificates(chain), _private_key(key))
        if pair.key.public_key() != pair.certificate.public_key():
            raise KeyMismatchError(f"{key.source}: is not the key of {chain.source}")
        return pair

    @property
    def certificate(self) -> x509.Certificate:
        return self.chain[0]

    def chain_pem(self) -> bytes:
        return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in self.chain)

    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def write(self, chain: Path, key: Path) -> None:
        """The key first, so that who waits for the certificate to change finds both changed."""
        write(key, self.key_pem(), 0o600)
        write(chain, self.chain_pem(), 0o644)


@dataclass(frozen=True)
class Authority:
    """A CA: its certificate, and the key that signs what it issues."""

    pair: Pair

    @classmethod
    def create(cls, now: datetime, name: str = "evenkeel CA", lifetime: timedelta = CA_LIFETIME) -> Authority:
        """A new CA that vouches for itself, and issues leaves only: no CA below it is valid."""
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
        """A CA that was made before, here or elsewhere."""
        pair = Pair.parse(certificate, key)
        if not describe(pair.certificate).is_ca:
            raise CertificateError(f"{certificate.source}: is not the certificate of a CA")
        return cls(pair)

    def issue(self, names: Iterable[str], now: datetime, lifetime: timedelta = SERVING_LIFETIME) -> Pair:
        """A serving certificate for DNS names and IP addresses, which ends with its CA at the latest."""
        ca = describe(self.pair.certificate)
        if reason := invalid_reason(ca, now):
            raise CertificateError(f'the CA "{ca.subject}" {reason}')
        sans = _alternative_names(names)
        key = ec.generate_private_key(ec.SECP256R1())
        begin, end = max(now - CLOCK_SKEW, ca.not_before), min(now + lifetime, ca.not_after)
        builder = (
            _builder(str(sans[0].value), key.public_key(), begin, end)
            .issuer_name(self.pair.certificate.subject)
            .add_extension(x509.SubjectAlternativeName(sans), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage("digital_signature"), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_issuer_key(self.pair), critical=False)
        )
        hashed = not isinstance(self.pair.key, ed25519.Ed25519PrivateKey)
        leaf = builder.sign(self.pair.key, hashes.SHA256() if hashed else None)
        return Pair((leaf, *(one for one in self.pair.chain if one.subject != one.issuer)), key)


@dataclass(frozen=True)
class Inspection:
    """What a certificate says: the serial number in hexadecimal, the fingerprint with SHA-256."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    serial: str
    is_ca: bool
    fingerprint: str
    public_key: str


def inspect(pem: Pem) -> tuple[Inspection, ...]:
    """What each certificate of a file says, in its order."""
    return tuple(map(describe, certificates(pem)))


def ca_bundle(pem: Pem) -> bytes:
    """The certificates in a file, and nothing else that may be in it, if they are all of CAs."""
    found = certificates(pem)
    if leaf := next((one for one in map(describe, found) if not one.is_ca), None):
        raise CertificateError(f'{pem.source}: has "{leaf.subject}", which is not the certificate of a CA')
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in found)


def describe(one: x509.Certificate) -> Inspection:
    constraints = _extension(one, x509.BasicConstraints)
    names = _extension(one, x509.SubjectAlternativeName)
    return Inspection(
        subject=one.subject.rfc4514_string(),
        issuer=one.issuer.rfc4514_string(),
        names=tuple(str(name.value) for name in names or ()),
        not_before=one.not_valid_before_utc,
        not_after=one.not_valid_after_utc,
        serial=f"{one.serial_number:X}",
        is_ca=constraints is not None and constraints.ca,
        fingerprint=one.fingerprint(hashes.SHA256()).hex(":").upper(),
        public_key=_kind(one.public_key()),
    )


def invalid_reason(one: Inspection, now: datetime) -> str | None:
    """Why a verifier at this time refuses the certificate, None if its time has come and is not over."""
    if now < one.not_before:
        return f"is not valid before {stamp(one.not_before)}, now is {stamp(now)}"
    if now > one.not_after:
        return f"expired at {stamp(one.not_after)}, now is {stamp(now)}"
    return None


def stamp(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def read(path: Path) -> Pem:
    try:
        return Pem(str(path), path.read_bytes())
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


def write(path: Path, content: bytes, mode: int) -> None:
    """Replace a file whole or not at all; not for a moment may anybody read it whom `mode` does not name."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


def certificates(pem: Pem) -> tuple[x509.Certificate, ...]:
    """Every certificate in PEM, of which each can be read; at least one."""
    labels = [label.decode() for label in re.findall(rb"-----BEGIN ([A-Z0-9 ]+)-----", pem.content)]
    if not labels:
        raise CertificateError(f"{pem.source}: is not PEM")
    if "CERTIFICATE" not in labels:
        raise CertificateError(f"{pem.source}: has no certificate, found {', '.join(dict.fromkeys(labels))}")
    try:
        found = tuple(x509.load_pem_x509_certificates(pem.content))
        for one in found:
            describe(one)  # extensions and keys are parsed only when they are asked for
    except Exception as error:  # the kinds are many, and differ from one version of the library to the next
        raise CertificateError(f"{pem.source}: has a certificate that cannot be read: {error}") from error
    return found


def _private_key(pem: Pem) -> PrivateKey:
    """The library's own words are left out, lest they repeat what they choke on."""
    try:
        key = serialization.load_pem_private_key(pem.content, password=None)
    except TypeError:
        raise CertificateError(f"{pem.source}: is encrypted, must be a key without a password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError(f"{pem.source}: is not a private key in PEM") from None
    if not isinstance(key, PrivateKey):
        raise CertificateError(f"{pem.source}: must be an ECDSA, RSA or Ed25519 key")
    return key


def _builder(name: str, key: ec.EllipticCurvePublicKey, begin: datetime, end: datetime) -> x509.CertificateBuilder:
    """What a CA and a leaf have in common."""
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
    """For people only: verifiers read the subject's alternative names, which have no such limit."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:LONGEST_COMMON_NAME])])


def _alternative_names(names: Iterable[str]) -> tuple[_AlternativeName, ...]:
    found = {name: _alternative_name(name) for name in names}
    if wrong := [name for name, one in found.items() if one is None]:
        raise CertificateError("\n".join(f'"{name}": must be a DNS name or an IP address' for name in wrong))
    if not found:
        raise CertificateError("a serving certificate must have a name")
    return tuple(dict.fromkeys(filter(None, found.values())))


def _alternative_name(name: str) -> _AlternativeName | None:
    if "%" not in name:  # as in fe80::1%eth0, which means something on one host only
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
    """Names the key that signs as its certificate names it, for there is more than one way to do so."""
    own = _extension(issuer.certificate, x509.SubjectKeyIdentifier)
    if own is None:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _extension(one: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return one.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _kind(key: object) -> str:
    if isinstance(key, ec.EllipticCurvePublicKey):
        return f"ECDSA {_CURVES.get(key.curve.name, key.curve.name)}"
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA {key.key_size}"
    return type(key).__name__.removesuffix("PublicKey")
