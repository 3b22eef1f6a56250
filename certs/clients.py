"""The clients that a server accepts: a CA in a file has signed their certificate, and it has an accepted name."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from certs.files import CertificateError, NotNowError, Pem, read
from certs.following import Followed
from certs.pem import Inspection, ca_bundle, inspect, invalid_reason


@dataclass(frozen=True)
class Cas:
    """The CAs of clients."""

    bundle: Pem
    contents: tuple[Inspection, ...]  # What each certificate in it contains.

    @classmethod
    def parse(cls, pem: Pem) -> Cas:
        """Parse the certificates of CAs; CertificateError if one of them is not a CA, or there is none."""
        return cls(Pem(pem.source, ca_bundle(pem)), inspect(pem))

    def demand(self, context: ssl.SSLContext) -> None:
        """Make the context refuse every client without a certificate, for clients, of one of these CAs."""
        try:
            context.load_verify_locations(cadata=self.bundle.content.decode())
        except ssl.SSLError as error:
            raise CertificateError(f"{self.bundle.source}: cannot be used: {error.strerror or error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # A CA in the file need not be a root, as in Kubernetes.


class Clients:
    """The CAs in a file that others write, and the names that are accepted; without names, all are accepted."""

    def __init__(self, ca_file: Path, names: Iterable[str] = ()) -> None:
        """Read the file; CertificateError if it cannot be used."""
        self.ca_file, self.names = ca_file, frozenset(names)
        self.refused = ""  # Why the current file is not used.
        content = read(ca_file)
        self.files = Followed(content, lambda: read(ca_file))
        self.cas = Cas.parse(content)

    def reload(self, demand: Callable[[Cas], None]) -> bool:
        """
        Whether a changed file is used from now on; if it cannot be, `refused` is the reason.

        `demand` puts CAs in force; if it raises CertificateError, the previous ones stay.
        """
        try:
            changed = self.files.changed()
            if changed is None:
                return False
            cas = Cas.parse(changed)
            demand(cas)
        except CertificateError as error:
            if isinstance(error, NotNowError):
                self.files.again()  # Try the same content in the next round.
            self.refused = str(error)
            return False
        self.cas, self.refused = cas, ""
        return True

    def problem(self, now: datetime) -> str:
        """Why no client can be accepted at this time, or ""."""
        reasons = [invalid_reason(ca, now) for ca in self.cas.contents]
        return f"{self.ca_file}: {'; '.join(filter(None, reasons))}" if all(reasons) else ""
