"""
One run: the steps one after the other, each until nothing happens any more.

    step ──evict, scale, roll out──> controllers make and delete Pods ⇄ scheduler binds ⇄ Pods terminate ──> outcome
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import NamedTuple

from evenkeel.objects.jobs import JobProgress, JobReplacement
from evenkeel.scheduler.framework import Framework
from evenkeel.simulate.bound_claims import without_claims
from evenkeel.simulate.daemon_set import DaemonSet
from evenkeel.simulate.deployment import Deployment
from evenkeel.simulate.disruption import Budget, Drained, drain
from evenkeel.simulate.job import Job
from evenkeel.simulate.node_changes import LOST, Ground
from evenkeel.simulate.pod import InitialPod, Maker, Pod, PodClass
from evenkeel.simulate.preempting import make_room
from evenkeel.simulate.replica_set import ReplicaSet
from evenkeel.simulate.state import Start, State
from evenkeel.simulate.stateful_set import StatefulSet
from evenkeel.simulate.step import ADD, APPLY, CORDON, DELETE, DRAIN, LOSE, REPLACE, ROLLOUT, SCALE, TAINT, UNDO, Step
from evenkeel.simulate.zone_loss import lose_nodes
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.references import ObjectRef, Scaling
from webhook.kubernetes.update_strategies import DaemonSetUpdate, DeploymentStrategy, StatefulSetUpdate
from webhook.spread.taints import NO_EXECUTE, Taint, is_evicted

HOUR = 3600.0  # seconds from one step to the next
MOST_BACKOFF = 10  # seconds after which kube-scheduler at the latest tries a Pod again
MOST_PAUSES = 3  # while nodes are changed one after the other: what a pause costs grows with the cluster
USUAL_STRATEGY = DeploymentStrategy()


class SetFound(NamedTuple):
    """A ReplicaSet or revision of a workload as the cluster has it."""

    maker: Maker
    desired: int  # Pods
    revision: int = 0  # as kubectl rollout history numbers it; 0 if not known


@dataclass(frozen=True)
class Named:
    """A workload that is simulated by name."""

    replicas: int
    sets: tuple[SetFound, ...]  # its ReplicaSets, the oldest first, or the revisions of a StatefulSet or DaemonSet
    strategy: DeploymentStrategy = USUAL_STRATEGY
    update: StatefulSetUpdate | None = None  # of a StatefulSet
    job: tuple[JobProgress, JobReplacement] | None = None  # of a Job
    daemon: DaemonSetUpdate | None = None  # of a DaemonSet
    controlled: bool = True  # False for a ReplicaSet without a controller
    paused: bool = False  # a Deployment that does not roll out
    name: str = ""
    scaling: Scaling | None = None  # the bounds within which an autoscaler keeps its replicas
    makers: Mapping[int, Maker] = field(default_factory=dict)  # of the rollouts, by the number of the step
    stored: PodClass | None = None  # Pods as in the cluster, before a file is applied; None if none is
    applied: bool = False  # a file is applied: Pods of another template are replaced

    @property
    def first_class(self) -> PodClass:
        """The Pods of the workload as it is before any step."""
        return self.stored or self.sets[-1].maker.of_class

    @property
    def min_ready_seconds(self) -> int:
        """For how many seconds its newest Pods must be ready to be available."""
        return self.sets[-1].maker.min_ready_seconds if self.sets else 0


class FoundWorkload(NamedTuple):
    """A workload as the cluster has it, or a Pod that nothing has made."""

    ref: ObjectRef
    labels: Labels
    running: int  # Pods with a node
    waiting: int  # Pods without one
    priority: int = 0  # of its Pods


@dataclass(frozen=True)
class Plan:
    """All that is the same in every run."""

    start: Start
    named: tuple[Named, ...]
    steps: tuple[Step, ...]
    grounds: tuple[Ground, ...]  # the nodes after each step
    budgets: tuple[Budget, ...] = ()
    daemons: Mapping[str, tuple[InitialPod, ...]] = field(default_factory=dict)  # that start on each added node
    workloads: Mapping[str, FoundWorkload] = field(default_factory=dict)  # all of the cluster, by name

    @property
    def touched(self) -> int:
        """How many Pods are on nodes that the steps touch, wait for a node, or are of workloads that are named."""
        names = {name for ground in self.grounds for name in ground.touched}
        on_nodes = sum(len(self.start.by_node.get(name, ())) for name in names)
        return len(self.start.waiting) + on_nodes + sum(named.replicas for named in self.named)


def at_end(plan: Plan, seed: int, number: int) -> SimulatedRun:
    """Return a run after all steps; `number` is that of the run, as in `outcomes.run`."""
    simulated = SimulatedRun(plan, Random(f"{seed}/{number}"))
    for i, step in enumerate(plan.steps):
        simulated.take(i, step)
        simulated.state.now += HOUR
    return simulated


class SimulatedRun:
    """
    The cluster, and the controllers of the named workloads, in the course of a run.

    How fast Pods end and controllers act, compared with the scheduler, stays much the same in a cluster but is not
    known: it is drawn for each run.  Only long minReadySeconds take longer than all of these.
    """

    def __init__(self, plan: Plan, random: Random, most_placements: float = inf) -> None:
        self.plan, self.state = plan, State(plan.start, random, most_placements, self._make_room)
        state, self.budgets = self.state, plan.budgets
        named_pods: list[Pod] = []
        for name, on_node in plan.start.by_node.items():
            if any(pod.revision >= 0 or not pod.spreads for pod in on_node):
                named_pods += [pod for pod in state.on(name) if pod.revision >= 0]
        waiting = list(plan.start.waiting)  # Nobody knows in which order Pods of the same second are tried.
        random.shuffle(waiting)
        for initial in sorted(waiting, key=lambda initial: initial.created or 0.0):
            pod = self._waiting(initial)
            if pod.revision >= 0:
                named_pods.append(pod)
        for pod in state.pods_of(sorted(state.ground.lost)):
            if not pod.ready:
                state.hold_back(pod)
        state.fresh = deque(sorted(state.fresh, key=lambda pod: pod.ready_at or 0.0))
        pods_by_workload = dict[str, list[Pod]]()
        for pod in named_pods:
            pods_by_workload.setdefault(pod.workload, []).append(pod)
        self.workloads = {
            named.name: _controller(named, pods_by_workload.get(named.name, []), state.ground) for named in plan.named
        }
        self._several = len(self.workloads) > 1
        # Of the last step only; Pods are counted by workload.
        self.violated: dict[str, None] = {}  # PodDisruptionBudgets, by preemption; a set that keeps its order
        self.moved = Counter[str]()  # Pods that ran before the step, and that it has evicted or deleted
        self.preempted = Counter[str]()
        # Of all steps so far.  `present`: Pods that are there, with a node or without.  `wanted`: that should be there.
        self.present = Counter({name: found.running + found.waiting for name, found in plan.workloads.items()})
        self.wanted = self.present.copy()
        self.classes: dict[str, PodClass] = {}  # by workload, if any of its Pods has moved
        # By StatefulSet, deleted Pods whose successors wait for the Pods before them; a set that keeps its order.
        self._queued: dict[str, dict[Pod, None]] = {}
        self._unreached = state.ground.lost  # before the step
        self._failed = Counter[PodClass]()  # of Jobs, the Pods that were deleted
        self._synced: Ground | None = None  # the nodes when controllers last looked at them
        self.draw(state.random)
        # How likely Pods become available early; 0 where minReadySeconds take longer than anything else.
        soon = any(0 < named.min_ready_seconds < MOST_BACKOFF for named in plan.named)
        self._early = state.random.random() if soon else 0.0

    def draw(self, random: Random) -> None:
        """Let this decide from now on what chance decides."""
        self.state.random = random
        # How likely Pods end, a controller acts, and a moment goes on, whenever anything may happen.
        self._ending, self._syncing, self._moment = (random.random() for _ in range(3))

    def _waiting(self, initial: InitialPod) -> Pod:
        """Return a Pod that waits from the start."""
        pod = self.state.pod(initial, initial.revision)
        self.state.wait(pod)
        return pod

    def take(self, i: int, step: Step) -> Drained | None:
        """Take step number `i`, and wait until nothing changes any more; return what a drain has done, else None."""
        state, ground = self.state, self.plan.grounds[i]
        action, before = step.action, state.ground
        for of_step in (self.violated, self.moved, self.preempted):
            of_step.clear()
        self._unreached = before.lost
        state.stirred.update(self.workloads)
        for named in self.plan.named:
            workload = self.workloads[named.name]
            if action == SCALE and step.number != workload.replicas:
                workload.scale(step.number)
            if isinstance(workload, Job):  # Nobody can change its template.
                continue
            if i in named.makers:
                workload.roll_out(named.makers[i])
            if action == UNDO and not (workload.complete or named.paused):
                workload.undo()
        drained = None
        if action == DELETE:
            self._delete_nodes(ground)
        elif action == REPLACE:
            self._delete_waiting()
        elif action not in (SCALE, APPLY, ROLLOUT, UNDO):
            self._change_nodes(action, ground)
        if action == ADD:
            self._start_daemons(ground)
        elif action == DRAIN:
            drained = drain(ground.touched, self.budgets, self.replicas, state, self.evict, self.settle)
        elif action == LOSE:
            for nodes in lose_nodes(state, before):
                self._evict_from(nodes, LOST)
                self.settle(True)
        elif action == TAINT and step.taint is not None and step.taint.effect == NO_EXECUTE:
            self._evict_from(ground.touched, (step.taint,), kept=True)
        self.settle(True)
        if action in (SCALE, APPLY):
            self._autoscale()
        return drained

    def _autoscale(self) -> None:
        """
        Have autoscalers bring workloads within their bounds, once the cluster has come to rest after the step.

        upstream: horizontal.go:HorizontalController.reconcileAutoscaler (v1.37)
        """
        scaled = False
        for named in self.plan.named:
            workload, scaling = self.workloads[named.name], named.scaling
            if scaling is not None and (replicas := scaling.bounded(workload.replicas)) != workload.replicas:
                workload.scale(replicas)
                scaled = True
        if scaled:
            self.state.stirred.update(self.workloads)
            self.settle(True)

    def _change_nodes(self, action: str, ground: Ground) -> None:
        """
        Apply a step to one node after the other, as kubectl does: a Pod that waits may find a place before the last.

        upstream: drain.go:DrainCmdOptions.RunCordonOrUncordon, taint.go:TaintOptions.RunTaint (v1.37)
        """
        state = self.state
        if action in (CORDON, DRAIN, TAINT) and state.waiting:
            number = min(MOST_PAUSES, len(ground.touched) - 1)
            # `number` pauses, each after a random number of the nodes.
            for changed in sorted(state.random.sample(range(1, len(ground.touched)), number)):
                state.move_to(state.ground.towards(ground, changed))
                self.settle(False)
        state.move_to(ground)

    def _evict_from(self, nodes: tuple[str, ...], taints: tuple[Taint, ...], *, kept: bool = False) -> None:
        """Evict the Pods that do not tolerate the last of the taints; with `kept`, those of DaemonSets, too."""
        for node in nodes:
            for pod in self._in_any_order([*self.state.on(node), *(self.state.kept_on(node) if kept else ())]):
                if pod.active and is_evicted(pod.tolerations, taints[-1:]):
                    self.evict(pod)
            self.settle(False)

    def _in_any_order(self, pods: Iterable[Pod]) -> list[Pod]:
        """Return the Pods of a node in random order: they are deleted at the same time."""
        shuffled = list(pods)
        self.state.random.shuffle(shuffled)
        return shuffled

    def _delete_waiting(self) -> None:
        """Delete the Pods of named workloads that wait for a node and have an old template."""
        for pod in [pod for pod in self.state.waiting if pod.revision >= 0]:
            workload = self.workloads[pod.workload]
            if workload.is_outdated(pod):
                self.state.delete(pod)
                workload.gone(pod)

    def _delete_nodes(self, ground: Ground) -> None:
        """
        Delete nodes, and with them their Pods.

        upstream: gc_controller.go:PodGCController.gcOrphaned (v1.37)
        """
        state, names = self.state, list(ground.touched)
        state.random.shuffle(names)
        state.move_to(ground)
        self._drop_homeless()
        for name in names:
            kept = [pod for pod in state.kept_on(name) if pod.terminating]
            for pod in self._in_any_order([*state.on(name), *kept]):
                was_terminating = pod.terminating  # Then its controller has made another already.
                if not was_terminating:
                    self._move(pod)
                state.remove(pod)
                self._gone(pod, made=was_terminating)
            for pod in state.kept_on(name):
                self._want(pod.source, -1)
            state.forget(name)
            self.settle(False)

    def _drop_homeless(self) -> None:
        """
        Delete the Pods that wait for a node which is deleted.

        upstream: daemon_controller.go:getUnscheduledPodsWithoutNode (v1.37)
        """
        for pod in [pod for pod in self.state.waiting if self._is_homeless(pod)]:
            self._want(pod.source, -1)
            self.state.delete(pod)

    def _start_daemons(self, ground: Ground) -> None:
        """Start on each new node the Pods of DaemonSets that run on the node it is modelled on."""
        for name in ground.touched:
            for daemon in self.plan.daemons.get(name, ()):
                self.state.start(daemon)
                self._want(daemon.source, 1)

    def _make_room(self, pod: Pod, framework: Framework) -> bool:
        """Make room for a Pod that no node takes; return whether anything has changed."""
        before = pod.nominated
        room = make_room(pod, framework, self.budgets, self.replicas, self.state)
        self.violated.update(dict.fromkeys(map(str, room.violated)))
        for victim in room.victims:
            self.evict(victim)
            self.preempted[victim.workload] += 1
        return bool(room.victims) or pod.nominated != before

    def evict(self, pod: Pod) -> None:
        """Delete a Pod on a node; its controller makes another at once, or, if that replaces it, once it is gone."""
        self._move(pod)
        self.state.delete(pod)
        if pod.revision < 0 and (pod.maker is None or not pod.maker.replaces):
            self._make_anew(pod)

    def _move(self, pod: Pod) -> None:
        """Note that a Pod leaves its node; it has moved if it ran before this step on a node that was reached."""
        self.present[pod.workload] -= 1
        if pod.node not in self._unreached and self.is_older(pod):
            self.moved[pod.workload] += 1
        if pod.maker is not None:
            self.classes.setdefault(pod.workload, pod.maker.of_class)

    def is_older(self, pod: Pod) -> bool:
        """Return whether a Pod was there before the last step: time stands still while a step is taken."""
        return bool(pod.name) or pod.created != self.state.now

    def _make_anew(self, pod: Pod) -> None:
        """Have the owner of a deleted Pod make another, if it does."""
        maker = pod.maker
        if maker is not None and maker.retries is not None:
            self._failed[maker.of_class] += 1
        if maker is not None and maker.ordered:
            self._queued.setdefault(pod.source, {})[pod] = None
            self.state.readier[pod.source] = None
        elif maker is not None and (maker.retries is None or self._failed[maker.of_class] <= maker.retries):
            self.state.make(maker, like=pod)
            self.present[pod.workload] += 1

    def _make_in_order(self) -> bool:
        """
        Make the Pods of other StatefulSets whose turn has come; return whether there were any.

        upstream: stateful_set_control.go:defaultStatefulSetControl.processReplica (v1.37)
        """
        state, due = self.state, list[Pod]()
        for source in state.readier:
            queued_pods = self._queued.get(source, {})
            first = min([pod.ordinal for pod in (*queued_pods, *state.unready_in_order.get(source, ()))], default=0)
            due += [pod for pod in queued_pods if pod.ordinal == first]
        state.readier.clear()
        for pod in due:
            assert pod.maker is not None
            del self._queued[pod.source][pod]
            state.make(pod.maker, ordinal=pod.ordinal, like=pod)
            self.present[pod.source] += 1
        return bool(due)

    @property
    def queued(self) -> Counter[str]:
        """By StatefulSet that is not named, the Pods to be made once those before them are ready."""
        return +Counter({source: len(pods) for source, pods in self._queued.items()})

    def _want(self, workload: str, number: int) -> None:
        """Note that a DaemonSet has so many Pods more, on as many more nodes; fewer if negative."""
        self.present[workload] += number
        self.wanted[workload] += number

    def settle(self, whole: bool) -> None:
        """Let the cluster react: for a moment, or until nothing happens any more."""
        if whole:
            while self._react():
                pass
            return
        while self.state.random.random() < self._moment and self._react():
            pass

    def _react(self) -> bool:
        """Let one thing happen; False if nothing can.  Which comes first is random, as in a cluster."""
        state = self.state
        if (state.gone or (state.terminating and state.random.random() < self._ending)) and self._finish():
            return True
        if state.fresh and state.random.random() < self._early and self._become_available():
            return True
        if state.random.random() < self._syncing and self._sync():
            return True
        if state.readier and self._make_in_order():
            return True
        scheduled = state.try_next() if self._several else state.schedule_next()
        return scheduled or self._sync() or self._become_available() or self._finish()

    def _sync(self) -> bool:
        """Let one of the controllers that have something to do act, each as likely as the others; False if none has."""
        state = self.state
        if self._synced is not state.ground:
            self._synced = state.ground
            state.stirred.update(self.workloads)
        names = list(self.workloads)
        if self._several:
            state.random.shuffle(names)
        for name in names:
            if name in state.stirred:
                if self.workloads[name].sync(state):
                    return True
                state.stirred.discard(name)
        return False

    @property
    def replicas(self) -> dict[str, int]:
        """How many Pods each of the named workloads should have."""
        return {name: workload.replicas for name, workload in self.workloads.items()}

    def _become_available(self) -> bool:
        """
        Make Pods available that have been ready for minReadySeconds; return whether there were any.

        After each, chance decides whether the controller reacts before the next becomes available.
        """
        fresh, any_fresh = self.state.fresh, bool(self.state.fresh)
        while fresh:
            pod = fresh.popleft()
            pod.fresh = False
            self.state.stirred.add(pod.workload)
            if self.state.random.random() < self._syncing:
                break
        return any_fresh

    def _finish(self) -> bool:
        done = self.state.finish(some=self._several)
        for pod in done:
            self._gone(pod, made=True)
        return bool(done)

    def _gone(self, pod: Pod, *, made: bool) -> None:
        """Forget a Pod whose object is gone; `made`: its controller has made another already, unless it replaces it."""
        if pod.revision >= 0:
            self.workloads[pod.workload].gone(pod)
            self.state.stirred.add(pod.workload)
            self._delete_claims(pod)
        elif self._is_homeless(pod):  # Its DaemonSet wants none there any more.
            if self.state.ground.nodes.get(pod.node) is not None:
                self.wanted[pod.source] -= 1
                self.moved[pod.source] -= 1
        elif not made or (pod.maker is not None and pod.maker.replaces):
            self._make_anew(pod)

    def _is_homeless(self, pod: Pod) -> bool:
        """
        Return whether a DaemonSet has tied the Pod to a node that is deleted, or has a taint that evicts the Pod.

        upstream: daemon_controller.go:NodeShouldRunDaemonPod (v1.37)
        """
        if not pod.home:
            return False
        node = self.state.ground.nodes.get(pod.home)
        return node is None or is_evicted(
            pod.tolerations, [taint for taint in node.taints if taint.effect == NO_EXECUTE]
        )

    def _delete_claims(self, pod: Pod) -> None:
        """
        Delete the claims of a Pod that is beyond the replicas of its StatefulSet, if the StatefulSet says so.

        upstream: stateful_set_utils.go:updateClaimOwnerRefForSetAndPod (v1.37)
        """
        workload, state = self.workloads[pod.workload], self.state
        update = workload.update if isinstance(workload, StatefulSet) else None
        if update is None or pod.maker is None or pod.maker.volumes.kept:
            return
        if pod.ordinal not in range(update.first, update.first + workload.replicas):
            state.storage = without_claims(state.storage, pod.maker.volumes.of_set(pod.ordinal))

    @property
    def waiting_anew(self) -> Counter[str]:
        """By workload that is not named, the Pods to be made once those that they replace are gone."""
        to_be_replaced = [pod for pod in self.state.terminating if pod.maker is not None and pod.maker.replaces]
        return Counter(pod.source for pod in to_be_replaced if pod.revision < 0)


def _controller(named: Named, pods: list[Pod], ground: Ground) -> Deployment | StatefulSet | DaemonSet | Job:
    if named.job is not None:
        return Job(*named.job, named.sets[-1].maker, pods)
    makers = [replica_set.maker for replica_set in named.sets]
    if named.daemon is not None:
        return DaemonSet(named.daemon, makers, pods, ground)
    if named.update is not None:
        return StatefulSet(named.replicas, named.update, makers, pods)
    sets = [
        ReplicaSet(replica_set.maker, i, replica_set.desired, [pod for pod in pods if pod.revision == i])
        for i, replica_set in enumerate(named.sets)
    ]
    return Deployment(named.replicas, named.strategy, sets, controlled=named.controlled, paused=named.paused)
