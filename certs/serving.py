"""One TLS context for the life of the server, whose certificate is read again when its files change."""

from __future__ import annotations

import ssl
from datetime import datetime
from pathlib import Path

from certs.authority import CertificateError, Inspection, Pair, Pem, describe, invalid_reason, read


class ServingCertificate:
    """A certificate and its key in two files; connections that stand keep the certificate they began with."""

    def __init__(self, cert_file: Path, key_file: Path) -> None:
        self.cert_file, self.key_file = cert_file, key_file
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.loaded: tuple[bytes, bytes] = (b"", b"")
        self.refused = ""
        self.served = self._load(*self._read())

    def _read(self) -> tuple[Pem, Pem]:
        return read(self.cert_file), read(self.key_file)

    def _load(self, chain: Pem, key: Pem) -> Inspection:
        """Serve this pair from the next handshake on; CertificateError, and no change, if it cannot be used."""
        pair = Pair.parse(chain, key)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert_file, self.key_file)
            self.context.load_cert_chain(self.cert_file, self.key_file)
        except (ssl.SSLError, OSError) as error:
            raise CertificateError(f"{self.cert_file}: cannot be served: {error.strerror or error}") from error
        self.loaded = chain.content, key.content
        return describe(pair.certificate)

    def reload(self) -> bool:
        """Whether the files have changed and are served now; `refused` says why they are not."""
        try:
            chain, key = self._read()
            changed = (chain.content, key.content) != self.loaded
            if changed:
                self.served = self._load(chain, key)
        except CertificateError as error:
            self.refused = str(error)
            return False
        self.refused = ""
        return changed

    @property
    def not_after(self) -> datetime:
        return self.served.not_after

    def problem(self, now: datetime) -> str:
        """Why clients will not trust what is served, or "" if they will."""
        reason = invalid_reason(self.served, now)
        return f"{self.cert_file}: {reason}" if reason else ""
