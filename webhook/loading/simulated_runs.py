"""The runs of a simulation, spread over processes where they are many."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace

from webhook.loading.processes import cpus
from webhook.loading.usage import UsageError
from webhook.simulation.run import Plan, StepOutcome, run

ALONE = 4  # Runs that one process does by itself: others take a tenth of a second to begin.
TOGETHER = 5  # Runs that a process does between two moves of the bar.


def all_runs(plan: Plan, seed: int, runs: int) -> Iterator[tuple[StepOutcome, ...]]:
    """
    Yield the outcomes of all runs, in their order, whichever process has done them.

    UsageError if a process was killed.
    """
    for i in range(min(runs, ALONE)):
        yield run(plan, seed, i)
    left = [range(i, min(i + TOGETHER, runs)) for i in range(ALONE, runs, TOGETHER)]
    processes = min(cpus(), len(left))
    if processes < 2:
        yield from (run(plan, seed, i) for batch in left for i in batch)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    plan = replace(plan, start=plan.start._replace(frameworks={}))  # Each process makes its own.
    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(plan, seed)) as pool:
        try:
            for batch in pool.map(_some, left):
                yield from batch
        except BrokenProcessPool as error:
            raise UsageError("a process was killed, perhaps for lack of memory; give fewer --runs") from error
        finally:
            pool.shutdown(cancel_futures=True)


_PLANS: list[tuple[Plan, int]] = []  # What a process was begun with.


def _begin(plan: Plan, seed: int) -> None:
    """Run once in each process: keep the plan; leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _PLANS.append((plan, seed))


def _some(numbers: range) -> list[tuple[StepOutcome, ...]]:
    plan, seed = _PLANS[-1]
    return [run(plan, seed, i) for i in numbers]
