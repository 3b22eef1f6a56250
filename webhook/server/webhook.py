"""
Composes what the worker serves: reviewer, cluster, policy file, certificate, and the Flask application.

    the worker: the main thread polls sockets and answers
                ── worker threads answer what is large, or must wait
                ── one thread reads changed files ── one thread renews the certificate
                ── one thread for each kind that is watched in a live cluster
                ── one thread answers probes and gives metrics, on a port of its own
                ── one thread makes the handshakes of /readyz
"""

from __future__ import annotations

import gc
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import sleep

from certs.serving import ServingCertificate
from webhook.cluster.ca_bundle import Registration
from webhook.cluster.client import Client
from webhook.cluster.cluster import Cluster, Unchanging
from webhook.kubernetes.features import Features, unknown
from webhook.manifests.configurations import MUTATING_NAME, NAME
from webhook.policy.policy import Policy
from webhook.server import health
from webhook.server.app import create_app
from webhook.server.certificate_files import CertificateFiles
from webhook.server.cluster_telemetry import watch_cluster
from webhook.server.health import Check
from webhook.server.kubernetes_version import KubernetesVersion
from webhook.server.logs import log
from webhook.server.metrics import Metrics
from webhook.server.policy_file import PolicyFile
from webhook.server.renewal import Renewal
from webhook.server.reviewer import Reviewer
from webhook.server.sent_calls import SentCalls
from webhook.server.served_kinds import ServedKinds
from webhook.server.transport.service import OpenPort
from webhook.server.transport.thread_role import may_wait
from webhook.server.transport.worker import Worker
from webhook.spread.cluster_view import ClusterView

POLL_SECONDS = 1.0
CALLS_POLL_SECONDS = 10.0  # As often as `Renewal` reads the webhook configurations.
API_POLL_SECONDS = 60.0  # An upgrade of the API servers takes minutes.
GARBAGE_THRESHOLD = 20_000  # Collect rarely, because a review leaves no reference cycles.


@dataclass(frozen=True, slots=True)
class Config:
    """All that a worker needs, parsed and checked."""

    certificate: ServingCertificate
    policy: Policy
    policy_file: Path | None
    cluster: Client | ClusterView | None  # A live cluster, the objects in a file, or none.
    features: Features
    asks_version: bool  # Ask a live cluster for its version.
    renewal: Renewal | None = None

    @property
    def client(self) -> Client | None:
        """The client of a live cluster."""
        return None if isinstance(self.cluster, ClusterView) else self.cluster


class Webhook:
    """All that one worker serves with; `wsgi` is the application that answers reviews."""

    def __init__(self, config: Config) -> None:
        self.config = config
        metrics = Metrics()
        self.cluster: Cluster
        if config.cluster is None or isinstance(config.cluster, ClusterView):
            self.cluster = Unchanging(config.cluster)
        else:
            self.cluster = watch_cluster(config.cluster, metrics, freeze, may_wait=may_wait)
        self.reviewer = Reviewer(config.policy, self.cluster, config.features, metrics)
        self.version = _version(config, self.reviewer)
        self.kinds = _served_kinds(config, self.reviewer)
        self.policy_file = PolicyFile(config.policy_file, self.reviewer)
        self.certificate_files = CertificateFiles(config.certificate, metrics)
        self.calls = _sent_calls(config, self.reviewer)
        self.wsgi = create_app(self.reviewer)

    @property
    def client_names(self) -> frozenset[str]:
        """Names of clients that are accepted; empty for any."""
        clients = self.config.certificate.clients
        return clients.names if clients is not None else frozenset()

    def refused_client(self, reason: str) -> None:
        """Count a client whose certificate is not accepted."""
        self.reviewer.metrics.refused_clients.labels(reason).inc()

    def refusal_body(self, status: int, reason: str) -> bytes:
        """The AdmissionReview with which a request is refused."""
        return self.reviewer.refuse(status, reason).body

    def checks(self) -> Sequence[Check]:
        """The lines of /readyz, except that of the webhook's port."""
        cluster = self.cluster.state()
        checks = [*self.certificate_files.checks()]
        checks += [task.check() for task in (self.config.renewal, self.calls) if task is not None]
        checks.append(self.policy_file.check(None if self.calls is None else self.calls.missing))
        checks += [task.check() for task in (self.kinds, self.version) if task is not None]
        checks.append(Check("cluster", cluster.ready, cluster.detail))
        return checks

    def begin(self, worker: Worker) -> None:
        """Start the threads, when the worker is about to serve; its second socket is that of the health port."""
        if note := unknown(self.config.features):
            log(logging.WARNING, "Kubernetes version", note=note)
        if problem := self.config.certificate.problem(datetime.now(UTC)):
            log(logging.ERROR, "the certificate is not valid now; serving it until its files change", problem=problem)
        freeze()
        gc.set_threshold(GARBAGE_THRESHOLD)
        self.cluster.start()
        self._watch()
        app = health.create_app(
            turned=lambda: worker.loop.turned,
            port=health.OwnPort(worker.sockets[0]).check,
            checks=self.checks,
            metrics=self.reviewer.metrics.text,
        )
        OpenPort(worker.sockets[1], app, worker.log).start()
        reviews, probes = worker.sockets
        log(logging.INFO, "listening", reviews=url("https", reviews), probes=url("http", probes))

    def end(self) -> None:
        """Stop watching the cluster, when the worker ends."""
        self.cluster.stop()
        log(logging.INFO, "stopped")

    def _watch(self) -> None:
        """Follow the files; renew the certificate, if it is in a Secret."""
        actions = [self.policy_file.reload, self.certificate_files.reload]
        if self.calls is not None:
            actions.append(self.calls.look)
        _every(POLL_SECONDS, actions)
        # The version comes last: until it is known, no review is sent here.
        questions = [task.look for task in (self.kinds, self.version) if task is not None]
        if questions:
            _every(API_POLL_SECONDS, questions)
        if self.config.renewal is not None:
            _every(self.config.renewal.pause, (self._renew,))
        elif self.calls is not None:
            _every(CALLS_POLL_SECONDS, (self.calls.read,))

    def _renew(self) -> None:
        if self.config.renewal is not None and not self.config.renewal.round():
            self.reviewer.metrics.renewal_failures.inc()


def _version(config: Config, reviewer: Reviewer) -> KubernetesVersion | None:
    """The task that asks a live cluster for its version, unless a version is given."""
    if not config.asks_version or config.client is None:
        return None

    return KubernetesVersion(config.client, reviewer)


def _served_kinds(config: Config, reviewer: Reviewer) -> ServedKinds | None:
    """The task that asks a live cluster whether it serves the kinds of the policy."""
    if config.client is None:
        return None

    return ServedKinds(config.client, reviewer)


def _sent_calls(config: Config, reviewer: Reviewer) -> SentCalls | None:
    """The task that compares the policy with the webhook configurations; None if they cannot be read."""
    if config.renewal is not None:
        registration = config.renewal.registration
    elif config.client is not None:
        registration = Registration(config.client, MUTATING_NAME, NAME)
    else:
        return None

    return SentCalls(reviewer, registration)


def url(scheme: str, listener: socket.socket) -> str:
    """Where a socket listens, such as https://[::]:8443."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def freeze() -> None:
    """Exempt all current objects from garbage collection: they live as long as the process."""
    gc.collect()
    gc.freeze()


def _run(actions: Sequence[Callable[[], None]]) -> None:
    """Run each action; log the failure of one and go on with the next."""
    for action in actions:
        try:
            action()
        except Exception as error:
            log(logging.ERROR, "a background task failed; evenkeel tries it again", problem=repr(error))


def _every(seconds: float, actions: Sequence[Callable[[], None]]) -> None:
    """Run all actions now and every so many seconds, in a thread of their own that ends with the process."""

    def loop() -> None:
        while True:
            _run(actions)
            sleep(seconds)

    threading.Thread(target=loop, name="periodic", daemon=True).start()
