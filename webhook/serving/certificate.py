"""The certificate that the settings ask for: in files, self-signed, or in a Secret that the replicas renew."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from certs.files import CertificateError, Pem, write
from certs.serving import ServingCertificate, check
from webhook.serving.settings import SettingsError

if TYPE_CHECKING:
    from certs.clients import Clients
    from webhook.cluster.client import Client
    from webhook.serving.renewal import Renewal

DURATION = re.compile("([1-9][0-9]{0,5})([smhd])")
FAILED = 3  # The exit code of a worker that ends its arbiter.
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
FILES = "tls.crt", "tls.key"


class Chosen(NamedTuple):
    """The certificate that is served, and what renews it, if it is in a Secret."""

    serving: ServingCertificate
    renewal: Renewal | None = None


def choose(
    values: Mapping[str, str],
    host: str,
    secret: tuple[str, str] | None,
    connect: Callable[[], Client],
    folder: Path | None,
    again: bool,
) -> Chosen:
    """
    The certificate that `values`, settings by name, ask for; SettingsError if they are wrong or cannot be fulfilled.

    `host` is that of --bind, `secret` the namespace and name in --tls-secret, `connect` makes a client of the API
    server.  `folder` takes a certificate that comes from no file; `again` if another worker has been there before.
    """
    given = [f"--{name}" for name in ("self-signed", "tls-secret", "tls-cert") if values[name]]
    if len(given) > 1:
        raise SettingsError(f"{' and '.join(given)}: found {len(given)} certificates, wanted one of them")
    lifetimes, clients = _lifetimes(values), _clients(values["client-ca"], values["client-names"])
    if secret is not None:
        return _renewed(values, secret, connect, lifetimes, folder, again, clients)
    names = [values["tls-cert"], values["tls-key"]]
    if values["self-signed"] and folder is not None:
        names = [str(folder / name) for name in FILES]
        if not again:
            _apart(partial(_self_signed, host, folder))
    if not all(names):
        raise SettingsError("--tls-cert and --tls-key: both are needed, or --tls-secret, or --self-signed")
    files = Path(names[0]), Path(names[1])
    return Chosen(_read(*files, values["tls-min-version"], clients, _check_apart))


def _apart(work: Callable[[], None]) -> None:
    """Run what needs `cryptography` in a process of its own, whose memory ends with it; exit as it does if it fails."""
    child = os.fork()
    if child == 0:
        work()
        sys.exit(0)
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit(code if code > 0 else FAILED)


def _check_apart(chain: Pem, key: Pem) -> None:
    _apart(partial(check, chain, key))


def _read(
    cert_file: Path,
    key_file: Path,
    min_version: str,
    clients: Clients | None,
    checker: Callable[[Pem, Pem], None] = check,
) -> ServingCertificate:
    try:
        return ServingCertificate(cert_file, key_file, min_version, clients, checker=checker)
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
    from certs.clients import Clients

    try:
        return Clients(Path(ca_file), names)
    except CertificateError as error:
        raise SettingsError(f"--client-ca: {error}") from error


def _self_signed(host: str, folder: Path) -> None:
    """Write a certificate of a new CA, of which the key is not kept."""
    from certs.authority import Authority

    now, names = datetime.now(UTC), ["localhost", "127.0.0.1", "::1"]
    ca, file = Authority.create(now), folder / "ca.crt"
    names += [host] if host not in (*names, "", "0.0.0.0", "::") else []
    ca.issue(names, now).write(*(folder / name for name in FILES))
    write(file, ca.pair.chain_pem(), 0o644)
    print(f"CA certificate: {file}", flush=True)


def _renewed(
    values: Mapping[str, str],
    secret: tuple[str, str],
    connect: Callable[[], Client],
    lifetimes: tuple[timedelta, timedelta],
    folder: Path | None,
    again: bool,
    clients: Clients | None,
) -> Chosen:
    """Run the first round, so that there is a certificate; one that another worker has written will do at first."""
    names = _names(values["tls-names"])
    place = folder or Path(values["tls-dir"])
    files = place / FILES[0], place / FILES[1]
    renewal = _renewal(connect(), secret, names, files, *lifetimes)
    try:
        renewal.first(patience=0.0) if again else renewal.first()
    except CertificateError as error:
        if not again:
            raise SettingsError(f"--tls-secret: {error}") from error
    return Chosen(_read(*files, values["tls-min-version"], clients), renewal)


def _names(text: str) -> tuple[str, ...]:
    from certs.authority import normal_names

    try:
        return normal_names(filter(None, text.replace(" ", "").split(",")))
    except CertificateError as error:
        raise SettingsError("\n".join(f"--tls-names: {line}" for line in str(error).splitlines())) from error


def _renewal(
    client: Client,
    secret: tuple[str, str],
    names: tuple[str, ...],
    files: tuple[Path, Path],
    ca: timedelta,
    leaf: timedelta,
) -> Renewal:
    from certs.rotation import Lifetimes
    from webhook.cluster.registration import Registration
    from webhook.cluster.secret import Secret
    from webhook.manifests.configurations import MUTATING_NAME, NAME
    from webhook.serving.renewal import Renewal

    registration = Registration(client, MUTATING_NAME, NAME)
    lifetimes = Lifetimes(ca, leaf, min(Lifetimes().settling, leaf / 6))
    return Renewal(client, Secret(client, *secret), registration, names, files, lifetimes)


def _lifetimes(values: Mapping[str, str]) -> tuple[timedelta, timedelta]:
    """Those of the CA and of the certificate that are kept in --tls-secret."""
    ca, leaf = (_duration(name, values[name]) for name in ("ca-lifetime", "certificate-lifetime"))
    if ca < 2 * leaf:
        raise SettingsError(
            f"--ca-lifetime: found {values['ca-lifetime']}, wanted twice --certificate-lifetime or more"
        )
    return ca, leaf


def _duration(name: str, text: str) -> timedelta:
    """A duration as 90d, 36h or 15m, from a minute to 100 years."""
    found = DURATION.fullmatch(text)
    value = timedelta(**{UNITS[found[2]]: int(found[1])}) if found else timedelta()
    if not timedelta(minutes=1) <= value <= timedelta(days=36500):
        raise SettingsError(f'--{name}: found "{text}", wanted a duration such as 90d, 36h or 15m')
    return value
