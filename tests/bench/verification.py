"""
`make bench`: what it takes to verify the decisions of a kube-scheduler in a cluster of 5,000 nodes and 150,000 Pods.

    a dump, and six events for each decision ──decoded, followed, judged──> CPU, beside one placement

The decisions are right ones, so that the first state explains each.  For each Pod that comes another one goes.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from subprocess import run
from tempfile import TemporaryDirectory

from tests.bench import report
from tests.bench.cluster import NODES, PODS
from tests.bench.page import fill
from tests.bench.reviews import machine
from tests.support import ROOT
from tests.support.kubernetes_source import NEWEST
from webhook.cluster.dump import contents
from webhook.cluster.reduction import event as decoded
from webhook.objects.fields import Raw
from webhook.scheduler.features import parse_version
from webhook.scheduler.profile import USUAL_PROFILES
from webhook.verification.decision import PodDecision
from webhook.verification.judgement import AGREES
from webhook.verification.verifier import Verifier
from webhook.verification.watch_event import ADDED_EVENT, DELETED_EVENT, MODIFIED_EVENT, WatchEvent

DECISIONS, RATE, SAMPLED = 1_000, 100, 4_000
BOUND_OF_CPU, BOUND_OF_MEMORY, BOUND_OF_PLACEMENTS = 0.5, 300, 1.5
STARTED = "2026-01-31T10:00:00Z"


def waiting(like: Raw, number: int) -> dict:
    """A new Pod like one that is there."""
    metadata = {**like["metadata"], "name": f"new-{number}", "uid": f"new-{number}"}
    spec = {name: value for name, value in like["spec"].items() if name != "nodeName"}
    return {**like, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def happening(pod: Raw, node: str, gone: Raw) -> Iterator[tuple[str, Raw]]:
    """What is told of a Pod that comes, and of one that goes for it."""
    bound = {**pod, "spec": {**pod["spec"], "nodeName": node}}
    yield ADDED_EVENT, pod
    yield MODIFIED_EVENT, bound
    yield MODIFIED_EVENT, {**bound, "status": {"phase": "Pending", "startTime": STARTED}}
    yield MODIFIED_EVENT, {**bound, "status": {"phase": "Running", "startTime": STARTED}}
    yield MODIFIED_EVENT, {**gone, "metadata": {**gone["metadata"], "deletionTimestamp": STARTED}}
    yield DELETED_EVENT, gone


class Timed:
    """The CPU seconds of one thing that is done many times."""

    def __init__(self) -> None:
        self.seconds, self._begun = 0.0, 0.0

    def __enter__(self) -> Timed:
        self._begun = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._begun


class Stream:
    """A verifier that follows a cluster in a dump, and what that takes."""

    def __init__(self, file: Path) -> None:
        self.there: list[Raw] = []
        self.begun, self.following, self.judging, self.placing = Timed(), Timed(), Timed(), Timed()
        self.random, self.version, self.decisions = Random(1), count(100), 0
        with self.begun:
            objects = self._through(contents(file).objects)
            self.verifier = Verifier(objects, parse_version(str(NEWEST)), USUAL_PROFILES, version=1)

    def _through(self, objects: Iterator[Raw]) -> Iterator[Raw]:
        for number, raw in enumerate(objects):
            if raw["kind"] == "Pod" and number % (PODS // SAMPLED) == 0:
                self.there.append(raw)
            yield raw

    def follow(self) -> None:
        """Let Pods come and go; which node is right is found out before: that is the placement beside it."""
        seconds, judged = 0.0, list[str]()
        for number, gone in enumerate(self.there):
            if self.decisions == DECISIONS:
                break
            pod = waiting(self.there[(number * 7) % len(self.there)], number)
            node = self._best(pod)
            if not node:
                continue
            self.decisions += 1
            for what, raw in happening(pod, node, gone):
                seconds += 1 / RATE / 6
                version = str(next(self.version))
                told = {"type": what, "object": {**raw, "metadata": {**raw["metadata"], "resourceVersion": version}}}
                line = json.dumps(told).encode()
                with self.following:
                    read = decoded(line)
                    read["object"]["metadata"].pop("resourceVersion")
                    self.verifier.add(WatchEvent(seconds, what, int(version), read["object"]))
                is_decided = what == MODIFIED_EVENT and raw["status"] == {"phase": "Pending"}
                with self.judging if is_decided else self.following:
                    judged += [each.verdict for each in self.verifier.judged(seconds)]
        assert [AGREES] * self.decisions == judged

    def _best(self, pod: Raw) -> str:
        computed = self.verifier.compute(PodDecision(pod, "any"))
        names = list(computed.names(computed.best))
        if names:
            with self.placing:
                self.verifier.compute(PodDecision(pod, "any"))
        return self.random.choice(names) if names else ""


def measured(file: Path) -> dict:
    stream = Stream(file)
    stream.follow()
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return {
        "begun": stream.begun.seconds,
        "events": stream.following.seconds / stream.decisions,
        "judging": stream.judging.seconds / stream.decisions,
        "placement": stream.placing.seconds / stream.decisions,
        "megabytes": int(peak[1]) / 1024,
    }


def rows(folder: Path) -> Iterator[str]:
    file = folder / "cluster.jsonl.gz"
    report.dump(file)
    command = [sys.executable, "-m", "tests.bench.verification", str(file)]
    took = json.loads(run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    ratio, share = took["judging"] / took["placement"], (took["events"] + took["judging"]) * RATE
    yield f"| `evenkeel verify`, {NODES:,} nodes, {PODS:,} Pods | measured | bound |"
    yield "| --- | --- | --- |"
    yield f"| what is there is read once | {took['begun']:.1f} s | |"
    yield f"| for each decision, six events are read and followed | {took['events'] * 1e3:.2f} ms of CPU | |"
    placement = f"{took['placement'] * 1e3:.2f} ms: {ratio:.1f} times"
    yield f"| it is judged | {took['judging'] * 1e3:.2f} ms of CPU | |"
    yield f"| beside one placement | {placement} | {BOUND_OF_PLACEMENTS} times |"
    yield f"| {RATE} decisions a second | {share:.2f} CPUs | {BOUND_OF_CPU} CPUs |"
    yield f"| memory | {took['megabytes']:.0f} MB | {BOUND_OF_MEMORY} MB |"


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measured(Path(sys.argv[1]))))
        return
    with TemporaryDirectory() as folder:
        fill("bench verification", rows(Path(folder)), [machine(), ""])


if __name__ == "__main__":
    main()
