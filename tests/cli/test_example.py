"""`evenkeel example`."""

from __future__ import annotations

import signal
import socket
import subprocess

from tests.support.serving import EVENKEEL, PATIENCE, free_port, free_ports


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


def test_two_examples_run_side_by_side():
    """Each takes a free port for probes and metrics."""
    started = [
        subprocess.Popen([*EVENKEEL, "example", "--port", str(port), "--once"], stdout=subprocess.PIPE, text=True)
        for port in free_ports(2)
    ]
    printed = [process.communicate(timeout=PATIENCE)[0] for process in started]

    assert [0, 0] == [process.returncode for process in started]
    assert all("Deployment checkout: denied" in text for text in printed)
