"""Logs of a cluster as a watch tells them, and what a kube-scheduler writes into Pods."""

from __future__ import annotations

from math import inf

from tests.support.build import merged, pod
from tests.support.placing import requesting
from webhook.objects.references import ObjectRef
from webhook.scheduler.features import LATEST
from webhook.scheduler.plugins.nodes_by_usage import ChangingUsage
from webhook.scheduler.profile import USUAL_PROFILE, USUAL_PROFILES
from webhook.scheduler.snapshot import from_objects
from webhook.verification.computation import compute
from webhook.verification.decision import PodDecision
from webhook.verification.verifier import Verifier
from webhook.verification.watch_event import ADDED_EVENT, DELETED_EVENT, MODIFIED_EVENT, WatchEvent


def waiting(name="web-1", cpu="100m", *, namespace="shop", status=None, owner=None, labels=None, **spec):
    """A Pod without a node."""
    spec = {"containers": requesting(cpu), **spec}
    made = pod(name=name, namespace=namespace, uid=f"u-{name}", owner=owner, labels=labels, spec=spec)
    return made | {"status": status or {}}


def bound(raw, node):
    return merged(raw, {"spec": {"nodeName": node}})


def nominated(raw, node):
    return merged(raw, {"status": {"nominatedNodeName": node}})


def refused(raw, message, reason="Unschedulable"):
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return merged(raw, {"status": {"conditions": [condition]}})


def computed(objects, raw, node="", *, features=LATEST, profile=USUAL_PROFILE):
    """What is computed of the decision for a node, or for none, in a cluster of these objects."""
    there = from_objects(objects, features)
    return compute(PodDecision(raw, node), there, ChangingUsage(there.nodes, there.usage), features, profile)


def best(objects, raw):
    """The names of the nodes that kube-scheduler may choose."""
    decided = computed(objects, raw, "?")
    return [*decided.names(decided.best)]


class EventLog:
    """Events, each of the next resourceVersion, and a tenth of a second after the last unless told otherwise."""

    def __init__(self, *objects, version=1, seconds=0.0):
        self.objects = {ObjectRef.of(raw).key: raw for raw in objects}
        self.first, self.events, self.version, self.seconds = list(objects), [], version, seconds

    def put(self, *objects, after=0.1):
        """Let objects come or change."""
        for raw in objects:
            self._tell(MODIFIED_EVENT if ObjectRef.of(raw).key in self.objects else ADDED_EVENT, raw, after)
            self.objects[ObjectRef.of(raw).key] = raw
        return self

    def place(self, raw, node_name):
        """Let a new Pod come, and kube-scheduler bind it."""
        return self.put(raw, bound(raw, node_name))

    def delete(self, *objects, after=0.1):
        for raw in objects:
            self._tell(DELETED_EVENT, self.objects.pop(ObjectRef.of(raw).key), after)
        return self

    def _tell(self, what, raw, after):
        self.version, self.seconds = self.version + 1, self.seconds + after
        self.events.append(WatchEvent(self.seconds, what, self.version, raw))

    def verifier(self, features=LATEST, profiles=USUAL_PROFILES, **options):
        """A verifier that has heard of everything, and has judged nothing yet."""
        verifier = Verifier(self.first, features, profiles, **options)
        for event in self.events:
            verifier.add(event)
        return verifier

    def judged(self, *args, **options):
        """The judgements of all decisions."""
        return list(self.verifier(*args, **options).judged(inf))
