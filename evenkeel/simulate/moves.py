"""
The way back to even: the Pods of a workload to delete, one after the other, until no skew is larger than maxSkew.

    Pod of the fullest domain ──deleted; its controller makes another, kube-scheduler places it──> a move, if in every
    run fewer Pods are left to move, and nothing else gets worse; else another Pod is tried

One move is looked for at a time: two that only help together are not found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from evenkeel.placement.missing_room import in_words, lacking_room, share
from evenkeel.scheduler.framework import Feasibility
from evenkeel.scheduler.plugins.plugin import Refusal
from evenkeel.scheduler.profile import NODE_RESOURCES_FIT, VOLUME_BINDING, VOLUME_ZONE, Cycle
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.spread_filter import count_each
from evenkeel.simulate.disruption import refusing
from evenkeel.simulate.forced_skew import least_skews
from evenkeel.simulate.pod import Pod, PodClass
from evenkeel.simulate.replica_set import to_delete
from evenkeel.simulate.run import Plan, SimulatedRun, at_end
from evenkeel.simulate.stateful_set import StatefulSet
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD
from webhook.spread.nodes import NodeSet, union

RUNS = 10  # in which each move is tried
MOST_TRIED = 12  # Pods, until no further move is looked for

# Why there is no further move.
UNDER_WAY = "under-way"  # a rollout is not finished
FORCED = "forced"  # a hard constraint allows no smaller skew
TOO_FEW_DOMAINS = "too-few-domains"  # there are fewer than minDomains, so the fewest Pods count as 0
OTHER_PODS = "other-pods"  # the Pods of the fullest domain are of other workloads
BUDGET = "budget"  # a PodDisruptionBudget allows no eviction
ROOM = "room"  # the nodes with the fewest Pods have too little room
CLAIM = "claim"  # a claim keeps the Pod off them
CONSTRAINT = "constraint"  # another constraint keeps it off them, or would be worse
CLOSED = "closed"  # they do not take the Pod for another reason
PUT_BACK = "put-back"  # kube-scheduler may prefer other nodes
NEIGHBOUR = "neighbour"  # another workload would be worse
WAITS = "waits"  # a Pod would wait, or be preempted
NOT_SIMULATED = "not-simulated"  # nothing makes such a Pod again, or its controller or scheduler is not simulated

# By the plugin that refuses nodes; what comes first is told first.
REASONS: Mapping[str, str] = {
    NODE_RESOURCES_FIT: ROOM,
    VOLUME_BINDING: CLAIM,
    VOLUME_ZONE: CLAIM,
    POD_TOPOLOGY_SPREAD: CONSTRAINT,
}


class Move(NamedTuple):
    """A Pod to delete, and what comes of it."""

    pod: str  # "" if a simulation has made it
    node: str
    key: str  # the topology key of the constraint that exceeds maxSkew most
    domain: str  # that the Pod leaves
    to_domains: tuple[str, ...]  # where the Pod that is made for it may be placed
    skew_before: int
    skew_after: int  # the largest of all runs
    available: int  # Pods of the workload once that Pod is


class Hindrance(NamedTuple):
    """Why there is no further move."""

    reason: str
    pod: str = ""  # that was tried first
    key: str = ""  # the topology key of the constraint that exceeds maxSkew
    domains: tuple[str, ...] = ()  # those with the fewest Pods
    detail: str = ""  # what is lacking, or the claims, the other constraint, the budgets, the other workload


class WayBack(NamedTuple):
    """Moves that make a workload more even, and why there are no more; None if it is even after them."""

    moves: tuple[Move, ...] = ()
    hindrance: Hindrance | None = None
    available: int = 0  # Pods of the workload before the first move, once what is under way has settled


class Neighbour(NamedTuple):
    """Another workload whose constraints may count Pods of this one."""

    name: str
    of_class: PodClass


Begin = Callable[[int], SimulatedRun]  # returns the run of a number; all begin with the same Pods


def beginning(plan: Plan, seed: int, number: int = 0) -> Begin:
    """Return what begins runs with all that there is after the steps of a plan, in the simulated run of a number."""

    def begin(number_after: int) -> SimulatedRun:
        simulated = at_end(plan, seed, number)
        simulated.draw(Random(f"{seed}/{number}/{number_after}"))
        return simulated

    return begin


def way_back(begin: Begin, name: str, neighbours: Sequence[Neighbour] = (), runs: int = RUNS) -> WayBack:
    """Return the moves of the workload of this name; each is the best that there is once those before are done."""
    simulated = begin(0)
    workload = simulated.workloads[name]
    if waits := workload.maker.of_class.waits:
        return WayBack(hindrance=Hindrance(NOT_SIMULATED, detail=waits))
    if any(pod.active and workload.is_outdated(pod) for pod in workload.pods):
        return WayBack(hindrance=Hindrance(UNDER_WAY))
    simulated.state.framework(workload.maker.of_class)  # What all runs share is computed before the first begins.
    search = _Search(begin, name, neighbours, runs, frozenset(pod.serial for pod in workload.pods))
    moves, available = list[Move](), search.available
    while isinstance(found := search.next_move(), Move):
        moves.append(found)
    while found is not None and moves and moves[-1].skew_after >= moves[-1].skew_before:
        moves.pop()  # It would have paid only with moves that are not there.
    return WayBack(tuple(moves), found, available)


def pods_to_move(counts: DomainCounts, max_skew: int, leaving: str | None = None) -> int:
    """
    Return the fewest Pods that must change their domain until the skew is maxSkew.

    `leaving`: as if a Pod of this domain were in one with the fewest Pods.
    """
    if not counts.eligible:
        return 0
    numbers = Counter(counts.counts.values())
    numbers[0] += len(counts.eligible) - len(counts.counts)
    numbers = +numbers
    least, total = min(numbers), sum(number * domains for number, domains in numbers.items())
    if leaving is not None:
        for number, change in ((counts.match_num(leaving), -1), (least, 1)):
            numbers[number] -= 1
            numbers[number + change] += 1
    if len(counts.eligible) < counts.constraint.min_domains:
        return sum(domains * max(0, number - max_skew) for number, domains in numbers.items())

    def with_least(wanted: int) -> int:
        below = sum(domains * max(0, wanted - number) for number, domains in numbers.items())
        above = sum(domains * max(0, number - wanted - max_skew) for number, domains in numbers.items())
        return max(below, above)

    return min(with_least(wanted) for wanted in range(least, total // len(counts.eligible) + 1))


class _Search:
    """
    Looks for moves in several runs at once, all of which have done the moves so far.

    `own`: the serials of the Pods that may be deleted; those that a run has made have no name yet.
    """

    def __init__(
        self, begin: Begin, name: str, neighbours: Sequence[Neighbour], runs: int, own: frozenset[int]
    ) -> None:
        self._begin, self._name, self._neighbours, self._own = begin, name, neighbours, own
        self._moved = list[int]()  # serials
        self._trials = [self._trial(number) for number in range(runs)]

    def _trial(self, number: int) -> _Trial:
        trial = _Trial(self._begin(number), self._name, self._neighbours)
        for serial in self._moved:
            trial.delete(serial)
        return trial

    @property
    def available(self) -> int:
        """How many Pods of the workload are available after the moves so far."""
        return sum(pod.available for pod in self._trials[0].workload.pods)

    def next_move(self) -> Move | Hindrance | None:
        """Return the next move; else why there is none, or None if the workload is even."""
        first = self._trials[0]
        uneven = [i for i, number in enumerate(first.to_move) if number]
        uneven.sort(key=lambda i: first.limits[i] - first.counted[i].largest_skew)  # the most beyond its limit first
        if not uneven:
            forced = [
                Hindrance(FORCED, key=first.key(i), detail=least.forced_by)
                for i, least in enumerate(first.least)
                if least.forced_by
            ]
            return None if self._moved or not forced else forced[0]
        hindrance: Hindrance | None = None
        pods = [(i, pod) for i in uneven for pod in first.candidates(i, self._own)][:MOST_TRIED]
        for i, pod in pods:
            found = self._try(pod, i, in_full=hindrance is None)
            if isinstance(found, Move):
                return found
            hindrance = hindrance or found
        worst = first.counted[uneven[0]]
        too_few = len(worst.eligible) < worst.constraint.min_domains
        return hindrance or Hindrance(TOO_FEW_DOMAINS if too_few else OTHER_PODS, key=first.key(uneven[0]))

    def _try(self, pod: Pod, i: int, *, in_full: bool) -> Move | Hindrance:
        """Return the move of a Pod, to lower the skew of constraint `i`; if it helps not in every run, why."""
        counts = self._trials[0].counted[i]
        domain, to_domains, skews = counts.domain_of(pod.node) or "", set[str](), list[int]()
        for number, trial in enumerate(self._trials):
            if (hindrance := trial.move(pod.serial, i, in_full=in_full)) is not None:
                for changed in range(number + 1):
                    self._trials[changed] = self._trial(changed)
                return hindrance._replace(pod=pod.name)
            to_domains.add(trial.domain_of_newest(i))
            skews.append(trial.counted[i].largest_skew)
        self._moved.append(pod.serial)
        return Move(
            pod.name,
            pod.node,
            self._trials[0].key(i),
            domain,
            tuple(sorted(to_domains)),
            counts.largest_skew,
            max(skews),
            self.available,
        )


class _Trial:
    """One run, and what the constraints of the workload and of its neighbours count in it."""

    def __init__(self, simulated: SimulatedRun, name: str, neighbours: Sequence[Neighbour]) -> None:
        self.simulated, self.state, self.workload = simulated, simulated.state, simulated.workloads[name]
        self._neighbours = neighbours
        simulated.settle(True)
        self.count()
        self.least = least_skews(self.counted, self.state.ground.nodes)
        self.limits = [least.skew for least in self.least]

    def key(self, i: int) -> str:
        return self.counted[i].constraint.topology_key

    def count(self) -> None:
        """Count the Pods as they are now."""
        self.counted = count_each(self.state.cycle(self.workload.maker.of_class))
        self.of_neighbours = [
            (neighbour.name, count_each(self.state.cycle(neighbour.of_class))) for neighbour in self._neighbours
        ]

    @property
    def to_move(self) -> list[int]:
        """By constraint, how many Pods are left to move."""
        return [pods_to_move(counts, limit) for counts, limit in zip(self.counted, self.limits, strict=True)]

    def _to_move_of_neighbours(self) -> dict[str, int]:
        return {
            name: sum(pods_to_move(counts, counts.constraint.max_skew) for counts in counted)
            for name, counted in self.of_neighbours
        }

    def candidates(self, i: int, own: frozenset[int]) -> Iterator[Pod]:
        """
        Yield Pods whose deletion may lower the skew of constraint `i`: those of the fullest domain first.

        Of a domain, first those that are not ready, and those in full domains of other constraints.  Of Pods that are
        alike on a node there is one.
        """
        counts, now = self.counted[i], self.to_move[i]
        others = [other for other in self.counted if other is not counts]
        pods = [pod for pod in self._in_order() if pod.serial in own and pod.node and counts.selects(pod.labels)]

        def crowd(pod: Pod) -> int:
            return sum(other.match_num(other.domain_of(pod.node) or "") for other in others)

        for domain in sorted(counts.counts, key=lambda domain: (-counts.counts[domain], domain)):
            if pods_to_move(counts, self.limits[i], leaving=domain) < now:
                first_of_kind = dict[object, Pod]()
                for pod in pods:
                    if counts.domain_of(pod.node) == domain:
                        first_of_kind.setdefault((pod.node, pod.labels, pod.mounts), pod)
                yield from sorted(first_of_kind.values(), key=lambda pod: (pod.ready, -crowd(pod)))

    def _in_order(self) -> Sequence[Pod]:
        """Return the Pods in the order in which the controller deletes them."""
        pods = [pod for pod in self.workload.pods if pod.active]
        if isinstance(self.workload, StatefulSet):
            return sorted(pods, key=lambda pod: -pod.ordinal)
        return to_delete(pods, pods, len(pods), self.state.now)

    def delete(self, serial: int) -> None:
        """Delete a Pod, wait until nothing happens any more, and count again."""
        self.simulated.evict(self._pod(serial))
        self.simulated.settle(True)
        self.count()

    def move(self, serial: int, i: int, *, in_full: bool) -> Hindrance | None:
        """
        Delete a Pod; return why this does not lower the skew of constraint `i`, or does harm, None if it is fine.

        `in_full`: with what keeps the new Pod off the nodes where it is wanted, which takes as long as the move.
        """
        simulated, state = self.simulated, self.state
        if blocking := refusing(self._pod(serial), simulated.budgets, simulated.replicas, state):
            statuses = [budget.status(simulated.replicas, state) for budget in blocking]
            detail = ", ".join(
                f"{status.name}: {status.healthy:,} healthy, {status.desired:,} required" for status in statuses
            )
            return Hindrance(BUDGET, key=self.key(i), detail=detail)
        before, others_before, running = self.to_move, self._to_move_of_neighbours(), self._running()
        waiting, preempted = len(state.waiting), simulated.preempted.total()
        self.delete(serial)
        worse = [name for name, number in self._to_move_of_neighbours().items() if number > others_before[name]]
        if worse:
            return Hindrance(NEIGHBOUR, key=self.key(i), detail=worse[0])
        after = self.to_move
        if len(state.waiting) > waiting or self._running() < running or simulated.preempted.total() > preempted:
            return self._hindrance(WAITS, i) if in_full else Hindrance(WAITS)
        if worse_keys := [self.key(j) for j, number in enumerate(after) if number > before[j] and j != i]:
            return Hindrance(CONSTRAINT, key=self.key(i), detail=worse_keys[0])
        if after[i] < before[i]:
            return None
        return self._hindrance(PUT_BACK, i) if in_full else Hindrance(PUT_BACK)

    def _pod(self, serial: int) -> Pod:
        return next(pod for pod in self.workload.pods if pod.serial == serial)

    def _running(self) -> int:
        return sum(pod.active and pod.node != "" for pod in self.workload.pods)

    def _newest(self) -> Pod | None:
        return max(self.workload.pods, key=lambda pod: pod.serial, default=None)

    def domain_of_newest(self, i: int) -> str:
        """Return the domain of constraint `i` in which the newest Pod is."""
        newest = self._newest()
        return (self.counted[i].domain_of(newest.node) or "") if newest is not None else ""

    def _hindrance(self, reason: str, i: int) -> Hindrance:
        """Return why the newest Pod is in no domain with the fewest Pods; `reason` if nothing keeps it off these."""
        newest, nodes = self._newest(), self.state.ground.nodes
        if newest is None:
            return Hindrance(reason, key=self.key(i))
        if newest.node:
            self.state.remove(newest)
            self.count()
        counts = self.counted[i]
        least = min(map(counts.match_num, counts.eligible), default=0)
        emptiest = sorted(domain for domain in counts.eligible if counts.match_num(domain) == least)
        wanted = union(nodes.domains(self.key(i))[domain] for domain in emptiest)
        framework = self.state.framework_of(newest)
        feasibility = framework.feasibility()
        refusals = [refusal for refusal in feasibility.refusals if refusal.nodes & wanted]
        hindrance = Hindrance(reason, "", self.key(i), tuple(emptiest))
        if feasibility.feasible & wanted or not refusals:
            return hindrance
        order = [*REASONS.values(), CLOSED]
        refusal = min(refusals, key=lambda refusal: order.index(_reason(refusal)))
        detail = _detail(refusal, wanted, self.state.cycle_of(newest), feasibility)
        return hindrance._replace(reason=_reason(refusal), detail=detail)


def _reason(refusal: Refusal) -> str:
    if not refusal.plugin and any(VOLUME_BINDING in reason.text for reason in refusal.reasons):
        return CLAIM  # In PreFilter it has left out all nodes but those of a volume.
    return REASONS.get(refusal.plugin, CLOSED)


def _detail(refusal: Refusal, wanted: NodeSet, cycle: Cycle, feasibility: Feasibility) -> str:
    """Return what keeps a Pod off the wanted nodes that are refused."""
    refused, reason = refusal.nodes & wanted, _reason(refusal)
    if reason == ROOM and (lacks := [*lacking_room(cycle, cycle.snapshot.nodes.members(refused))]):
        node, lack = min(lacks, key=lambda entry: (share(entry[1], entry[0].allocatable), entry[0].name))
        return f"{node.name} lacks {in_words(lack)}"
    if reason == CLAIM:
        return ", ".join(volume.claim for volume in cycle.pod.mounts.claims)
    if reason == CONSTRAINT:
        uneven = [counts for counts in feasibility.spread.domains if counts.refused_nodes() & refused]
        return uneven[0].constraint.topology_key if uneven else ""
    return refusal.reasons[0].in_words
