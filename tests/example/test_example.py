"""`make run`."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

from tests.support.serving import PATIENCE, free_port, free_ports

EXAMPLE = (sys.executable, "-m", "tests.example")


def test_the_example_leaves_no_server_behind(tmp_path):
    """Whatever ends it: `make run` in a terminal that is closed."""
    port = free_port()
    command = [*EXAMPLE, "--port", str(port), "--once"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    with socket.create_server(("127.0.0.1", port)):
        pass  # nobody listens there any more


def test_two_examples_run_side_by_side():
    """Each takes a free port for probes and metrics."""
    started = [
        subprocess.Popen([*EXAMPLE, "--port", str(port), "--once"], stdout=subprocess.PIPE, text=True)
        for port in free_ports(2)
    ]
    printed = [process.communicate(timeout=PATIENCE)[0] for process in started]

    assert [0, 0] == [process.returncode for process in started]
    assert all("Deployment checkout: denied" in text for text in printed)


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([*EXAMPLE, "--port", str(port)], capture_output=True, text=True, check=False)

    assert (2, f"127.0.0.1:{port}: Address already in use; choose another port, such as make run PORT=8444\n") == (
        done.returncode,
        done.stderr,
    )
