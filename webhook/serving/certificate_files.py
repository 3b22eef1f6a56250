"""The certificate's files: read again when they change, with log lines, metrics and a check for /readyz."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from certs.serving import ServingCertificate
from webhook.serving.check import Check
from webhook.serving.logs import log
from webhook.serving.metrics import Metrics


class CertificateFiles:
    """Reloads the certificate that is served, and reports each reload and each refusal once."""

    def __init__(self, certificate: ServingCertificate, metrics: Metrics) -> None:
        self.certificate, self.metrics = certificate, metrics
        metrics.certificate_expiry.set(certificate.not_after.timestamp())

    def reload(self) -> None:
        """Serve the files' certificate if it has changed; where it cannot be used, the last good one stays."""
        certificate, before = self.certificate, self.certificate.refused
        reloaded = certificate.reload()
        if certificate.refused and certificate.refused != before:
            self.metrics.certificate_failures.inc()
            log(
                logging.ERROR,
                "cannot use the certificate files, serving the previous certificate",
                problem=certificate.refused,
            )
        if reloaded:
            self.metrics.certificate_expiry.set(certificate.not_after.timestamp())
            log(logging.INFO, "certificate reloaded", notAfter=certificate.not_after.isoformat())

    def check(self) -> Check:
        """Ready while the certificate is valid; the detail says why changed files were refused."""
        problem = self.certificate.problem(datetime.now(UTC))
        valid = f"valid until {self.certificate.not_after.isoformat()}"
        refused = f"; refused: {self.certificate.refused}" if self.certificate.refused else ""
        return Check("certificate", not problem, (problem or valid) + refused)
