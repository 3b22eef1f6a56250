"""`evenkeel verify` beside churn, and what it says of its recording where something is wrong."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from tests.e2e.churn import FLAGS, Churn, configure, drive
from tests.e2e.plane import ControlPlane
from tests.support.build import HOSTNAME, pod
from tests.support.commands import SCRIPTS
from tests.support.serving import PATIENCE, until
from webhook.cluster.dump import DumpError
from webhook.cluster.recording import read
from webhook.loading.observing import Observer, recorded
from webhook.scheduler.profile import USUAL_PROFILE, Profile
from webhook.verification.judgement import Judged

METRICS = {"kube-scheduler": {"authorization-always-allow-paths": "/healthz,/readyz,/metrics"}}
ATTEMPTS = re.compile(r'scheduler_schedule_attempts_total\{.*result="(\w+)"\} (\d+)')
QUIET = 3.0  # Seconds, longer than the part of the log that is looked at around a decision.
ALONE = "alone"  # The Pod that is placed when all others are.


class Churned(NamedTuple):
    """
    What a run of `evenkeel verify` beside churn has left: its JSON and exit code, the text of another, the recording.

    `bound` are namespaces and names of the Pods that had a node at the end, `attempts` what kube-scheduler counts
    itself, by result.
    """

    said: dict
    code: int
    text: str
    recording: Path
    cases: Path
    bound: set[tuple[str, str]]
    attempts: dict[str, int]


@contextmanager
def verifying(plane: ControlPlane, recording: Path, *options: object) -> Iterator[subprocess.Popen]:
    """Yield a process of `evenkeel verify` that records, once it has listed all there is."""
    command = [SCRIPTS / "evenkeel", "verify", "--kubeconfig", plane.kubeconfig, "--record", recording, *options]
    with subprocess.Popen(
        command,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True},
        # Tests that run in the background may ignore Ctrl-C, and so would their children.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            until(lambda: process.poll() is not None or has_listed(recording), "a recording")
            yield process
        finally:
            process.kill()


def has_listed(recording: Path) -> bool:
    """Return whether a recording tells of all that there was; events follow."""
    with suppress(DumpError), closing(read(recording)) as sections:
        for section in sections:
            for _ in section.contents.objects:
                pass
            return section.version > 0
    return False


def interrupted(process: subprocess.Popen) -> str:
    """Return what a process prints upon Ctrl-C."""
    process.send_signal(signal.SIGINT)
    text, error = process.communicate(timeout=2 * PATIENCE)
    assert not error
    return text


def churned(folder: Path, pods: int) -> Churned:
    """Verify what the scheduler decides while the cluster is asked for so many Pods; and then of one alone."""
    recording, cases = folder / "churn.jsonl.gz", folder / "cases"
    with ControlPlane(folder, {**FLAGS, **METRICS}) as plane:
        configure(plane)
        with verifying(plane, recording, "--cases", cases, "-o", "json") as process:
            drive(plane, Churn(1), pods)
            time.sleep(QUIET)
            with verifying(plane, folder / "alone.jsonl.gz", "-n", "default") as of_one:
                place_alone(plane)
                time.sleep(QUIET)
                bound, attempts = bound_pods(plane), counted_attempts(plane)
                text = interrupted(of_one)
            said = json.loads(interrupted(process))
    return Churned(said, process.returncode, text, recording, cases, bound, attempts)


def place_alone(plane: ControlPlane) -> None:
    """Make a Pod that prefers one of the nodes, and wait until it has it."""
    nodes = plane.api.call("GET", "/api/v1/nodes")["items"]
    free = next(node for node in nodes if not node["spec"].get("taints"))["metadata"]["name"]
    expression = {"key": HOSTNAME, "operator": "In", "values": [free]}
    term = {"weight": 100, "preference": {"matchExpressions": [expression]}}
    spec = {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}},
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "20m"}}}],
    }
    made = pod(name=ALONE, namespace="default", labels={"app": ALONE}, spec=spec)
    plane.api.call("POST", "/api/v1/namespaces/default/pods", made)
    until(lambda: ("default", ALONE) in bound_pods(plane), "a node for the Pod")


def bound_pods(plane: ControlPlane) -> set[tuple[str, str]]:
    """Return the namespaces and names of the Pods that have a node."""
    there = plane.api.call("GET", "/api/v1/pods")["items"]
    return {(made["metadata"]["namespace"], made["metadata"]["name"]) for made in there if made["spec"].get("nodeName")}


def counted_attempts(plane: ControlPlane) -> dict[str, int]:
    """Return how many attempts kube-scheduler has counted, by result."""
    with urlopen(f"https://localhost:{plane.ports['kube-scheduler']}/metrics", context=plane.api.context) as answer:
        return {result: int(number) for result, number in ATTEMPTS.findall(answer.read().decode())}


def judged(recording: Path, profile: Profile = USUAL_PROFILE) -> Iterator[Judged]:
    """Yield the judgement of each decision in a recording, as a scheduler with a profile would have made it."""
    judgements: list[Judged] = []
    observer = Observer({profile.name: profile}, None, on_judged=lambda made, _: judgements.append(made))
    for section in recorded(recording):
        for _ in observer.take(section):
            yield from judgements
            judgements.clear()
    observer.finish()
    yield from judgements
