"""
The frameworks of a run, one for each class of Pods; each follows the Pods that come and go, as far as it heeds them.

    Pods at the start, nodes ──once for all runs──> framework of a class ──copied──> of a run
    Pods come and go ──events, by what other Pods have to heed of them─────────────────^
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from webhook.scheduler.counts import PodInfo, Usage
from webhook.scheduler.features import Features
from webhook.scheduler.framework import Framework
from webhook.scheduler.plugins.plugin import Plugin
from webhook.scheduler.pod_affinity import PodAffinity
from webhook.scheduler.snapshot import Snapshot
from webhook.scheduler.storage import NO_STORAGE, Storage
from webhook.simulation.node_changes import Ground
from webhook.simulation.pod import PodClass


class Event(NamedTuple):
    """`number` more Pods that are alike on a node, fewer if negative."""

    info: PodInfo
    node: str
    number: int


Demand = tuple[str, PodAffinity | None, bool, bool]  # a namespace, terms, and whether there are ports, and volumes


class _Heeded:
    """Events that matter for some plugins of a framework, and how many of them the plugins have followed."""

    __slots__ = ("events", "followed", "plugins")

    def __init__(self, events: list[Event], plugins: list[Plugin]) -> None:
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
    """The framework of a class, and the events that it heeds."""

    __slots__ = ("_asked", "_heeded", "framework")

    def __init__(self, framework: Framework) -> None:
        self.framework, self._asked = framework, 0
        self._heeded: list[_Heeded] = []

    def catch_up(self, lists: list[list[Event]]) -> int:
        """Follow the events that are new, of those lists that matter, and return how many there are."""
        pod = self.framework.cycle.pod
        for events in lists[self._asked :]:
            info = events[0].info
            may_matter = info.demands or info.namespace == pod.namespace or pod.pod_affinity is not None
            if may_matter and (plugins := self.framework.heeding(info)):
                self._heeded.append(_Heeded(events, plugins))
        self._asked = len(lists)
        return sum([heeded.catch_up() for heeded in self._heeded])


class Frameworks:
    """
    The frameworks of a run that begins with `snapshot`; `used` is what is used of the nodes now.

    `followed` counts the events that any framework has followed.
    """

    def __init__(self, snapshot: Snapshot, features: Features, used: Mapping[str, Usage], ground: Ground) -> None:
        self._snapshot, self._features, self._used, self.followed = snapshot, features, used, 0
        self._changed: dict[str, None] = {}  # a set of the names of nodes
        self.events: list[Event] = []
        self._by_demand: dict[Demand, list[Event]] = {}
        self._lists: list[list[Event]] = []  # the same, in the order in which they came
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
        demand = info.namespace, info.affinity, bool(info.ports), info.mounts is not None
        events = self._by_demand.get(demand)
        if events is None:
            events = self._by_demand[demand] = []
            self._lists.append(events)
        events.append(event)

    def change_usage(self, node: str) -> None:
        """Note that what is used of a node has changed."""
        self._changed[node] = None
        self._usage.change(node)

    def of(self, of_class: PodClass, storage: Storage) -> Framework:
        """Return the framework of a class, with all that has happened; `storage` is what there is of volumes now."""
        following = self._following.get(of_class)
        if following is None:
            framework = self._at_start.of(of_class, self._features).copy(self._usage)
            following = self._following[of_class] = _Following(framework)
        following.framework.set_storage(storage)
        self.followed += following.catch_up(self._lists)
        return following.framework
