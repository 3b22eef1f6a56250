"""A TLS context that is kept until its certificate, which is read again when its files change, is another."""

from __future__ import annotations

import ssl
from datetime import datetime
from pathlib import Path

from certs.pem import CertificateError, Inspection, Pair, Pem, describe, invalid_reason, read


class ServingCertificate:
    """A certificate and its key in two files; connections that stand keep the certificate they began with."""

    def __init__(self, cert_file: Path, key_file: Path) -> None:
        self.cert_file, self.key_file = cert_file, key_file
        self.refused = ""
        self.seen = self._read()
        self.tried: tuple[Pem, Pem] | None = self.seen
        self.context, self.served = self._load(*self.seen)

    def _read(self) -> tuple[Pem, Pem]:
        return read(self.cert_file), read(self.key_file)

    def _load(self, chain: Pem, key: Pem) -> tuple[ssl.SSLContext, Inspection]:
        """What serves this pair; CertificateError if it cannot be used."""
        pair = Pair.parse(chain, key)
        # A new context: the one in use would for a moment have the new certificate and no key.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.cert_file, self.key_file)
        except (ssl.SSLError, OSError) as error:
            raise CertificateError(f"{self.cert_file}: cannot be served: {error.strerror or error}") from error
        return context, describe(pair.certificate)

    def reload(self) -> bool:
        """Whether the files have changed and are served from the next handshake on; `refused` says why they are not."""
        try:
            before, self.seen = self.seen, self._read()
        except CertificateError as error:
            self.tried, self.refused = None, str(error)
            return False
        if self.seen == self.tried or self.seen != before:
            return False  # what is another than a moment ago may still be being written, or be half of a pair
        self.tried = self.seen
        try:
            self.context, self.served = self._load(*self.seen)
        except CertificateError as error:
            self.refused = str(error)
            return False
        self.refused = ""
        return True

    @property
    def not_after(self) -> datetime:
        return self.served.not_after

    def problem(self, now: datetime) -> str:
        """Why clients will not trust what is served, or "" if they will."""
        reason = invalid_reason(self.served, now)
        return f"{self.cert_file}: {reason}" if reason else ""
