"""The certificate that the settings ask for."""

from __future__ import annotations

import os
import stat
import subprocess

from tests.support.serving import EVENKEEL, PATIENCE


def test_a_server_stopped_while_it_starts_leaves_no_key_behind(tmp_path):
    command = [*EVENKEEL, "serve", "--bind", "127.0.0.1:0", "--self-signed"]
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
