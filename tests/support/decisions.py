"""Logs of a cluster in which kube-scheduler places Pods, and recordings of them."""

from __future__ import annotations

from pathlib import Path

from tests.support.logs import EventLog, refused, waiting
from tests.support.placing import node
from webhook.cluster.cluster import Contents
from webhook.cluster.recording import Recording

NODES = [node("a1", "a", cpu="4"), node("a2", "a", cpu="4"), node("b1", "b", cpu="6")]
NOT_HELPFUL = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
FULL = f"0/3 nodes are available: 3 Insufficient cpu. {NOT_HELPFUL}"
LISTED = 100  # The resourceVersion of the lists.


def events(seconds=1.0):
    """A log without events, of a cluster that has NODES."""
    return EventLog(*NODES, version=LISTED, seconds=seconds)


def right(seconds=1.0):
    """Two Pods that are placed as they have to be, and one for which there is no room."""
    log = events(seconds)
    for i, node_name in enumerate(("b1", "a1")):
        log.place(waiting(f"web-{i}", "3"), node_name)
    large = waiting("large", "7")
    return log.put(large, refused(large, FULL))


def wrong(seconds=1.0):
    """A Pod that is placed on a node where another is already, though one is empty."""
    return right(seconds).place(waiting("tiny", "500m"), "a1")


def recorded(path: Path, *logs, objects=NODES, version="v1.37.1", missing=()):
    """Write a recording with a section for each log."""
    with Recording(path) as out:
        for log in logs:
            out.begin(Contents(iter(()), {}, "", version, "2026-01-31T10:00:00Z"))
            for obj in objects:
                out.add_object(obj)
            out.end_objects(LISTED, dict(missing))
            out.add_events(log.events)
    return path
