"""
Puts the service together: policy and certificate that are read again when their files change, cluster, app, gunicorn.

    one process: the main thread polls sockets ── worker threads answer ── one thread watches files
                 ── one thread for each kind that is watched in a live cluster
"""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from certs.serving import ServingCertificate
from webhook.cluster.client import Client
from webhook.cluster.cluster import Cluster, Unchanging
from webhook.policy.parsing import parse_policy
from webhook.policy.policy import Policy, PolicyError
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot
from webhook.serving import logs
from webhook.serving.app import Check, create_app
from webhook.serving.cluster_telemetry import watch_cluster
from webhook.serving.logs import log
from webhook.serving.metrics import Metrics
from webhook.serving.renewal import ROUND_SECONDS, Renewal
from webhook.serving.reviewer import Reviewer
from webhook.serving.sent_calls import SentCalls
from webhook.transport.worker import Arbiter, Worker

POLL_SECONDS = 1.0
KEEP_ALIVE_SECONDS = 120  # kube-apiserver closes idle connections after 90 s; it must be the one to close
GARBAGE_THRESHOLD = 20_000  # a review leaves no cycles: refcounts free it, and looking for cycles is rarely worth it
GRACE_SECONDS = 20  # below the 30 s that a Pod is given by default
HEARTBEAT_FOLDER = "/dev/shm"  # in memory, and there when the root file system is read-only


@dataclass(frozen=True, slots=True)
class Config:
    """All that a server needs, read and checked."""

    listener: socket.socket
    certificate: ServingCertificate
    policy: Policy
    policy_file: Path | None
    cluster: Client | Snapshot | None
    features: Features
    threads: int
    log_level: str
    renewal: Renewal | None = None


class PolicyFile:
    """A policy file, read again when its content changes: a ConfigMap swaps a symbolic link."""

    def __init__(self, path: Path | None, service: Reviewer) -> None:
        self.path, self.service = path, service
        self.problem = ""
        self.tried = self.seen = path.read_bytes() if path is not None else None
        service.metrics.policy_generation.set(1)

    def reload(self) -> None:
        """Take the file's policy if it has changed; one that cannot be used changes nothing."""
        if self.path is None:
            return
        try:
            before, self.seen = self.seen, self.path.read_bytes()
        except OSError as error:
            self.seen = self.tried = None
            self._refuse(error.strerror or str(error))
            return
        if self.seen == self.tried or self.seen != before:
            return  # what is another than a moment ago may still be being written: half a policy can be a policy
        self.tried = self.seen
        try:
            policy = parse_policy(self.seen.decode("utf-8"))
        except (UnicodeDecodeError, PolicyError) as error:
            self._refuse(str(error).splitlines()[0])
            return
        self.service.policy, self.problem = policy, ""
        self.service.metrics.policy_generation.inc()
        log(logging.INFO, "policy reloaded", file=str(self.path))

    def _refuse(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self.service.metrics.policy_failures.inc()
            log(logging.ERROR, "policy refused, the last good one stays", file=str(self.path), problem=problem)

    def check(self) -> Check:
        """Always ready: there is a policy; `?verbose` shows a file that was refused."""
        source = str(self.path) if self.path is not None else "built in"
        return Check("policy", True, f"{source}; refused: {self.problem}" if self.problem else source)


class Server(BaseApplication):
    """gunicorn with one worker, configured here and nowhere else."""

    def __init__(self, config: Config) -> None:
        self.config = config
        metrics = Metrics()
        self.cluster: Cluster
        if isinstance(config.cluster, Client):
            pods, threads = config.policy.watch_pods, config.threads
            self.cluster = watch_cluster(config.cluster, metrics, _settle, watch_pods=pods, threads=threads)
        else:
            self.cluster = Unchanging(config.cluster)
        self.service = Reviewer(config.policy, self.cluster, config.features, metrics)
        self.policy_file = PolicyFile(config.policy_file, self.service)
        self.calls = SentCalls(self.service, config.renewal.registration) if config.renewal is not None else None
        super().__init__()

    def load_config(self) -> None:
        """gunicorn's settings."""
        options: dict[str, Any] = {
            "bind": f"fd://{self.config.listener.detach()}",
            "workers": 1,
            "worker_class": "webhook.transport.worker.Worker",
            "threads": self.config.threads,
            "keepalive": KEEP_ALIVE_SECONDS,
            "graceful_timeout": GRACE_SECONDS,
            "certfile": str(self.config.certificate.cert_file),
            "keyfile": str(self.config.certificate.key_file),
            "ssl_context": lambda conf, default_factory: self.config.certificate.context,
            "logger_class": _logger_class(self.config.log_level),
            "post_worker_init": self._begin,
            "worker_exit": self._end,
            "control_socket_disable": True,
            "forwarded_allow_ips": "",  # nobody stands between, whose headers could say where a request is from
            "http_parser": "python",  # the one that is tested, whatever else is installed
            "worker_tmp_dir": HEARTBEAT_FOLDER if os.access(HEARTBEAT_FOLDER, os.W_OK | os.X_OK) else None,
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """The WSGI application."""
        return create_app(self.service, self.checks)

    def run(self) -> None:
        """Serve until a signal; a second one ends at once."""
        Arbiter(self).run()

    def checks(self) -> Sequence[Check]:
        """What /readyz asks."""
        cluster, renewal = self.cluster.state(), self.config.renewal
        return (
            self._certificate_check(),
            *(() if renewal is None else (renewal.check(),)),
            *(() if self.calls is None else (self.calls.check(),)),
            self.policy_file.check(),
            Check("cluster", cluster.ready, cluster.detail),
        )

    def _certificate_check(self) -> Check:
        certificate = self.config.certificate
        problem = certificate.problem(datetime.now(UTC))
        valid = f"valid until {certificate.not_after.isoformat()}"
        refused = f"; refused: {certificate.refused}" if certificate.refused else ""
        return Check("certificate", not problem, (problem or valid) + refused)

    def _begin(self, worker: Worker) -> None:
        worker.explain = lambda status, reason: self.service.refuse(status, reason).body  # type: ignore[method-assign]
        _settle()
        gc.set_threshold(GARBAGE_THRESHOLD)
        self.cluster.start()
        self._watch()

    def _end(self, arbiter: Arbiter, worker: Worker) -> None:
        self.cluster.stop()

    def _watch(self) -> None:
        certificate, metrics = self.config.certificate, self.service.metrics
        metrics.certificate_expiry.set(certificate.not_after.timestamp())

        def reload_certificate() -> None:
            before = certificate.refused
            reloaded = certificate.reload()
            if certificate.refused and certificate.refused != before:
                metrics.certificate_failures.inc()
                log(logging.ERROR, "certificate refused, the last good one stays", problem=certificate.refused)
            if reloaded:
                metrics.certificate_expiry.set(certificate.not_after.timestamp())
                log(logging.INFO, "certificate reloaded", notAfter=certificate.not_after.isoformat())

        def follow_policy() -> None:
            self.cluster.watch_pods(self.service.policy.watch_pods)

        actions = (self.policy_file.reload, reload_certificate, follow_policy)
        for action in actions * 2:  # a worker that follows on one that died must not begin with what is long outdated
            action()
        _every(POLL_SECONDS, actions)
        if self.config.renewal is not None and self.calls is not None:
            self.config.renewal.failed = metrics.renewal_failures.inc
            _every(ROUND_SECONDS, (self.config.renewal.round, self.calls.look))


def _settle() -> None:
    """What is there now stays: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()


def _every(seconds: float, actions: Sequence[Callable[[], None]]) -> None:
    """Run each action now, and again and again, in one thread that ends with the process."""

    def loop() -> None:
        while True:
            for action in actions:
                try:
                    action()
                except Exception as error:
                    log(logging.ERROR, "looking after something failed", problem=repr(error))
            sleep(seconds)

    threading.Thread(target=loop, name="watch", daemon=True).start()


def _logger_class(level: str) -> type[Logger]:
    class JsonLogger(Logger):
        def setup(self, cfg: Any) -> None:
            self.loglevel = getattr(logging, level.upper())
            logs.configure(level)

    return JsonLogger
