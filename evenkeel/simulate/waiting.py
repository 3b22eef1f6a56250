"""
Which of the Pods that wait run in the end, as kube-scheduler places them one after the other.

    attempts, a cluster ──by priority, each bound before the next──> those that get a node
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from evenkeel.scheduler.preemption import LOWEST_PRIORITY
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import NominatedPod, Snapshot
from evenkeel.simulate.node_changes import first_ground
from evenkeel.simulate.pod import InitialPod, Maker, Pod, PodClass
from evenkeel.simulate.state import OutOfPlacementsError, Start, State


class Runs(NamedTuple):
    """How many Pods run, at least and at most: it is not known in which order kube-scheduler tries them."""

    least: int
    most: int


NONE_RUNS = Runs(0, 0)


def placed(attempts: Sequence[Cycle], snapshot: Snapshot, most_placements: int) -> list[bool]:
    """
    Return for each of the attempts whether its Pod gets a node, when all are placed in `snapshot`, none preempting.

    The same object as an attempt several times means several Pods that are alike.  After `most_placements` no further
    Pod gets a node.
    """
    return placed_in(attempts, snapshot, most_placements)[0]


def placed_in(attempts: Sequence[Cycle], snapshot: Snapshot, most_placements: int) -> tuple[list[bool], Snapshot]:
    """Return the same as `placed`, and the cluster with all Pods that got a node."""
    if not attempts:
        return [], snapshot
    features = attempts[0].features
    start = Start(snapshot, first_ground(snapshot.nodes), {}, (), features, 0.0, LOWEST_PRIORITY)
    state = State(start, Random(0), most_placements)
    for nominated in _others(snapshot.nominated, attempts):
        state.start(_nominated_pod(nominated))
    makers: dict[int, Maker] = {}
    pods: list[Pod] = []
    for cycle in attempts:
        maker = makers.setdefault(id(cycle), Maker(_class_of(cycle)))
        pods.append(state.pod(_waiting_pod(cycle, maker)))
        state.wait(pods[-1])
    try:
        while state.schedule_each():
            pass
    except OutOfPlacementsError:
        pass
    return [bool(pod.node) for pod in pods], state.snapshot()


def _others(nominated: Iterable[NominatedPod], attempts: Iterable[Cycle]) -> list[NominatedPod]:
    """Return the Pods for which room is kept, and that are not attempted themselves."""
    attempted = {(cycle.pod.namespace, cycle.pod.name) for cycle in attempts}
    return [pod for pod in nominated if (pod.namespace, pod.name) not in attempted]


def _nominated_pod(nominated: NominatedPod) -> InitialPod:
    """Return a Pod on the node that is nominated for it."""
    pod = nominated.pod
    return InitialPod(
        nominated.namespace,
        pod.labels,
        pod.node,
        pod.requests,
        affinity=pod.affinity,
        ports=pod.ports,
        mounts=pod.mounts,
        priority=pod.priority,
    )


def _class_of(cycle: Cycle) -> PodClass:
    return PodClass(cycle.pod, tuple(cycle.constraints), cycle.system_defaults, cycle.profile)


def _waiting_pod(cycle: Cycle, maker: Maker) -> InitialPod:
    pod = cycle.pod
    return InitialPod(
        pod.namespace,
        (),
        "",
        pod.requests,
        ready=False,
        maker=maker,
        affinity=pod.pod_affinity,
        ports=pod.ports,
        mounts=pod.mounts or None,
        priority=pod.priority,
        nominated=pod.nominated_node,
    )
