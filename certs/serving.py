"""The TLS context for a certificate in files; a changed certificate gets a new context."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from certs.files import CertificateError, NotNowError, Pem, in_memory, read
from certs.following import Followed
from certs.validity import invalid_reason, invalid_since, validity

if TYPE_CHECKING:
    from certs.clients import Cas, Clients

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
        checker: Callable[[Pem, Pem], None] = check,
    ) -> None:
        """
        `min_version` is one of VERSIONS; without `clients` a client needs no certificate.

        CertificateError if the files cannot be used; `checker` may let another process `check` them at first.
        """
        self.cert_file, self.key_file, self.min_version, self.clients = cert_file, key_file, min_version, clients
        self.refused = ""  # Why the current files are not served.
        pair = self._read()
        checker(*pair)
        self.files = Followed(pair, self._read)
        self._serve(pair)

    def _read(self) -> tuple[Pem, Pem]:
        return read(self.cert_file), read(self.key_file)

    def _serve(self, pair: tuple[Pem, Pem]) -> None:
        """Serve what was read, checked and is kept, whatever the files hold by now."""
        served = validity(pair[0])
        self.context = self._context(pair, self.clients.cas if self.clients is not None else None)
        self.pair, self.served = pair, served

    def demand(self, cas: Cas) -> None:
        """Demand certificates of these CAs from the next handshake on, with the pair that is served already."""
        self.context = self._context(self.pair, cas)

    def _context(self, pair: tuple[Pem, Pem], cas: Cas | None) -> ssl.SSLContext:
        """CertificateError if one cannot be made of these."""
        # A new context, because the one in use would briefly have the new certificate without its key.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = VERSIONS[self.min_version]
        context.set_ciphers(AEAD)
        # kube-apiserver never resumes a session, and tickets cost a seventh of a handshake.
        context.num_tickets = 0  # of TLS 1.3
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION  # of TLS 1.2
        try:
            if cas is not None:
                cas.demand(context)
            chain, key = pair
            with in_memory(chain.content) as chain_file, in_memory(key.content) as key_file:
                context.load_cert_chain(chain_file, key_file)
        except OSError as error:  # ssl.SSLError is one
            kind = CertificateError if isinstance(error, ssl.SSLError) else NotNowError
            raise kind(f"{self.cert_file}: cannot be served: {error.strerror or error}") from error
        return context

    def reload(self, now: datetime) -> bool:
        """
        Whether changed files are served from the next handshake on; if they cannot be, `refused` is the reason.

        A certificate that is not valid now does not replace one that is; it is looked at again as time passes.
        """
        try:
            changed = self.files.changed()
            if changed is None:
                return False
            check(*changed)
            if (reason := invalid_since(validity(changed[0]), now)) and not invalid_since(self.served, now):
                raise NotNowError(f"{self.cert_file}: {reason}")
            self._serve(changed)
        except CertificateError as error:
            if isinstance(error, NotNowError):
                self.files.again()
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
