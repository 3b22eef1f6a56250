"""
DefaultPreemption: on which nodes there would be room for a Pod if Pods of lower priority went, and which of them go.

    refused nodes ──those that Pods refuse──> without all lower Pods ──fits?──> give back what still fits ──> victims
    candidates ──fewest violated budgets, lowest victim, ... ──> the nodes that kube-scheduler may choose

Since 1.38, Pods with the same priority and start time go by their UIDs, which is their order in the snapshot. Before,
they are in the order of kube-scheduler's cache, which nobody can know: here it is that of their names. In one attempt,
chance decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from evenkeel.objects.disruption_budget import DisruptionBudget
from evenkeel.scheduler.attached_volumes import SchedulerError
from evenkeel.scheduler.framework import DryRun, Feasibility, Framework, counted, message
from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.plugins.plugin import Reason, Refusal
from evenkeel.scheduler.pod_counts import LabelSet
from evenkeel.scheduler.profile import Cycle
from evenkeel.scheduler.snapshot import NamedPod
from webhook.kubernetes.features import Features
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import read_selector
from webhook.spread.nodes import NodeSet
from webhook.spread.selectors import Selector, as_selector
from webhook.spread.validation import selector_errors

NO_VICTIMS = Reason("No preemption victims found for incoming pod")
NOT_HELPFUL = Reason("Preemption is not helpful for scheduling")
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."
STILL_ENDING = "not eligible due to a terminating pod on the nominated node."
NO_CLAIM_DEALLOCATED = "no new claims to deallocate"
NO_STATE = "not found"  # The state of DynamicResources, whose PreFilter did not run.
LOWEST_PRIORITY = -(1 << 31)

PodsOn = Callable[[str], Sequence[NamedPod]]


class Victims(NamedTuple):
    """
    The Pods that preemption takes from a node.

    upstream: types.go:Victims of the extender's API (v1.37)
    """

    pods: tuple[NamedPod, ...]  # The most important first.
    violations: int  # How many of them violate a budget.

    @property
    def cost(self) -> tuple[int, int, int, int, float]:
        """
        What kube-scheduler compares of candidates: it takes the smallest.

        upstream: preemption.go:pickOneNodeForPreemption (v1.37)
        """
        pods = [named.pod for named in self.pods]
        highest = pods[0].priority
        return (
            self.violations,
            highest,
            sum(pod.priority - LOWEST_PRIORITY for pod in pods),
            len(pods),
            -min(pod.started for pod in pods if pod.priority == highest),
        )


class Preemption(NamedTuple):
    """What DefaultPreemption makes of a Pod that no node takes."""

    candidates: Mapping[str, Victims]  # The nodes on which it helps.
    # The equally good ones of which kube-scheduler chooses any.  None where the choice depends on the node at which it
    # begins to look; `candidates` are not all then.
    nodes: tuple[str, ...]
    failure: str  # What kube-scheduler adds to its message where there is no candidate.
    tried: bool = True  # A node has Pods of lower priority that may be in the way.
    budgets_unknown: bool = False  # What the budgets allow matters, and is unknown.
    ending: tuple[NamedPod, ...] = ()  # Pods that were preempted for the Pod before: it waits until they are gone.
    clears_nomination: bool = False  # No preemption helps: the Pod loses its nominated node.

    @property
    def helps(self) -> bool:
        """Whether room can be made on a node."""
        return bool(self.candidates)


class _MatchingBudget(NamedTuple):
    written: DisruptionBudget
    selector: Selector

    def matches(self, pod: NamedPod, features: Features) -> bool:
        """Return whether the budget protects a Pod; one without labels only since 1.38."""
        may_match = pod.namespace == self.written.namespace and (features.empty_selector_protects or pod.pod.labels)
        return bool(may_match) and self.selector.matches(dict(pod.pod.labels))


def preempt(
    framework: Framework,
    feasibility: Feasibility,
    pods_on: PodsOn,
    budgets: Sequence[DisruptionBudget] | None,
    random: Random | None = None,
) -> Preemption | None:
    """
    Return what preemption comes to where no node is feasible; the framework is unchanged afterwards.

    `budgets` are None where they may not be read.  With `random` it is one attempt, which begins at any node and ends
    once it has enough candidates; without, it is what all attempts have in common.

    None where kube-scheduler does not get as far: a node is feasible, there are no nodes, the attempt was given up, or
    DefaultPreemption does not run.

    upstream: preemption.go:Evaluator.Preempt (v1.37)
    """
    cycle = framework.cycle
    if feasibility.feasible or feasibility.error or not cycle.snapshot.nodes or not cycle.profile.preempts:
        return None
    if feasibility.rejected and cycle.profile.deallocates and cycle.features.rejection_ends_post_filter:
        return Preemption({}, (), NO_STATE, False)
    if not cycle.pod.preempts:
        return Preemption({}, (), _failed(cycle, NEVER_PREEMPTS), False)
    tries_own_node = feasibility.resolvable & cycle.snapshot.nodes.named((framework.own_node,))
    if tries_own_node and (ending := ending_for(cycle.pod, pods_on(framework.own_node))):
        return Preemption({}, (), _failed(cycle, STILL_ENDING), False, ending=tuple(ending))
    return _Evaluator(framework, pods_on, budgets, random).preemption(feasibility.resolvable)


def _failed(cycle: Cycle, why: str) -> str:
    """
    Return what the PostFilter plugins say together.

    upstream: framework.go:frameworkImpl.RunPostFilterPlugins (v1.37)
    """
    speaks = cycle.profile.deallocates and cycle.features.speaks_of_deallocation
    before = f"{NO_CLAIM_DEALLOCATED}, " if speaks else ""
    return f"{before}preemption: {why}"


class _Evaluator:
    """Looks for victims on nodes, in the order of names or at `random`."""

    def __init__(
        self,
        framework: Framework,
        pods_on: PodsOn,
        budgets: Sequence[DisruptionBudget] | None,
        random: Random | None,
    ) -> None:
        self.framework, self.cycle, self.pods_on, self.random = framework, framework.cycle, pods_on, random
        self.budgets = list(_matching(budgets or (), self.cycle.features))
        self.budgets_unknown = budgets is None
        if random is not None:
            random.shuffle(self.budgets)  # kube-scheduler lists them in any order.
        self.errors: dict[str, None] = {}  # Messages of filters that gave up, each once, in their order.
        # Places in `budgets` of those that match Pods of a namespace with these labels.
        self._matching: dict[tuple[str, LabelSet], tuple[int, ...]] = {}

    def preemption(self, potential: NodeSet) -> Preemption:
        nodes = self.cycle.snapshot.nodes
        candidates, refusals, unviolated = dict[str, Victims](), list[Refusal](), 0
        # An attempt stops at enough candidates.  So one more than enough shows that the choice depends on where an
        # attempt begins: any candidate may be left out by one that begins behind it.  But every attempt goes on until
        # it has a candidate without violations: a single such one is never left out.
        more = 0 if self.random is not None else 1
        enough, complete = self._enough(potential) + more, True
        for name in self._in_turn(potential):
            victims = self._on(name)
            if isinstance(victims, Refusal):
                refusals.append(victims)
                continue
            candidates[name] = victims
            if not victims.violations:
                unviolated += 1
            if len(candidates) >= enough and unviolated > more:
                complete = self.random is not None
                break
        if candidates:
            chosen = cheapest(candidates) if complete else ()
            return Preemption(candidates, chosen, "", True, self.budgets_unknown)
        if self.errors:
            errors = ", ".join(self.errors)
            failure = f"preemption: [{errors}]" if len(self.errors) > 1 else f"preemption: {errors}"
            return Preemption({}, (), failure, False)
        refusals.append(Refusal("", (NOT_HELPFUL,), nodes.all & ~potential))
        reasons = counted(refusal for refusal in refusals if refusal.nodes)
        tried = any(refusal.reasons not in ((NO_VICTIMS,), (NOT_HELPFUL,)) for refusal in refusals)
        failure = _failed(self.cycle, f"0/{len(nodes)} nodes are available: {reasons}.")
        return Preemption({}, (), failure, tried, clears_nomination=True)

    def _in_turn(self, potential: NodeSet) -> list[str]:
        """
        Return the nodes in the order in which they are looked at.

        upstream: default_preemption.go:DefaultPreemption.GetOffsetAndNumCandidates (v1.37)
        """
        names = list(self.cycle.snapshot.nodes.names(potential))
        offset = self.random.randrange(len(names)) if self.random is not None and names else 0
        return [*names[offset:], *names[:offset]]

    def _enough(self, potential: NodeSet) -> int:
        """
        Return how many candidates are enough for kube-scheduler.

        upstream: default_preemption.go:DefaultPreemption.calculateNumCandidates (v1.37)
        """
        number, profile = potential.bit_count(), self.cycle.profile
        return min(number, max(number * profile.preemption_percentage // 100, profile.preemption_candidates))

    def _on(self, node: str) -> Victims | Refusal:
        """
        Return the victims on a node, or why preemption does not help there.

        upstream: default_preemption.go:DefaultPreemption.SelectVictimsOnNode (v1.37)
        """
        bit, priority = self.cycle.snapshot.nodes.named_one(node), self.cycle.pod.priority
        lower = [named for named in self.pods_on(node) if named.pod.priority < priority]
        if not lower:
            return Refusal("", (NO_VICTIMS,), bit)
        if self.random is not None:
            self.random.shuffle(lower)
        elif not self.cycle.features.equal_victims_by_uid:
            lower.sort(key=lambda named: (named.namespace, named.name))
        lower.sort(key=_importance)
        with DryRun(self.framework, node) as dry_run:
            for named in lower:
                dry_run.give((named.namespace, named.pod), -1)
            try:
                if (refusal := dry_run.refusal()) is not None:
                    return refusal
                if (victims := self._reprieve(dry_run, lower)).pods:
                    return victims
                if self.cycle.features.victimless_node_is_refused:
                    return Refusal("", (NO_VICTIMS,), bit)
                error = f'expected at least one victim pod on node "{node}"'
            except SchedulerError as raised:
                error = str(raised)
        self.errors[error] = None
        return Refusal("", (Reason(error),), bit)

    def _reprieve(self, dry_run: DryRun, lower: Sequence[NamedPod]) -> Victims:
        """Put back one Pod after the other, those that violate a budget first; victims are those that do not fit."""
        violating, taken = self._violating(lower), set[int]()
        for i in sorted(range(len(lower)), key=lambda i: i not in violating):
            member = lower[i].namespace, lower[i].pod
            dry_run.give(member)
            if not dry_run.passes():
                dry_run.give(member, -1)
                taken.add(i)
        return Victims(tuple([lower[i] for i in sorted(taken)]), len(taken & violating))

    def _violating(self, lower: Sequence[NamedPod]) -> set[int]:
        """
        Return the places of the Pods that violate a budget if all are evicted, one after the other.

        upstream: util.go:FilterVictimsWithPDBViolation (v1.37)
        """
        allowed, violating = [budget.written.allowed or 0 for budget in self.budgets], set[int]()
        for place, named in enumerate(lower):
            for i in self._counting(named):
                self.budgets_unknown |= self.budgets[i].written.allowed is None
                allowed[i] -= 1
                if allowed[i] < 0:
                    violating.add(place)
                    if self.cycle.features.counts_budgets_to_violated:
                        break
        return violating

    def _counting(self, named: NamedPod) -> list[int]:
        """Return the places of the budgets for which a Pod counts."""
        matching = self._matching.get((named.namespace, named.pod.labels))
        if matching is None:
            matching = tuple([i for i, budget in enumerate(self.budgets) if budget.matches(named, self.cycle.features)])
            self._matching[named.namespace, named.pod.labels] = matching
        return [i for i in matching if named.name not in self.budgets[i].written.disrupted]


def ending_for(pod: IncomingPod, pods: Iterable[NamedPod]) -> list[NamedPod]:
    """
    Return the Pods on a node that are still ending, as they were preempted for a Pod such as this one.

    upstream: default_preemption.go:DefaultPreemption.PodEligibleToPreemptOthers (v1.37)
    """
    return [named for named in pods if named.pod.preempted and named.pod.priority < pod.priority]


def _matching(budgets: Iterable[DisruptionBudget], features: Features) -> Iterator[_MatchingBudget]:
    """
    Yield the budgets that match Pods: one without a selector or with an invalid one matches none, nor did one with an
    empty selector before 1.38.

    upstream: util.go:FilterVictimsWithPDBViolation (v1.38)
    """
    for written in budgets:
        selector = read_selector(Reader(), written.selector, ("spec", "selector"))
        matching = as_selector(selector)
        if selector is None or any(selector_errors(selector, ())):
            continue
        if features.empty_selector_protects or not matching.empty:
            yield _MatchingBudget(written, matching)


def _importance(named: NamedPod) -> tuple[int, float]:
    """
    A key that sorts the most important Pods first.

    upstream: util.go:MoreImportantVictim (v1.37)
    """
    return -named.pod.priority, named.pod.started


def cheapest(candidates: Mapping[str, Victims]) -> tuple[str, ...]:
    """
    Return the nodes with the smallest cost, of which kube-scheduler chooses any.

    upstream: preemption.go:Evaluator.SelectCandidate (v1.37)
    """
    costs = {node: victims.cost for node, victims in candidates.items()}
    least = min(costs.values())
    return tuple([node for node, cost in costs.items() if cost == least])


def messages(cycle: Cycle, feasibility: Feasibility, preemption: Preemption | None) -> tuple[str, ...]:
    """
    Return what kube-scheduler may say of a Pod: nothing if a node is feasible.

    There is one message for each node that may be chosen, and none where these are not known.

    upstream: schedule_one.go:Scheduler.schedulingAlgorithm (v1.37)
    """
    filter_message = message(cycle, feasibility)
    if not filter_message:
        return ()
    if preemption is None:
        return (filter_message,)
    if preemption.failure:
        return (f"{filter_message} {preemption.failure}",)
    if not cycle.features.tells_preemption:
        return (filter_message,)
    placement = "preemption: found a potential placement for pod on node"
    numbers = [(node, len(preemption.candidates[node].pods)) for node in preemption.nodes]
    return tuple([f"{filter_message} {placement} {node}, preempting {number} victims" for node, number in numbers])
