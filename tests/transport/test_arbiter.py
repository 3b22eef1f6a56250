"""The first process: signals to it, and what it does when its worker ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.support.clients import LATE, Busy, Server, post
from tests.support.serving import PATIENCE, until
from webhook.transport.arbiter import IGNORED


@pytest.mark.parametrize(
    "signals", [["SIGTERM", "SIGTERM"], ["SIGTERM", "SIGINT"], ["SIGINT"], ["SIGQUIT"]], ids=" ".join
)
def test_a_second_signal_waits_for_nothing(tmp_path, signals):
    """Nor does SIGINT, even for a thread at work."""
    with Busy(tmp_path) as busy:
        for name in signals[:-1]:
            os.kill(busy.server.process.pid, signal.Signals[name])
            until(lambda: "Stopping" in busy.server.log.read_text(), "a stop")
        begin = time.monotonic()
        os.kill(busy.server.process.pid, signal.Signals[signals[-1]])

        assert 0 == busy.server.process.wait(10)
        assert time.monotonic() - begin < 1 + LATE


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_second_signal_that_comes_before_the_first_is_heard_is_not_lost(tmp_path, second):
    with Busy(tmp_path) as busy:
        process = busy.server.process
        begin = time.monotonic()
        for number in (signal.SIGSTOP, signal.SIGTERM, second, signal.SIGCONT):
            process.send_signal(number)

        assert 0 == process.wait(10)
        assert time.monotonic() - begin < 1 + LATE


def test_sigterm_in_the_moment_of_the_fork_is_heard(tmp_path):
    """A worker that had not heard it would be waited for until the graceful timeout."""
    for attempt in range(5):
        (tmp_path / str(attempt)).mkdir()
        with Server(tmp_path / str(attempt)) as server:
            while not server.workers(server.process.pid):
                pass
            server.process.terminate()

            assert 0 == server.process.wait(10)


def test_other_signals_change_nothing(server):
    """No second worker, no second master, no end: each could be meant for a shell's whole process group."""
    worker = server.worker
    for number in IGNORED:
        server.process.send_signal(number)
        os.kill(worker, number)
    time.sleep(1.5)  # The master looks every second whether it has as many workers as it should.

    assert [worker] == server.workers(server.process.pid)
    with server.client() as client:
        assert b"2" == client.ask(post()).body


def test_a_worker_that_dies_is_replaced_and_who_comes_meanwhile_waits(tmp_path):
    with Server(tmp_path) as server:
        with server.client() as client:
            assert b"2" == client.ask(post()).body
        first = server.worker
        os.kill(first, signal.SIGKILL)
        with server.client() as client:
            assert b"2" == client.ask(post()).body

        assert first != server.worker
        assert f"Worker (pid {first}) was killed by SIGKILL, perhaps out of memory" in server.log.read_text()


# An arbiter with little patience, whose worker does `work`; each worker first prints whether it is another's successor.
PROGRAM = """
import os, signal, sys, time
from webhook.transport import arbiter
arbiter.HANGS_SECONDS = arbiter.LOOK_SECONDS = 0.2
{before}
def work(heartbeat, again):
    print(again, flush=True)
    {work}
sys.exit(arbiter.Arbiter(work, None, 5).run())
"""


def ran(work, before=""):
    """The exit code of such an arbiter, what its workers printed, and what was logged."""
    command = [sys.executable, "-c", PROGRAM.format(work=work, before=before)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    ("work", "code"),
    [("sys.exit(2)", 2), ("sys.exit(0)", 1), ("os.kill(os.getpid(), signal.SIGKILL)", 1)],
    ids=["fails", "ends", "is killed"],
)
def test_a_worker_that_never_serves_ends_the_arbiter(work, code):
    """Another could not read now what this one could not; it is the kubelet that waits and starts again."""
    assert (code, ["False"]) == ran(work)[:2]


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("sys.exit(2)", ""),
        ("sys.exit(0)", r"Worker \(pid \d+\) exited with code 0 before it served\n"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            r"Worker \(pid \d+\) was killed by SIGKILL, perhaps out of memory before it served\n",
        ),
    ],
    ids=["fails", "ends", "is killed"],
)
def test_a_worker_that_cannot_say_why_it_never_served_is_spoken_for(work, said):
    assert re.fullmatch(said, ran(work)[2])


def test_a_successor_that_cannot_serve_ends_the_arbiter_too():
    code, printed, logged = ran("sys.exit(2) if again else heartbeat.beat()")

    assert (2, ["False", "True"]) == (code, printed)
    assert "exited with code 0, starting another" in logged


def test_a_worker_that_hangs_is_killed():
    code, printed, logged = ran("sys.exit(3) if again else (heartbeat.beat(), time.sleep(60))")

    assert (3, ["False", "True"]) == (code, printed)
    assert "hangs" in logged


# SIGKILL takes effect some looks later.
LATE_KILLS = """
import threading
kill = os.kill
os.kill = lambda *wanted: threading.Timer(1, kill, wanted).start()
"""


def test_a_worker_that_hangs_is_killed_once_and_memory_is_not_blamed():
    code, printed, logged = ran("sys.exit(3) if again else (heartbeat.beat(), time.sleep(60))", LATE_KILLS)

    assert (3, ["False", "True"]) == (code, printed)
    assert 1 == logged.count("hangs")
    assert "was killed because it hung, starting another" in logged
    assert "memory" not in logged


PAUSED = "arbiter.HANGS_SECONDS = 2"


def test_a_pause_of_all_processes_kills_no_worker():
    """As that of a machine that is suspended, or of a debugged Pod."""
    program = PROGRAM.format(work="while True: heartbeat.beat(); time.sleep(0.05)", before=PAUSED)
    with subprocess.Popen([sys.executable, "-c", program], stdout=PIPE, stderr=PIPE, text=True) as process:
        assert "False\n" == process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        worker = int(children.read_text())
        time.sleep(1)
        for pid in (process.pid, worker):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.5)  # In which it looks.
        os.kill(worker, signal.SIGCONT)
        time.sleep(0.5)
        found = list(map(int, children.read_text().split()))
        process.terminate()
        told = process.communicate(timeout=PATIENCE)

    assert ([worker], ("", ""), 0) == (found, told, process.returncode)


def test_a_worker_that_does_not_go_on_after_a_pause_is_killed():
    """The pause gives it no more than the same patience anew."""
    stop, go_on = (f"os.kill(os.getppid(), signal.{name})" for name in ("SIGSTOP", "SIGCONT"))
    pause = f"(heartbeat.beat(), {stop}, time.sleep(1), {go_on}, time.sleep(60))"
    code, printed, logged = ran(f"sys.exit(3) if again else {pause}")

    assert (3, ["False", "True"]) == (code, printed)
    assert 1 == logged.count("hangs")


def test_the_third_worker_in_a_row_that_dies_soon_ends_the_arbiter():
    """So that the kubelet starts the next one, less and less often."""
    code, printed, logged = ran("heartbeat.beat(); os.kill(os.getpid(), signal.SIGKILL)")

    assert (1, ["False", "True", "True"]) == (code, printed)
    *others, last = logged.splitlines()
    assert ["another"] * 2 == [line.split()[-1] for line in others]
    assert last.endswith("starting no other: 3 in a row died within 30 s of their start")


def test_workers_that_live_for_a_while_are_replaced_for_ever():
    """The fifth cannot serve here, which ends the test."""
    count = "forks = []; os.register_at_fork(before=lambda: forks.append(True)); arbiter.SHORT_LIFE_SECONDS = 0.1"
    code, printed, _ = ran("sys.exit(4) if len(forks) > 4 else (heartbeat.beat(), time.sleep(0.2), sys.exit(1))", count)

    assert (4, ["False"] + ["True"] * 4) == (code, printed)


def test_a_worker_that_takes_long_to_start_is_not_killed():
    assert (4, ["False"], "") == ran("time.sleep(1); sys.exit(4)")
