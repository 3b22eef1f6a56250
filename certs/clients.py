"""The clients that a server accepts: those with a certificate of the CAs in a file, and with one of some names."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from certs.files import CertificateError, Pem, read
from certs.following import Followed
from certs.pem import Inspection, ca_bundle, inspect
from certs.validity import invalid_reason


class Clients:
    """The CAs in a file that others write, and the names that are accepted; without names, any certificate is."""

    def __init__(self, ca_file: Path, names: Iterable[str] = ()) -> None:
        """CertificateError if the file cannot be used."""
        self.ca_file, self.names = ca_file, frozenset(names)
        self.refused = ""  # Why the current file is not used.
        content = read(ca_file)
        self.files = Followed(content, lambda: read(ca_file))
        self.bundle, self.cas = _parse(content)

    def reload(self) -> bool:
        """Whether a changed file is to be used from now on; if it cannot be, `refused` is the reason."""
        try:
            changed = self.files.changed()
            if changed is None:
                return False
            self.bundle, self.cas = _parse(changed)
        except CertificateError as error:
            self.refused = str(error)
            return False
        self.refused = ""
        return True

    def demand(self, context: ssl.SSLContext) -> None:
        """Make the context refuse every client without a certificate, for clients, of one of these CAs."""
        context.load_verify_locations(cadata=self.bundle.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # A CA in the file need not be a root, as in Kubernetes.

    def problem(self, now: datetime) -> str:
        """Why no client can be accepted at this time, or ""."""
        reasons = [invalid_reason(ca, now) for ca in self.cas]
        return f"{self.ca_file}: {'; '.join(filter(None, reasons))}" if all(reasons) else ""


def _parse(content: Pem) -> tuple[bytes, tuple[Inspection, ...]]:
    return ca_bundle(content), inspect(content)
