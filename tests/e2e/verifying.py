"""`evenkeel verify` beside churn, and what it says of its recording where something is wrong."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

from pytest import MonkeyPatch

from tests.e2e.api import MERGE
from tests.e2e.churn import DISK_DRIVER, FLAGS, ONE_POD, QUIET, Churn, Request, configure, drive, path_of, send
from tests.e2e.placement import refusal
from tests.e2e.plane import ControlPlane
from tests.e2e.stored import claim, claim_spec, csi_node, near, volume
from tests.support.build import HOSTNAME, ZONE, pod
from tests.support.commands import SCRIPTS
from tests.support.serving import PATIENCE, until
from webhook.cluster.dump import DumpError
from webhook.cluster.recording import Recording, read
from webhook.loading.observing import Observer, recorded
from webhook.scheduler.framework import total
from webhook.scheduler.profile import (
    NODE_VOLUME_LIMITS,
    USUAL_PROFILE,
    VOLUME_BINDING,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
    Profile,
)
from webhook.verification import verifier
from webhook.verification.judgement import Judged, judge
from webhook.verification.states import first_state
from webhook.verification.watch_event import WatchEvent

METRICS = {"kube-scheduler": {"authorization-always-allow-paths": "/healthz,/readyz,/metrics"}}
ATTEMPTS = re.compile(r'scheduler_schedule_attempts_total\{.*result="(\w+)"\} (\d+)')
DRAWN = 3
ALONE = "alone"  # The Pod that is placed when all others are.

# The Pods that these filters refuse.
REFUSED = {
    VOLUME_ZONE: "in-another-zone",
    VOLUME_BINDING: "on-another-node",
    VOLUME_RESTRICTIONS: "second-of-one",
    NODE_VOLUME_LIMITS: "second-on-node",
}


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
            drive(plane, churn := Churn(1), pods)
            time.sleep(QUIET)
            refuse(plane, churn)
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
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    make(plane, small_pod(ALONE, affinity=affinity))
    await_bound(plane, ALONE)


def refuse(plane: ControlPlane, churn: Churn) -> None:
    """
    Make a Pod for each filter that decides of few others, by which it finds no node, and wait until that is said.

    All but one ask for a new node, which attaches one volume and is in the zone a.
    """
    cordoned = next(iter(churn.nodes))
    send(plane, Request("PATCH", f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": True}}, MERGE))
    own, drivers = churn.add_node()
    name = own.body["metadata"]["name"]
    own.body["metadata"]["labels"][ZONE] = "a"
    own.body["spec"] = {}
    send(plane, own)
    send(plane, drivers._replace(body=csi_node(name, {DISK_DRIVER: 1})))
    on_own, another = {"nodeSelector": {HOSTNAME: name}}, {"driver": "another.example.com", "volumeHandle": "another"}
    volumes = {
        VOLUME_ZONE: volume("zone", "", "5Gi", csi=another),
        VOLUME_BINDING: volume("binding", "", "5Gi", csi=another, **near(ZONE, "b")),
        VOLUME_RESTRICTIONS: volume("one-pod", "", "5Gi", csi=another, accessModes=[ONE_POD]),
        NODE_VOLUME_LIMITS: volume("limited", "", "5Gi"),
    }
    volumes[VOLUME_ZONE]["metadata"]["labels"] = {ZONE: "b"}
    first = {"first-of-one": volumes[VOLUME_RESTRICTIONS], "first-on-node": volume("first-limited", "", "5Gi")}
    for made in (*volumes.values(), first["first-on-node"]):
        make(plane, made, claim_of(made))
    make(plane, *(stored_pod(pod_name, made, **on_own) for pod_name, made in first.items()))
    for pod_name in first:
        await_bound(plane, pod_name)
    time.sleep(QUIET)
    for of, made in volumes.items():
        make(plane, stored_pod(REFUSED[of], made, **({} if of == VOLUME_RESTRICTIONS else on_own)))
    for of, pod_name in REFUSED.items():
        path = f"/api/v1/namespaces/default/pods/{pod_name}"
        until(lambda path=path: refusal(plane.api.call("GET", path)), f"a Pod that {of} refuses")


def make(plane: ControlPlane, *objects: dict) -> None:
    for made in objects:
        plane.api.call("POST", path_of(made["kind"], "default"), made)


def claim_of(made: dict) -> dict:
    """Return the claim of the name of a volume, which asks for it."""
    name, (mode,) = made["metadata"]["name"], made["spec"]["accessModes"]
    return claim(name, claim_spec("", mode=mode) | {"volumeName": name}, "default")


def stored_pod(name: str, made: dict, **spec: object) -> dict:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": made["metadata"]["name"]}}]
    return small_pod(name, volumes=volumes, **spec)


def small_pod(name: str, **spec: object) -> dict:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "20m"}}}]
    return pod(name=name, namespace="default", labels={"app": name}, spec={"containers": containers, **spec})


def await_bound(plane: ControlPlane, name: str) -> None:
    until(lambda: ("default", name) in bound_pods(plane), f"a node for {name}")


def bound_pods(plane: ControlPlane) -> set[tuple[str, str]]:
    """Return the namespaces and names of the Pods that have a node."""
    there = plane.api.call("GET", "/api/v1/pods")["items"]
    return {(made["metadata"]["namespace"], made["metadata"]["name"]) for made in there if made["spec"].get("nodeName")}


def counted_attempts(plane: ControlPlane) -> dict[str, int]:
    """Return how many attempts kube-scheduler has counted, by result."""
    with urlopen(f"https://localhost:{plane.ports['kube-scheduler']}/metrics", context=plane.api.context) as answer:
        return {result: int(number) for result, number in ATTEMPTS.findall(answer.read().decode())}


def judged(recording: Path, profile: Profile = USUAL_PROFILE, since: float = 0.0) -> Iterator[Judged]:
    """
    Yield the judgement of each decision in a recording, as a scheduler with a profile would have made it.

    Those that were made long before the second `since` are left out.
    """
    judgements: list[Judged] = []
    observer = Observer(
        {profile.name: profile},
        None,
        may_judge=lambda: observer.seconds >= since,
        on_judged=lambda made, _: judgements.append(made),
    )
    for section in recorded(recording):
        for _ in observer.take(section):
            yield from judgements
            judgements.clear()


class Drawn(NamedTuple):
    """
    A decision that was judged, and the same with a node of those that pass in place of the chosen one.

    `scores` are those of all nodes that pass.
    """

    right: Judged
    node: str
    other: Judged
    scores: dict[str, int]


def drawn(recording: Path, monkeypatch: MonkeyPatch) -> list[Drawn]:
    """Draw a node for one of DRAWN decisions whose power is known, and judge it in place of the chosen one."""
    draws, chance = [], random.Random(1)

    def judge_both(window, compute_in, tree_order) -> Judged:
        right, decision = judge(window, compute_in, tree_order), window.entry.decision
        is_drawn = decision.key[1] == ALONE or not chance.randrange(DRAWN)
        if right.power is not None and is_drawn:
            computed = compute_in(first_state(window))
            scores = total(computed.framework.prioritize(computed.feasible), computed.cycle.profile.weights)
            node = chance.choice(sorted(computed.names(computed.feasible)) or [decision.node])
            instead = decision._replace(node=node)
            entry = replace(window.entry, decision=instead)
            other = judge(window._replace(entry=entry), partial(compute_in.func, instead), tree_order)
            draws.append(Drawn(right, node, other, scores))
        return right

    with monkeypatch.context() as patched:
        patched.setattr(verifier, "judge", judge_both)
        for _ in judged(recording):
            pass
    return draws


def changed(recording: Path, to: Path, change: Callable[[list[WatchEvent]], Iterable[WatchEvent]]) -> Path:
    """Write a recording with other events."""
    with Recording(to) as written:
        for section in read(recording):
            written.begin(section.contents)
            for raw in section.contents.objects:
                written.add_object(raw)
            written.end_objects(section.version, section.contents.missing)
            written.add_events(change([*section.events]))
    return to


def on_another_node(events: Iterable[WatchEvent], name: str, node: str) -> Iterator[WatchEvent]:
    """Yield events in which a Pod is bound to another node, and at once is on its own again."""
    is_bound = False
    for event in events:
        if event.raw["metadata"]["name"] == name and event.raw["spec"].get("nodeName") and not is_bound:
            is_bound = True
            yield event._replace(raw={**event.raw, "spec": {**event.raw["spec"], "nodeName": node}})
        yield event


def delayed(events: Iterable[WatchEvent], seconds: float) -> Iterator[WatchEvent]:
    """Yield events in which all but Pods that are new, and what is decided of them, is heard of so much later."""
    placed, times, later = set(), {}, []
    for event in events:
        raw, metadata = event.raw, event.raw["metadata"]
        key = raw["kind"], metadata.get("namespace"), metadata["name"]
        known = raw["kind"] != "Pod" or key in placed
        if raw["kind"] == "Pod" and raw["spec"].get("nodeName"):
            placed.add(key)
        times[key] = max(times.get(key, 0.0), event.seconds + (seconds if known else 0.0))
        later.append(event._replace(seconds=times[key]))
    versions = sorted(event.version for event in later)
    for event, version in zip(sorted(later, key=lambda event: event.seconds), versions, strict=True):
        yield event._replace(version=version)
