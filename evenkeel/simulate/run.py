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

HOUR = 3600.0  # From one step to the next.
MOST_BACKOFF = 10  # Seconds for which kube-scheduler at most leaves a Pod that it could not place.
MOST_PAUSES = 3  # While nodes are changed one after the other: what a pause costs grows with the cluster.
USUAL_STRATEGY = DeploymentStrategy()


class SetFound(NamedTuple):
    """A ReplicaSet of the workload as the cluster has it; `revision` is 0 where that is not known."""

    maker: Maker
    desired: int
    revision: int = 0


@dataclass(frozen=True)
class Named:
    """
    A workload that is simulated by name; `sets` are its ReplicaSets, the oldest first, or the revisions of a
    StatefulSet or DaemonSet.

    `update`, `daemon` and `job` are of a StatefulSet, a DaemonSet and a Job; `controlled` is False for a ReplicaSet
    that has no controller.  A Deployment that is `paused` does not roll out.  An autoscaler keeps its replicas within
    the bounds of `scaling`.

    `makers` make the Pods of each step that begins a rollout.  `stored` are Pods of the template that the cluster has
    before a file is applied, None where none is; where it is `applied`, its Pods are replaced if they have another.
    """

    replicas: int
    sets: tuple[SetFound, ...]
    strategy: DeploymentStrategy = USUAL_STRATEGY
    update: StatefulSetUpdate | None = None
    job: tuple[JobProgress, JobReplacement] | None = None
    daemon: DaemonSetUpdate | None = None
    controlled: bool = True
    paused: bool = False
    name: str = ""
    scaling: Scaling | None = None
    makers: Mapping[int, Maker] = field(default_factory=dict)
    stored: PodClass | None = None
    applied: bool = False

    @property
    def first_class(self) -> PodClass:
        """The Pods of the workload as it is before any step."""
        return self.stored or self.sets[-1].maker.of_class

    @property
    def min_ready_seconds(self) -> int:
        """For how many seconds its newest Pods must be ready to be available."""
        return self.sets[-1].maker.min_ready_seconds if self.sets else 0


class FoundWorkload(NamedTuple):
    """A workload as the cluster has it, or a Pod that nothing has made, and its Pods: those that run, and that wait."""

    ref: ObjectRef
    labels: Labels
    running: int
    waiting: int
    priority: int = 0  # of its Pods


@dataclass(frozen=True)
class Plan:
    """
    All that is the same in every run: `grounds` are the nodes after each step, `daemons` the Pods that start on each
    node that is added.  `workloads` are all of the cluster.
    """

    start: Start
    named: tuple[Named, ...]
    steps: tuple[Step, ...]
    grounds: tuple[Ground, ...]
    budgets: tuple[Budget, ...] = ()
    daemons: Mapping[str, tuple[InitialPod, ...]] = field(default_factory=dict)
    workloads: Mapping[str, FoundWorkload] = field(default_factory=dict)

    @property
    def touched(self) -> int:
        """How many Pods are on nodes that the steps touch, wait for a node, or are of workloads that are named."""
        names = {name for ground in self.grounds for name in ground.touched}
        on_nodes = sum(len(self.start.by_node.get(name, ())) for name in names)
        return len(self.start.waiting) + on_nodes + sum(of.replicas for of in self.named)


def at_end(plan: Plan, seed: int, number: int) -> SimulatedRun:
    """Return a run after all steps."""
    simulated = SimulatedRun(plan, Random(f"{seed}/{number}"))
    for i, step in enumerate(plan.steps):
        simulated.take(i, step)
        simulated.state.now += HOUR
    return simulated


class SimulatedRun:
    """
    The cluster, and the controllers of the named workloads, in the course of a run.

    These are of the last step: `moved` are the Pods that ran before it and that it has evicted or deleted, `preempted`
    those that had to go for another Pod, both by workload; `violated` are the PodDisruptionBudgets that preemption has
    violated.

    The others are of all steps so far, by workload: how many Pods are `wanted`; how many are `there`, with a node or
    waiting for one; and the class of its Pods in `classes`, if any has moved.

    How fast Pods end and controllers act, beside the scheduler, is much the same all the time, but is not known: it is
    drawn for each run.  Only long minReadySeconds take longer than these.
    """

    def __init__(self, plan: Plan, random: Random, most_placements: float = inf) -> None:
        self.plan, self.state = plan, State(plan.start, random, most_placements, self._make_room)
        state, self.budgets = self.state, plan.budgets
        there: list[Pod] = []
        for name, on_node in plan.start.by_node.items():
            if any(pod.revision >= 0 or not pod.spreads for pod in on_node):
                there += [pod for pod in state.on(name) if pod.revision >= 0]
        waiting = list(plan.start.waiting)  # Nobody knows in which order Pods of the same second are tried.
        random.shuffle(waiting)
        for initial in sorted(waiting, key=lambda initial: initial.created or 0.0):
            pod = self._waiting(initial)
            there += [pod] if pod.revision >= 0 else []
        for pod in state.pods_of(sorted(state.ground.lost)):
            if not pod.ready:
                state.hold_back(pod)
        state.fresh = deque(sorted(state.fresh, key=lambda pod: pod.ready_at or 0.0))
        own = dict[str, list[Pod]]()
        for pod in there:
            own.setdefault(pod.workload, []).append(pod)
        self.workloads = {of.name: _controller(of, own.get(of.name, []), state.ground) for of in plan.named}
        self._several = len(self.workloads) > 1
        self.violated: dict[str, None] = {}  # a set that keeps its order
        self.moved, self.preempted = Counter[str](), Counter[str]()
        self.there = Counter({name: of.running + of.waiting for name, of in plan.workloads.items()})
        self.wanted = self.there.copy()
        self.classes: dict[str, PodClass] = {}
        self._queued: dict[str, dict[Pod, None]] = {}  # by StatefulSet, a set that keeps its order
        self._unreached = state.ground.lost  # before the step
        self._failed = Counter[PodClass]()  # of Jobs, the Pods that were deleted
        self._synced: Ground | None = None  # the nodes when controllers last looked at them
        self._ending, self._syncing, self._moment = (state.random.random() for _ in range(3))
        soon = any(0 < of.min_ready_seconds < MOST_BACKOFF for of in plan.named)
        self._early = state.random.random() if soon else 0.0

    def _waiting(self, initial: InitialPod) -> Pod:
        pod = self.state.pod(initial, initial.revision)
        self.state.wait(pod)
        return pod

    def take(self, i: int, step: Step) -> Drained | None:
        """Take a step, and wait until nothing changes any more; return what a drain has done, None for other steps."""
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
        Have autoscalers bring workloads within their bounds: what was done before is then in the cluster already.

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
            for changed in sorted(state.random.sample(range(1, len(ground.touched)), number)):
                state.move_to(state.ground.towards(ground, changed))
                self.settle(False)
        state.move_to(ground)

    def _evict_from(self, nodes: tuple[str, ...], taints: tuple[Taint, ...], *, kept: bool = False) -> None:
        """Evict the Pods that do not tolerate the taints, with `kept` those of DaemonSets, too."""
        for node in nodes:
            for pod in self._in_any_order([*self.state.on(node), *(self.state.kept_on(node) if kept else ())]):
                if pod.active and is_evicted(pod.tolerations, taints[-1:]):
                    self.evict(pod)
            self.settle(False)

    def _in_any_order(self, pods: Iterable[Pod]) -> list[Pod]:
        """Return Pods in an order by chance: those of a node are deleted at the same time."""
        shuffled = list(pods)
        self.state.random.shuffle(shuffled)
        return shuffled

    def _delete_waiting(self) -> None:
        """Delete the workload's Pods that wait for a node and have an old template."""
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
                deleted = pod.terminating  # Then its controller has made another.
                if not deleted:
                    self._move(pod)
                state.remove(pod)
                self._gone(pod, made=deleted)
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
        """Start on each new node the Pods of DaemonSets that run on the node that it was made like."""
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
        """Delete a Pod on a node; its controller makes another: a StatefulSet and a DaemonSet once it is gone."""
        self._move(pod)
        self.state.delete(pod)
        if pod.revision < 0 and (pod.maker is None or not pod.maker.replaces):
            self._make_anew(pod)

    def _move(self, pod: Pod) -> None:
        """Note that a Pod leaves its node, and that it ran before this step, unless nobody reached it."""
        self.there[pod.workload] -= 1
        if pod.node not in self._unreached and self.is_older(pod):
            self.moved[pod.workload] += 1
        if pod.maker is not None:
            self.classes.setdefault(pod.workload, pod.maker.of_class)

    def is_older(self, pod: Pod) -> bool:
        """Return whether a Pod was there before the step that was taken last."""
        return bool(pod.name) or pod.created != self.state.now

    def _make_anew(self, pod: Pod) -> None:
        """Have the owner of a Pod that is deleted make another, if it does."""
        maker = pod.maker
        if maker is not None and maker.retries is not None:
            self._failed[maker.of_class] += 1
        if maker is not None and maker.ordered:
            self._queued.setdefault(pod.source, {})[pod] = None
            self.state.readier[pod.source] = None
        elif maker is not None and (maker.retries is None or self._failed[maker.of_class] <= maker.retries):
            self.state.make(maker, like=pod)
            self.there[pod.workload] += 1

    def _make_in_order(self) -> bool:
        """
        Make the Pods of other StatefulSets whose turn has come; return whether there were any.

        upstream: stateful_set_control.go:defaultStatefulSetControl.processReplica (v1.37)
        """
        state, due = self.state, list[Pod]()
        for source in state.readier:
            queued = self._queued.get(source, {})
            first = min([pod.ordinal for pod in (*queued, *state.unready_in_order.get(source, ()))], default=0)
            due += [pod for pod in queued if pod.ordinal == first]
        state.readier.clear()
        for pod in due:
            assert pod.maker is not None
            del self._queued[pod.source][pod]
            state.make(pod.maker, ordinal=pod.ordinal, like=pod)
            self.there[pod.source] += 1
        return bool(due)

    @property
    def queued(self) -> Counter[str]:
        """The Pods of other StatefulSets that are not made before those before them are ready."""
        return +Counter({source: len(pods) for source, pods in self._queued.items()})

    def _want(self, workload: str, number: int) -> None:
        """Note that a DaemonSet has so many Pods more, since it has more nodes."""
        self.there[workload] += number
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
        """Let one thing happen; False if there is none. Which comes first is chance, as in a cluster."""
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
        """Let a controller act that has something to do, each as likely as the others; False if none has."""
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

        It stops after the first of them that the controller reacts to, which is drawn at random.
        """
        fresh, some = self.state.fresh, bool(self.state.fresh)
        while fresh:
            pod = fresh.popleft()
            pod.fresh = False
            self.state.stirred.add(pod.workload)
            if self.state.random.random() < self._syncing:
                break
        return some

    def _finish(self) -> bool:
        done = self.state.finish(some=self._several)
        for pod in done:
            self._gone(pod, made=True)
        return bool(done)

    def _gone(self, pod: Pod, *, made: bool) -> None:
        """Forget a Pod whose object is gone; `made`: its controller has made another already."""
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
        Return whether the node is deleted on which its DaemonSet keeps a Pod, or has a taint that evicts it.

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
        Delete the claims of a Pod that its StatefulSet has no longer, if it says so.

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
        """The Pods of other workloads that are not there until those that they replace are gone."""
        going = [pod for pod in self.state.terminating if pod.maker is not None and pod.maker.replaces]
        return Counter(pod.source for pod in going if pod.revision < 0)


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
