"""The certificate that the settings ask for."""

from __future__ import annotations

import os
import signal
import ssl
import stat
import sys
from base64 import b64decode
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from subprocess import Popen

import pytest

from tests.support.admission_reviews import raw
from tests.support.apiserver import kubeconfig
from tests.support.memory import over_http
from tests.support.registered import MUTATING, registered
from tests.support.serving import EVENKEEL, PATIENCE, RUN, Running, free_port, free_ports, ready, until
from webhook.cluster.client import ClusterError
from webhook.kubernetes.times import duration
from webhook.server import renewal
from webhook.server.certificate import choose
from webhook.server.settings import SETTINGS, SettingsError

# Runs `evenkeel serve` with short pauses between rounds.
BRISK = f"""
from webhook.server.renewal import Renewal
Renewal.pause = 0.1
{RUN}
"""
SECRET = "/api/v1/namespaces/guard/secrets/keel"


@contextmanager
def alone(folder, *options, command=EVENKEEL, **environment):
    """A server whose home and temporary folder are `folder`; its standard output goes to a file there."""
    (port, health), log, printed = free_ports(2), folder / "log", folder / "ca.crt"
    bind = ["--bind", f"127.0.0.1:{port}", "--health-bind", f"127.0.0.1:{health}"]
    words, own = [*command, "serve", *bind, *options], {"TMPDIR": str(folder), "HOME": str(folder), **environment}
    with ExitStack() as stack:
        out, err = (stack.enter_context(file.open("w")) for file in (printed, log))
        it = stack.enter_context(Popen(words, stdout=out, stderr=err, env=os.environ | own))
        running = Running(words, own, "127.0.0.1", port, "", log, it, health=health)
        try:
            until(partial(ready, running), "a server that is ready")
            yield running
        finally:
            it.terminate()
            it.wait(PATIENCE)


def with_keys(running, folder):
    """All regular files with a private key that its processes may have written, by whatever name they are reached."""
    opened = (Path(f"/proc/{pid}/fd").iterdir() for pid in (running.process.pid, running.worker()))
    found = []
    for path in chain(folder.rglob("*"), Path("/dev/shm").rglob("*"), *opened):
        with suppress(FileNotFoundError):
            if stat.S_ISREG(path.stat().st_mode) and b"PRIVATE KEY" in path.read_bytes():
                found.append(path)
    return found


def served(running):
    """The certificate that a client is shown."""
    return ssl.get_server_certificate((running.host, running.port))


def test_a_self_signed_certificate_has_its_key_in_no_file(tmp_path):
    """Not in that of a worker that follows, either; who has what was printed trusts each."""
    with alone(tmp_path, "--self-signed") as running:
        for number in (1, 2):
            assert [] == with_keys(running, tmp_path)
            running.context = ssl.create_default_context(cafile=tmp_path / "ca.crt")
            assert number == (tmp_path / "ca.crt").read_text().count("BEGIN CERTIFICATE")
            assert 200 == running.review("/validate", raw())[0]
            if number == 1:
                os.kill(running.worker(), signal.SIGKILL)
                until(lambda: (tmp_path / "ca.crt").read_text().count("END CERTIFICATE") == 2, "the second worker")
                until(partial(ready, running), "its probes")

    assert {"log", "ca.crt"} == {path.name for path in tmp_path.iterdir()}


def test_the_certificate_of_a_secret_has_its_key_in_no_file(tmp_path):
    """Not after its renewal, either, beside which an open connection is kept."""
    memory = registered()
    options = ["--tls-secret", "guard/keel", "--tls-names", "127.0.0.1"]
    with ExitStack() as stack:
        config = kubeconfig(stack.enter_context(over_http(memory)), tmp_path)
        command = (sys.executable, "-c", BRISK)
        running = stack.enter_context(alone(tmp_path, *options, command=command, KUBECONFIG=str(config)))
        running.context = ssl.create_default_context(cadata=bundle(memory))
        assert [] == with_keys(running, tmp_path)
        before = served(running)
        kept = stack.enter_context(closing(running.connection()))
        assert 200 == asked(kept)

        until(lambda: memory.objects[SECRET]["data"]["trusted"], "a CA that is trusted")
        memory.put(SECRET, {**memory.objects[SECRET], "data": memory.objects[SECRET]["data"] | {"tls.key": ""}})
        until(lambda: served(running) != before, "another certificate")
        assert [] == with_keys(running, tmp_path)
        assert 200 == asked(kept) and 200 == running.review("/validate", raw())[0]
        assert 1 == len(running.lines("certificate reloaded"))

    assert {"log", "ca.crt", "kubeconfig"} == {path.name for path in tmp_path.iterdir()}


def bundle(memory):
    """The CAs that the API server is told to trust."""
    return b64decode(memory.objects[MUTATING]["webhooks"][0]["clientConfig"]["caBundle"]).decode()


def asked(connection):
    connection.request("POST", "/validate", raw(), {"Content-Type": "application/json"})
    with connection.getresponse() as response:
        response.read()
        return response.status


def test_sigterm_ends_a_worker_that_waits_for_the_api_server(tmp_path):
    """It has nothing to answer yet, and is not waited for."""
    config = kubeconfig(f"http://127.0.0.1:{free_port()}", tmp_path)
    bind = ["--bind", "127.0.0.1:0", "--health-bind", "127.0.0.1:0"]
    words = [*EVENKEEL, "serve", *bind, "--tls-secret", "guard/keel", "--tls-names", "127.0.0.1"]
    log = tmp_path / "log"
    with log.open("w") as file, Popen(words, stderr=file, env=os.environ | {"KUBECONFIG": str(config)}) as it:
        until(lambda: "renewing the certificate failed" in log.read_text(), "a failure")
        it.terminate()

        assert 0 == it.wait(5)


def chosen(client):
    """The certificate of --tls-secret, and what renews it."""
    values = {setting.name: setting.default for setting in SETTINGS} | {"tls-names": "keel.guard.svc"}
    return choose(values, "", ("guard", "keel"), lambda: client)


def test_a_worker_that_follows_serves_what_the_secret_has():
    client = registered()

    assert chosen(client).serving.served == chosen(client).serving.served


def test_a_worker_waits_for_the_api_server(monkeypatch):
    """It may be away for a while, such as during its own restart."""
    client = registered()
    client.away, waited = True, []

    def sleep(seconds):
        waited.append(seconds)
        client.away = len(waited) < 3

    monkeypatch.setattr(renewal, "sleep", sleep)

    assert "keel.guard.svc" in chosen(client).serving.served.contents.names
    assert 3 == len(waited)


def test_a_worker_does_not_wait_for_ever(monkeypatch):
    client, waited = registered(), []
    monkeypatch.setattr(client, "get", unreachable)
    monkeypatch.setattr(renewal, "sleep", waited.append)

    with pytest.raises(SettingsError, match=r"^--tls-secret: away$"):
        chosen(client)
    assert renewal.PATIENCE_SECONDS == sum(waited)


def test_a_ca_that_lasts_twice_as_long_as_its_certificates_is_long_enough():
    values = {setting.name: setting.default for setting in SETTINGS}
    values |= {"self-signed": "true", "ca-lifetime": "60d", "certificate-lifetime": "30d"}

    assert choose(values, "", None, registered).renewal is None


def test_a_self_signed_certificate_for_no_name_is_refused():
    values = {setting.name: setting.default for setting in SETTINGS} | {"self-signed": "true"}

    with pytest.raises(SettingsError, match=r'^"my_host": must be a DNS name or an IP address$'):
        choose(values, "my_host", None, registered)


def unreachable(*_arguments):
    raise ClusterError("away")


def choosing(host="", client=None, **given):
    values = {setting.name: setting.default for setting in SETTINGS}
    values |= {name.replace("_", "-"): value for name, value in given.items()}
    return choose(values, host, ("guard", "keel") if client else None, lambda: client)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs a certificate: give both --tls-cert and --tls-key"),
        ({"tls_cert": "a"}, "needs a certificate: give both"),
        ({"tls_key": "a"}, "needs a certificate: give both"),
        ({"self_signed": "true", "tls_cert": "a"}, "--self-signed and --tls-cert: found 2 sources of a certificate"),
        ({"tls_secret": "a/b", "tls_cert": "a"}, "--tls-secret and --tls-cert: found 2 sources of a certificate"),
        ({"self_signed": "true", "client_names": "a"}, "--client-names: needs --client-ca"),
        ({"self_signed": "true", "client_names": " ,"}, '--client-names: found " ,", wanted NAME,…'),
        ({"self_signed": "true", "ca_lifetime": "59d", "certificate_lifetime": "30d"}, "--ca-lifetime: found 59d"),
        ({"self_signed": "true", "certificate_lifetime": "59s"}, '--certificate-lifetime: found "59s", wanted'),
        ({"self_signed": "true", "ca_lifetime": "36501d"}, '--ca-lifetime: found "36501d", wanted'),
        ({"self_signed": "true", "ca_lifetime": "soon"}, '--ca-lifetime: found "soon", wanted'),
    ],
    ids=str,
)
def test_settings_that_name_no_certificate_are_refused(given, message):
    with pytest.raises(SettingsError) as caught:
        choosing(**given)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("", ()),
        ("0.0.0.0", ()),
        ("::", ()),
        ("localhost", ()),
        ("web.shop.svc", ("web.shop.svc",)),
        ("10.0.0.1", ("10.0.0.1",)),
    ],
)
def test_a_self_signed_certificate_is_for_this_host_and_the_one_that_is_bound(host, names):
    chosen = choosing(host, self_signed="true", certificate_lifetime="1m", ca_lifetime="36500d")

    assert (("localhost", "127.0.0.1", "::1", *names), None) == (chosen.serving.served.contents.names, chosen.renewal)


@pytest.mark.parametrize(("lifetime", "minutes"), [("90d", 120), ("12h", 120), ("6h", 60), ("6m", 1)])
def test_a_new_ca_settles_well_before_certificates_are_due(lifetime, minutes):
    chosen = choosing(client=registered(), tls_names="keel.guard.svc", certificate_lifetime=lifetime)

    assert timedelta(minutes=minutes) == chosen.renewal.lifetimes.settling
    assert duration(lifetime) == chosen.renewal.lifetimes.leaf.total_seconds()
    assert timedelta(days=3650) == chosen.renewal.lifetimes.ca


def test_the_oldest_version_of_tls_and_the_names_of_the_secret_are_those_that_are_set():
    chosen = choosing(client=registered(), tls_names="a.svc, B.svc,", tls_min_version="1.3")

    assert ssl.TLSVersion.TLSv1_3 is chosen.serving.context.minimum_version
    assert ("a.svc", "b.svc") == chosen.serving.served.contents.names
    oldest = choosing(self_signed="true").serving.context.minimum_version
    assert ssl.TLSVersion.TLSv1_2 is oldest
