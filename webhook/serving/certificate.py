"""The certificate that the settings ask for: in files, self-signed, or in a Secret that the replicas renew."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from certs.authority import Authority, normal_names
from certs.pem import CertificateError
from certs.rotation import Lifetimes
from certs.serving import ServingCertificate
from webhook.serving.settings import SettingsError

if TYPE_CHECKING:
    from webhook.cluster.client import Client
    from webhook.serving.renewal import Renewal

DURATION = re.compile("([1-9][0-9]{0,5})([smhd])")
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
    stack: ExitStack,
) -> Chosen:
    """
    The certificate that `values`, settings by name, ask for; SettingsError if they are wrong or cannot be fulfilled.

    `host` is that of --bind, `secret` the namespace and name in --tls-secret, `connect` makes a client of the API
    server.  Temporary folders end with `stack`.
    """
    given = [f"--{name}" for name in ("self-signed", "tls-secret", "tls-cert") if values[name]]
    if len(given) > 1:
        raise SettingsError(f"{' and '.join(given)}: found {len(given)} certificates, wanted one of them")
    lifetimes = _lifetimes(values)
    if secret is not None:
        return _renewed(values, secret, connect, lifetimes, stack)
    files = [values["tls-cert"], values["tls-key"]]
    if values["self-signed"]:
        files = _self_signed(host, stack.enter_context(_private_folder("--self-signed")))
    if not all(files):
        raise SettingsError("--tls-cert and --tls-key: both are needed, or --tls-secret, or --self-signed")
    return Chosen(_read(Path(files[0]), Path(files[1])))


def _read(cert_file: Path, key_file: Path) -> ServingCertificate:
    try:
        return ServingCertificate(cert_file, key_file)
    except CertificateError as error:
        raise SettingsError(str(error)) from error


@contextmanager
def _private_folder(option: str) -> Iterator[Path]:
    """A folder that only this user may read; it is removed by the process that made it."""
    process = os.getpid()
    try:
        folder = tempfile.mkdtemp(prefix="evenkeel-")
    except OSError as error:
        raise SettingsError(f"{option}: {error.strerror}; set TMPDIR to a folder that can be written") from error
    try:
        yield Path(folder)
    finally:
        if os.getpid() == process:  # not by a forked worker, which may end before the others
            shutil.rmtree(folder, ignore_errors=True)


def _self_signed(host: str, folder: Path) -> list[str]:
    """The certificate file and key file of a new CA, of which the key is not kept."""
    now, names = datetime.now(UTC), ["localhost", "127.0.0.1", "::1"]
    ca = Authority.create(now)
    paths = [folder / name for name in (*FILES, "ca.crt")]
    ca.issue([*names, *([host] if host not in (*names, "", "0.0.0.0", "::") else [])], now).write(*paths[:2])
    paths[2].write_bytes(ca.pair.chain_pem())
    print(f"CA certificate: {paths[2]}", flush=True)
    return [str(path) for path in paths[:2]]


def _renewed(
    values: Mapping[str, str],
    secret: tuple[str, str],
    connect: Callable[[], Client],
    lifetimes: Lifetimes,
    stack: ExitStack,
) -> Chosen:
    """Run the first round here, so that there is a certificate; the forked worker needs a client of its own."""
    names = _names(values["tls-names"])
    folder = Path(values["tls-dir"]) if values["tls-dir"] else stack.enter_context(_private_folder("--tls-dir"))
    files = folder / FILES[0], folder / FILES[1]
    try:
        _renewal(connect(), secret, names, files, lifetimes).first()
    except CertificateError as error:
        raise SettingsError(f"--tls-secret: {error}") from error
    return Chosen(_read(*files), _renewal(connect(), secret, names, files, lifetimes))


def _names(text: str) -> tuple[str, ...]:
    try:
        return normal_names(filter(None, text.replace(" ", "").split(",")))
    except CertificateError as error:
        raise SettingsError("\n".join(f"--tls-names: {line}" for line in str(error).splitlines())) from error


def _renewal(
    client: Client, secret: tuple[str, str], names: tuple[str, ...], files: tuple[Path, Path], lifetimes: Lifetimes
) -> Renewal:
    from webhook.cluster.registration import Registration
    from webhook.cluster.secret import Secret
    from webhook.manifests.configurations import MUTATING_NAME, NAME
    from webhook.serving.renewal import Renewal

    registration = Registration(client, MUTATING_NAME, NAME)
    return Renewal(client, Secret(client, *secret), registration, names, files, lifetimes)


def _lifetimes(values: Mapping[str, str]) -> Lifetimes:
    ca, leaf = (_duration(name, values[name]) for name in ("ca-lifetime", "certificate-lifetime"))
    if ca < 2 * leaf:
        raise SettingsError(
            f"--ca-lifetime: found {values['ca-lifetime']}, wanted twice --certificate-lifetime or more"
        )
    return Lifetimes(ca, leaf, min(Lifetimes().settling, leaf / 6))


def _duration(name: str, text: str) -> timedelta:
    """A duration as 90d, 36h or 15m, from a minute to 100 years."""
    found = DURATION.fullmatch(text)
    value = timedelta(**{UNITS[found[2]]: int(found[1])}) if found else timedelta()
    if not timedelta(minutes=1) <= value <= timedelta(days=36500):
        raise SettingsError(f'--{name}: found "{text}", wanted a duration such as 90d, 36h or 15m')
    return value
