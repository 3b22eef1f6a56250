"""The TLS context of a certificate, from followed files or handed over; each certificate gets a context of its own."""

from __future__ import annotations

import ssl
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from certs.clients import Cas, Clients
from certs.files import CertificateError, NotNowError, Pem, in_memory, read
from certs.following import Followed
from certs.pem import Inspection, Pair, describe, invalid_reason, invalid_since

AEAD = "ECDHE+AESGCM:ECDHE+CHACHA20"  # The ciphers of TLS 1.2; those of TLS 1.3 are all AEAD.
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class Served(NamedTuple):
    """A certificate and its key."""

    chain: Pem
    key: Pem
    contents: Inspection  # What the certificate contains.

    @classmethod
    def parse(cls, chain: Pem, key: Pem) -> Served:
        """Parse a certificate and its key; CertificateError says why they cannot be served."""
        return cls(chain, key, describe(Pair.parse(chain, key).certificate))


class ServingCertificate:
    """A certificate and its key, in memory; open connections keep the certificate they started with."""

    def __init__(self, chain: Pem, key: Pem, min_version: str = "1.2", clients: Clients | None = None) -> None:
        """
        Serve a certificate; `min_version` is one of VERSIONS, and without `clients` a client needs no certificate.

        CertificateError if the certificate and its key cannot be served.
        """
        self.min_version, self.clients = min_version, clients
        self.refused = ""  # Why the current files are not served.
        self._files: Followed[tuple[Pem, Pem]] | None = None
        self._lock = Lock()  # One thread hands over a pair, another follows files.
        self._cas = clients.cas if clients is not None else None
        self.serve(chain, key)

    @classmethod
    def of_files(
        cls, cert_file: Path, key_file: Path, min_version: str = "1.2", clients: Clients | None = None
    ) -> ServingCertificate:
        """
        Serve the certificate in two files that others write, and that `reload` follows.

        CertificateError if they cannot be served.
        """

        def read_both() -> tuple[Pem, Pem]:
            return read(cert_file), read(key_file)

        pair = read_both()
        certificate = cls(*pair, min_version, clients)
        certificate._files = Followed(pair, read_both)
        return certificate

    def serve(self, chain: Pem, key: Pem) -> None:
        """Serve these from the next handshake on.  CertificateError if they cannot be; the previous ones then stay."""
        served = Served.parse(chain, key)
        with self._lock:
            self._use(served, self._cas)

    def demand(self, cas: Cas) -> None:
        """Require certificates of these CAs from the next handshake on, with the pair that is served already."""
        with self._lock:
            self._use(self.served, cas)

    def _use(self, served: Served, cas: Cas | None) -> None:
        """Use these from now on; CertificateError, without any change, if no context can be made of them."""
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
            with in_memory(served.chain.content) as chain_file, in_memory(served.key.content) as key_file:
                context.load_cert_chain(chain_file, key_file)
        except OSError as error:  # ssl.SSLError is one
            kind = CertificateError if isinstance(error, ssl.SSLError) else NotNowError
            raise kind(f"{served.chain.source}: cannot be served: {error.strerror or error}") from error
        self.context, self.served, self._cas = context, served, cas

    def reload(self, now: datetime) -> bool:
        """
        Whether changed files are served from the next handshake on; if they cannot be, `refused` is the reason.

        A certificate that is not valid now does not replace one that is; it is looked at again as time passes.
        """
        if self._files is None:
            return False
        try:
            changed = self._files.changed()
            if changed is None:
                return False
            served = Served.parse(*changed)
            if (reason := invalid_since(served.contents, now)) and not invalid_since(self.served.contents, now):
                raise NotNowError(f"{served.chain.source}: {reason}")
            with self._lock:
                self._use(served, self._cas)
        except CertificateError as error:
            if isinstance(error, NotNowError):
                self._files.again()
            self.refused = str(error)
            return False
        self.refused = ""
        return True

    @property
    def not_after(self) -> datetime:
        return self.served.contents.not_after

    def problem(self, now: datetime) -> str:
        """Why clients do not trust the served certificate at this time, or ""."""
        reason = invalid_reason(self.served.contents, now)
        return f"{self.served.chain.source}: {reason}" if reason else ""
