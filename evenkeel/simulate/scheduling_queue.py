"""
The Pods that wait for a node, and which of them kube-scheduler tries next.

    Pod ──> active, by priority and time ──tried──> bound
              ^                              └─no node──> unschedulable
              └─room is free, or Pods count that it heeds──┘: behind those that were not tried since
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Hashable, Iterator
from heapq import heappop, heappush

from evenkeel.scheduler.pod_affinity import PodTerm
from evenkeel.scheduler.pod_counts import LabelSet
from evenkeel.simulate.pod import Pod, PodClass
from webhook.spread.constraint import Constraint

QueueEntry = tuple[int, int, Pod]  # negative priority, serial
Turn = tuple[int, int, int, Pod]  # negative priority, events before it was queued, serial

ROOM_ALONE, ALL_NAMESPACES = "", "*"  # in place of a namespace


class SchedulingQueue:
    """
    The Pods that wait, in the order in which they are tried.

    Each Pod is active or unschedulable.  An unschedulable one is not tried, nor any that is placed like it, until
    something happens that may let it in.  Of the same priority, the one queued or refused the longest ago is first.

    upstream: scheduling_queue.go:PriorityQueue (v1.37)
    """

    def __init__(self) -> None:
        self._entries: list[QueueEntry] = []  # all of them, in their order
        self._active: list[Turn] = []  # a heap, with some that wait no longer
        self._behind: dict[Pod, deque[Pod]] = {}  # Pods that are active once the one before them is bound
        # By the namespace whose Pods may let them in, then by what makes them alike.
        self._unschedulable: dict[str, dict[Hashable, deque[Pod]]] = {}
        self._events = 0  # so far, of those that may let Pods in; it takes the place of a clock
        self._heeded: dict[tuple[PodClass, LabelSet], bool] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Pod]:
        return iter([pod for _, _, pod in self._entries])

    def add(self, pod: Pod) -> None:
        """Let a Pod wait; kube-scheduler tries it if it looks at such Pods."""
        insort(self._entries, _entry(pod))
        pod.queued = self._events
        if not pod.of_class.waits:
            heappush(self._active, _turn(pod))

    def try_again(self, pod: Pod) -> None:
        """
        Let a Pod be active that was tried already.

        Those behind it are led by another now: once a node is nominated for it they are no longer like it.
        """
        heappush(self._active, _turn(pod))
        self._lead(self._behind.pop(pod, deque()), pod.queued)

    def remove(self, pod: Pod) -> None:
        """Take away a Pod that is bound or deleted."""
        del self._entries[bisect_left(self._entries, _entry(pod))]
        self._lead(self._behind.pop(pod, deque()), pod.queued)

    def pop(self) -> Pod | None:
        """Take the first of the active Pods, which is then active no longer; None if there is none."""
        while self._active:  # Skip what has been bound or deleted meanwhile: a heap cannot take it out.
            *_, pod = heappop(self._active)
            if _waits(pod):
                return pod
        return None

    def is_unschedulable(self, pod: Pod) -> bool:
        """Return whether a Pod that is placed like this one has found no node, and nothing has happened since."""
        return _alike(pod) in self._unschedulable.get(_heeded_namespace(pod), ())

    def set_aside(self, pod: Pod) -> None:
        """
        Keep a Pod that has found no node, and those like it, until something may let them in.

        upstream: scheduling_queue.go:PriorityQueue.AddUnschedulablePodIfNotPresent (v1.37)
        """
        pod.queued = self._events + 1
        pods = self._unschedulable.setdefault(_heeded_namespace(pod), {}).setdefault(_alike(pod), deque())
        pods.append(pod)
        pods.extend(self._behind.pop(pod, ()))

    def activate(self) -> None:
        """Let all Pods be tried again: there may be new room, or a volume."""
        self._events += 1
        for namespace in list(self._unschedulable):
            for pods in self._unschedulable.pop(namespace).values():
                self._lead(pods)

    def activate_heeding(self, other: Pod) -> None:
        """Let those Pods be tried again whose constraints or affinity count Pods like this one, which comes or goes."""
        self._events += 1
        for namespace in (other.namespace, ALL_NAMESPACES):
            unschedulable = self._unschedulable.get(namespace, {})
            for alike, pods in list(unschedulable.items()):
                if self._is_heeded(other.labels, pods[0].of_class):
                    self._lead(unschedulable.pop(alike))

    def _is_heeded(self, labels: LabelSet, of_class: PodClass) -> bool:
        """Return whether hard constraints or required affinity select Pods with these labels, in some namespace."""
        class_and_labels = of_class, labels
        if class_and_labels not in self._heeded:
            selectors = [constraint.selector for constraint in _hard(of_class)]
            selectors += [term.selector for term in _required(of_class)]
            self._heeded[class_and_labels] = any(selector.matches(dict(labels)) for selector in selectors)
        return self._heeded[class_and_labels]

    def _lead(self, pods: deque[Pod], queued: int = 0) -> None:
        """
        Let the first of Pods that are alike be active, and the others once it is bound.

        `queued`: none of them comes before a Pod that was queued after fewer events than these.
        """
        while pods:
            pod = pods.popleft()
            queued = pod.queued = max(pod.queued, queued)
            if _waits(pod):
                self._behind[pod] = pods
                heappush(self._active, _turn(pod))
                return


def _waits(pod: Pod) -> bool:
    return not (pod.node or pod.terminating)


def _entry(pod: Pod) -> QueueEntry:
    return -pod.priority, pod.serial, pod


def _turn(pod: Pod) -> Turn:
    """
    Return when a Pod is tried.

    upstream: priority_sort.go:PrioritySort.Less (v1.37)
    """
    return -pod.priority, pod.queued, pod.serial, pod


def _alike(pod: Pod) -> Hashable:
    """Return what Pods have in common if none of them finds a node when one does not."""
    return pod.of_class, pod.mounts, pod.nominated


def _heeded_namespace(pod: Pod) -> str:
    """
    Return the namespace of the Pods that may let a Pod in when they come, or begin to be deleted.

    All other Pods only take room, or bar the way by their anti-affinity, and let a Pod in only once they are gone.
    Nor can it preempt Pods that have come: without them all is as it was when it was refused.
    """
    if _required(pod.of_class):
        return ALL_NAMESPACES
    return pod.namespace if _hard(pod.of_class) else ROOM_ALONE


def _hard(of_class: PodClass) -> list[Constraint]:
    return [constraint for constraint in of_class.constraints if constraint.hard]


def _required(of_class: PodClass) -> tuple[PodTerm, ...]:
    affinity = of_class.pod.pod_affinity
    return affinity.affinity if affinity is not None else ()
