"""
What makes Pods: the owners of any Pods; and of simulated workloads the ReplicaSets or revisions, with those to come.

    owner ──its template──> next replica ──constraints in force──> PodClass ──> Maker
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.objects.jobs import JobReplacement, read_job_replacement
from evenkeel.objects.pod_object import PodObject, read_pod
from evenkeel.objects.pod_templates import (
    MADE_UP_LABEL,
    find_new_replica_set,
    new_replica_set,
    replica_sets,
)
from evenkeel.objects.workload_object import WorkloadObject, read_workload_object
from evenkeel.placement.created_pods import read_creation
from evenkeel.placement.gaps import PLACEMENT
from evenkeel.placement.inferred_defaults import DefaultsOf, newest_pods
from evenkeel.placement.new_replica_sets import with_replica_set
from evenkeel.placement.subject import PlacementSubject, attempt, ignoring_placer, likeness, next_replica, of_pod
from evenkeel.scheduler.preemption import LOWEST_PRIORITY
from evenkeel.scheduler.profile import USUAL_PROFILE, Profiles
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.scheduler.storage import NO_STORAGE
from evenkeel.simulate.bound_claims import VolumeTemplates, read_volume_templates
from evenkeel.simulate.pod import Maker, PodClass
from evenkeel.simulate.revisions import Revisions, read_daemon_revisions, read_revisions
from evenkeel.simulate.step import StepError
from webhook.findings.wording import ignores_constraints
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.kinds import APPS, BATCH, CORE, Kinds
from webhook.kubernetes.references import ObjectKey, Owner
from webhook.spread.taints import read_limited_tolerations

DEPLOYMENT, STATEFUL, SET, CONTROLLER = "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"
DAEMON_SET, JOB = "DaemonSet", "Job"
SIMULATED = (
    (APPS, DEPLOYMENT),
    (APPS, STATEFUL),
    (APPS, SET),
    (CORE, CONTROLLER),
    (APPS, DAEMON_SET),
    (BATCH, JOB),
)
OF_JOB = ("batch", JOB)
# Owners of Pods, as API group and kind, whose controllers make another Pod for one that is gone.
MAKING_ANEW = frozenset({("apps", STATEFUL), ("apps", SET), ("", CONTROLLER), OF_JOB})


class SimulatedCluster(NamedTuple):
    """What was read of a cluster."""

    snapshot: Snapshot
    features: Features
    pods: Sequence[Raw]  # those that the simulation may move, and those that wait
    others: Mapping[ObjectKey, Raw]  # all other objects
    time: float | None = None  # when it was read, in seconds since 1970
    known_below: int = LOWEST_PRIORITY  # all Pods of a lower priority are among `pods`


class Makers:
    """
    What makes Pods in a cluster; each owner is read once.

    `named`: the workloads that are simulated by name.  If there are any, every owner makes its Pods anew when they go,
    also where its controller is not simulated, since new Pods may take room.
    """

    def __init__(
        self,
        cluster: SimulatedCluster,
        kinds: Kinds,
        defaults: DefaultsOf,
        profiles: Profiles,
        named: Iterable[Raw] = (),
    ) -> None:
        self.cluster, self.kinds, self.defaults, self.profiles = cluster, kinds, defaults, profiles
        self.pods = [read_pod(pod) for pod in cluster.pods]
        self.snapshot = cluster.snapshot
        self._creation = read_creation(cluster.others, cluster.features)
        self._makers: dict[ObjectKey, Maker] = {}
        self._classes: dict[tuple[str, str], PodClass] = {}  # of Pods that nothing makes anew, by what makes them alike
        self.errors: dict[str, None] = {}
        self._newest = newest_pods(self.pods, cluster.others)
        self.controllers = [Controllers(raw, self) for raw in named]
        # By the key of what owns the Pods: the workload, or each ReplicaSet of a Deployment.
        self.of_set = {key: controllers for controllers in self.controllers for key in controllers.revisions}
        for controllers in self.controllers:
            controllers.read_revisions()

    def revision_and_maker(self, pod: PodObject) -> tuple[int, Maker | None]:
        """Return the number of the ReplicaSet or revision of a named workload's Pod, and its maker; else -1, None."""
        controllers = self.of_set.get(pod.owner.key(pod.namespace)) if pod.owner is not None else None
        number = controllers.revision(pod) if controllers is not None else -1
        return number, controllers.makers[number] if controllers is not None and number >= 0 else None

    def makes_anew(self, owner: Owner) -> bool:
        """Return whether the controller of a Pod's owner is simulated, and makes another Pod in place of it."""
        key = owner.key("")
        return bool(self.controllers) or (key.group, key.kind) in MAKING_ANEW

    def next(self, raw: Raw, revision: str = "") -> PlacementSubject | None:
        """Return the next Pod of an owner; None if it has no template."""
        return next(iter(next_replica(raw, self.cluster.others, self.kinds, self._creation, revision)), None)

    def pod_class(self, subject: PlacementSubject) -> tuple[PodClass, tuple[str, ...]]:
        profile = self.profiles.get(subject.scheduler)
        profile_or_usual = profile or USUAL_PROFILE
        placer = ignoring_placer(subject, self._newest, self.snapshot.nodes)
        tried = attempt(subject, self.snapshot, self.cluster.features, self.defaults(subject), profile_or_usual)
        of_class = PodClass(
            tried.cycle.pod,
            () if placer else tuple(tried.cycle.constraints),
            tried.cycle.system_defaults,
            profile_or_usual,
            waits=_waits(subject.pod, subject.scheduler if profile is None else "", placer),
            tolerations=read_limited_tolerations(subject.pod.spec),
            unmodelled=(*subject.unmodelled, *([f"{PLACEMENT}{placer}"] if placer else ())),
            source=tried.source,
            gone_at_once=subject.pod.gone_at_once,
        )
        return of_class, tried.errors

    def maker(self, owner: Owner, pod: PodObject) -> Maker:
        """Return the maker of a Pod's successor: its owner's template, or the Pod itself where that is not known."""
        key = owner.key(pod.namespace)
        raw = self.cluster.others.get(key)
        if key not in self._makers:
            subject = self.next(raw) if raw is not None else None
            of_class = self.pod_class(subject)[0] if subject is not None else self.as_it_is(pod)
            workload = read_workload_object(raw) if raw is not None else None
            volumes = self.volumes_of(pod)
            if workload is not None and subject is not None:
                volumes = self.volumes_of_owner(subject, workload)
            job = JobReplacement(False, None)
            if raw is not None and (key.group, key.kind) == OF_JOB:
                job = read_job_replacement(raw)
            stateful = owner.kind == STATEFUL
            ordered = stateful and (workload is None or workload.stateful_set_update.ordered)
            self._makers[key] = Maker(
                of_class,
                replaces=stateful or job.waits,
                volumes=volumes,
                retries=job.retries,
                ordered=ordered,
                waits_for_kubelet=job.waits,
            )
        if owner.kind != STATEFUL and raw is not None and read_workload_object(raw).volume_claim_templates:
            return self._makers[key]._replace(volumes=self.volumes_of(pod))  # The Pod after it keeps its claims.
        return self._makers[key]

    def volumes_of_owner(self, subject: PlacementSubject, owner: WorkloadObject) -> VolumeTemplates:
        """Return the volumes of the Pods that a workload makes."""
        storage = self.snapshot.storage or NO_STORAGE
        of_set = owner if owner.ref.kind == STATEFUL else None
        return read_volume_templates(owner.ref.namespace, subject.pod.spec, storage, of_set)

    def volumes_of(self, pod: PodObject) -> VolumeTemplates:
        """Return the volumes of Pods that are made like this one."""
        return read_volume_templates(pod.namespace, pod.spec, self.snapshot.storage or NO_STORAGE, None)

    def as_it_is(self, pod: PodObject) -> PodClass:
        """Return the class of a Pod, read from the Pod itself and not from the Pod template of its owner."""
        subject = of_pod(pod.raw, self.cluster.others)
        alike = subject.scheduler, likeness(subject)
        if alike not in self._classes:
            self._classes[alike] = self.pod_class(subject)[0]
        return self._classes[alike]


class Controllers:
    """What makes the Pods of a workload that is simulated by name, in each of its revisions."""

    def __init__(self, raw: Raw, cluster_makers: Makers) -> None:
        self.cluster_makers, self.cluster = cluster_makers, cluster_makers.cluster
        self.workload = read_workload_object(raw)
        self.ref = self.workload.ref
        # The ReplicaSets of a Deployment, the oldest first; else the workload itself.
        self.sets = list(self._sets()) if self.ref.kind == DEPLOYMENT else [self.workload]
        self.revisions = {replica_set.ref.key: i for i, replica_set in enumerate(self.sets)}
        self.updating = Revisions()  # of a StatefulSet or DaemonSet
        self.makers = list[Maker]()  # by the number of the ReplicaSet or revision

    def read_revisions(self) -> None:
        """Read the revisions of the workload, once all controllers are known."""
        if self.ref.kind == STATEFUL:
            self.updating = read_revisions(self.workload, self._own_pods())
        elif self.ref.kind == DAEMON_SET:
            self.updating = read_daemon_revisions(self.workload, self._own_pods())
        self.makers = list(self._of_sets())

    def _own_pods(self) -> list[PodObject]:
        return [pod for pod in self.cluster_makers.pods if self._set_of(pod) >= 0]

    def _sets(self) -> Iterator[WorkloadObject]:
        """Yield the ReplicaSets of the Deployment that have Pods, and last that with its template."""
        owned = list(replica_sets(self.ref, self.cluster.others))
        newest = find_new_replica_set(self.workload, self.workload.template, owned)
        live = [replica_set for replica_set in owned if replica_set is not newest and replica_set.replicas]
        yield from sorted(live, key=lambda replica_set: (replica_set.revision, replica_set.ref.name))
        yield newest if newest is not None else self._next_set(MADE_UP_LABEL)

    def _next_set(self, revision: str) -> WorkloadObject:
        """
        Return the ReplicaSet that the Deployment controller would make now.

        It is added to the snapshot, since kube-scheduler's default constraints select what controllers select.
        """
        replica_set = read_workload_object(new_replica_set(self.workload, revision))
        self.cluster_makers.snapshot = with_replica_set(self.cluster_makers.snapshot, replica_set)
        return replica_set

    def next_maker(self, number: int) -> Maker:
        """Return the maker of the Pods of the workload after a rollout has begun."""
        revision = f"rollout-{number}"
        if self.ref.kind == DEPLOYMENT:
            return self._required(self._next_set(revision))
        return self._required(self.workload, revision)

    def _of_sets(self) -> Iterator[Maker]:
        """Yield the maker of each set; amid a rollout of a StatefulSet or DaemonSet, of the old revision first."""
        for replica_set in self.sets:
            maker = self._required(replica_set, self.updating.updated)
            if self.updating.current:
                yield self._before(maker)
            yield maker

    def stored_class(self, stored: Raw) -> PodClass | None:
        """Return the class of the Pods of the workload as the cluster has it, before a file is applied."""
        subject = self.cluster_makers.next(stored)
        return self.cluster_makers.pod_class(subject)[0] if subject is not None else None

    def _before(self, updated: Maker) -> Maker:
        """Return the maker of the Pods of the current revision, from one of its Pods: its template is not known."""
        updating = self.updating
        if updating.lost:
            return self._required(self.workload, updating.current)
        if updating.like is None:
            return updated
        of_class = self.cluster_makers.as_it_is(updating.like)
        if self.ref.kind == DAEMON_SET:  # The affinity of that Pod ties it to its own node.
            of_class = replace(of_class, pod=replace(of_class.pod, affinity=updated.of_class.pod.affinity))
        return updated._replace(of_class=of_class)

    def _required(self, owner: WorkloadObject, revision: str = "") -> Maker:
        subject = self.cluster_makers.next(owner.raw, revision)
        if subject is None:
            raise StepError(f"{self.ref}: has no Pod template")
        if node := subject.pod.node:
            why = f'found "{node}"; evenkeel does not simulate Pods that bypass kube-scheduler'
            raise StepError(f"{self.ref}: spec.template.spec.nodeName: {why}; remove nodeName")
        of_class, errors = self.cluster_makers.pod_class(subject)
        self.cluster_makers.errors.update(dict.fromkeys(f"{self.ref}: {error}" for error in errors))
        volumes = self.cluster_makers.volumes_of_owner(subject, owner)
        waits = self.ref.kind == JOB and read_job_replacement(owner.raw).waits
        return Maker(
            of_class,
            replaces=self.ref.kind == STATEFUL,
            min_ready_seconds=self.workload.min_ready_seconds,
            volumes=volumes,
            source=str(self.ref),
            waits_for_kubelet=waits,
            daemon=self.ref.kind == DAEMON_SET,
        )

    def revision(self, pod: PodObject) -> int:
        """Return the number of the ReplicaSet or revision of a Pod; -1 for a Pod of another workload."""
        number = self._set_of(pod)
        return self.updating.number(pod) if number == 0 else number

    def _set_of(self, pod: PodObject) -> int:
        return -1 if pod.owner is None else self.revisions.get(pod.owner.key(pod.namespace), -1)


def _waits(pod: PodObject, scheduler: str, placer: str) -> str:
    """
    Return why kube-scheduler does not look at a Pod; "" if it does.

    `scheduler`: the name of the scheduler, if no profile of it is known; else "".
    `placer`: what places it and ignores its constraints; else "".
    """
    if placer:
        return f"{ignores_constraints(placer, 'such Pods')}; not simulated"
    if scheduler:
        return f'the scheduler "{scheduler}" places it, which is not simulated'
    return "it has scheduling gates" if pod.scheduling_gates else ""
