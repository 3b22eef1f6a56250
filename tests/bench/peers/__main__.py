"""
`make bench-peers`, by hand: what evenkeel takes beside Kyverno, Gatekeeper and kube-linter, which are built if need be.

    load ── TLS, 16 connections ──> webhook                                          reviews, a CPU each
    load ── TLS, 16 connections ──> kube-apiserver ── TLS, keep-alive ──> webhook    Pods that are created, on all CPUs

All judge by the same seven rules, and first show that they judge alike.  In each round each webhook is started anew,
with its own policy alone, in changing order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.bench import lint, repository
from tests.bench.creation import Taken, disturbed
from tests.bench.page import as_far_as_possible, fill
from tests.bench.peers.figures import by_turns, ratios, span
from tests.bench.peers.measuring import Bench, Figures
from tests.bench.peers.programs import kube_linter
from tests.bench.reviews import LOAD_CPU, machine
from tests.support.kubernetes_source import MissingError

ROUNDS = 5
OURS, NOBODY = "evenkeel", "no webhook"


def reviews(bench: Bench, rounds: int) -> Iterator[str]:
    """What reviews take on one CPU, in one table, and memory and start, in another."""
    everywhere, asked = os.sched_getaffinity(0), {str(webhook): webhook for webhook in bench.webhooks}
    figures: dict[str, list[Figures]] = {name: [] for name in asked}
    os.sched_setaffinity(0, LOAD_CPU)
    try:
        for _, name in by_turns(rounds, [*asked]):
            figures[name].append(bench.judge(asked[name]))
    finally:
        os.sched_setaffinity(0, everywhere)
    yield "| webhook | reviews a second | evenkeel / webhook | CPU per review, µs |"
    yield f"|{' --- |' * 4}"
    mine = next(its for name, its in figures.items() if name.startswith(OURS))
    for name, its in figures.items():
        rates, costs = span(one.taken.rate for one in its), span(one.taken.webhook for one in its)
        ratio = "" if its is mine else ratios([one.taken.rate for one in mine], [one.taken.rate for one in its])
        yield f"| {name} | {rates} | {ratio} | {costs} |"
    yield ""
    yield "| webhook | memory at rest, MB | after load, MB | start to first right answers, s |"
    yield f"|{' --- |' * 4}"
    for name, its in figures.items():
        memory = f"{span(one.rest for one in its)} | {span(one.loaded for one in its)}"
        yield f"| {name} | {memory} | {span((one.seconds for one in its), 2)} |"
    yield from ("", disturbed([one.taken for its in figures.values() for one in its]))


def creation(bench: Bench, rounds: int) -> Iterator[str]:
    """What Pod creation takes, with each webhook and without."""
    asked = {**{str(webhook): webhook for webhook in bench.webhooks}, NOBODY: None}
    figures: dict[str, list[Taken]] = {name: [] for name in asked}
    for number, name in by_turns(rounds, [*asked]):
        figures[name].append(bench.create(asked[name], number))
    yield "| webhook | Pods a second | rate / none | CPU of all per Pod, µs | CPU / none |"
    yield f"|{' --- |' * 5}"
    base = figures[NOBODY]
    for name, its in figures.items():
        rate, cost = ([getattr(one, field) for one in its] for field in ("rate", "everybody"))
        least, free = ([getattr(one, field) for one in base] for field in ("rate", "everybody"))
        compared = ("", "") if its is base else (ratios(rate, least), ratios(cost, free))
        yield f"| {name} | {span(rate)} | {compared[0]} | {span(cost)} | {compared[1]} |"
    yield from ("", disturbed([one for its in figures.values() for one in its]))


def linted(folder: Path, rounds: int) -> Iterator[str]:
    """What kube-linter takes for the trees of files of `make bench`, with its default checks and with one."""
    program = kube_linter()
    version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip()
    one = [program, "lint", "--do-not-auto-add-defaults", "--include=no-anti-affinity"]
    commands = {
        "evenkeel": (lint.EVENKEEL, 0),
        f"kube-linter {version}, its default checks": ([program, "lint"], 1),
        f"kube-linter {version}, only no-anti-affinity": (one, 1),
    }
    trees = {"manifests": (folder / "all", lint.MANIFESTS, lint.generate(folder / "all", lint.MANIFESTS))}
    trees["files like real ones"] = (folder / "real", *repository.generate(folder / "real"))
    yield "| files | linter | CPU, s | linter / evenkeel | memory, MB |"
    yield f"|{' --- |' * 5}"
    for what, (tree, files, size) in trees.items():
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _, name in by_turns(rounds, [*commands]):
            command, status = commands[name]
            taken[name].append(lint.run([*command, str(tree)], status))
        mine = [cpu for cpu, _ in taken["evenkeel"]]
        for name, its in taken.items():
            cpu, ratio = [seconds for seconds, _ in its], ""
            if cpu != mine:
                ratio = ratios(cpu, mine)
            memory = span(memory for _, memory in its)
            yield f"| {files:,} {what}, {size / 1e6:.1f} MB | {name} | {span(cpu, 1)} | {ratio} | {memory} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description="measure evenkeel beside others")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each figure (default: %(default)s)")
    rounds = parser.parse_args().rounds
    head = [machine(), ""]
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (files := temporary / "files").mkdir()
        fill("bench peers lint", as_far_as_possible(linted(files, rounds)), head)
        try:
            bench = Bench(stack, temporary / "plane")
        except MissingError as error:
            print(f"Not measured: {error}", file=sys.stderr)
            return 1
        bench.check_verdicts()
        fill("bench peers reviews", [*reviews(bench, rounds), *bench.missing], head)
        fill("bench peers creation", [*creation(bench, rounds), *bench.missing], head)
    return 0


if __name__ == "__main__":
    sys.exit(main())
