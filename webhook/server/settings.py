"""Every setting of the server; flags, environment variables, help and docs are made from this table."""

from __future__ import annotations

from typing import NamedTuple

from webhook.kubernetes.features import NEWEST

LOG_LEVELS = ("debug", "info", "warning", "error")
SHUTDOWN_SECONDS = 20  # From SIGTERM until the worker is killed; less than a Pod's terminationGracePeriodSeconds, 30.


class SettingsError(Exception):
    """Settings that cannot be used; each line of the message names the flag, what was found and what is wanted."""


class Setting(NamedTuple):
    """One setting."""

    name: str
    default: str
    metavar: str | None  # None for a switch.
    help: str
    choices: tuple[str, ...] | None = None

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return f"EVENKEEL_{self.name.replace('-', '_').upper()}"


SETTINGS = (
    Setting("bind", ":8443", "HOST:PORT", "the address to listen on; without a host, every IPv4 and IPv6 address"),
    Setting(
        "health-bind",
        ":8080",
        "HOST:PORT",
        "the address for /healthz, /readyz and /metrics, over plain HTTP; without a host, every address",
    ),
    Setting("tls-cert", "", "FILE", "the serving certificate with its chain, as PEM; read again when the file changes"),
    Setting("tls-key", "", "FILE", "the private key of --tls-cert, as PEM"),
    Setting(
        "self-signed", "", None, "create a certificate for localhost and the host of --bind, instead of --tls-cert"
    ),
    Setting(
        "tls-secret",
        "",
        "NS/NAME",
        "a Secret in which the replicas create and renew a CA and a certificate, instead of --tls-cert;"
        " they write the CA into the webhook configurations",
    ),
    Setting(
        "tls-names",
        "",
        "NAME,…",
        "the names in the certificate of --tls-secret; the API server calls SERVICE.NAMESPACE.svc",
    ),
    Setting(
        "certificate-lifetime",
        "90d",
        "DURATION",
        "how long the certificate in --tls-secret is valid; it is renewed after two thirds of this time",
    ),
    Setting("ca-lifetime", "3650d", "DURATION", "how long the CA in --tls-secret is valid"),
    Setting(
        "tls-min-version",
        "1.2",
        "VERSION",
        "the lowest TLS version to accept: 1.2, with AEAD ciphers only, or 1.3",
        ("1.2", "1.3"),
    ),
    Setting(
        "client-ca",
        "",
        "FILE",
        "the CAs of clients, as PEM; read again when the file changes; a client without a certificate of one of them is"
        " refused (default: every client is served)",
    ),
    Setting(
        "client-names",
        "",
        "NAME,…",
        "the common names or DNS names of clients; a certificate with other names is refused (default: any)",
    ),
    Setting("policy", "", "FILE", "a policy file; read again when it changes (default: the built-in policy)"),
    Setting(
        "cluster",
        "",
        "live|FILE",
        "live: watch the cluster of the kubeconfig, or of evenkeel's own Pod; FILE: what kubectl get -o yaml"
        " prints of one (default: none; Pods then get no defaults)",
    ),
    Setting(
        "kubernetes-version",
        "",
        "VERSION",
        f"the version of the cluster (default: that of the live cluster, read again each minute; else 1.{NEWEST})",
    ),
    Setting(
        "threads",
        "4",
        "N",
        "the number of threads for reviews that wait for a look-up in the API server; reviews above 128 KiB have a"
        " thread of their own",
    ),
    Setting("log-level", "info", "LEVEL", "the lowest level to log", LOG_LEVELS),
)
