"""
Preemption in a run: a Pod that no node takes has Pods of lower priority evicted, and waits for their node.

    Pod, framework ──one attempt of DefaultPreemption──> nodes and victims ──of several, chance──> the Pods that go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.preemption import preempt
from evenkeel.scheduler.snapshot import NamedPod
from evenkeel.simulate.disruption import Budget, Replicas
from evenkeel.simulate.pod import Pod
from evenkeel.simulate.state import State


class RoomMade(NamedTuple):
    """What makes room for a Pod, and which budgets that violates."""

    victims: Sequence[Pod] = ()  # without Pods that are going already
    violated: tuple[Budget, ...] = ()


def make_room(pod: Pod, framework: Framework, budgets: Iterable[Budget], replicas: Replicas, state: State) -> RoomMade:
    """
    Choose a node and the Pods that have to go from it, and nominate the node.

    PodDisruptionBudgets are violated only where there is no other way.

    upstream: preemption.go:Evaluator.Preempt, executor.go:Executor.prepareCandidate (v1.37)
    """
    if not framework.cycle.profile.preempts or (pod.priority <= state.begun.lowest and not pod.nominated):
        return RoomMade()
    feasibility = framework.feasibility()
    lower_pods = dict[str, dict[str, Pod]]()

    def lower_on(node: str) -> list[NamedPod]:
        on_node = (*state.on(node), *state.kept_on(node))
        # By serial: Pods that the run has made have no name.
        lower_pods[node] = {
            str(lower_pod.serial): lower_pod for lower_pod in on_node if lower_pod.priority < pod.priority
        }
        return [NamedPod(lower_pod.namespace, name, lower_pod.on(node)) for name, lower_pod in lower_pods[node].items()]

    allowed = [(budget, budget.allowed(replicas, state)) for budget in budgets]
    written = [budget.written._replace(allowed=number, disrupted=frozenset()) for budget, number in allowed]
    preemption = preempt(framework, feasibility, lower_on, written, state.random)
    state.spend(len(lower_pods))
    if preemption is None or not preemption.helps:
        if preemption is not None and preemption.clears_nomination:
            state.nominate(pod, "")
        return RoomMade()
    # Of nodes that are tied kube-scheduler takes any, each time anew: here the Pod keeps its own, so that a run ends.
    node = pod.nominated if pod.nominated in preemption.nodes else state.random.choice(preemption.nodes)
    for other in [other for other in state.waiting_for(node) if other.priority < pod.priority]:
        state.nominate(other, "")
    state.nominate(pod, node)
    victims = [lower_pods[node][named.name] for named in preemption.candidates[node].pods]
    for victim in victims:
        victim.preempted |= victim.active or not state.features.spares_ending_victims
    evicted = [victim for victim in victims if victim.active]
    violated = [
        budget
        for budget, number in allowed
        if sum(victim.ready and budget.selects(victim) for victim in evicted) > number
    ]
    return RoomMade(evicted, tuple(violated))
