"""
Judges the decisions of kube-scheduler for as long as the process runs, in a thread of its own.

    live ──> Observer ──> Tally        an error: drop what is known of the cluster, wait, begin anew
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic, thread_time

from webhook.cluster.client import Client
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.loading import inputs
from webhook.loading.observing import Observer, half_a_cpu, live
from webhook.loading.usage import UsageError
from webhook.render.verification import Difference, in_words
from webhook.scheduler.profile import Profiles
from webhook.verification.judgement import DIFFERS, Judged
from webhook.verification.tally import Tally
from webhook.verification.verifier import Verifier

FIRST_PAUSE, MOST_PAUSE = 5.0, 300.0  # Seconds before it begins anew, since it then lists all Pods.
MOST_DIFFERENCES, MINUTE = 10, 60.0  # Lines on decisions that differ, in so many seconds.


class VerificationThread(Thread):
    """
    Judges the decisions of a namespace, or of all if it is "", until it is stopped; `client` returns a client.

    `tally` counts them all, and `failures` how often they could not be observed any longer.  Why that was is printed
    once, until it is something else, and so is each decision that differs, but for those above MOST_DIFFERENCES.
    """

    def __init__(
        self, client: Callable[[], Client], profiles: Profiles, version: str | None, namespace: str = ""
    ) -> None:
        super().__init__(name="verification", daemon=True)
        self._client, self._profiles, self._version, self._namespace = client, profiles, version, namespace
        self._stopped, self._told = Event(), deque[float](maxlen=MOST_DIFFERENCES)
        self.tally, self.failures = Tally(), 0

    def run(self) -> None:
        """Observe, and begin anew after each error."""
        pause, last = FIRST_PAUSE, ""
        while not self._stopped.is_set():
            begun, problem = monotonic(), self._observe()
            if self._stopped.is_set():
                return
            if monotonic() - begun > MOST_PAUSE:
                pause, last = FIRST_PAUSE, ""
            self.failures += 1
            if problem != last:
                _print(f"--verify: {problem}")
            last = problem
            self._stopped.wait(pause)
            pause = min(2 * pause, MOST_PAUSE)

    def _observe(self) -> str:
        """Observe until it is stopped, or return why that is not possible; nothing of the cluster is kept."""
        observer = Observer(
            self._profiles,
            self._version,
            self._namespace,
            may_judge=half_a_cpu(thread_time),
            on_judged=self._judged,
            tally=self.tally,
        )
        try:
            with inputs.usage_errors():
                for section in live(self._client(), self._stopped.is_set):
                    for _ in observer.take(section):
                        pass
        except UsageError as error:
            return str(error)
        except Exception as error:  # A defect must not end the thread.
            return f"{type(error).__name__}: {error}"
        return ""

    def stop(self) -> None:
        """End the thread soon."""
        self._stopped.set()

    def _judged(self, judged: Judged, _: Verifier) -> None:
        now = monotonic()
        if judged.verdict != DIFFERS or (len(self._told) == MOST_DIFFERENCES and now - self._told[0] < MINUTE):
            return
        self._told.append(now)
        _print("; ".join(line.strip() for line in in_words(Difference(judged)).splitlines()))


def _print(text: str) -> None:
    print(f"evenkeel: {one_line(text, 2 * LINE_LIMIT)}", file=sys.stderr, flush=True)
