"""
The frameworks of a run, one for each class of Pods; each follows the Pods that come and go, as far as it heeds them.

    Pods at the start, nodes ──once for all runs──> framework of a class ──copied──> of a run
    Pods come and go ──events, by what other Pods have to heed of them─────────────────^
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.plugins.plugin import Plugin
from evenkeel.scheduler.pod_counts import PodInfo, Usage
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.storage import NO_STORAGE, Storage
from evenkeel.simulate.node_changes import Ground
from evenkeel.simulate.pod import PodClass
from webhook.kubernetes.features import Features


class Event(NamedTuple):
    """`number` more Pods that are alike on a node, fewer if negative."""

    info: PodInfo
    node: str
    number: int


Events = list[Event]  # of Pods that differ only in their nodes and volumes, and in whether they terminate


class _Heeded:
    """Events that matter for some plugins of a framework, and how many of them the plugins have followed."""

    __slots__ = ("events", "followed", "plugins")

    def __init__(self, events: Events, plugins: list[Plugin]) -> None:
        self.events, self.plugins, self.followed = events, plugins, 0

    def catch_up(self) -> int:
        """Follow the events that are new, and return how many there are."""
        new = self.events[self.followed :]
        for event in new:
            for plugin in self.plugins:
                plugin.add_pods(*event)
        self.followed += len(new)
        return len(new)


class _Following:
    """The framework of a class, and the events that it heeds, of those that `may_matter`."""

    __slots__ = ("_asked", "_heeded", "_may_matter", "framework")

    def __init__(self, framework: Framework, may_matter: Sequence[list[Events]]) -> None:
        self.framework, self._may_matter, self._asked = framework, may_matter, [0] * len(may_matter)
        self._heeded: list[_Heeded] = []

    def catch_up(self) -> int:
        """Follow the events that are new, and return how many there are."""
        for i, lists in enumerate(self._may_matter):
            for events in lists[self._asked[i] :]:
                if plugins := self.framework.heeding(events[0].info):
                    self._heeded.append(_Heeded(events, plugins))
            self._asked[i] = len(lists)
        return sum([heeded.catch_up() for heeded in self._heeded])


class Frameworks:
    """
    The frameworks of a run that begins with `snapshot`; `used` is what is used of the nodes now.

    `followed` counts the events that any framework has followed.
    """

    def __init__(self, snapshot: Snapshot, features: Features, used: Mapping[str, Usage], ground: Ground) -> None:
        self._snapshot, self._features, self._used, self.followed = snapshot, features, used, 0
        self._changed: dict[str, None] = {}  # a set of the names of nodes
        self.events: Events = []
        self._alike: dict[Hashable, Events] = {}
        self._all: list[Events] = []
        self._reaching_all: list[Events] = []
        self._reaching: dict[str, list[Events]] = {}  # by namespace
        self.move_to(ground)

    def move_to(self, ground: Ground) -> None:
        """Continue with the nodes after a step: frameworks follow all events anew."""
        storage = (self._snapshot.storage or NO_STORAGE).with_csi_nodes(dict(ground.like))
        self._snapshot = replace(self._snapshot, nodes=ground.nodes, storage=storage)
        self._at_start = ground.frameworks
        self._usage = self._at_start.usage(self._snapshot).copy(self._used)
        for name in self._changed:
            self._usage.change(name)
        self._following: dict[PodClass, _Following] = {}

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        """Let Pods that are alike come to a node, or go if the number is negative."""
        event = Event(info, node, number)
        self.events.append(event)
        alike = info.namespace, info.labels, info.affinity, info.ports, info.mounts is not None
        events = self._alike.get(alike)
        if events is None:
            events = self._alike[alike] = []
            self._all.append(events)
            reached = info.reach
            for lists in [self._reaching_all] if reached is None else map(self._reaching_namespace, reached):
                lists.append(events)
        events.append(event)

    def _reaching_namespace(self, namespace: str) -> list[Events]:
        return self._reaching.setdefault(namespace, [])

    def _that_may_matter(self, pod: IncomingPod) -> list[list[Events]]:
        """Return the events that Pods of a class may have to heed."""
        affinity = pod.pod_affinity
        looks_around = affinity is not None and affinity.namespaces != frozenset({pod.namespace})
        if looks_around or pod.ports or pod.mounts:
            return [self._all]
        return [self._reaching_namespace(pod.namespace), self._reaching_all]

    def change_usage(self, node: str) -> None:
        """Note that what is used of a node has changed."""
        self._changed[node] = None
        self._usage.change(node)

    def of(self, of_class: PodClass, storage: Storage) -> Framework:
        """Return the framework of a class, with all that has happened; `storage` is what there is of volumes now."""
        following = self._following.get(of_class)
        if following is None:
            framework = self._at_start.of(of_class, self._features).copy(self._usage)
            following = _Following(framework, self._that_may_matter(of_class.pod))
            self._following[of_class] = following
        following.framework.set_storage(storage)
        self.followed += following.catch_up()
        return following.framework
