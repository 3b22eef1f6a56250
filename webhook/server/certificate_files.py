"""The files of TLS: read again when they change, with log lines, metrics and checks for /readyz."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from certs.clients import Clients
from certs.serving import ServingCertificate
from webhook.server.health import Check
from webhook.server.logs import log
from webhook.server.metrics import Metrics


class CertificateFiles:
    """Reloads the certificate that is served and the CAs of clients, and reports each reload and each refusal once."""

    def __init__(self, certificate: ServingCertificate, metrics: Metrics) -> None:
        self.certificate, self.clients, self.metrics = certificate, certificate.clients, metrics
        metrics.certificate_expiry.set_function(lambda: certificate.not_after.timestamp())

    def reload(self) -> None:
        """Use the files' content if it has changed; if it cannot be used, the last good content stays."""
        certificate, clients = self.certificate, self.clients
        if clients is not None:
            broken = "cannot use the client CA file, keeping the previous CAs"
            if self._reload(clients, lambda: clients.reload(certificate.demand), broken):
                log(logging.INFO, "client CA reloaded", subjects=[ca.subject for ca in clients.cas.contents])
        broken = "cannot use the certificate files, serving the previous certificate"
        if self._reload(certificate, lambda: certificate.reload(datetime.now(UTC)), broken):
            log(logging.INFO, "certificate reloaded", notAfter=certificate.not_after.isoformat())

    def _reload(self, files: ServingCertificate | Clients, reload: Callable[[], bool], message: str) -> bool:
        """Whether the files were reloaded; a new reason not to use them is counted and logged."""
        before, reloaded = files.refused, reload()
        if files.refused and files.refused != before:
            self.metrics.certificate_failures.inc()
            log(logging.ERROR, message, problem=files.refused)
        return reloaded

    def checks(self) -> tuple[Check, ...]:
        """One for the certificate and one for the CAs of clients, if any; each says why a changed file was refused."""
        now, clients = datetime.now(UTC), self.clients
        until = f"valid until {self.certificate.not_after.isoformat()}"
        certificate_check = _check("certificate", self.certificate.problem(now), until, self.certificate.refused)
        if clients is None:
            return (certificate_check,)
        until = f"CAs of clients valid until {max(ca.not_after for ca in clients.cas.contents).isoformat()}"
        return certificate_check, _check("client CA", clients.problem(now), until, clients.refused)


def _check(name: str, problem: str, validity: str, refused: str) -> Check:
    detail = problem or validity
    if refused:
        detail += f"; refused: {refused}"
    return Check(name, not problem, detail)
