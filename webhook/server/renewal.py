"""
Renews the serving certificate that all replicas share: kept in a Secret and in memory, trusted by the API server.

    Secret ──rotate──> the pair that ServingCertificate serves
                  └──> every CA, in the caBundle of both webhook configurations
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from time import sleep

from certs.files import CertificateError, Pem
from certs.pem import Pair, certificates
from certs.rotation import NO_CERTIFICATES, Lifetimes, Rotation, rotate, verifies
from certs.serving import ServingCertificate
from webhook.cluster.ca_bundle import Registration
from webhook.cluster.client import UNAUTHORIZED, Client, ClusterError
from webhook.cluster.secret import Secret
from webhook.server.health import Check
from webhook.server.logs import log

PATIENCE_SECONDS = 60.0  # Without a first certificate, the process then exits, and the kubelet restarts it.


class Renewal:
    """Renews in rounds, one each `pause` seconds; `problem` and `check` report the last one."""

    pause = 10.0

    def __init__(
        self,
        client: Client,
        secret: Secret,
        registration: Registration,
        names: Collection[str],
        make: Callable[[Pem, Pem], ServingCertificate],
        lifetimes: Lifetimes,
    ) -> None:
        """`make` starts to serve the first pair; later pairs are handed to what it returns."""
        self.client, self.secret, self.registration = client, secret, registration
        self.names, self.make, self.lifetimes = names, make, lifetimes
        self.problem = ""
        self.serving: ServingCertificate | None = None
        self.served: Pair | None = None  # The pair that `serving` has.
        self.held = NO_CERTIFICATES  # What the Secret held when it was last read.

    def round(self) -> bool:
        """
        Renew what is due, serve it, and publish its CA; return whether that worked.

        A failure is logged once and retried in the next round.
        """
        try:
            self._renew()
        except Exception as error:  # also report defects of evenkeel
            self._report(error)
            return False
        self.problem = ""
        return True

    def _renew(self) -> None:
        self.client.authenticate()  # A service account's token expires in an hour; the kubelet replaces its file.
        bundles = self.registration.bundles
        rotation = rotate(self.secret, self.names, datetime.now(UTC), bundles, self.lifetimes, self.held)
        self.held = rotation.held
        for reason in rotation.reasons:
            log(logging.INFO, "certificates changed", reason=reason)
        self._serve(rotation)
        if changed := self.registration.inject(rotation.held.ca_bundle):
            log(logging.INFO, "caBundle injected", configurations=changed)

    def _report(self, error: Exception) -> None:
        expected = isinstance(error, CertificateError | ClusterError)
        problem = str(error) if expected else f"{type(error).__name__}: {error}"
        if isinstance(error, ClusterError) and error.status == UNAUTHORIZED:
            try:
                self.client.reconnect()
            except ClusterError as another:
                problem = f"{problem}; {another}"
        if problem != self.problem:
            log(logging.ERROR, "renewing the certificate failed", problem=problem)
        self.problem = problem

    def first(self) -> ServingCertificate:
        """
        Run rounds until there is a certificate, and return what serves it from now on.

        CertificateError if there is none after PATIENCE_SECONDS.
        """
        waited, pause = 0.0, 1.0
        self.round()
        while self.serving is None:
            if waited >= PATIENCE_SECONDS:
                raise CertificateError(self.problem)
            sleep(pause)
            waited += pause
            self.round()
        return self.serving

    def _serve(self, rotation: Rotation) -> None:
        leaf = rotation.held.leaf
        if leaf is None or (self.served is not None and leaf.chain == self.served.chain):
            return
        pair = leaf.pem("--tls-secret")
        if self.serving is None:
            self.serving = self.make(*pair)
        else:
            self.serving.serve(*pair)
            log(logging.INFO, "certificate reloaded", notAfter=self.serving.not_after.isoformat())
        self.served = leaf

    def check(self) -> Check:
        """Ready if every caBundle of the webhook configurations verifies the certificate that is served."""
        problem = f"; {self.problem}" if self.problem else ""
        bundles = self.registration.bundles
        if self.served is None or bundles is None:
            return Check("registration", False, f"not known yet{problem}")
        untrusting = [bundle for bundle in bundles if not _trusts(bundle, self.served)]
        entries = f"{len(bundles) - len(untrusting)} of {len(bundles)} entries of the webhook configurations"
        detail = f"{entries} have a caBundle that trusts the certificate"
        return Check("registration", not untrusting, detail + problem)


def _trusts(bundle: bytes, served: Pair) -> bool:
    try:
        return verifies(served.certificate, certificates(Pem("caBundle", bundle)))
    except CertificateError:
        return False
