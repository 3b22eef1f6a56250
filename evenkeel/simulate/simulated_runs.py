"""The runs of a simulation, spread over processes where they are many."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

from evenkeel.simulate.run import Plan
from evenkeel.terminal.processes import cpus
from webhook.cli.usage import UsageError

ALONE = 4  # Runs that one process does by itself: others take a tenth of a second to begin.
FIRST_ASKED = 100
TOGETHER = 2  # Runs that a process does between two moves of the bar: those begun are in vain where runs end early.

OfRun = TypeVar("OfRun")
OneRun = Callable[[Plan, int, int], OfRun]  # A function of a module, so that other processes find it.


def all_runs(run: OneRun[OfRun], plan: Plan, seed: int, runs: int) -> Iterator[OfRun]:
    """
    Yield what `run` returns for each run, in their order, whichever process has done it.

    UsageError if a process was killed.
    """
    gc.freeze()  # What was read stays: no collection looks at it in each run, in no process.
    for i in range(min(runs, ALONE)):
        yield run(plan, seed, i)
    left = [range(i, min(i + TOGETHER, runs)) for i in range(ALONE, runs, TOGETHER)]
    processes = min(cpus(), len(left))
    if processes < 2:
        yield from (run(plan, seed, i) for batch in left for i in batch)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(run, plan, seed)) as pool:
        try:
            for batch in pool.map(_some, left):
                yield from cast(list[OfRun], batch)
        except BrokenProcessPool as error:
            raise UsageError("a process was killed, perhaps for lack of memory; set fewer --runs") from error
        finally:
            pool.shutdown(cancel_futures=True)


def until_unchanged(of_runs: Iterable[OfRun], is_unchanged: Callable[[list[OfRun], list[OfRun]], bool]) -> list[OfRun]:
    """
    Return what runs have come to, and leave the rest of them once the second half of all so far has changed nothing:
    `is_unchanged` says so of the first half and of all, which is asked first after FIRST_ASKED runs.
    """
    done = list[OfRun]()
    asked = FIRST_ASKED
    for of_run in of_runs:
        done.append(of_run)
        if len(done) == asked:
            if is_unchanged(done[: asked // 2], done):
                break
            asked *= 2
    return done


_PLANS: list[tuple[OneRun[object], Plan, int]] = []  # What a process was begun with.


def _begin(run: OneRun[object], plan: Plan, seed: int) -> None:
    """Run once in each process: keep the plan; leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _PLANS.append((run, plan, seed))


def _some(numbers: range) -> list[object]:
    run, plan, seed = _PLANS[-1]
    return [run(plan, seed, i) for i in numbers]
