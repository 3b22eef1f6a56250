"""`evenkeel example`."""

from __future__ import annotations

import signal
import socket
import subprocess

from tests.support.serving import EVENKEEL, PATIENCE, free_port


def test_the_example_leaves_no_server_behind(tmp_path):
    """Whatever ends it: `make run` in a terminal that is closed."""
    port = free_port()
    command = [*EVENKEEL, "example", "--port", str(port), "--once"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    with socket.create_server(("127.0.0.1", port)):
        pass  # nobody listens there any more
