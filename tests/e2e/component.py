"""One program of the control plane as a process: started, stopped, started again, and never outliving this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.serving import PATIENCE, until

# Linux kills the component once the thread that started it is gone, even by SIGKILL: 1 is PR_SET_PDEATHSIG, which
# stays in force over exec. Not in a preexec_fn: that may deadlock beside threads. getppid() sees who was gone before.
LEASH = f"""
import ctypes, os, sys
if sys.platform == "linux": ctypes.CDLL(None).prctl(1, {int(signal.SIGKILL)})
if os.getppid() == int(sys.argv[1]): os.execv(sys.argv[2], sys.argv[2:])
"""
LAST_LINES = 25


class ComponentError(Exception):
    """A component that did not start, or ended by itself; shows the end of its log."""


class Component:
    """A program with its flags. Start it from a thread that lives as long as the component shall: see LEASH."""

    def __init__(self, program: Path, flags: Mapping[str, object], log: Path, healthy: Callable[[], bool]):
        self.name, self.log, self.healthy = program.name, log, healthy
        self.command = [str(program), *(f"--{name}={text(value)}" for name, value in flags.items())]
        self.process: subprocess.Popen | None = None

    def launch(self) -> None:
        """Start the process; `await_ready` waits until it serves."""
        command = [sys.executable, "-ISc", LEASH, str(os.getpid()), *self.command]
        with self.log.open("ab") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            # In a session of its own: Ctrl-C is for the tests to handle.
            self.process = subprocess.Popen(command, **streams, start_new_session=True)

    def await_ready(self) -> None:
        """Raise ComponentError when the process ends, or does not serve in time."""
        try:
            until(lambda: self.check() or self.healthy(), f"{self.name} that is ready")
        except AssertionError as error:
            raise ComponentError(f"{error}:\n{self.last_lines()}") from None

    def check(self) -> None:
        """Raise ComponentError if the process ended by itself."""
        if self.process is not None and (code := self.process.poll()) is not None:
            raise ComponentError(f"{self.name} ended by itself with {code}:\n{self.last_lines()}")

    def start(self) -> None:
        self.launch()
        self.await_ready()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process, by its own means unless `how` is SIGKILL; harmless where none runs."""
        process, self.process = self.process, None
        if process is not None:
            process.send_signal(how)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                raise ComponentError(f"{self.name} did not end in {PATIENCE} s:\n{self.last_lines()}") from None
            finally:
                process.kill()
                process.wait()

    def restart(self) -> None:
        self.stop()
        self.start()

    def last_lines(self) -> str:
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-LAST_LINES:])


def text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
