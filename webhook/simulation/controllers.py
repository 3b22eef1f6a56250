"""
What makes Pods: the ReplicaSets of the workload, those to come, and the owners of other Pods.

    owner ──its template──> next replica ──constraints in force──> PodClass ──> Maker
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.objects.fields import as_list, as_mapping, texts_at, value_at
from webhook.objects.kinds import APPS, CORE, Kinds
from webhook.objects.labels import labels_of
from webhook.objects.reading import Reader
from webhook.objects.references import ObjectKey, ObjectRef, Owner, controller_of
from webhook.placement.inferred_defaults import Defaults
from webhook.placement.subject import (
    HASH,
    REVISION_HASH,
    PlacementSubject,
    Raw,
    attempt,
    next_replica,
    of_pod,
    revision_of,
    same_template,
)
from webhook.scheduler.constraint import read_selector
from webhook.scheduler.features import Features
from webhook.scheduler.profile import USUAL_PROFILE, Profiles
from webhook.scheduler.selectors import as_selector
from webhook.scheduler.snapshot import Controller, Snapshot
from webhook.simulation.pod import Maker, PodClass
from webhook.simulation.reading import min_ready_seconds_of, replicas_of, tolerations_of
from webhook.simulation.revisions import Revisions, read_revisions
from webhook.simulation.step import StepError

DEPLOYMENT, STATEFUL, SET, CONTROLLER = "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"
SIMULATED = ((APPS, DEPLOYMENT), (APPS, STATEFUL), (APPS, SET), (CORE, CONTROLLER))


class SimulatedCluster(NamedTuple):
    """What was read of a cluster; `pods` are those that the simulation may move, and those that wait."""

    snapshot: Snapshot
    features: Features
    pods: Sequence[Raw]
    others: Mapping[ObjectKey, Raw]
    time: float | None = None


class Controllers:
    """
    What makes Pods in a cluster: of the workload `raw`, and of others; each owner is read once.

    `sets` are the ReplicaSets of a Deployment, or the workload itself, and `revisions` their numbers;
    `updating` are those of a StatefulSet.
    """

    def __init__(
        self,
        raw: Raw,
        cluster: SimulatedCluster,
        kinds: Kinds,
        defaults: Defaults,
        profiles: Profiles,
    ) -> None:
        self.raw, self.cluster, self.kinds, self.defaults, self.profiles = raw, cluster, kinds, defaults, profiles
        self.ref = ObjectRef.of(raw)
        self.snapshot = cluster.snapshot
        self._makers: dict[ObjectKey, Maker] = {}
        self.errors: dict[str, None] = {}
        self.sets = list(self._sets()) if self.ref.kind == DEPLOYMENT else [raw]
        self.revisions = {ObjectRef.of(one).key: i for i, one in enumerate(self.sets)}
        stateful = self.ref.kind == STATEFUL
        own = [pod for pod in cluster.pods if self._set_of(pod) >= 0] if stateful else []
        self.updating = read_revisions(raw, own) if stateful else Revisions()

    def _sets(self) -> Iterator[Raw]:
        """The ReplicaSets of the Deployment that has Pods or its template, which comes last."""
        owned = [
            other
            for (group, kind, namespace, _), other in self.cluster.others.items()
            if (group, kind, namespace) == (self.ref.group, SET, self.ref.namespace) and self._owns(other)
        ]
        template = as_mapping(value_at(self.raw, ("spec", "template")))
        current = max(
            (one for one in owned if same_template(one, template)),
            key=lambda one: (revision_of(one) == revision_of(self.raw), revision_of(one)),
            default=None,
        )
        live = [one for one in owned if one is not current and replicas_of(one, 0)]
        yield from sorted(live, key=lambda one: (revision_of(one), ObjectRef.of(one).name))
        yield current if current is not None else self._next_set("new")

    def _owns(self, obj: Raw) -> bool:
        owner = controller_of(as_mapping(obj.get("metadata")))
        return owner is not None and owner.key(self.ref.namespace) == self.ref.key

    def _next_set(self, revision: str) -> Raw:
        """The ReplicaSet that the Deployment controller would make now."""
        spec = as_mapping(self.raw.get("spec"))
        template = as_mapping(spec.get("template"))
        metadata = as_mapping(template.get("metadata"))
        labels = {**labels_of(metadata.get("labels")), HASH: revision}
        selector = as_mapping(spec.get("selector"))
        made = {
            "apiVersion": APPS,
            "kind": SET,
            "metadata": {"namespace": self.ref.namespace, "name": f"{self.ref.name}-{revision}"},
            "spec": {
                "replicas": 0,
                "selector": {**selector, "matchLabels": {**labels_of(selector.get("matchLabels")), HASH: revision}},
                "template": {**template, "metadata": {**metadata, "labels": labels}},
            },
        }
        reader = Reader()
        found = as_selector(read_selector(reader, value_at(made, ("spec", "selector")), ("spec", "selector")))
        controller = Controller(APPS, SET, f"{self.ref.name}-{revision}", "", found)
        self.snapshot = self.snapshot.with_controller(self.ref.namespace, controller)
        return made

    def next_maker(self, number: int) -> Maker:
        """What makes the Pods of the workload after a rollout has begun."""
        revision = f"rollout-{number}"
        if self.ref.kind == DEPLOYMENT:
            return self._required(self._next_set(revision))
        return self._required(self.raw, revision)

    def of_sets(self) -> Iterator[Maker]:
        """What makes the Pods of each set; of a StatefulSet amid a rollout those of its current revision first."""
        for one in self.sets:
            maker = self._required(one)
            if self.updating.current:
                yield self._before(maker)
            yield maker

    def _before(self, updated: Maker) -> Maker:
        """What makes the Pods of a StatefulSet below the partition: its old template is not known, but its Pods are."""
        updating = self.updating
        if updating.lost:
            return self._required(self.raw, updating.current)
        return updated if updating.like is None else updated._replace(of_class=self.as_it_is(updating.like))

    def _required(self, raw: Raw, revision: str = "") -> Maker:
        subject = next(iter(next_replica(raw, self.cluster.others, self.kinds)), None)
        if subject is None:
            raise StepError(f"{self.ref}: has no Pod template")
        (node,) = texts_at(subject.raw, "spec.nodeName")
        if node:
            why = f'found "{node}", which binds its Pods without kube-scheduler, and that is not simulated'
            raise StepError(f"{self.ref}: spec.template.spec.nodeName: {why}; leave it out")
        if revision:
            labels = {**labels_of(value_at(subject.raw, ("metadata", "labels"))), REVISION_HASH: revision}
            metadata = {**as_mapping(subject.raw.get("metadata")), "labels": labels}
            subject = replace(subject, raw={**subject.raw, "metadata": metadata})
        found, errors = self._class(subject)
        self.errors.update(dict.fromkeys(f"{self.ref}: {error}" for error in errors))
        return Maker(found, self.ref.kind == STATEFUL, min_ready_seconds_of(self.raw))

    def _class(self, subject: PlacementSubject) -> tuple[PodClass, tuple[str, ...]]:
        profile = self.profiles.get(subject.scheduler)
        usual = profile or USUAL_PROFILE
        tried = attempt(subject, self.snapshot, self.cluster.features, self.defaults(subject), usual)
        spec = as_mapping(subject.raw.get("spec"))
        priority = spec.get("priority")
        of_class = PodClass(
            tried.cycle.pod,
            tuple(tried.cycle.constraints),
            tried.cycle.system_defaults,
            usual,
            priority if isinstance(priority, int) else 0,
            _waits(spec, subject.scheduler if profile is None else ""),
            tolerations_of(spec),
            subject.not_judged,
        )
        return of_class, tried.errors

    def maker(self, owner: Owner, namespace: str, pod: Raw) -> Maker:
        """What makes a Pod anew: its owner's template, or one like the first of its Pods where that is not known."""
        key = owner.key(namespace)
        if key not in self._makers:
            raw = self.cluster.others.get(key)
            subject = next(iter(next_replica(raw, self.cluster.others, self.kinds)), None) if raw is not None else None
            of_class = self._class(subject)[0] if subject is not None else self.as_it_is(pod)
            self._makers[key] = Maker(of_class, owner.kind == STATEFUL)
        return self._makers[key]

    def as_it_is(self, pod: Raw) -> PodClass:
        """The class of a Pod as the cluster has it."""
        return self._class(of_pod(pod, self.cluster.others))[0]

    def revision(self, pod: Raw) -> int:
        """The number of the set of the workload that has a Pod, or of its revision; -1 for one of another workload."""
        number = self._set_of(pod)
        return self.updating.number(pod) if number == 0 and self.ref.kind == STATEFUL else number

    def _set_of(self, pod: Raw) -> int:
        metadata = as_mapping(pod.get("metadata"))
        owner = controller_of(metadata)
        if owner is None:
            return -1
        return self.revisions.get(owner.key(texts_at(metadata, "namespace")[0]), -1)


def _waits(spec: Raw, scheduler: str) -> str:
    """Why kube-scheduler does not look at a Pod that perhaps another scheduler places; "" if it does."""
    if scheduler:
        return f'the scheduler "{scheduler}" places it, which is not simulated'
    return "it has scheduling gates" if as_list(spec.get("schedulingGates")) else ""
