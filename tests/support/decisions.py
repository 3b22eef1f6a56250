"""What an API server tells of a cluster in which kube-scheduler places Pods, event by event."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from tests.support.placing import node, requesting
from webhook.cluster.cluster import Contents
from webhook.cluster.recording import Recording
from webhook.verification.watch_event import WatchEvent

NODES = [node("a1", "a", cpu="4"), node("a2", "a", cpu="4"), node("b1", "b", cpu="6")]
NOT_HELPFUL = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
FULL = f"0/3 nodes are available: 3 Insufficient cpu. {NOT_HELPFUL}"


class Log:
    """Events one after the other, a tenth of a second apart; each has the next resourceVersion."""

    def __init__(self, seconds=1.0):
        self.events, self._versions, self.seconds = [], count(101), seconds
        self.pods = {}

    def say(self, what, raw, seconds=0.1):
        """One event of an object."""
        self.seconds += seconds
        self.events.append(WatchEvent(self.seconds, what, next(self._versions), raw))

    def create(self, name, cpu="1", labels=None, namespace="shop", **spec):
        """A new Pod, which waits."""
        self.pods[name] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "uid": name, "labels": labels or {"app": "web"}},
            "spec": {"containers": requesting(cpu), **spec},
            "status": {"phase": "Pending"},
        }
        self.say("ADDED", self.pods[name])

    def bind(self, name, node_name, seconds=0.1):
        """kube-scheduler binds a Pod."""
        pod = self.pods[name]
        self.pods[name] = {**pod, "spec": {**pod["spec"], "nodeName": node_name}, "status": {"phase": "Pending"}}
        self.say("MODIFIED", self.pods[name], seconds)

    def refuse(self, name, message=FULL, reason="Unschedulable", **status):
        """kube-scheduler finds no node for a Pod."""
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        self.pods[name] = {**self.pods[name], "status": {"phase": "Pending", "conditions": [condition], **status}}
        self.say("MODIFIED", self.pods[name])

    def delete(self, name):
        """A Pod is gone."""
        self.say("DELETED", self.pods.pop(name))


def right(log=None):
    """Two Pods that are placed as they have to be, and one for which there is no room."""
    log = log or Log()
    for i, node_name in enumerate(("b1", "a1")):
        log.create(f"web-{i}", cpu="3")
        log.bind(f"web-{i}", node_name)
    log.create("large", cpu="7")
    log.refuse("large")
    return log


def wrong(log=None):
    """A Pod that is placed on a node where another is already, though one is empty."""
    log = right(log)
    log.create("tiny", cpu="500m")
    log.bind("tiny", "a1")
    return log


def recorded(path: Path, *logs, objects=NODES, version="v1.37.1", missing=()):
    """Write a recording with a section for each log."""
    with Recording(path) as out:
        for log in logs:
            out.begin(Contents(iter(()), {}, "", version, "2026-01-31T10:00:00Z"))
            for obj in objects:
                out.add_object(obj)
            out.end_objects(100, dict(missing))
            out.add_events(log.events)
    return path
