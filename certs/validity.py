"""
How long a certificate is valid, read from its DER (RFC 5280, section 4.1) without a library.

    Certificate ── TBSCertificate ── [version,] serial number, algorithm, issuer, validity ── not before, not after
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from certs.files import CertificateError, Pem

PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
VERSION, UTC_TIME = 0xA0, 0x17  # Tags; a year of UTCTime has two digits, one of GeneralizedTime four.


class Lasting(Protocol):
    """What is valid for a time, in UTC."""

    @property
    def not_before(self) -> datetime: ...
    @property
    def not_after(self) -> datetime: ...


class Validity(NamedTuple):
    """The time in which a certificate is valid."""

    not_before: datetime
    not_after: datetime


def validity(chain: Pem) -> Validity:
    """That of the first certificate in PEM, which OpenSSL could read; CertificateError if there is none."""
    try:
        der = ssl.PEM_cert_to_DER_cert(PEM.findall(chain.content)[0].decode("ascii"))
        (_, certificate), *_ = _elements(der)
        (_, content), *_ = _elements(certificate)
        fields = [field for tag, field in _elements(content) if tag != VERSION]
        before, after = _elements(fields[3])
        return Validity(_time(*before), _time(*after))
    except (IndexError, ValueError) as error:
        raise CertificateError(f"{chain.source}: has no certificate that can be read") from error


def _elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The tag and the content of each element; IndexError if the last one is cut off."""
    at = 0
    while at < len(content):
        tag, length, at = content[at], content[at + 1], at + 2
        if length > 0x7F:
            size = length - 0x80
            length, at = int.from_bytes(content[at : at + size], "big"), at + size
        yield tag, content[at : at + length]
        at += length


def _time(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    if tag == UTC_TIME:
        text = f"{'19' if text >= '5' else '20'}{text}"
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def invalid_reason(found: Lasting, now: datetime) -> str | None:
    """Why the certificate is not valid at this time, which it names, or None if it is."""
    reason = invalid_since(found, now)
    return f"{reason}, now is {stamp(now)}" if reason else None


def invalid_since(found: Lasting, now: datetime) -> str | None:
    """The same in words that stay the same as time passes."""
    if now < found.not_before:
        return f"is not valid before {stamp(found.not_before)}"
    if now > found.not_after:
        return f"expired at {stamp(found.not_after)}"
    return None


def stamp(when: datetime) -> str:
    """A time in UTC, as 2026-01-31T12:00:00Z."""
    return f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
