"""The certificate that the settings ask for."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.support.handshakes import accepted, client_context
from tests.support.registered import registered
from tests.support.serving import EVENKEEL, PATIENCE, Running, certificate, free_ports, ready, until
from webhook.cluster.client import ClusterError
from webhook.serving.certificate import choose
from webhook.serving.settings import SETTINGS, SettingsError


def test_a_server_stopped_while_it_starts_leaves_no_key_behind(tmp_path):
    command = [*EVENKEEL, "serve", "--bind", "127.0.0.1:0", "--health-bind", "127.0.0.1:0", "--self-signed"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline().startswith(b"CA certificate: ")
        (folder,) = tmp_path.glob("evenkeel-*")
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "tls.key")]
        process.terminate()
        process.communicate(timeout=PATIENCE)

    assert [0o700, 0o600] == modes
    assert 0 == process.returncode
    assert [] == list(tmp_path.iterdir())


def test_what_a_server_that_was_killed_has_left_goes_when_the_next_one_starts(tmp_path):
    """But not the key of one that still runs."""
    command = [*EVENKEEL, "serve", "--bind", "127.0.0.1:0", "--health-bind", "127.0.0.1:0", "--self-signed"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    (tmp_path / "evenkeel-other").mkdir()
    with ExitStack() as stack:
        folders = list[Path]()
        processes = list[subprocess.Popen]()
        for killed in (True, False, False):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
            processes.append(stack.enter_context(process))
            folders.append(Path(process.stdout.readline().decode().removeprefix("CA certificate: ").strip()).parent)
            if killed:
                process.kill()
                process.wait(PATIENCE)
                until(lambda: unlocked(folders[0]), "the end of its worker")
                assert (folders[0] / "tls.key").exists()
        there = [(folder / "tls.key").exists() for folder in folders]
        for process in processes:
            process.terminate()

    assert [False, True, True] == there
    assert ["evenkeel-other"] == [path.name for path in tmp_path.iterdir()]


def unlocked(folder):
    """Whether no process has a folder any more."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_worker_that_follows_serves_the_same_self_signed_certificate(tmp_path):
    """Its CA is told once, and who has it can go on."""
    port, health = free_ports(2)
    bind = ["--bind", f"127.0.0.1:{port}", "--health-bind", f"127.0.0.1:{health}"]
    command = [*EVENKEEL, "serve", *bind, "--self-signed"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        told = process.stdout.readline()
        ca = Path(told.removeprefix("CA certificate: ").strip()).read_text()
        running = Running(command, environment, "127.0.0.1", port, ca, tmp_path / "log", process, health=health)
        try:
            until(partial(ready, running), "the first worker")
            os.kill(running.worker(), signal.SIGKILL)
            until(partial(ready, running), "the second worker")
        finally:
            process.terminate()
        rest, _ = process.communicate(timeout=PATIENCE)

    assert "" == rest
    assert [] == list(tmp_path.iterdir())


def test_the_pair_that_another_process_has_checked_is_the_one_that_is_served(tmp_path, monkeypatch):
    """Also where the files change in between: the new ones are a change, which is checked as any other."""
    ca = certificate(tmp_path)

    def apart(work):
        work()
        certificate(tmp_path)

    monkeypatch.setattr("webhook.serving.certificate._apart", apart)
    values = {setting.name: setting.default for setting in SETTINGS}
    values |= {"tls-cert": str(tmp_path / "tls.crt"), "tls-key": str(tmp_path / "tls.key")}
    serving = choose(values, "", None, registered, None, False).serving

    assert accepted(client_context(ca), serving.context)
    assert [False, True] == [serving.reload(datetime.now(UTC)) for _ in range(2)]


def chosen(client, folder, again):
    """The certificate of --tls-secret, written into this folder, and what renews it."""
    values = {setting.name: setting.default for setting in SETTINGS} | {"tls-names": "keel.guard.svc"}
    return choose(values, "", ("guard", "keel"), lambda: client, folder, again)


def test_a_worker_that_follows_serves_what_is_there_while_the_api_server_is_away(tmp_path, monkeypatch):
    """It renews as soon as it can; to end for want of it would make one failure of two."""
    client = registered()
    first = chosen(client, tmp_path, again=False)
    monkeypatch.setattr(client, "get", unreachable)
    follows = chosen(client, tmp_path, again=True)

    assert first.serving.not_after == follows.serving.not_after
    assert not follows.renewal.check().ok
    monkeypatch.undo()
    assert follows.renewal.round() and follows.renewal.check().ok


def test_the_first_worker_needs_the_api_server(tmp_path, monkeypatch):
    client = registered()
    monkeypatch.setattr(client, "get", unreachable)
    monkeypatch.setattr("webhook.serving.renewal.sleep", lambda _seconds: None)

    with pytest.raises(SettingsError, match=r"^--tls-secret: away$"):
        chosen(client, tmp_path, again=False)


def unreachable(*_arguments):
    raise ClusterError("away")
