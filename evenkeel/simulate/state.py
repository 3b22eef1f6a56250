"""
The cluster in the course of one run: the only thing in a simulation that changes.

    Pods made ──queue: priority, then time──> views of the nodes ──bind──> usage, counts, one event more
    Pods deleted ──terminating: room is taken, no constraint counts them──> gone
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import inf
from random import Random
from typing import NamedTuple

from evenkeel.scheduler.framework import Framework, TriedPod
from evenkeel.scheduler.plugins.volume_binding import VolumeBinding
from evenkeel.scheduler.pod_counts import UNUSED, Demands, LabelSet, PodGroup, Usage, label_set
from evenkeel.scheduler.profile import VOLUME_BINDING, Cycle
from evenkeel.scheduler.snapshot import NominatedPod, Snapshot
from evenkeel.scheduler.storage import NO_STORAGE, Storage
from evenkeel.scheduler.volumes import NO_MOUNTS
from evenkeel.simulate import ties
from evenkeel.simulate.bound_claims import bound_on, with_made
from evenkeel.simulate.frameworks import Frameworks
from evenkeel.simulate.node_changes import Ground
from evenkeel.simulate.pod import InitialPod, Maker, Pod, PodClass
from evenkeel.simulate.sampling import sample
from evenkeel.simulate.scheduling_queue import SchedulingQueue
from webhook.kubernetes.features import Features
from webhook.kubernetes.names import TOPOLOGY_LABELS


class Start(NamedTuple):
    """What every run begins with."""

    snapshot: Snapshot
    ground: Ground
    by_node: Mapping[str, tuple[InitialPod, ...]]
    waiting: tuple[InitialPod, ...]
    features: Features
    now: float  # seconds since 1970
    lowest: int = 0  # no Pod has a lower priority


EVENTS_LIKE_A_PLACEMENT = 10  # To follow so many events is as much work as to look at all nodes of a small cluster.


MakeRoom = Callable[[Pod, Framework], bool]  # preempts for a Pod that no node takes; returns if anything has changed


class OutOfPlacementsError(Exception):
    """A run has tried to place Pods as often as it may."""


class State:
    """
    The cluster in one run.

    Its work is bounded: after `most_placements` attempts to place Pods it raises OutOfPlacementsError.  An attempt
    counts once more for each EVENTS_LIKE_A_PLACEMENT events that its class has to follow, and for each node on which
    preemption is tried.
    """

    def __init__(
        self, start: Start, random: Random, most_placements: float = inf, make_room: MakeRoom | None = None
    ) -> None:
        self.begun, self.random, self.ground, self._make_room = start, random, start.ground, make_room
        self.placements, self.most_placements = 0, most_placements
        self.stirred = set[str]()  # workloads whose controllers may have to act, as one of their Pods has changed
        self.features, self.now = start.features, start.now
        self.usage: dict[str, Usage] = dict(start.snapshot.usage)
        # Pods that constraints count: by namespace and label set, how many on each node.
        self._groups: dict[str, dict[LabelSet, dict[str, int]]] = {}
        # Pods by node, made when somebody first looks at the node: those that may run elsewhere, and those tied to it.
        self._pods: dict[str, list[Pod]] = {}
        self._kept: dict[str, list[Pod]] = {}
        # A dict with None for values is a set that keeps its order, so that runs can be repeated.
        self._nominated: dict[Pod, None] = {}  # Pods that wait for a node that is nominated for them
        self.waiting = SchedulingQueue()
        self.terminating: dict[Pod, None] = {}
        self._ending: dict[Pod, None] = {}  # of these, the Pods on nodes that are reached: they will be gone
        self.gone: list[Pod] = []  # Pods without a grace period that are gone, of which no controller knows yet
        self.fresh: deque[Pod] = deque()  # Pods that are ready but not yet available, the first to be available first
        # How many more Pods than at the start are not ready, by namespace and label set; negative for fewer.
        self.unready: Counter[tuple[str, LabelSet]] = Counter()
        # By StatefulSet that makes its Pods in order, the Pods after which it makes no other.
        self.unready_in_order: dict[str, dict[Pod, None]] = {}
        self.readier: dict[str, None] = {}  # StatefulSets that have fewer of those since somebody has looked
        self.storage = start.snapshot.storage or NO_STORAGE
        self._frameworks = Frameworks(start.snapshot, start.features, self.usage, start.ground)
        self._search_from = 0  # the position of the node at which kube-scheduler's next search starts
        self._serial, self._any_gave_up = 0, False
        self._bound_labels: dict[tuple[PodClass, str], LabelSet] = {}

    def pod(self, initial: InitialPod, revision: int = -1) -> Pod:
        """Return a Pod of this run."""
        self._serial += 1
        pod = Pod(initial, self._serial, self.random.random(), revision)
        if initial.ready:
            self._freshen(pod)
        return pod

    def _freshen(self, pod: Pod) -> None:
        """Let a Pod of a named workload become available later, if it has not been ready for long enough."""
        min_ready_seconds = pod.maker.min_ready_seconds if pod.maker is not None and pod.revision >= 0 else 0
        if min_ready_seconds and pod.ready_at is not None and self.now - pod.ready_at < min_ready_seconds:
            pod.fresh = True
            self.fresh.append(pod)

    def on(self, node: str) -> list[Pod]:
        """Return the Pods on a node that are not tied to it."""
        if node not in self._pods:
            initial_pods = self.begun.by_node.get(node, ())
            self._pods[node] = [self.pod(pod, pod.revision) for pod in initial_pods if not pod.home]
            for pod in self._pods[node]:
                if pod.terminating:
                    self._end(pod)
        return self._pods[node]

    def kept_on(self, node: str) -> list[Pod]:
        """Return the Pods that are tied to a node, as far as they may be preempted."""
        if node not in self._kept:
            self._kept[node] = [self.pod(pod) for pod in self.begun.by_node.get(node, ()) if pod.home and pod.spreads]
        return self._kept[node]

    def _beside(self, pod: Pod, node: str) -> list[Pod]:
        """Return the list of Pods on a node that a Pod belongs to."""
        return self.kept_on(node) if pod.home else self.on(node)

    def make(self, maker: Maker, revision: int = -1, ordinal: int = -1, like: Pod | None = None) -> Pod:
        """Return a new Pod, which waits for a node; `like`: the Pod that it comes after, whose claims it may get."""
        of_class = maker.of_class
        mounts, claims = maker.volumes.of_pod(ordinal, self._serial + 1)
        if like is not None and maker.replaces:
            mounts = like.mounts or NO_MOUNTS
        else:
            self._change_storage(with_made(self.storage, claims))
        initial = InitialPod(
            of_class.pod.namespace,
            (),
            "",
            of_class.pod.requests,
            ready=False,
            created=self.now,
            tolerations=of_class.tolerations,
            maker=maker,
            ordinal=ordinal,
            affinity=of_class.pod.pod_affinity,
            ports=of_class.pod.ports,
            mounts=mounts or None,
            priority=of_class.pod.priority,
            home=like.home if like is not None else "",
            source=like.source if like is not None else "",
            gone_at_once=of_class.gone_at_once and not maker.waits_for_kubelet,
        )
        pod = self.pod(initial, revision)
        self.wait(pod)
        self.stirred.add(pod.workload)
        return pod

    def wait(self, pod: Pod) -> None:
        """Let a Pod wait for a node."""
        self.waiting.add(pod)
        self.hold_back(pod)
        self.nominate(pod, "" if pod.of_class.waits else pod.nominated)

    def hold_back(self, pod: Pod) -> None:
        """Let a StatefulSet that makes its Pods in order make none after this Pod, which is not ready."""
        if pod.maker is not None and pod.maker.ordered:
            self.unready_in_order.setdefault(pod.source, {})[pod] = None

    def _hold_back_no_longer(self, pod: Pod) -> None:
        if pod.source in self.unready_in_order:
            self.unready_in_order[pod.source].pop(pod, None)
            self.readier[pod.source] = None

    def nominate(self, pod: Pod, node: str) -> None:
        """Keep room for a Pod that waits on a node; on none if its name is ""."""
        if pod.nominated not in ("", node):
            self.waiting.activate()  # Others may have the room.
        pod.nominated = node
        self._nominated.pop(pod, None)
        if node:
            self._nominated[pod] = None

    def waiting_for(self, node: str) -> list[Pod]:
        """Return the Pods for which room is kept on a node."""
        return [pod for pod in self._nominated if pod.nominated == node]

    @property
    def nominated(self) -> tuple[NominatedPod, ...]:
        """The Pods for which room is kept."""
        return tuple([NominatedPod(pod.namespace, str(pod.serial), pod.on(pod.nominated)) for pod in self._nominated])

    def start(self, initial: InitialPod) -> None:
        """Start a Pod that is tied to its node."""
        pod = self.pod(initial)
        pod.started = self.now
        self.kept_on(pod.node).append(pod)
        self._count(pod, 1)
        self._use(pod, 1)

    def forget(self, node: str) -> None:
        """Forget all that is left on a node that is no longer there."""
        self.usage.pop(node, None)
        self._pods.pop(node, None)
        self._kept.pop(node, None)
        for groups in self._groups.values():
            for nodes in groups.values():
                nodes.pop(node, None)

    def delete(self, pod: Pod) -> None:
        """
        Delete a Pod: one without a node is gone at once, as is one without a grace period; another terminates.

        upstream: registry/core/pod/strategy.go:podStrategy.CheckGracefulDelete (v1.37)
        """
        if pod.terminating:
            return
        self.stirred.add(pod.workload)
        if not pod.node:
            pod.terminating = True
            self.waiting.remove(pod)
            self._hold_back_no_longer(pod)
            self.nominate(pod, "")
            return
        if pod.gone_at_once:
            self.remove(pod)
            self.gone.append(pod)
            return
        self._leave(pod)
        self._end(pod)

    def _end(self, pod: Pod) -> None:
        """Let a terminating Pod end, if its node is reached."""
        self.terminating[pod] = None
        self.hold_back(pod)
        if pod.node not in self.ground.lost:
            self._ending[pod] = None

    def _leave(self, pod: Pod) -> None:
        """Let a Pod on a node terminate: no constraint counts it any more."""
        self._count(pod, -1)
        self.stirred.add(pod.workload)
        pod.terminating = True
        self._meet(pod, 1)
        if not pod.ready:
            self.unready[pod.namespace, pod.labels] -= 1

    def fail(self, pod: Pod) -> None:
        """
        Let a Pod be no longer ready: nobody hears of its node.

        upstream: controller_utils.go:MarkPodsNotReady (v1.37)
        """
        self.hold_back(pod)
        if pod.ready and pod.active:
            self.stirred.add(pod.workload)
            pod.ready = False
            self.unready[pod.namespace, pod.labels] += 1

    def remove(self, pod: Pod) -> None:
        """Take away a Pod on a node, and its object."""
        if not pod.terminating:
            self._leave(pod)
        self._go(pod)

    def _go(self, pod: Pod) -> None:
        """Take away a Pod that has terminated."""
        for ending in (self.terminating, self._ending):
            ending.pop(pod, None)
        self._hold_back_no_longer(pod)
        self._meet(pod, -1)
        self._use(pod, -1)
        self._beside(pod, pod.node).remove(pod)

    def finish(self, *, some: bool = False) -> list[Pod]:
        """
        Return the Pods that are gone already; if there are none, remove those that are ending, and return these.

        `some`: only a random part of those that are ending.
        """
        if self.gone:
            done, self.gone = self.gone, []
            return done
        done = list(self._ending)
        if some and done:
            done = self.random.sample(done, self.random.randint(1, len(done)))
        for pod in done:
            self._go(pod)
        return done

    def schedule_next(self) -> bool:
        """
        Bind the first of the waiting Pods for which there is a node, or make room for it; False if neither is possible.
        """
        return any(self._schedule(pod) for pod in iter(self.waiting.pop, None))

    def try_next(self) -> bool:
        """Try the first of the Pods that may find a node; return whether there was any."""
        pod = self.waiting.pop()
        if pod is not None:
            self._schedule(pod)
        return pod is not None

    def schedule_each(self) -> bool:
        """Try each of the waiting Pods once, in their order; return whether anything came of it."""
        tried: dict[Pod, bool] = {}
        try_later: list[Pod] = []
        for pod in iter(self.waiting.pop, None):
            if pod in tried:  # It is active again, as another Pod may have let it in: that is for the next time.
                try_later.append(pod)
            else:
                tried[pod] = self._schedule(pod)
        for pod in try_later:
            self.waiting.try_again(pod)
        return any(tried.values())

    def _schedule(self, pod: Pod) -> bool:
        """Bind a waiting Pod, or make room for it; False if neither is possible, or nothing has happened since."""
        queue, of_class = self.waiting, pod.of_class
        if queue.is_unschedulable(pod):
            queue.set_aside(pod)
            return False
        framework = self._counted_framework(pod)
        if self._place(pod, of_class, framework):
            queue.remove(pod)
            return True
        if self._make_room is not None and self._make_room(pod, framework):
            queue.try_again(pod)
            return True
        queue.set_aside(pod)
        return False

    def _place(self, pod: Pod, of_class: PodClass, framework: Framework) -> bool:
        """
        Bind a Pod to the best node; False if none is feasible.

        upstream: schedule_one.go:Scheduler.schedulePod (v1.37)
        """
        feasible = framework.feasible()
        self._any_gave_up |= framework.gave_up
        if not feasible:
            return False
        search_began = self._search_from
        candidates, self._search_from = sample(
            feasible, len(self.ground.nodes), search_began, framework.searched.bit_count()
        )
        best = framework.best(candidates)
        if self.begun.features.breaks_ties_by_heap:
            position = ties.by_heap(best, candidates, search_began, len(self.ground.nodes), self.random)
        else:
            position = ties.uniform(best, self.random)
        self._bind_volumes(pod, framework, position)
        self._bind(pod, of_class, self.ground.names[position])
        return True

    def _bind_volumes(self, pod: Pod, framework: Framework, position: int) -> None:
        """
        Bind the claims of a Pod on the node at this position that waited for it.

        upstream: binder.go:volumeBinder.BindPodVolumes (v1.37)
        """
        if pod.mounts is None or VOLUME_BINDING not in pod.of_class.profile.filters:
            return
        binding = framework.plugin(VOLUME_BINDING)
        assert isinstance(binding, VolumeBinding)
        chosen = next(iter(binding.bindings(1 << position)), None)
        node = self.ground.nodes.get(self.ground.names[position])
        self._change_storage(bound_on(self.storage, chosen, node))

    def _change_storage(self, storage: Storage) -> None:
        """Continue with this storage; claims that are made or bound may let other Pods in that use them."""
        if storage is not self.storage:
            self.storage = storage
            self.waiting.activate()

    def _counted_framework(self, pod: Pod) -> Framework:
        """
        Return the framework for a Pod, with all that has happened so far, and count the work of that.

        OutOfPlacementsError if it may not be tried.
        """
        before = self._frameworks.followed
        framework = self.framework_of(pod)
        self.spend(1 + (self._frameworks.followed - before) // EVENTS_LIKE_A_PLACEMENT)
        return framework

    def spend(self, placements: int) -> None:
        """Count as much work as so many placements are; OutOfPlacementsError beyond what the run may do."""
        self.placements += placements
        if self.placements > self.most_placements:
            raise OutOfPlacementsError

    def _bind(self, pod: Pod, of_class: PodClass, node: str) -> None:
        """Give a Pod its node; it is ready at once, unless nobody reaches the node."""
        self._beside(pod, node).append(pod)
        self.stirred.add(pod.workload)
        pod.node, pod.ready, pod.ready_at, pod.started = node, True, self.now, self.now
        self.nominate(pod, "")
        self._hold_back_no_longer(pod)
        self._freshen(pod)
        pod.labels = self._labels(of_class, node)
        self._count(pod, 1)
        self._use(pod, 1)
        if node in self.ground.lost:
            pod.pending = True
            self.fail(pod)

    def _labels(self, of_class: PodClass, node: str) -> LabelSet:
        """Return the labels of a Pod on a node: since 1.35 it gets the node's zone and region."""
        labels = self._bound_labels.get((of_class, node))
        if labels is None:
            node_object = self.ground.nodes.get(node)
            copied_keys = TOPOLOGY_LABELS if self.features.topology_labels and node_object is not None else ()
            copied_labels = {
                key: node_object.labels[key]
                for key in copied_keys
                if node_object is not None and key in node_object.labels
            }
            labels = self._bound_labels[of_class, node] = label_set({**of_class.pod.labels, **copied_labels})
        return labels

    def _count(self, pod: Pod, number: int) -> None:
        nodes = self.groups(pod.namespace).setdefault(pod.labels, {})
        number_now = nodes.get(pod.node, 0) + number
        if number_now > 0:
            nodes[pod.node] = number_now
        else:
            nodes.pop(pod.node, None)
        self._meet(pod, number)

    def _meet(self, pod: Pod, number: int) -> None:
        """Let other Pods' attempts know that there are so many more Pods like this one on its node."""
        self._frameworks.add_pods(pod.info, pod.node, number)
        self.waiting.activate_heeding(pod)

    def _use(self, pod: Pod, number: int) -> None:
        self.usage[pod.node] = self.usage.get(pod.node, UNUSED).plus(pod.requests, number)
        self._frameworks.change_usage(pod.node)
        if number < 0 or self._any_gave_up:  # A node at which an attempt is given up may be full now.
            self.waiting.activate()

    def groups(self, namespace: str) -> dict[LabelSet, dict[str, int]]:
        """Return the Pods of a namespace that constraints count, by label set and node; a copy for this run."""
        pod_groups = self._groups.get(namespace)
        if pod_groups is None:
            groups_at_start = self.begun.snapshot.pods.get(namespace, {})
            pod_groups = self._groups[namespace] = {
                labels: dict(group.nodes) for labels, group in groups_at_start.items()
            }
        return pod_groups

    def _pod_groups(self, namespace: str) -> Mapping[LabelSet, PodGroup]:
        if namespace not in self._groups:
            return self.begun.snapshot.pods.get(namespace, {})
        return {
            labels: PodGroup(dict(labels), dict(nodes)) for labels, nodes in self._groups[namespace].items() if nodes
        }

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now, as a copy: a plugin may read it later, when more Pods have been placed."""
        pods = {**self.begun.snapshot.pods, **{group: self._pod_groups(group) for group in self._groups}}
        now = replace(
            self.begun.snapshot,
            nodes=self.ground.nodes,
            pods=pods,
            usage=dict(self.usage),
            storage=self.storage,
            nominated=self.nominated,
        )
        demands = Demands(now.terminating, now.affine, now.ports, now.mounts)
        for event in self._frameworks.events:
            demands.add(*event)
        return replace(
            now,
            terminating=demands.terminating,
            affine=demands.affine,
            ports=demands.ports,
            mounts=demands.mounts,
        )

    def cycle(self, of_class: PodClass) -> Cycle:
        """Return the attempt to place a Pod of this class now."""
        return self._cycle(of_class, self.snapshot())

    def cycle_of(self, pod: Pod, snapshot: Snapshot | None = None) -> Cycle:
        """Return the attempt to place a Pod now, with its own volumes; `snapshot` is the cluster now, if known."""
        cycle = self._cycle(pod.of_class, snapshot) if snapshot is not None else self.cycle(pod.of_class)
        with_own_volumes = replace(
            cycle.pod, mounts=pod.mounts or NO_MOUNTS, name=str(pod.serial), nominated_node=pod.nominated
        )
        return replace(cycle, pod=with_own_volumes)

    def _cycle(self, of_class: PodClass, snapshot: Snapshot) -> Cycle:
        return of_class.cycle(replace(snapshot, nodes=self.ground.nodes), self.features)

    def framework_of(self, pod: Pod) -> Framework:
        """Return the framework for a Pod, with all events so far; it holds until the next event."""
        framework = self.framework(pod.of_class)
        if pod.mounts is not None:
            framework = framework.for_volumes(pod.mounts, self.storage)
        framework.own_node = pod.nominated
        room_kept: dict[str, list[TriedPod]] = {}
        for other in self._nominated:
            if other is not pod and other.priority >= pod.priority:
                room_kept.setdefault(other.nominated, []).append((other.namespace, other.on(other.nominated)))
        framework.nominated = room_kept
        return framework

    def framework(self, of_class: PodClass) -> Framework:
        """Return the framework for a class of Pods, with all that has happened so far."""
        return self._frameworks.of(of_class, self.storage)

    def move_to(self, ground: Ground) -> None:
        """Continue with the nodes after a step."""
        if ground.order == self.ground.order:
            return
        self.ground = ground
        self.storage = self.storage.with_csi_nodes(dict(ground.like))
        self._frameworks.move_to(ground)
        self._search_from = self._search_from % max(1, len(ground.order))
        self._bound_labels.clear()
        self._ending = {pod: None for pod in self.terminating if pod.node not in ground.lost}
        self.waiting.activate()

    def pods_of(self, nodes: Iterable[str]) -> Iterator[Pod]:
        """Yield the Pods on these nodes that are not tied to them."""
        for node in nodes:
            yield from list(self.on(node))
