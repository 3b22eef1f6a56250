"""The runs of a simulation, spread over processes where they are many."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

from evenkeel.simulate.run import Plan
from evenkeel.terminal.processes import cpus
from webhook.cli.usage import UsageError

PODS_ALONE = 100  # Pods that this process places in the tenth of a second in which another begins
FIRST_ASKED = 100  # runs after which it is asked for the first time whether more would change anything

OfRun = TypeVar("OfRun")
OneRun = Callable[[Plan, int, int], OfRun]  # A function of a module, so that other processes find it.


def all_runs(run: OneRun[OfRun], plan: Plan, seed: int, runs: int) -> Iterator[OfRun]:
    """
    Yield what `run` returns for each run, in their order, whichever process has done it.

    UsageError if a process was killed.
    """
    gc.freeze()  # What was read stays: no collection looks at it in each run, in no process.
    # At least the first run is done here: the other processes continue with what it has computed.
    runs_here = min(runs, max(1, PODS_ALONE // max(1, plan.touched)))
    processes = min(cpus(), runs - runs_here)
    if processes < 2:
        runs_here = runs
    for i in range(runs_here):
        yield run(plan, seed, i)
    if runs_here == runs:
        return
    # Imported here: most simulations need no other process.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(run, plan, seed)) as pool:
        try:
            yield from cast(Iterator[OfRun], pool.map(_one, range(runs_here, runs)))
        except BrokenProcessPool as error:
            raise UsageError("a process was killed, perhaps for lack of memory; set fewer --runs") from error
        finally:
            pool.shutdown(cancel_futures=True)


def until_unchanged(of_runs: Iterable[OfRun], is_unchanged: Callable[[list[OfRun], list[OfRun]], bool]) -> list[OfRun]:
    """
    Return what runs have come to, until their second half changes nothing.

    `is_unchanged` is given the first half and all runs so far: after FIRST_ASKED runs, and each time they have doubled.
    """
    done = list[OfRun]()
    next_check = FIRST_ASKED
    for of_run in of_runs:
        done.append(of_run)
        if len(done) == next_check:
            if is_unchanged(done[: next_check // 2], done):
                break
            next_check *= 2
    return done


_PLANS: list[tuple[OneRun[object], Plan, int]] = []  # one at most: what this process was begun with


def _begin(run: OneRun[object], plan: Plan, seed: int) -> None:
    """Begin a process: keep the plan, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _PLANS.append((run, plan, seed))


def _one(number: int) -> object:
    run, plan, seed = _PLANS[-1]
    return run(plan, seed, number)
