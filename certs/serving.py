"""The TLS context for a certificate in files; a changed certificate gets a new context."""

from __future__ import annotations

import ssl
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from certs.files import CertificateError, Pem, read
from certs.following import Followed
from certs.validity import Validity, invalid_reason, validity

if TYPE_CHECKING:
    from certs.clients import Clients

AEAD = "ECDHE+AESGCM:ECDHE+CHACHA20"  # of TLS 1.2; those of TLS 1.3 all are
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


def check(chain: Pem, key: Pem) -> None:
    """
    CertificateError, which says why, if a certificate and its key cannot be served; OpenSSL alone finds less.

    It imports `cryptography`, which takes more memory than all else that TLS needs.
    """
    from certs.pem import Pair

    Pair.parse(chain, key)


class ServingCertificate:
    """A certificate and its key in two files; open connections keep the certificate they started with."""

    def __init__(
        self,
        cert_file: Path,
        key_file: Path,
        min_version: str = "1.2",
        clients: Clients | None = None,
        *,
        checked: bool = False,
    ) -> None:
        """
        `min_version` is one of VERSIONS; without `clients` a client needs no certificate.

        CertificateError if the files cannot be used; with `checked`, another process has called `check` on them.
        """
        self.cert_file, self.key_file, self.min_version, self.clients = cert_file, key_file, min_version, clients
        self.refused = ""  # Why the current files are not served.
        files = self._read()
        if not checked:
            check(*files)
        self.files = Followed(files, self._read)
        self.context, self.served = self._load(*files)

    def _read(self) -> tuple[Pem, Pem]:
        return read(self.cert_file), read(self.key_file)

    def _load(self, chain: Pem, _key: Pem) -> tuple[ssl.SSLContext, Validity]:
        """The context that serves this pair; CertificateError if it cannot be used."""
        # A new context, because the one in use would briefly have the new certificate without its key.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = VERSIONS[self.min_version]
        context.set_ciphers(AEAD)
        # kube-apiserver never resumes a session, and tickets cost a seventh of a handshake.
        context.num_tickets = 0  # of TLS 1.3
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION  # of TLS 1.2
        if self.clients is not None:
            self.clients.demand(context)
        try:
            context.load_cert_chain(self.cert_file, self.key_file)
        except OSError as error:  # ssl.SSLError is one
            if not isinstance(error, ssl.SSLError):  # too many open files, for example: the content may be good
                self.files.again()
            raise CertificateError(f"{self.cert_file}: cannot be served: {error.strerror or error}") from error
        return context, validity(chain)

    def reload(self) -> bool:
        """
        Whether changed files are served from the next handshake on; if they cannot be, `refused` is the reason.

        After a reload of `clients` call `files.again()`: a context is never changed, so they need a new one.
        """
        try:
            changed = self.files.changed()
            if changed is None:
                return False
            check(*changed)
            self.context, self.served = self._load(*changed)
        except CertificateError as error:
            self.refused = str(error)
            return False
        self.refused = ""
        return True

    @property
    def not_after(self) -> datetime:
        return self.served.not_after

    def problem(self, now: datetime) -> str:
        """Why clients do not trust the served certificate at this time, or ""."""
        reason = invalid_reason(self.served, now)
        return f"{self.cert_file}: {reason}" if reason else ""
