"""
Renews a CA and a serving certificate in a store that replicas share, without a leader: the first to replace it wins.

    ca.crt    the CAs that have not expired, the newest first        ca.key    the key of the newest
    tls.crt   the leaf: the serving certificate, with its CA         tls.key   its key
    trusted   the time since when the newest CA is in every caBundle; empty while it is not

    a new CA ── in every caBundle for an hour ──> signs the next leaf;  an expired CA is removed

A replica's clock may be wrong for a while: what it has made is renewed as soon as it is not valid for another replica.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from certs.authority import CA_LIFETIME, CLOCK_SKEW, SERVING_LIFETIME, Authority, is_name
from certs.files import CertificateError, Pem
from certs.pem import Pair, certificates, describe, invalid_reason, stamp

CA_CERT, CA_KEY, CERT, KEY, TRUSTED = "ca.crt", "ca.key", "tls.crt", "tls.key", "trusted"
MOST_CAS = 8  # Two are enough, unless clocks are wrong; if they stay wrong, ever more would fill the Secret.
WRITE_TRIES = 5  # If replicas replace at the same time, one wins, and the others then find nothing left to renew.
SECRET_RESTORED = "the Secret was deleted or emptied; evenkeel has written its last CA and certificate back"
Content = Mapping[str, bytes]


class CertificateStore(Protocol):
    """The storage of the certificates, with compare-and-swap."""

    def read(self) -> tuple[Content, str]:
        """The entries and their version; no entries and "" if the store does not exist."""

    def replace(self, content: Content, resource_version: str) -> bool:
        """Replace the entries; False if they no longer have that version."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long certificates are valid, and how soon a new CA signs."""

    ca: timedelta = CA_LIFETIME
    leaf: timedelta = SERVING_LIFETIME
    # How long a CA must be in every caBundle before it signs a leaf; the clocks of replicas may differ.
    settling: timedelta = timedelta(hours=1) + CLOCK_SKEW


@dataclass(frozen=True, slots=True)
class HeldCertificates:
    """The usable content of a store."""

    cas: tuple[x509.Certificate, ...] = ()  # The newest first.
    authority: Authority | None = None  # The newest CA, with its key.
    leaf: Pair | None = None
    trusted: datetime | None = None  # Since when the newest CA is in every caBundle.

    @property
    def ca_bundle(self) -> bytes:
        """The certificates of all CAs, as PEM for the caBundles."""
        return b"".join(ca.public_bytes(serialization.Encoding.PEM) for ca in self.cas)


NO_CERTIFICATES = HeldCertificates()


@dataclass(frozen=True, slots=True)
class Rotation:
    """What the store holds now, and the reason for each change."""

    held: HeldCertificates
    reasons: tuple[str, ...] = ()


def rotate(
    store: CertificateStore,
    names: Collection[str],
    now: datetime,
    bundles: Sequence[bytes] | None,
    lifetimes: Lifetimes,
    last: HeldCertificates = NO_CERTIFICATES,
) -> Rotation:
    """
    Renew what is due in the store; `bundles` are the caBundles in force, or None while they are not known.

    If the store was deleted or emptied, its `last` content is restored: a new CA would replace the old one in the
    caBundles before every replica serves a certificate of the new one.  CertificateError if the store has entries that
    evenkeel did not write, or if others replace it during each of WRITE_TRIES.
    """
    for _ in range(WRITE_TRIES):
        content, version = store.read()
        if any(content.values()) and TRUSTED not in content:
            entry_names = ", ".join(sorted(content))
            raise CertificateError(
                f'found {entry_names} without "{TRUSTED}", wanted an empty Secret, or one that evenkeel has written; '
                "name another Secret"
            )
        held = parse(content)
        is_lost = last != NO_CERTIFICATES and not any(content.values())
        rotation = renewed(last if is_lost else held, names, now, bundles, lifetimes)
        if rotation.held == held or store.replace(entries(rotation.held), version):
            return replace(rotation, reasons=(SECRET_RESTORED, *rotation.reasons)) if is_lost else rotation
    raise CertificateError(f"another client replaced the Secret during each of {WRITE_TRIES} attempts to write it")


def renewed(
    held: HeldCertificates, names: Collection[str], now: datetime, bundles: Sequence[bytes] | None, lifetimes: Lifetimes
) -> Rotation:
    """The content to hold from now on.  A pure function, except that it creates keys."""
    reasons: list[str] = []
    if held.trusted is not None and held.trusted > now + CLOCK_SKEW:
        held = replace(held, trusted=None)  # A time in the future is not trusted.
    cas = _needed_cas(held, now, lifetimes)
    held = replace(held, cas=cas) if cas != held.cas else held
    newest = held.authority.pair.certificate if held.authority is not None else None
    if reason := renewal_reason(newest, now):
        authority = Authority.create(now, lifetime=lifetimes.ca)
        held = HeldCertificates((authority.pair.certificate, *cas)[:MOST_CAS], authority, held.leaf)
        reasons.append(f"CA: renewed: {reason}")
    elif held.trusted is None and newest is not None and _in_each(bundles, newest):
        held = replace(held, trusted=now)
        reasons.append("CA: now in every caBundle")
    reason = leaf_reason(held, names, now)
    # A leaf that clients still accept waits until they trust the newest CA.
    if reason and held.authority is not None and (_settled(held, now, lifetimes) or not is_served(held, names, now)):
        held = replace(held, leaf=held.authority.issue(_all_names(held, names, now), now, lifetimes.leaf))
        reasons.append(f"certificate: renewed: {reason}")
    return Rotation(held, tuple(reasons))


def _needed_cas(held: HeldCertificates, now: datetime, lifetimes: Lifetimes) -> tuple[x509.Certificate, ...]:
    """
    The CAs that a leaf may need; all of them while the newest is not valid.

    The clock may be wrong then, and replicas may still serve a leaf that another CA has signed.
    """
    if not held.cas or invalid_reason(describe(held.cas[0]), now):
        return held.cas
    # Expired CAs go; so do those not valid yet, which a wrong clock has made, once the newest may sign.
    settled = _settled(held, now, lifetimes)
    return tuple(
        ca for ca in held.cas if now <= ca.not_valid_after_utc and (now >= ca.not_valid_before_utc or not settled)
    )


def _settled(held: HeldCertificates, now: datetime, lifetimes: Lifetimes) -> bool:
    """Whether the newest CA has been in every caBundle for long enough to sign."""
    return held.trusted is not None and now >= held.trusted + lifetimes.settling


def renewal_reason(certificate: x509.Certificate | None, now: datetime) -> str | None:
    """
    Why a certificate is due for renewal, else None.

    It is missing, two thirds of its lifetime are over, or it is not valid yet: the clock of this replica or of the one
    that issued it is wrong.
    """
    if certificate is None:
        return "there was none"
    if now < certificate.not_valid_before_utc:
        return invalid_reason(describe(certificate), now)
    issued = certificate.not_valid_before_utc + CLOCK_SKEW
    due = issued + (certificate.not_valid_after_utc - issued) * 2 / 3
    return f"due for renewal since {stamp(due)}" if now >= due else None


def _all_names(held: HeldCertificates, names: Collection[str], now: datetime) -> Collection[str]:
    """The names, and those of a leaf that is not due; else replicas with different names would renew it in turns."""
    if held.leaf is None or renewal_reason(held.leaf.certificate, now):
        return names
    return tuple(dict.fromkeys((*names, *filter(is_name, describe(held.leaf.certificate).names))))


def leaf_reason(held: HeldCertificates, names: Collection[str], now: datetime) -> str | None:
    """Why the leaf is due for renewal: its names, its CA or its time; else None."""
    if held.leaf is None:
        return "there was none"
    if missing := sorted(set(names) - set(describe(held.leaf.certificate).names)):
        return f"lacks the names {', '.join(missing)}"
    if not verifies(held.leaf.certificate, held.cas):
        return "was signed by a CA that is no longer trusted"
    return renewal_reason(held.leaf.certificate, now)


def is_served(held: HeldCertificates, names: Collection[str], now: datetime) -> bool:
    """Whether clients that trust the held CAs accept the leaf: then its renewal can wait for a new CA."""
    leaf = held.leaf.certificate if held.leaf is not None else None
    if leaf is None or invalid_reason(describe(leaf), now):
        return False
    return verifies(leaf, held.cas) and set(names) <= set(describe(leaf).names)


def verifies(leaf: x509.Certificate, cas: Collection[x509.Certificate]) -> bool:
    """Whether one of the CAs has signed the leaf."""
    for ca in cas:
        with suppress(ValueError, TypeError, InvalidSignature):
            leaf.verify_directly_issued_by(ca)
            return True
    return False


def _in_each(bundles: Sequence[bytes] | None, ca: x509.Certificate) -> bool:
    pem = ca.public_bytes(serialization.Encoding.PEM).strip()
    return bundles is not None and all(pem in bundle for bundle in bundles)


def parse(content: Content) -> HeldCertificates:
    """The certificates in the entries; a damaged entry, or a key that does not match, counts as missing."""
    cas: tuple[x509.Certificate, ...] = ()
    authority, leaf, trusted = None, None, None
    pem = {name: Pem(name, content.get(name, b"")) for name in (CA_CERT, CA_KEY, CERT, KEY)}
    with suppress(CertificateError):
        cas = certificates(pem[CA_CERT])
        newest = Pem(CA_CERT, cas[0].public_bytes(serialization.Encoding.PEM))
        authority = Authority.parse(newest, pem[CA_KEY])
    with suppress(CertificateError):
        leaf = Pair.parse(pem[CERT], pem[KEY])
    with suppress(ValueError, OverflowError):  # OverflowError: in UTC, the year is before 1 or after 9999.
        trusted = datetime.fromisoformat(content.get(TRUSTED, b"").decode("ascii")).astimezone(UTC)
    return HeldCertificates(cas, authority, leaf, trusted if authority is not None else None)


def entries(held: HeldCertificates) -> dict[str, bytes]:
    """The entries of a store, as `parse` reads them."""
    trusted = stamp(held.trusted).encode() if held.trusted is not None else b""
    ca_key = held.authority.pair.key_pem() if held.authority is not None else b""
    cert, key = (held.leaf.chain_pem(), held.leaf.key_pem()) if held.leaf is not None else (b"", b"")
    return {CA_CERT: held.ca_bundle, CA_KEY: ca_key, CERT: cert, KEY: key, TRUSTED: trusted}
