"""
What to renew and when, in a store that replicas share without a leader: who replaces first has renewed for all.

    ca.crt    the CAs that have not expired, the newest first        ca.key    the key of the newest
    tls.crt   the leaf that is served, with its CA                   tls.key   its key
    trusted   since when the newest CA stands in every caBundle, empty while it does not

    a new CA ── in every caBundle for an hour ──> signs the next leaf;  an old CA leaves when it expires
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

from certs.authority import CA_LIFETIME, CLOCK_SKEW, SERVING_LIFETIME, Authority
from certs.pem import CertificateError, Pair, Pem, certificates, describe, invalid_reason, stamp

CA_CERT, CA_KEY, CERT, KEY, TRUSTED = "ca.crt", "ca.key", "tls.crt", "tls.key", "trusted"
TRIES = 5  # Replicas that replace at the same moment: one wins, and the others find nothing left to do.
GONE = "all: was gone, and is put back"
Content = Mapping[str, bytes]


class Store(Protocol):
    """Where the certificates are kept, with compare and swap."""

    def read(self) -> tuple[Content, str]:
        """The entries and the version they have; nothing and "" where the store does not exist."""

    def replace(self, content: Content, resource_version: str) -> bool:
        """Whether the entries took the place of those of that version; False if somebody else was first."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long what is made is valid, and how long a CA is in every caBundle before it signs what is served."""

    ca: timedelta = CA_LIFETIME
    leaf: timedelta = SERVING_LIFETIME
    settling: timedelta = timedelta(hours=1) + CLOCK_SKEW  # for who ends it may not be who began it


@dataclass(frozen=True, slots=True)
class Held:
    """What a store holds, as far as it can be used; `authority` is the newest of `cas`, with its key."""

    cas: tuple[x509.Certificate, ...] = ()
    authority: Authority | None = None
    leaf: Pair | None = None
    trusted: datetime | None = None

    @property
    def ca_bundle(self) -> bytes:
        """What the API server is to trust."""
        return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in self.cas)


NOTHING = Held()


@dataclass(frozen=True, slots=True)
class Rotation:
    """What is held now, and why that differs from what was held before."""

    held: Held
    reasons: tuple[str, ...] = ()


def rotate(
    store: Store,
    names: Collection[str],
    now: datetime,
    bundles: Sequence[bytes] | None,
    lifetimes: Lifetimes,
    last: Held = NOTHING,
) -> Rotation:
    """
    Renew what is due; `bundles` are the caBundles in force, None while they are not known.

    A store that was deleted or emptied is given back what it held `last`: a new CA would be trusted before every
    replica serves what it has signed.  CertificateError where the store is somebody else's, or replicas keep one
    another from replacing.
    """
    for _ in range(TRIES):
        content, version = store.read()
        if any(content.values()) and TRUSTED not in content:
            found = ", ".join(sorted(content))
            raise CertificateError(f'found {found} without "{TRUSTED}", wanted nothing or what evenkeel has written')
        held = parse(content)
        gone = last != NOTHING and not any(content.values())
        rotation = renewed(last if gone else held, names, now, bundles, lifetimes)
        if rotation.held == held or store.replace(entries(rotation.held), version):
            return replace(rotation, reasons=(*((GONE,) if gone else ()), *rotation.reasons))
    raise CertificateError(f"replaced by others {TRIES} times while it was to be renewed")


def renewed(
    held: Held, names: Collection[str], now: datetime, bundles: Sequence[bytes] | None, lifetimes: Lifetimes
) -> Rotation:
    """What is to be held from now on: pure, but for the keys that it makes."""
    reasons: list[str] = []
    cas = tuple(one for one in held.cas if now <= one.not_valid_after_utc)
    held = replace(held, cas=cas) if cas != held.cas else held
    if held.trusted is not None and held.trusted > now + CLOCK_SKEW:
        held = replace(held, trusted=None)  # No clock that may be used here has written that.
    newest = held.authority.pair.certificate if held.authority is not None else None
    if reason := renewal_reason(newest, now):
        authority = Authority.create(now, lifetime=lifetimes.ca)
        held = Held((authority.pair.certificate, *cas), authority, held.leaf)
        reasons.append(f"CA: {reason}")
    elif held.trusted is None and newest is not None and _in_each(bundles, newest):
        held = replace(held, trusted=now)
        reasons.append("CA: is in every caBundle now")
    if (reason := leaf_reason(held, names, now)) and held.authority is not None:
        settled = held.trusted is not None and now >= held.trusted + lifetimes.settling
        if settled or not is_served(held, names, now):
            held = replace(held, leaf=held.authority.issue(_all_names(held, names, now), now, lifetimes.leaf))
            reasons.append(f"certificate: {reason}")
    return Rotation(held, tuple(reasons))


def renewal_reason(one: x509.Certificate | None, now: datetime) -> str | None:
    """Why a certificate is to be replaced: there is none, or two thirds of its life are over."""
    if one is None:
        return "there is none"
    issued = one.not_valid_before_utc + CLOCK_SKEW
    due = issued + (one.not_valid_after_utc - issued) * 2 / 3
    return f"was to be renewed from {stamp(due)} on" if now >= due else None


def _all_names(held: Held, names: Collection[str], now: datetime) -> Collection[str]:
    """With those of a leaf that is not due: replicas that are told other names would replace it in turns."""
    if held.leaf is None or renewal_reason(held.leaf.certificate, now):
        return names
    return tuple(dict.fromkeys((*names, *describe(held.leaf.certificate).names)))


def leaf_reason(held: Held, names: Collection[str], now: datetime) -> str | None:
    """Why the leaf is to be replaced: its time, its names, or a CA that has gone."""
    if held.leaf is None:
        return "there is none"
    if missing := sorted(set(names) - set(describe(held.leaf.certificate).names)):
        return f"is not for {', '.join(missing)}"
    if not verifies(held.leaf.certificate, held.cas):
        return "its CA has gone"
    return renewal_reason(held.leaf.certificate, now)


def is_served(held: Held, names: Collection[str], now: datetime) -> bool:
    """Whether clients that trust the CAs which are held accept the leaf, so that there is time to wait for."""
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


def parse(content: Content) -> Held:
    """What entries hold; what is damaged or does not fit counts as gone."""
    cas: tuple[x509.Certificate, ...] = ()
    authority, leaf, trusted = None, None, None
    pem = {name: Pem(name, content.get(name, b"")) for name in (CA_CERT, CA_KEY, CERT, KEY)}
    with suppress(CertificateError):
        cas = certificates(pem[CA_CERT])
        newest = Pem(CA_CERT, cas[0].public_bytes(serialization.Encoding.PEM))
        authority = Authority.parse(newest, pem[CA_KEY])
    with suppress(CertificateError):
        leaf = Pair.parse(pem[CERT], pem[KEY])
    with suppress(ValueError):
        trusted = datetime.fromisoformat(content.get(TRUSTED, b"").decode("ascii")).astimezone(UTC)
    return Held(cas, authority, leaf, trusted if authority is not None else None)


def entries(held: Held) -> dict[str, bytes]:
    """The entries that `parse` reads."""
    trusted = stamp(held.trusted).encode() if held.trusted is not None else b""
    ca_key = held.authority.pair.key_pem() if held.authority is not None else b""
    cert, key = (held.leaf.chain_pem(), held.leaf.key_pem()) if held.leaf is not None else (b"", b"")
    return {CA_CERT: held.ca_bundle, CA_KEY: ca_key, CERT: cert, KEY: key, TRUSTED: trusted}
