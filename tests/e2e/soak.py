"""
`make soak`: two replicas under a steady load for 20 minutes, with everything that may happen to them again and again.

Certificates live for minutes.  Memory, threads and descriptors are taken once all has happened, and at the end; exit
code 1 if memory grew by 5 % or more, anything else at all, or a call was lost.

Then each attack of tests/serving/test_hostile_clients.py for 20 seconds, with thrice as many clients, against one of
them; exit code 1 if a call was lost, or if no other worker takes the place of one that hangs.  MINUTES=0: only this.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

from tests.e2e.kubelet import create_zones
from tests.e2e.plane import ControlPlane
from tests.e2e.replicas import Stage, be_silent, create_large, reload_policy, staged
from tests.serving.test_hostile_clients import ATTACKS, At, beside, lose_worker

MINUTES, WARM_MINUTES = float(os.environ.get("MINUTES", "20")), 4.0
GROWTH = 1.05
ATTACK_SECONDS, TIMES, HANGS_SECONDS = 20, 3, 90
SEVERITIES = cycle(("warning", "info"))


def events(stage: Stage) -> None:
    """What takes a quarter of a minute, and a pause."""
    reload_policy(stage, {"rollout-skew": next(SEVERITIES)})
    be_silent(stage)
    create_large(stage)
    time.sleep(5)


def held(stage: Stage) -> list[dict[str, int]]:
    """Of each replica, while nothing but the load happens."""
    time.sleep(10)
    return [replica.held() for replica in stage.replicas.running]


def soak(stage: Stage) -> int:
    """The exit code."""
    before: list[dict[str, int]] = []
    made = lost = 0
    worst, begun = 0.0, time.monotonic()
    while (minutes := (time.monotonic() - begun) / 60) < MINUTES:
        calls = stage.load.during(lambda: events(stage), 0)
        made, lost, worst = made + len(calls.seconds), lost + len(calls.lost), max(worst, *calls.seconds)
        for one in calls.lost:
            print(f"lost after {minutes:.1f} minutes: {one}", flush=True)
        kilobytes = [replica.held()["kilobytes"] for replica in stage.replicas.running]
        print(f"{minutes:.1f} minutes: {made} calls, {lost} lost, {kilobytes} kilobytes", flush=True)
        if not before and minutes >= min(WARM_MINUTES, MINUTES / 2):
            before = held(stage)
    after = held(stage)
    print(f"{made} calls, {lost} lost, the slowest took {worst * 1000:.0f} ms")
    for i, (first, last) in enumerate(zip(before, after, strict=True)):
        print(f"replica {i}: " + ", ".join(f"{last[name]} {name} ({first[name]} before)" for name in first))
    grown = any(last["kilobytes"] >= GROWTH * first["kilobytes"] for first, last in zip(before, after, strict=True))
    leaked = any(
        last[n] > first[n] + 2 for first, last in zip(before, after, strict=True) for n in first if n[0] != "k"
    )
    return int(bool(lost) or grown or leaked)


def hostile(stage: Stage) -> int:
    """The exit code: attack one replica, and have its worker hang."""
    attacked, lost = stage.replicas.running[0], 0
    at = At(attacked.port, attacked.health)
    for name in ATTACKS:
        with beside(name, at, TIMES):
            calls = stage.load.during(lambda: time.sleep(ATTACK_SECONDS))
        lost += len(calls.lost)
        held = f"{attacked.held()['kilobytes']} kilobytes"
        print(f"{name}: {len(calls.seconds)} calls, {len(calls.lost)} lost {calls.lost[:1]}", end=", ")
        print(f"the slowest took {max(calls.seconds) * 1000:.0f} ms, {held}", flush=True)
    stage.replicas.balancer.endpoints.remove(at.port)
    lose_worker(attacked, at, signal.SIGSTOP, HANGS_SECONDS)
    return int(bool(lost))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder)) as plane:
        create_zones(plane.api, {"a": 1, "b": 1, "c": 1})
        replicas = Path(folder) / "replicas"
        replicas.mkdir()
        with staged(plane, replicas) as stage:
            return (MINUTES and soak(stage)) or hostile(stage)


if __name__ == "__main__":
    sys.exit(main())
