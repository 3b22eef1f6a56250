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
    """What makes room for a Pod: others that go, and are not going already, and the budgets that this violates."""

    victims: Sequence[Pod] = ()
    violated: tuple[Budget, ...] = ()


def make_room(pod: Pod, framework: Framework, budgets: Iterable[Budget], replicas: Replicas, state: State) -> RoomMade:
    """
    Choose a node and the Pods that have to go from it, and nominate the node.

    Budgets are counted, and violated where there is no other way.

    upstream: preemption.go:Evaluator.Preempt, executor.go:Executor.prepareCandidate (v1.37)
    """
    if not framework.cycle.profile.preempts or (pod.priority <= state.begun.lowest and not pod.nominated):
        return RoomMade()
    feasibility = framework.feasibility()
    lower = dict[str, dict[str, Pod]]()

    def lower_on(node: str) -> list[NamedPod]:
        there = (*state.on(node), *state.kept_on(node))
        lower[node] = {str(of.serial): of for of in there if of.priority < pod.priority}
        return [NamedPod(of.namespace, name, of.on(node)) for name, of in lower[node].items()]

    allowed = [(budget, budget.allowed(replicas, state)) for budget in budgets]
    written = [budget.written._replace(allowed=number, disrupted=frozenset()) for budget, number in allowed]
    preemption = preempt(framework, feasibility, lower_on, written, state.random)
    state.spend(len(lower))
    if preemption is None or not preemption.helps:
        if preemption is not None and preemption.clears_nomination:
            state.nominate(pod, "")
        return RoomMade()
    # Of nodes that are tied kube-scheduler takes any, each time anew: here the Pod keeps its own, so that a run ends.
    node = pod.nominated if pod.nominated in preemption.nodes else state.random.choice(preemption.nodes)
    for other in [other for other in state.waiting_for(node) if other.priority < pod.priority]:
        state.nominate(other, "")
    state.nominate(pod, node)
    taken = [lower[node][named.name] for named in preemption.candidates[node].pods]
    for victim in taken:
        victim.preempted |= victim.active or not state.features.spares_ending_victims
    going = [victim for victim in taken if victim.active]
    violated = [
        budget
        for budget, number in allowed
        if sum(victim.ready and budget.selects(victim) for victim in going) > number
    ]
    return RoomMade(going, tuple(violated))
