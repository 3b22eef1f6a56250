"""
DefaultPreemption: on which nodes there would be room for a Pod if Pods of lower priority went, and which of them go.

    refused nodes ──those that Pods refuse──> without all lower Pods ──fits?──> give back what still fits ──> victims
    candidates ──fewest violated budgets, lowest victim, ... ──> the nodes that kube-scheduler may choose

The order of Pods with the same priority and start time is that of kube-scheduler's cache, which nobody can know: all
that may come of it is returned.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, permutations
from random import Random
from typing import NamedTuple

from webhook.objects.disruption_budget import DisruptionBudget
from webhook.objects.reading import Reader
from webhook.scheduler.attached_volumes import SchedulerError
from webhook.scheduler.constraint import read_selector
from webhook.scheduler.counts import BoundPod, LabelSet
from webhook.scheduler.framework import DryRun, Feasibility, Framework, counted, message
from webhook.scheduler.incoming import IncomingPod
from webhook.scheduler.nodes import NodeSet
from webhook.scheduler.plugins.plugin import Refusal
from webhook.scheduler.profile import Cycle
from webhook.scheduler.selectors import Selector, as_selector
from webhook.scheduler.snapshot import NamedPod
from webhook.scheduler.validation import selector_errors

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_NODE_FITS = "nodes are available: "
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."
STILL_ENDING = "not eligible due to a terminating pod on the nominated node."
NO_CLAIM_DEALLOCATED = "no new claims to deallocate"
NO_STATE = "not found"  # That of DynamicResources, whose PreFilter did not run.
LOWEST_PRIORITY = -(1 << 31)
MOST_OUTCOMES, MOST_BUDGETS_ORDERED = 64, 4  # of a node; of budgets over one Pod, of which every order is tried
MOST_FITS, MOST_FITS_IN_ALL = 500, 20_000  # of a node and of all, in each of which the Pod is tried beside others
MOST_CLASSIFIED = 20_000  # Pods that are held against budgets, in every order of those that are equally important
MOST_DRY_RUNS = 300  # That help, where kube-scheduler is content with some; each takes ten milliseconds.

PodsOn = Callable[[str], Sequence[NamedPod]]
Counts = tuple[int, ...]  # How many Pods of each sort, in the order of the sorts.


class Alike(NamedTuple):
    """Pods on a node that are alike, of which `number` are preempted: which of them is not known."""

    pods: tuple[NamedPod, ...]
    number: int

    @property
    def priority(self) -> int:
        return self.pods[0].pod.priority

    @property
    def started(self) -> float:
        return self.pods[0].pod.started


class Victims(NamedTuple):
    """
    What preemption takes from a node, the most important Pods first; `violations` of them violate a budget.

    upstream: types.go:Victims of the extender's API (v1.37)
    """

    alike: tuple[Alike, ...]
    violations: int

    @property
    def number(self) -> int:
        return sum(alike.number for alike in self.alike)

    @property
    def cost(self) -> tuple[int, int, int, int, float]:
        """
        What kube-scheduler compares of candidates: it takes the smallest.

        upstream: preemption.go:pickOneNodeForPreemption (v1.37)
        """
        highest = max(alike.priority for alike in self.alike)
        return (
            self.violations,
            highest,
            sum(alike.number * (alike.priority - LOWEST_PRIORITY) for alike in self.alike),
            self.number,
            -min(alike.started for alike in self.alike if alike.priority == highest),
        )


class Preemption(NamedTuple):
    """
    What DefaultPreemption makes of a Pod that no node takes.

    `candidates` are the nodes on which it helps, each with all that may come of it; `nodes` those that may be chosen.
    `failure` is what kube-scheduler adds to its message where there is no candidate; it `tried` if a node has Pods of
    lower priority that may be in the way.  It is not `exact` where some nodes, or some outcomes of a node, were not
    looked at; `budgets_unknown` if what the budgets allow is not known, and matters.  `ending` are the Pods that were
    preempted for the Pod before, and for whose end it waits.
    """

    candidates: Mapping[str, tuple[Victims, ...]]
    nodes: tuple[str, ...]
    failure: str
    tried: bool = True
    exact: bool = True
    budgets_unknown: bool = False
    ending: tuple[NamedPod, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether room can be made on a node."""
        return bool(self.candidates)

    @property
    def clears_nomination(self) -> bool:
        """Whether the Pod loses the node that was nominated for it: no preemption helps it."""
        return NO_NODE_FITS in self.failure

    @property
    def outcomes(self) -> list[tuple[str, Victims]]:
        """The nodes that may be chosen, each with what may be taken from it."""
        return [(node, victims) for node in self.nodes for victims in self.candidates[node]]


class _MatchingBudget(NamedTuple):
    written: DisruptionBudget
    selector: Selector

    def matches(self, pod: NamedPod) -> bool:
        """Return whether the budget is about the Pod, by its namespace and labels."""
        in_namespace = pod.namespace == self.written.namespace
        return in_namespace and bool(pod.pod.labels) and self.selector.matches(dict(pod.pod.labels))


class _Sort(NamedTuple):
    """Pods on a node that are alike in all that preemption looks at; `budgets` are those for which they count."""

    pods: tuple[NamedPod, ...]
    budgets: tuple[int, ...]

    @property
    def member(self) -> tuple[str, BoundPod]:
        return self.pods[0].namespace, self.pods[0].pod

    @property
    def rank(self) -> tuple[int, float]:
        """Return what puts the most important Pods first."""
        return -self.pods[0].pod.priority, self.pods[0].pod.started


class _Taken(NamedTuple):
    """How many Pods of each sort preemption takes, and how many of them violate a budget."""

    taken: Counts
    violations: int


class _Classified(NamedTuple):
    """How many Pods of each sort violate a budget, and how many each budget still allows."""

    violating: Counts
    allowed: Counts


def preempt(
    framework: Framework,
    feasibility: Feasibility,
    pods_on: PodsOn,
    budgets: Sequence[DisruptionBudget] | None,
    random: Random | None = None,
) -> Preemption | None:
    """
    Return what preemption comes to where no node is feasible; the framework is as before.

    `pods_on` returns the Pods on the node with a name; `budgets` are None where those may not be read.  None where
    kube-scheduler does not get as far: a node is feasible, none is there, the attempt was given up, or
    DefaultPreemption does not run.  With `random` it is one attempt, which ends once it has candidates enough;
    else all that may come of any.

    upstream: preemption.go:Evaluator.Preempt (v1.37)
    """
    cycle = framework.cycle
    if feasibility.feasible or feasibility.error or not cycle.snapshot.nodes or not cycle.profile.preempts:
        return None
    return _Evaluator(framework, feasibility, pods_on, budgets, random).preemption()


class _Evaluator:
    """One attempt to preempt: with the budgets, and what of each node is known."""

    def __init__(
        self,
        framework: Framework,
        feasibility: Feasibility,
        pods_on: PodsOn,
        budgets: Sequence[DisruptionBudget] | None,
        random: Random | None,
    ) -> None:
        self.random = random
        self.framework, self.feasibility, self.cycle = framework, feasibility, framework.cycle
        self.pods_on, self._budgets = pods_on, tuple(_matching(budgets or ()))
        self.exact, self.budgets_unknown = True, budgets is None
        self.errors: dict[str, None] = {}  # At which filters gave up.
        self._heeds_room_alone = framework.heeds_room_alone
        self._alike: dict[
            object, tuple[_Taken, ...] | Refusal
        ] = {}  # What was found on a node, for those that are alike.
        self._matching: dict[tuple[str, LabelSet], tuple[int, ...]] = {}  # The budgets about Pods with these labels.
        self.tried, self.fits, self.classified = 0, 0, 0

    def preemption(self) -> Preemption:
        features, deallocates = self.cycle.features, self.cycle.profile.deallocates
        if self.feasibility.rejected and deallocates and features.rejection_ends_post_filter:
            return Preemption({}, (), NO_STATE, False)
        if ineligible := self._ineligible():
            ending = tuple(self._ending) if ineligible == STILL_ENDING else ()
            return Preemption({}, (), self._failed(ineligible), False, ending=ending)
        nodes = self.cycle.snapshot.nodes
        potential = self.feasibility.resolvable
        outcomes, refusals = dict[str, tuple[Victims, ...]](), list[Refusal]()
        enough, unviolated = self._enough(potential), False
        for name in self._in_turn(potential, enough):
            if unviolated and enough < potential.bit_count():
                if self.random is None and self.tried >= MOST_DRY_RUNS:
                    self.exact = False
                    break
                if self.random is not None and len(outcomes) >= enough:
                    break
            outcome = self._on(name)
            if isinstance(outcome, Refusal):
                refusals.append(outcome)
            else:
                outcomes[name] = outcome
                unviolated |= all(victims.violations == 0 for victims in outcome)
        candidates = {name: outcomes[name] for name in nodes.names(potential) if name in outcomes}
        if not candidates and self.errors:
            told = ", ".join(self.errors)
            return Preemption({}, (), f"preemption: {told if len(self.errors) == 1 else f'[{told}]'}", False)
        if not candidates:
            refusals.append(Refusal("", (NOT_HELPFUL,), nodes.all & ~potential))
            reasons = counted(refusal for refusal in refusals if refusal.nodes)
            tried = any(refusal.reasons not in ((NO_VICTIMS,), (NOT_HELPFUL,)) for refusal in refusals)
            return Preemption({}, (), self._failed(f"0/{len(nodes)} {NO_NODE_FITS}{reasons}."), tried)
        chosen = tuple(_chosen(candidates, enough))
        return Preemption(candidates, chosen, "", True, self.exact, self.budgets_unknown)

    def _in_turn(self, potential: NodeSet, enough: int) -> list[str]:
        """
        Return the nodes in the order in which they are looked at, where that may end before the last: from any on, as
        one attempt does, or for all attempts in no order.

        upstream: default_preemption.go:DefaultPreemption.GetOffsetAndNumCandidates (v1.37)
        """
        names = list(self.cycle.snapshot.nodes.names(potential))
        if enough == len(names):
            return names
        if self.random is None:
            return Random(len(names)).sample(names, len(names))
        offset = self.random.randrange(len(names))
        return [*names[offset:], *names[:offset]]

    def _ineligible(self) -> str:
        """
        Return why the Pod may not preempt others, "" if it may.

        upstream: default_preemption.go:DefaultPreemption.PodEligibleToPreemptOthers (v1.37)
        """
        own_node = self.cycle.snapshot.nodes.named((self.framework.own_node,))
        if not self.cycle.pod.preempts:
            return NEVER_PREEMPTS
        return STILL_ENDING if self.feasibility.resolvable & own_node and self._ending else ""

    @property
    def _ending(self) -> list[NamedPod]:
        """The Pods that were preempted for this one before, and have not ended yet."""
        return ending_for(self.cycle.pod, self.pods_on(self.framework.own_node))

    def _failed(self, why: str) -> str:
        """
        Return what the PostFilter plugins say together.

        upstream: framework.go:frameworkImpl.RunPostFilterPlugins (v1.37)
        """
        speaks = self.cycle.profile.deallocates and self.cycle.features.speaks_of_deallocation
        before = f"{NO_CLAIM_DEALLOCATED}, " if speaks else ""
        return f"{before}preemption: {why}"

    def _enough(self, potential: NodeSet) -> int:
        """
        Return with how many candidates kube-scheduler is content.

        upstream: default_preemption.go:DefaultPreemption.calculateNumCandidates (v1.37)
        """
        number, profile = potential.bit_count(), self.cycle.profile
        return min(number, max(number * profile.preemption_percentage // 100, profile.preemption_candidates))

    def _on(self, node: str) -> tuple[Victims, ...] | Refusal:
        """
        Return what may be taken from a node, or why that does not help.

        upstream: default_preemption.go:DefaultPreemption.SelectVictimsOnNode (v1.37)
        """
        bit, priority = self.cycle.snapshot.nodes.named_one(node), self.cycle.pod.priority
        lower = [named for named in self.pods_on(node) if named.pod.priority < priority]
        if not lower:
            return Refusal("", (NO_VICTIMS,), bit)
        sorts = self._sorts(lower)
        likeness = self._likeness(node, sorts)
        tried = self._alike.get(likeness) if likeness is not None else None
        if tried is None:
            tried = self._tried(node, sorts)
            if likeness is not None:
                self._alike[likeness] = tried
        if isinstance(tried, Refusal):
            return tried._replace(nodes=bit)
        return tuple([_victims(sorts, taken, violations) for taken, violations in tried])

    def _sorts(self, pods: Iterable[NamedPod]) -> list[_Sort]:
        """
        Return the Pods by sort, the most important first.

        upstream: util.go:MoreImportantVictim (v1.37)
        """
        alike: dict[object, tuple[list[NamedPod], tuple[int, ...]]] = {}
        for named in sorted(pods, key=lambda named: (named.namespace, named.name)):
            pod, counting = named.pod, self._counting(named)
            rank = pod.priority, pod.started
            of_sort: object = (pod.requests, rank) if self._heeds_room_alone else (named.namespace, pod)
            alike.setdefault((of_sort, counting), ([], counting))[0].append(named)
        return sorted([_Sort(tuple(there), counting) for there, counting in alike.values()], key=lambda sort: sort.rank)

    def _counting(self, named: NamedPod) -> tuple[int, ...]:
        """Return the budgets for which a Pod counts, by their places."""
        matching = self._matching.get((named.namespace, named.pod.labels))
        if matching is None:
            matching = tuple([i for i, budget in enumerate(self._budgets) if budget.matches(named)])
            self._matching[named.namespace, named.pod.labels] = matching
        return tuple([i for i in matching if named.name not in self._budgets[i].written.disrupted])

    def _likeness(self, node: str, sorts: Sequence[_Sort]) -> object | None:
        """Return what decides on a node where only room does: equal on nodes that are alike; else None."""
        framework, nodes = self.framework, self.cycle.snapshot.nodes
        there = nodes.get(node)
        if not self._heeds_room_alone or there is None or not framework.usable & nodes.named_one(node):
            return None
        ranked = [list(group) for _, group in groupby(sorts, key=lambda sort: sort.rank)]
        pods = tuple(
            [
                (i, sort.member[1].requests, sort.budgets, len(sort.pods))
                for i, rank in enumerate(ranked)
                for sort in rank
            ]
        )
        kept = frozenset(Counter(pod.requests for _, pod in framework.nominated_on(node)).items())
        return there.allocatable, framework.usage_of(node), pods, kept

    def _tried(self, node: str, sorts: Sequence[_Sort]) -> tuple[_Taken, ...] | Refusal:
        """Return how many of each sort may be taken from a node so that the Pod fits, and how many violate a budget."""
        with DryRun(self.framework, node) as dry_run:
            for sort in sorts:
                dry_run.give(sort.member, -len(sort.pods))
            try:
                if (refusal := dry_run.refusal()) is not None:
                    return refusal
                self.tried += 1
                if taken := self._taken(self._reprieve(dry_run, sorts)):
                    return taken
                error = f'expected at least one victim pod on node "{node}"'
            except SchedulerError as raised:
                error = str(raised)
        self.errors[error] = None
        return Refusal("", (error,), self.cycle.snapshot.nodes.named_one(node))

    def _reprieve(self, dry_run: DryRun, sorts: Sequence[_Sort]) -> _Reprieve:
        there = [mounts for sort in sorts if (mounts := sort.pods[0].pod.mounts) is not None]
        most = min(MOST_FITS, MOST_FITS_IN_ALL - self.fits)
        return _Reprieve(dry_run, sorts, any(map(self.cycle.mounts.shares, there)), most)

    def _taken(self, reprieve: _Reprieve) -> tuple[_Taken, ...]:
        sorts = reprieve.sorts
        numbers = tuple([len(sort.pods) for sort in sorts])
        nothing = (0,) * len(sorts)
        outcomes = dict[_Taken, None]()
        for violating in self._violating(sorts):
            of_others = tuple([number - of_them for number, of_them in zip(numbers, violating, strict=True)])
            for first in reprieve.kept(nothing, violating):
                lost = sum(violating) - sum(first)
                for kept in reprieve.kept(first, of_others) if len(outcomes) < MOST_OUTCOMES else ():
                    taken = tuple([there - left for there, left in zip(numbers, kept, strict=True)])
                    outcomes[_Taken(taken, lost)] = None
        self.exact &= reprieve.exact and len(outcomes) < MOST_OUTCOMES
        self.fits += reprieve.fits
        return tuple([outcome for outcome in outcomes if any(outcome.taken)])

    def _violating(self, sorts: Sequence[_Sort]) -> Iterable[Counts]:
        """
        Return how many Pods of each sort violate budgets if all were evicted, in each way in which that may be.

        upstream: util.go:FilterVictimsWithPDBViolation (v1.37)
        """
        counting = [i for i, sort in enumerate(sorts) if sort.budgets]
        nothing = (0,) * len(sorts)
        if not counting:
            return (nothing,)
        allowed = [budget.written.allowed for budget in self._budgets]
        if any(allowed[i] is None for sort in sorts for i in sort.budgets):
            self.budgets_unknown = True
        ways = {_Classified(nothing, tuple([number or 0 for number in allowed]))}
        for _, group in groupby(counting, key=lambda i: sorts[i].rank):
            ways = self._classified(ways, list(group), sorts)
        return dict.fromkeys(way.violating for way in ways)

    def _classified(self, ways: set[_Classified], tied: Sequence[int], sorts: Sequence[_Sort]) -> set[_Classified]:
        """Return the ways after Pods of the same importance, of these sorts, in any order."""
        left = {(way, tuple([len(sorts[i].pods) for i in tied])) for way in ways}
        while any(sum(numbers) for _, numbers in left):
            self.classified += len(left) * len(tied)
            if in_one_order := self.classified > MOST_CLASSIFIED:
                self.exact, left = False, {min(left)}
            after = {
                (way, (*numbers[:place], numbers[place] - 1, *numbers[place + 1 :]))
                for before, numbers in left
                for place in [place for place, number in enumerate(numbers) if number][: 1 if in_one_order else None]
                for way in self._counted(before, tied[place], sorts[tied[place]].budgets)
            }
            if len(after) > MOST_OUTCOMES:
                self.exact, after = False, set(sorted(after)[:MOST_OUTCOMES])
            left = after
        return {way for way, _ in left}

    def _counted(self, before: _Classified, i: int, budgets: tuple[int, ...]) -> Iterator[_Classified]:
        """Yield what is left of the budgets after a Pod of the i-th sort; kube-scheduler lists budgets in any order."""
        to_violated = self.cycle.features.counts_budgets_to_violated
        several = to_violated and 1 < len(budgets) <= MOST_BUDGETS_ORDERED
        for order in permutations(budgets) if several else (budgets,):
            allowed, violated = list(before.allowed), False
            for budget in order:
                allowed[budget] -= 1
                violated |= allowed[budget] < 0
                if violated and to_violated:
                    break
            violating = list(before.violating)
            violating[i] += violated
            yield _Classified(tuple(violating), tuple(allowed))


class _Reprieve:
    """
    Gives Pods back to a node, the most important first, as long as the Pod that preempts still fits.

    What it does not fit beside, it does not fit beside with more Pods, either: so many can be given back at once.  Not
    so where one of them has a volume that the Pod has, too: with it there the node attaches no volume more.
    """

    def __init__(self, dry_run: DryRun, sorts: Sequence[_Sort], shares_volumes: bool, most_fits: int) -> None:
        self.dry_run, self.sorts, self.shares_volumes = dry_run, sorts, shares_volumes
        self.exact, self._most_fits = True, most_fits
        self._there: Counts = (0,) * len(sorts)
        self._known: dict[Counts, bool] = {self._there: True}

    @property
    def fits(self) -> int:
        """How often the Pod was tried beside others."""
        return len(self._known)

    def kept(self, before: Counts, offered: Counts) -> Sequence[Counts]:
        """Return which Pods are there when, beside those from before, some of each sort were offered, in order."""
        ranks = [
            list(group)
            for _, group in groupby((i for i, n in enumerate(offered) if n), key=lambda i: self.sorts[i].rank)
        ]
        states = {before: None}
        if not self.shares_volumes:
            self._offer(states, ranks, offered)
            return tuple(states)
        for rank in ranks:
            states = dict.fromkeys(self._one_by_one(states, rank, offered))
        return tuple(states)

    def _one_by_one(self, states: Iterable[Counts], rank: Sequence[int], offered: Counts) -> Iterator[Counts]:
        """Yield what is kept of Pods of the same importance that come one by one, in each order."""
        seen = {(state, tuple([offered[i] for i in rank])) for state in states}
        waiting = list(seen)
        while waiting:
            now, left = waiting.pop()
            if self.fits > self._most_fits:  # One order of many.
                self.exact = False
                yield self._in_order(now, rank, {i: now[i] + number for i, number in zip(rank, left, strict=True)})
                return
            if not any(left):
                yield now
            for place, i in enumerate(rank):
                if left[place]:
                    larger = _plus(now, {i: 1})
                    fewer = (*left[:place], left[place] - 1, *left[place + 1 :])
                    after = larger if self._fits(larger) else now, fewer
                    if after not in seen:
                        seen.add(after)
                        waiting.append(after)

    def _offer(self, states: dict[Counts, None], ranks: Sequence[Sequence[int]], offered: Counts) -> None:
        """Replace the states by those after these ranks."""
        all_of_them = [i for rank in ranks for i in rank]
        after = dict[Counts, None]()
        left = dict[Counts, None]()
        for state in states:
            everything = _plus(state, {i: offered[i] for i in all_of_them})
            if self._fits(everything):
                after[everything] = None
            else:
                left[state] = None
        if left and len(ranks) > 1:
            middle = len(ranks) // 2
            self._offer(left, ranks[:middle], offered)
            self._offer(left, ranks[middle:], offered)
            after |= left
        elif left:
            for state in left:
                after |= dict.fromkeys(self._of_one_rank(state, ranks[0], offered))
        if len(after) > MOST_OUTCOMES:
            self.exact = False
            after = dict.fromkeys(list(after)[:MOST_OUTCOMES])
        states.clear()
        states |= after

    def _of_one_rank(self, state: Counts, rank: Sequence[int], offered: Counts) -> Iterator[Counts]:
        """Yield what is kept of Pods of the same importance, in each order."""
        most = {i: state[i] + offered[i] for i in rank}
        if len(rank) == 1:
            yield self._of_one_sort(state, rank[0], offered[rank[0]])
            return
        seen, waiting = {state}, [state]
        while waiting:
            now = waiting.pop()
            if self.fits > self._most_fits:  # One order of many.
                self.exact = False
                yield self._in_order(now, rank, most)
                return
            more = [_plus(now, {i: 1}) for i in rank if now[i] < most[i]]
            fitting = [larger for larger in more if self._fits(larger)]
            if not fitting:
                yield now
            new = [larger for larger in fitting if larger not in seen]
            seen.update(new)
            waiting += new

    def _of_one_sort(self, state: Counts, i: int, offered: int) -> Counts:
        """Return what is kept of Pods that are alike: the most beside which the Pod fits."""
        most = bisect_left(range(1, offered + 1), True, key=lambda number: not self._fits(_plus(state, {i: number})))
        return _plus(state, {i: most})

    def _in_order(self, state: Counts, rank: Sequence[int], most: Mapping[int, int]) -> Counts:
        """Return what is kept of Pods of the same importance when they come sort by sort."""
        for i in rank:
            while state[i] < most[i] and self._fits(larger := _plus(state, {i: 1})):
                state = larger
        return state

    def _fits(self, state: Counts) -> bool:
        """Return whether the Pod that preempts fits beside so many Pods of each sort."""
        fits = self._known.get(state)
        if fits is None:
            for sort, there, wanted in zip(self.sorts, self._there, state, strict=True):
                self.dry_run.give(sort.member, wanted - there)
            self._there = state
            fits = self._known[state] = self.dry_run.passes()
        return fits


def ending_for(pod: IncomingPod, there: Iterable[NamedPod]) -> list[NamedPod]:
    """
    Return the Pods on a node that are still ending, as they were preempted for a Pod such as this one.

    upstream: default_preemption.go:DefaultPreemption.PodEligibleToPreemptOthers (v1.37)
    """
    return [named for named in there if named.pod.preempted and named.pod.priority < pod.priority]


def _matching(budgets: Iterable[DisruptionBudget]) -> Iterator[_MatchingBudget]:
    """Yield the budgets that match Pods: one without a selector, or with an empty or invalid one, matches none."""
    for written in budgets:
        selector = read_selector(Reader(), written.selector, ("spec", "selector"))
        matching = as_selector(selector)
        if selector is not None and not matching.empty and not any(selector_errors(selector, ())):
            yield _MatchingBudget(written, matching)


def _plus(state: Counts, more: Mapping[int, int]) -> Counts:
    return tuple([number + more.get(i, 0) for i, number in enumerate(state)])


def _victims(sorts: Sequence[_Sort], taken: Counts, violations: int) -> Victims:
    alike = [Alike(sort.pods, number) for sort, number in zip(sorts, taken, strict=True) if number]
    return Victims(tuple(alike), violations)


def _chosen(candidates: Mapping[str, Sequence[Victims]], enough: int) -> Iterator[str]:
    """
    Yield the nodes that may be chosen: those that cost no more than others may, of any `enough` candidates.

    upstream: preemption.go:Evaluator.SelectCandidate (v1.37)
    """
    least = {node: min(victims.cost for victims in outcomes) for node, outcomes in candidates.items()}
    most = {node: max(victims.cost for victims in outcomes) for node, outcomes in candidates.items()}
    unviolated = any(cost[0] == 0 for cost in most.values())  # It goes on until it has such a node, if there is one.
    compared, in_order = min(enough, len(candidates)), sorted(most.values())
    for node in candidates:
        beside = len(in_order) - bisect_left(in_order, least[node]) - (most[node] >= least[node])
        if beside >= compared - 1 and not (unviolated and least[node][0]):
            yield node


def messages(cycle: Cycle, feasibility: Feasibility, preemption: Preemption | None) -> tuple[str, ...]:
    """
    Return what kube-scheduler may say of a Pod for which no node is feasible, in all; nothing if one is.

    It says one of several where preemption helps on several nodes.

    upstream: schedule_one.go:Scheduler.schedulingAlgorithm (v1.37)
    """
    of_filters = message(cycle, feasibility)
    if not of_filters:
        return ()
    if preemption is None:
        return (of_filters,)
    if preemption.failure:
        return (f"{of_filters} {preemption.failure}",)
    if not cycle.features.tells_preemption:
        return (of_filters,)
    placement = "preemption: found a potential placement for pod on node"
    told = [f"{placement} {node}, preempting {victims.number} victims" for node, victims in preemption.outcomes]
    return tuple([f"{of_filters} {text}" for text in dict.fromkeys(told)])
