"""
The first process: it forks one worker, passes signals on, and replaces a worker that dies or hangs.

It imports no application, and not gunicorn: a worker imports and reads everything afresh, and only its memory grows.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from mmap import mmap
from struct import Struct
from time import monotonic

HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
# gunicorn scales or reloads on these. Without a handler most would end the process.
IGNORED = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU, signal.SIGWINCH)
HANGS_SECONDS = 30.0  # A worker without a heartbeat for this long is killed.
HURRY_SECONDS = 2.0  # How long a worker may take to end at once.
LOOK_SECONDS = 1.0
MISSED_LOOKS = 3  # After a longer pause of its own the arbiter cannot tell whether the worker was paused, too.
SHORT_LIFE_SECONDS, SHORT_LIVES = 30.0, 3  # So many short lives in a row end the arbiter.

log = logging.getLogger("gunicorn.error")


def settle_signals() -> None:
    """Ignore the signals to scale or reload: there is one worker, and changed files are read without a signal."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


class Heartbeat:
    """The time of the worker's last beat, in memory that it shares with its `parent`, the process that forks it."""

    _TIME = Struct("d")

    def __init__(self) -> None:
        self.parent = os.getpid()
        self._memory = mmap(-1, self._TIME.size)

    def beat(self) -> None:
        self._TIME.pack_into(self._memory, 0, monotonic())

    @property
    def last(self) -> float:
        """The `time.monotonic()` of the last beat; 0.0 before the first, which says that the worker serves."""
        found: float = self._TIME.unpack_from(self._memory)[0]
        return found


class Arbiter:
    """
    Runs `work(heartbeat, again)` in a forked process, and again when that one dies.

    A worker that ends before its first heartbeat ends the arbiter, too, with its exit code: what it cannot read now
    another could not read either, and the kubelet starts the next with a growing pause. So does the third in a row that
    dies soon after its start, with 1. SIGTERM gives the worker `grace` seconds, SIGINT, SIGQUIT and a second signal do
    not.
    """

    def __init__(self, work: Callable[[Heartbeat, bool], None], listener: socket.socket | None, grace: float) -> None:
        """`listener` stays open while workers come and go, so that clients who come meanwhile wait."""
        self.work, self.listener, self.grace = work, listener, grace
        self.heartbeat = Heartbeat()
        self.pid = 0
        self.began = self.looked = self.patient = monotonic()  # When the worker, the last look and the patience began.
        self.hangs = False  # Whether the worker was killed for it.
        self.noted, self.note = socket.socketpair()  # The numbers of signals.

    def run(self) -> int:
        """The exit code: 0 after a signal."""
        self._hear()
        again, short_lives = False, 0
        while True:
            self._fork(again)
            code = self._watch()
            if code is None:
                return 0
            short_lives = short_lives + 1 if monotonic() - self.began < SHORT_LIFE_SECONDS else 0
            how = "was killed because it hung" if self.hangs else how_ended(code)
            if not self.heartbeat.last:
                if code <= 0:  # Or it has said why.
                    log.error("Worker (pid %s) %s before it served", self.pid, how)
                return code if code > 0 else 1
            if short_lives == SHORT_LIVES:
                short = f"{SHORT_LIVES} in a row died within {SHORT_LIFE_SECONDS:g} s of their start"
                log.error("Worker (pid %s) %s, starting no other: %s", self.pid, how, short)
                return 1
            log.error("Worker (pid %s) %s, starting another", self.pid, how)
            again = True

    def _watch(self) -> int | None:
        """The exit code of the worker that has ended by itself, as `_ended`; None if a signal has ended it."""
        code = None
        while code is None:
            if heard := self._heard(LOOK_SECONDS):
                self._stop(hurry=len(heard) > 1 or heard[0] != signal.SIGTERM)
                return None
            self._look()
            code = self._ended()
        return code

    def _hear(self) -> None:
        """Have the numbers of signals written to a socket, so that one is seen whenever it comes."""
        self.noted.setblocking(False)
        self.note.setblocking(False)
        signal.set_wakeup_fd(self.note.fileno(), warn_on_full_buffer=False)
        for number in (*HEARD, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        settle_signals()

    def _heard(self, seconds: float) -> list[int]:
        """Those of HEARD that have come, waiting for a signal if none has."""
        if not select.select([self.noted], [], [], seconds)[0]:
            return []
        return [number for number in self.noted.recv(4096) if number in HEARD]

    def _fork(self, again: bool) -> None:
        """Fork a worker; signals are blocked until it has handlers, so that none is lost."""
        self.heartbeat, self.hangs = Heartbeat(), False
        self.began = self.looked = self.patient = monotonic()
        gc.freeze()  # What is not looked at is not copied.
        signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._be_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        if self.pid == 0:
            self.work(self.heartbeat, again)
            sys.exit(0)

    def _be_worker(self) -> None:
        """Until the worker has handlers of its own, a signal ends it at once."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in HEARD:
            signal.signal(number, lambda *_: os._exit(0))
        self.noted.close()
        self.note.close()

    def _look(self) -> None:
        """Kill a worker that hangs, once; what has paused both, such as a machine that was suspended, is no reason."""
        now = monotonic()
        if now - self.looked > MISSED_LOOKS * LOOK_SECONDS:
            self.patient = now
        self.looked = now
        if not self.hangs and self.heartbeat.last and now - max(self.heartbeat.last, self.patient) > HANGS_SECONDS:
            self.hangs = True
            log.critical("Worker (pid %s) hangs", self.pid)
            os.kill(self.pid, signal.SIGKILL)

    def _ended(self) -> int | None:
        """The worker's exit code if it has ended, or minus the signal that killed it; reaps orphans, as process 1."""
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == self.pid:
                return os.waitstatus_to_exitcode(status)
            if pid == 0:
                return None

    def _stop(self, hurry: bool) -> None:
        """End the worker: with a grace period, or at once if `hurry` or if another signal comes."""
        if self.listener is not None:
            self.listener.close()
        code, until = self._tell(hurry)
        while code is None and monotonic() < until:
            if self._heard(max(0.0, until - monotonic())) and not hurry:
                hurry = True
                code, until = self._tell(hurry)
            else:
                code = self._ended()
        if code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def _tell(self, hurry: bool) -> tuple[int | None, float]:
        """Tell the worker to end; its exit code if it already has, and the time when the patience with it ends."""
        log.info("Stopping%s", " at once" if hurry else "")
        if (code := self._ended()) is None:
            os.kill(self.pid, signal.SIGQUIT if hurry else signal.SIGTERM)
        return code, monotonic() + (HURRY_SECONDS if hurry else self.grace)


def how_ended(code: int) -> str:
    """What an exit code says, or minus the signal that killed."""
    if code >= 0:
        return f"exited with code {code}"
    more = ", perhaps out of memory" if -code == signal.SIGKILL else ""
    return f"was killed by {signal.Signals(-code).name}{more}"
