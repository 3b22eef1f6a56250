"""
The frameworks of a run, one for each class of Pods; each follows the Pods that come and go, as far as they affect it.

    Pods at the start, nodes ──once for all runs──> framework of a class ──copied──> of a run
    Pods come and go ──events, by what may affect other Pods───────────────────────────^
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
    """Pods that are alike come to a node, or go."""

    info: PodInfo
    node: str
    number: int  # negative if they go


Events = list[Event]  # of Pods that differ only in their nodes and volumes, and in whether they terminate


class _Heeded:
    """Events that affect some plugins of a framework."""

    __slots__ = ("events", "followed", "plugins")

    def __init__(self, events: Events, plugins: list[Plugin]) -> None:
        self.events, self.plugins = events, plugins
        self.followed = 0  # how many of the events the plugins have seen

    def catch_up(self) -> int:
        """Follow the events that are new, and return how many there are."""
        new = self.events[self.followed :]
        for event in new:
            for plugin in self.plugins:
                plugin.add_pods(*event)
        self.followed += len(new)
        return len(new)


class _Following:
    """
    The framework of a class, and the events that affect it.

    The lists of `may_matter` grow while the run goes on; other events never affect the class.
    """

    __slots__ = ("_asked", "_heeded", "_may_matter", "framework")

    def __init__(self, framework: Framework, may_matter: Sequence[list[Events]]) -> None:
        self.framework, self._may_matter = framework, may_matter
        self._asked = [0] * len(may_matter)  # for each list, how many of its items the framework was asked about
        self._heeded: list[_Heeded] = []

    def catch_up(self) -> int:
        """Follow the events that are new, and return how many there are."""
        for i, lists in enumerate(self._may_matter):
            for events in lists[self._asked[i] :]:
                if plugins := self.framework.heeding(events[0].info):  # The first stands for all: they are alike.
                    self._heeded.append(_Heeded(events, plugins))
            self._asked[i] = len(lists)
        return sum([heeded.catch_up() for heeded in self._heeded])


class Frameworks:
    """
    The frameworks of a run that begins with `snapshot`.

    `used`: what is used of the nodes; the run changes it, and tells so by `change_usage`.
    """

    def __init__(self, snapshot: Snapshot, features: Features, used: Mapping[str, Usage], ground: Ground) -> None:
        self._snapshot, self._features, self._used = snapshot, features, used
        self.followed = 0  # events that frameworks have followed, each counted for each framework
        self._changed: dict[str, None] = {}  # a set of the names of nodes
        self.events: Events = []
        self._alike: dict[Hashable, Events] = {}  # by what makes Pods alike for others; the lists below share these
        self._all: list[Events] = []
        self._reaching_all: list[Events] = []  # of Pods that may affect Pods of any namespace
        self._reaching: dict[str, list[Events]] = {}  # by the namespace of the Pods that they may affect
        self.move_to(ground)

    def move_to(self, ground: Ground) -> None:
        """Continue with the nodes after a step: the frameworks are made anew, and follow all events again."""
        storage = (self._snapshot.storage or NO_STORAGE).with_csi_nodes(dict(ground.like))
        self._snapshot = replace(self._snapshot, nodes=ground.nodes, storage=storage)
        self._at_start = ground.frameworks
        self._usage = self._at_start.usage(self._snapshot).copy(self._used)
        for name in self._changed:
            self._usage.change(name)
        self._following: dict[PodClass, _Following] = {}

    def add_pods(self, info: PodInfo, node: str, number: int) -> None:
        """Let so many Pods that are alike come to a node; they go if the number is negative."""
        event = Event(info, node, number)
        self.events.append(event)
        alike = info.namespace, info.labels, info.affinity, info.ports, info.mounts is not None
        events = self._alike.get(alike)
        if events is None:
            events = self._alike[alike] = []
            self._all.append(events)
            reach = info.reach
            if reach is None:
                self._reaching_all.append(events)
            else:
                for namespace in reach:
                    self._reaching_namespace(namespace).append(events)
        events.append(event)

    def _reaching_namespace(self, namespace: str) -> list[Events]:
        return self._reaching.setdefault(namespace, [])

    def _that_may_matter(self, pod: IncomingPod) -> list[list[Events]]:
        """Return the events that may affect where such a Pod can be placed."""
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
        """Return the framework of a class, with all that has happened so far."""
        following = self._following.get(of_class)
        if following is None:
            framework = self._at_start.of(of_class, self._features).copy(self._usage)
            following = _Following(framework, self._that_may_matter(of_class.pod))
            self._following[of_class] = following
        following.framework.set_storage(storage)
        self.followed += following.catch_up()
        return following.framework
