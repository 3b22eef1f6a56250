"""
The report on a cluster: what a policy would do to each workload, how it is spread, and what the rules find.

    Inventory, Snapshot, policies ──each workload──> ReportedWorkload, what hurts most first ──> Report, Summary
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from evenkeel.objects.pod_object import read_pod
from evenkeel.placement.claims import ClaimReach, Pins
from evenkeel.placement.created_pods import BARE_CREATION, PodCreation
from evenkeel.placement.subject import FROM_POD, FROM_SCHEDULER, POLICY, runs_on_fargate
from evenkeel.report.idle_constraints import why_idle
from evenkeel.report.impact import Impact, impact
from evenkeel.report.inventory import Inventory, LiveWorkload, by_name
from evenkeel.report.next_pods import MadePod, made_pods
from evenkeel.report.spread import Spread, Spreading, ZoneLoss, sum_of_losses, zone_loss
from evenkeel.scheduler.profile import USUAL_PROFILES, Profiles
from evenkeel.scheduler.replica_room import room_for
from evenkeel.scheduler.snapshot import Snapshot
from evenkeel.simulate.moves import WayBack
from webhook.admission.cost import TooLarge, weigh
from webhook.admission.decision import Outcome
from webhook.admission.terms import Terms
from webhook.findings.evaluation import evaluate
from webhook.findings.finding import Finding, Severity
from webhook.findings.neighbours import Neighbours
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_list
from webhook.kubernetes.names import ZONE
from webhook.kubernetes.references import ObjectKey, Scaling
from webhook.kubernetes.workload import BY_FARGATE, Workload, parse_workloads, scaling_of
from webhook.policy.policy import Policy
from webhook.spread.cluster_view import ClusterView

# How the default constraints of Pods change: given for the first time, replaced, or no longer given.
NEW_DEFAULTS, OTHER_DEFAULTS, NO_MORE_DEFAULTS = "new", "other", "no more"


class Policies(NamedTuple):
    """The policy that is asked about, and the one to compare it with."""

    policy: Policy
    compare: Policy | None = None
    named: bool = True  # by the user; False: `policy` is the built-in one, and that in force is not known

    @property
    def in_force(self) -> Policy | None:
        """The policy by which Pods are given defaults today; None if not known."""
        return self.compare or (self.policy if self.named else None)


@dataclass(frozen=True, slots=True)
class ReportedWorkload:
    """All that is reported of one workload."""

    live: LiveWorkload
    replicas: int | None  # as written; None if they are not
    spreads: tuple[Spread, ...]
    idle: tuple[str, ...]  # for each of the spreads, why it spreads nothing; "" if it may
    loss: ZoneLoss | None  # None where no node is known
    findings: tuple[Finding, ...]  # of the policy's rules
    impact: Impact  # of the policy
    was: Impact | None  # of the policy to compare with
    foreign: str = ""  # the scheduler that places its Pods; "" if a profile of it is known
    by_kueue: bool = False  # whether Kueue may choose nodes for its Pods first
    placer: str = ""  # what places its Pods and ignores their constraints, so that no spread is judged; else ""
    scaling: Scaling | None = None  # the bounds of its autoscalers
    at_most: tuple[Finding, ...] = ()  # further findings if an autoscaler gives it the most replicas
    pinned: Mapping[str, ClaimReach] = field(default_factory=dict)  # claims that pin its Pods, by name

    @property
    def changes(self) -> bool:
        """Whether any answer differs between the two policies."""
        if self.was is None:
            return False
        now, was = ((impact.create, impact.update, impact.pods) for impact in (self.impact, self.was))
        return [answer and answer.gravity for answer in now] != [answer and answer.gravity for answer in was]

    @property
    def defaults_change(self) -> str:
        """How the defaults of its Pods would change: NEW_DEFAULTS, OTHER_DEFAULTS, NO_MORE_DEFAULTS or ""."""
        now, was = self.impact.defaults, self.was.defaults if self.was is not None else ()
        if self.was is None or now == was:
            return ""
        if not any(was):
            return NEW_DEFAULTS
        return OTHER_DEFAULTS if any(now) else NO_MORE_DEFAULTS

    @property
    def share(self) -> float | None:
        """The share of its Pods that the loss of a zone takes at most; None if no Pod is in a zone, or if not known."""
        return self.loss.share if self.loss is not None else None

    @property
    def loses_all(self) -> bool:
        """Whether it would lose all of two Pods or more with one zone."""
        return self.live.running > 1 and self.share == 1

    @property
    def unconstrained(self) -> bool:
        """Whether it has no constraints of its own, and either defaults are in force or its Pods are to be spread."""
        if self.placer:
            return False
        if self.spreads:
            return all(spread.source != FROM_POD for spread in self.spreads)
        return max(self.live.pods, self.replicas or 0) > 1 and self.live.ref.kind != "DaemonSet"

    @property
    def assumed(self) -> bool:
        """Whether it exceeds only the maxSkew of the policy's defaults, which its Pods may not have been given."""
        beyond = [spread.source for spread in self.spreads if spread.excess]
        return bool(beyond) and all(source == POLICY for source in beyond)

    @property
    def exceeds(self) -> bool:
        """Whether any skew is beyond maxSkew, also one that a hard constraint forces."""
        return any((spread.skew or 0) > spread.constraint.max_skew for spread in self.spreads)

    @property
    def forced(self) -> bool:
        """Whether its skews are beyond maxSkew only as far as a hard constraint forces that."""
        return self.exceeds and not any(spread.excess for spread in self.spreads)

    @property
    def excess(self) -> int:
        """How far the worst hard constraint is beyond its maxSkew."""
        return max((spread.excess for spread in self.spreads if spread.constraint.hard), default=0)


class ReportSummary(NamedTuple):
    """Sums over workloads."""

    workloads: int
    pods: int
    waiting: int  # Pods
    outcomes: Mapping[Outcome, int]  # workloads by their worst answer
    # Workloads that are denied: in any way, at their next update, and if they are created anew.
    denied: int
    denied_updates: int
    denied_creates: int
    found: Mapping[Severity, int]  # workloads with findings of each severity
    changed: int  # workloads whose answers differ between the policies
    # Pods that would be given defaults, those that are not as the policy only audits them, and those for which they
    # change, by how.
    defaulted: int
    audited_defaults: int
    defaults_change: Mapping[str, int]
    # None where no node is known:
    uneven: int | None  # workloads with a skew beyond maxSkew
    forced: int | None  # further workloads, whose skew is beyond it only since a hard constraint forces that
    assumed: int | None  # of those that are uneven, those that only exceed that of the policy's defaults
    lost: int | None  # workloads that would lose all of two or more Pods with one zone
    idle: int | None  # constraints that spread nothing
    loss: ZoneLoss | None


class ReportedGroup(NamedTuple):
    """The sums over the workloads of a namespace, or over those with one value of a label."""

    name: str | None  # of the namespace, or the value; None for workloads without the label
    contacts: Mapping[str, str] | None  # labels and annotations of a namespace that say whom to ask; None if not known
    summary: ReportSummary


class Report(NamedTuple):
    """The report on a cluster; in each list what is hurt most is first."""

    workloads: tuple[ReportedWorkload, ...]
    summary: ReportSummary
    nodes: int | None  # None where no node is known
    zones: int | None  # None where no node is known
    static: int  # Pods that kubelets run from files
    namespaces: tuple[ReportedGroup, ...]
    groups: tuple[ReportedGroup, ...]  # by the values of a label that was asked for
    node_makers: frozenset[str] = frozenset()  # what starts nodes for new Pods
    ways_back: Mapping[ObjectKey, WayBack] | None = None  # of workloads beyond maxSkew; None if nobody asks for them
    kubectl_options: Sequence[str] = ()  # with which kubectl reaches the cluster

    @property
    def uses_scheduler_defaults(self) -> bool:
        """Whether default constraints of kube-scheduler are in force on any workload."""
        return any(spread.source == FROM_SCHEDULER for workload in self.workloads for spread in workload.spreads)


class Reporting:
    """Reports one workload after the other; what workloads share is computed once."""

    def __init__(
        self,
        inventory: Inventory,
        snapshot: Snapshot,
        features: Features,
        policies: Policies,
        never_sent: Collection[str] = (),
        profiles: Profiles = USUAL_PROFILES,
        creation: PodCreation = BARE_CREATION,
    ) -> None:
        self.workloads = inventory.workloads()
        self._snapshot, self._features, self._policies, self._never_sent = snapshot, features, policies, never_sent
        self._without_pods, self._pins = snapshot.without_pods(), Pins(snapshot, features)
        self._spreading, self._profiles = Spreading(snapshot, features, inventory, profiles, creation), profiles
        self._others = Neighbours.of(
            workload
            for live in self.workloads
            if live.raw is not None
            for workload in self._parsed(live.raw, live.ref.namespace)
        )
        self._scalings, self._static, self._contacts = inventory.scalings, inventory.static, inventory.contacts

    def of(self, live: LiveWorkload) -> ReportedWorkload:
        policy, compare, _ = self._policies
        next_pods = made_pods(live, policy.kinds, self._features)
        now = self._impact(live, next_pods, policy)
        was = self._impact(live, next_pods, compare) if compare is not None else None
        judged = self._judged(live, next_pods)
        placer = next((workload.ignored_by for workload in judged if workload.ignored_by), "")
        if not placer and runs_on_fargate(live.newest, self._snapshot.nodes):
            placer = BY_FARGATE
        by_kueue = any(workload.by_kueue for workload in judged)
        if placer or by_kueue:
            judged = [replace(workload, ignored_by=placer, by_kueue=False) for workload in judged]
        spreads = () if placer else tuple(self._spreads(live, next_pods, now, was))
        findings = self._findings(judged)
        return ReportedWorkload(
            live,
            replicas=_replicas(live),
            spreads=spreads,
            idle=tuple([why_idle(spread, findings) for spread in spreads]),
            loss=zone_loss(live, self._snapshot.nodes),
            findings=findings,
            impact=now,
            was=was,
            foreign=self._foreign(next_pods),
            by_kueue=by_kueue,
            placer=placer,
            scaling=judged[0].scaling if judged else None,
            at_most=self._at_most(judged, findings),
            pinned=self._pins.of(live.ref.namespace, live.claims),
        )

    def report(self, workloads: Iterable[ReportedWorkload], label: str = "") -> Report:
        """Return the report of these workloads; with a label, also grouped by its values."""
        ordered = tuple(sorted(workloads, key=lambda workload: _order(workload, self._policies.named)))
        nodes = self._snapshot.nodes
        placed = bool(nodes)
        namespaces = self._groups(ordered, placed, lambda workload: workload.live.ref.namespace)
        namespaces = [group._replace(contacts=self._contacts.get(group.name or "")) for group in namespaces]
        groups = self._groups(ordered, placed, lambda workload: workload.live.labels.get(label)) if label else ()
        return Report(
            ordered,
            summary(ordered, placed=placed),
            nodes=len(nodes) if placed else None,
            zones=len(nodes.domains(ZONE)) if placed else None,
            static=self._static,
            namespaces=tuple(namespaces),
            groups=tuple(groups),
            node_makers=self._snapshot.node_makers(nodes.all),
        )

    def _groups(
        self,
        workloads: Iterable[ReportedWorkload],
        placed: bool,
        name_of: Callable[[ReportedWorkload], str | None],
    ) -> Sequence[ReportedGroup]:
        named: dict[str | None, list[ReportedWorkload]] = {}
        for workload in workloads:
            named.setdefault(name_of(workload), []).append(workload)
        groups = [ReportedGroup(name, None, summary(alike, placed=placed)) for name, alike in named.items()]
        by_policy = self._policies.named
        return sorted(
            groups, key=lambda group: (*_concern(group.summary, by_policy), group.name is not None, group.name or "")
        )

    def _impact(self, live: LiveWorkload, next_pods: Sequence[MadePod], policy: Policy) -> Impact:
        return impact(live, next_pods, Terms(policy, self._snapshot, self._features), self._never_sent)

    def _spreads(
        self, live: LiveWorkload, next_pods: Sequence[MadePod], now: Impact, was: Impact | None
    ) -> Iterator[Spread]:
        in_force = (was or now).defaults if self._policies.in_force is not None else ()
        for i, next_pod in enumerate(next_pods):
            defaults: Sequence[object] = in_force[i] if i < len(in_force) else self._given(live, next_pod)
            yield from self._spreading.of(live, next_pod.raw, defaults, i)

    def _foreign(self, next_pods: Sequence[MadePod]) -> str:
        names = (read_pod(pod.raw).scheduler_name for pod in next_pods)
        return next((name for name in names if name not in self._profiles), "")

    def _given(self, live: LiveWorkload, next_pod: MadePod) -> Sequence[object]:
        """Return the constraints that evenkeel has given the newest Pod, if its template has none."""
        newest = live.newest
        if read_pod(next_pod.raw).constraints or newest is None or not newest.defaulted:
            return ()
        return as_list(newest.constraints)

    def _judged(self, live: LiveWorkload, next_pods: Sequence[MadePod]) -> Sequence[Workload]:
        """Return the workload for the rules; without its owner, so that they give advice: here somebody reads it."""
        described = live.stored is not None and not live.is_pod
        raw = live.raw if described else None
        if not described and next_pods:
            raw = next_pods[0].raw
        workloads = self._parsed(raw, live.ref.namespace) if raw is not None else ()
        try:
            weigh(workloads)
        except TooLarge:
            return ()  # The answers say so.
        if not described and not live.waiting:  # All its Pods have nodes, so nothing is to be placed.
            workloads = tuple([replace(workload, replicas=0) for workload in workloads])
        scaling = scaling_of(workloads, self._scalings)
        return [
            replace(workload if scaling is None else workload.within(scaling), owner=None) for workload in workloads
        ]

    def _findings(self, workloads: Iterable[Workload]) -> tuple[Finding, ...]:
        return tuple(
            [finding for workload in workloads for finding in self._found(workload, self._snapshot, self._others)]
        )

    def _at_most(self, workloads: Iterable[Workload], findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """
        Return what the rules find besides if autoscalers give workloads the most replicas.

        No Pods count, since it is not known which will be there by then.
        """
        already_found = {(finding.rule, finding.path) for finding in findings}
        grown = [
            replace(workload, replicas=most)
            for workload in workloads
            if workload.scaling is not None and (most := workload.scaling.most or 0) > workload.replicas
        ]
        at_most = [
            finding for grown_workload in grown for finding in self._found(grown_workload, self._without_pods, None)
        ]
        return tuple([finding for finding in at_most if (finding.rule, finding.path) not in already_found])

    def _found(self, workload: Workload, snapshot: ClusterView, others: Neighbours | None) -> tuple[Finding, ...]:
        namespace_labels = self._snapshot.namespaces.get(workload.namespace)
        settings = self._policies.policy.in_force(workload, namespace_labels).settings
        return evaluate(workload, settings, snapshot, self._features, others, room_for).findings

    def _parsed(self, raw: Mapping[str, object], namespace: str) -> tuple[Workload, ...]:
        return parse_workloads(raw, self._policies.policy.kinds, namespace)


def _replicas(live: LiveWorkload) -> int | None:
    written = live.written
    return None if written is None else written.replicas


def _order(workload: ReportedWorkload, by_policy: bool) -> tuple[object, ...]:
    """Return the sort key of a workload; the one that is hurt most is first: see docs/report.md."""
    share = (workload.share or 0.0) if workload.live.running > 1 and workload.live.ref.kind != "DaemonSet" else 0.0
    soft = max((spread.excess for spread in workload.spreads), default=0)
    gravest = min((finding.severity.rank for finding in workload.findings), default=Severity.IGNORE.rank)
    return (
        by_policy and workload.impact.worst.allowed,
        -workload.live.waiting,
        share < 1,
        -workload.excess,
        -share,
        -soft,
        gravest,
        by_name(workload.live.ref),
    )


def _concern(sums: ReportSummary, by_policy: bool) -> tuple[int, ...]:
    """Return the sort key of a group; the one that is hurt most is first: see docs/report.md."""
    denied = (-sums.denied_updates, -sums.denied_creates) if by_policy else ()
    hurt = (-sums.waiting, -(sums.lost or 0), -(sums.uneven or 0))
    return *denied, *hurt, -sums.found[Severity.ERROR], -sums.found[Severity.WARNING]


def summary(workloads: Sequence[ReportedWorkload], *, placed: bool) -> ReportSummary:
    """Return the sums over some workloads; `placed`: the nodes are known."""
    change: Counter[str] = Counter()
    for workload in workloads:
        if workload.defaults_change:
            change[workload.defaults_change] += workload.live.pods
    return ReportSummary(
        workloads=len(workloads),
        pods=sum(workload.live.pods for workload in workloads),
        waiting=sum(workload.live.waiting for workload in workloads),
        outcomes=Counter(workload.impact.worst.outcome for workload in workloads),
        denied=sum(not workload.impact.worst.allowed for workload in workloads),
        denied_updates=sum(workload.impact.denies_update for workload in workloads),
        denied_creates=sum(workload.impact.denies_create for workload in workloads),
        found=Counter(
            severity for workload in workloads for severity in {finding.severity for finding in workload.findings}
        ),
        changed=sum(workload.changes for workload in workloads),
        defaulted=sum(workload.live.pods for workload in workloads if workload.impact.gives_defaults),
        audited_defaults=sum(workload.live.pods for workload in workloads if workload.impact.audited_defaults),
        defaults_change=change,
        uneven=sum(any(spread.excess for spread in workload.spreads) for workload in workloads) if placed else None,
        forced=sum(workload.forced for workload in workloads) if placed else None,
        assumed=sum(workload.assumed for workload in workloads) if placed else None,
        lost=sum(workload.loses_all for workload in workloads) if placed else None,
        idle=sum(why != "" for workload in workloads for why in workload.idle) if placed else None,
        loss=sum_of_losses(workload.loss for workload in workloads) if placed else None,
    )
