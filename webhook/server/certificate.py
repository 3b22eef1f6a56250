"""The certificate that the settings ask for: in files, self-signed, or in a Secret that the replicas renew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from certs.authority import Authority, normal_names
from certs.clients import Clients
from certs.files import CertificateError, Pem
from certs.rotation import Lifetimes
from certs.serving import ServingCertificate
from webhook.cluster.ca_bundle import Registration
from webhook.cluster.client import Client
from webhook.cluster.secret import Secret
from webhook.kubernetes.times import duration
from webhook.manifests.configurations import MUTATING_NAME, NAME
from webhook.server.renewal import Renewal
from webhook.server.settings import SettingsError


class Chosen(NamedTuple):
    """The certificate that is served, and its renewal."""

    serving: ServingCertificate
    renewal: Renewal | None = None  # Only of a certificate in a Secret.


def choose(
    values: Mapping[str, str],
    host: str,
    secret: tuple[str, str] | None,
    connect: Callable[[], Client],
) -> Chosen:
    """
    Return the certificate that the settings ask for; SettingsError if they are wrong or cannot be fulfilled.

    `values`: settings by name; `host`: that of --bind; `secret`: namespace and name in --tls-secret; `connect`: makes a
    client of the API server.
    """
    sources = [f"--{name}" for name in ("self-signed", "tls-secret", "tls-cert") if values[name]]
    if len(sources) > 1:
        raise SettingsError(f"{' and '.join(sources)}: found {len(sources)} sources of a certificate, wanted one")
    lifetimes, clients = _lifetimes(values), _clients(values["client-ca"], values["client-names"])
    min_version, files = values["tls-min-version"], (values["tls-cert"], values["tls-key"])
    if secret is not None:
        return _in_secret(_names(values["tls-names"]), secret, connect, lifetimes, min_version, clients)
    if not values["self-signed"] and not all(files):
        raise SettingsError(
            "needs a certificate: give both --tls-cert and --tls-key, or --tls-secret, or --self-signed"
        )
    try:
        if values["self-signed"]:
            return Chosen(_self_signed(host, min_version, clients))
        return Chosen(ServingCertificate.of_files(Path(files[0]), Path(files[1]), min_version, clients))
    except CertificateError as error:
        raise SettingsError(str(error)) from error


def _clients(ca_file: str, text: str) -> Clients | None:
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    if text and not names:
        raise SettingsError(f'--client-names: found "{text}", wanted NAME,…')
    if names and not ca_file:
        raise SettingsError("--client-names: needs --client-ca, the CA that issues certificates with these names")
    if not ca_file:
        return None

    try:
        return Clients(Path(ca_file), names)
    except CertificateError as error:
        raise SettingsError(f"--client-ca: {error}") from error


def _self_signed(host: str, min_version: str, clients: Clients | None) -> ServingCertificate:
    """Print a new CA, whose key is not kept, and return a certificate of it, whose key stays in memory."""
    now, names = datetime.now(UTC), ["localhost", "127.0.0.1", "::1"]
    ca = Authority.create(now)
    if host not in (*names, "", "0.0.0.0", "::"):
        names.append(host)
    serving = ServingCertificate(*ca.issue(names, now).pem("--self-signed"), min_version, clients)
    print(ca.pair.chain_pem().decode(), end="", flush=True)
    return serving


def _in_secret(
    names: tuple[str, ...],
    secret: tuple[str, str],
    connect: Callable[[], Client],
    lifetimes: tuple[timedelta, timedelta],
    min_version: str,
    clients: Clients | None,
) -> Chosen:
    """Run the first round of the renewal, so that there is a certificate."""
    make = partial(ServingCertificate, min_version=min_version, clients=clients)
    renewal = _renewal(connect(), secret, names, make, *lifetimes)
    try:
        return Chosen(renewal.first(), renewal)
    except CertificateError as error:
        raise SettingsError(f"--tls-secret: {error}") from error


def _names(text: str) -> tuple[str, ...]:
    try:
        return normal_names(filter(None, text.replace(" ", "").split(",")))
    except CertificateError as error:
        raise SettingsError("\n".join(f"--tls-names: {line}" for line in str(error).splitlines())) from error


def _renewal(
    client: Client,
    secret: tuple[str, str],
    names: tuple[str, ...],
    make: Callable[[Pem, Pem], ServingCertificate],
    ca: timedelta,
    leaf: timedelta,
) -> Renewal:
    registration = Registration(client, MUTATING_NAME, NAME)
    # A new CA signs after a sixth of a short leaf's life: the usual hours would be too long to wait.
    lifetimes = Lifetimes(ca, leaf, min(Lifetimes().settling, leaf / 6))
    return Renewal(client, Secret(client, *secret), registration, names, make, lifetimes)


def _lifetimes(values: Mapping[str, str]) -> tuple[timedelta, timedelta]:
    """How long the CA and the certificate in --tls-secret are valid."""
    ca, leaf = (_duration(name, values[name]) for name in ("ca-lifetime", "certificate-lifetime"))
    if ca < 2 * leaf:
        raise SettingsError(
            f"--ca-lifetime: found {values['ca-lifetime']}, wanted twice --certificate-lifetime or more"
        )
    return ca, leaf


def _duration(name: str, text: str) -> timedelta:
    """Parse a duration such as 90d, 36h or 15m; from a minute to 100 years."""
    value = timedelta(seconds=duration(text) or 0)
    if not timedelta(minutes=1) <= value <= timedelta(days=36500):
        raise SettingsError(f'--{name}: found "{text}", wanted a duration such as 90d, 36h or 15m')
    return value
