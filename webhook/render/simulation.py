"""A simulation as text and JSON: after each step a bar for each domain, what waits and why, and what never ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, first_of, number_of, one_line
from webhook.objects.names import OUTPUT_API_VERSION
from webhook.objects.references import ObjectRef
from webhook.placement.commands import commands
from webhook.placement.gaps import DISRUPTION_BUDGETS
from webhook.render.explanation import command_json, constraint_words, too_few_domains, unwritten
from webhook.render.style import UNCOLOURED, Look, Style, Styled, TextLine
from webhook.simulation.disruption import MORE_THAN_ONE, BlockedEviction
from webhook.simulation.pod import PodClass
from webhook.simulation.remedies import Cure
from webhook.simulation.results import (
    BudgetNumbers,
    KeptPods,
    Layout,
    OfConstraint,
    OfDrain,
    Range,
    StepResult,
    StuckRollout,
)
from webhook.simulation.run import Named, Plan
from webhook.simulation.step import DRAIN

BAR_WIDTH = 40  # of the longest bar
MOST_ROWS, MOST_REASONS, MOST_LAYOUTS = 12, 3, 3
AT_LEAST_MARK, LIKELY_MARK, AT_MOST_MARK, UNREACHABLE_MARK = "#", "+", ".", "x"
NONE = Range(0, 0, 0)
BEFORE = "now"
ENDED_EARLY = "Fewer runs were enough: the second half of the runs changed no number below."
ASKED_AGAIN = "kubectl tries again every 5 seconds, without end."
NOT_EVICTED = (
    f'kube-apiserver answers "{MORE_THAN_ONE}" (500), even if each budget allows an eviction: '
    "kubectl skips the Pod, continues, and fails in the end."
)
LEFT_OUT = "on nodes that lack a topologyKey, or that nodeAffinityPolicy or nodeTaintsPolicy excludes"


class Simulated(NamedTuple):
    """
    All that is to be printed of a simulation of one workload.

    With any of the `cures` a rollout finishes that does not, and the command `explain` explains the first Pod that
    waits in the end.  Runs ended `early` if further ones would change no number.
    """

    ref: ObjectRef
    plan: Plan
    seed: int
    runs: int
    results: Sequence[StepResult]
    not_judged: Sequence[str]
    notes: Sequence[str]
    cures: Sequence[Cure] = ()
    explain: str = ""
    early: bool = False


class DomainRow(NamedTuple):
    """The Pods of a domain, or of several that are alike, and those of them on nodes that nobody reaches."""

    name: str
    pods: Range
    unreachable: Range


def text(*shown: Simulated, style: Style = UNCOLOURED) -> str:
    """Render a simulation, of one workload or of several, for a person who is about to do it."""
    return style.lines(_lines(*shown) if len(shown) == 1 else _lines_of_several(shown))


def unchanged(number: int) -> str:
    """Return how many workloads of files are left out, as the cluster has them, and what was not compared."""
    are = "is" if number == 1 else "are"
    left_out = f"{number_of(number, 'workload')} of the files {are} as in the cluster: left out"
    return f"{left_out} (environment, commands and most annotations are not compared)."


def nothing_changes(number: int, not_judged: Sequence[str]) -> str:
    """Return that there is nothing to simulate, and what of the files was not judged."""
    return "\n".join([f"{unchanged(number)} Nothing is rolled out.", *gaps_in_words(not_judged)])


def _lines_of_several(shown: Sequence[Simulated]) -> Iterator[TextLine]:
    first = shown[0]
    runs = number_of(first.runs, "run")
    yield f"{number_of(len(shown), 'workload')}, {runs} with seed {first.seed}, Kubernetes 1.{_minor(first)}."
    yield from (f"  {line}" for line in (*first.notes, *gaps_in_words(first.not_judged)))
    for results in list(zip(*(simulation.results for simulation in shown), strict=True))[1:]:
        yield ""
        yield Styled(Look.NAME, f"  {one_line(results[0].step, LINE_LIMIT)}")
        yield from (("    ", line) for line in _of_all(results[0]))
        for simulation, result in zip(shown, results, strict=True):
            own = result._replace(others=NONE, preempted={}, drained=None, lost={}, held={}, violated={})
            excess = (f"constraint {of.constraint.index}: {excess_line(of)}" for of in own.constraints if of.exceeds)
            pods = f"{range_text(own.there)} {'Pod' if own.there == (1, 1, 1) else 'Pods'}"
            yield "    ", Styled(Look.NAME, one_line(str(simulation.ref), LINE_LIMIT)), f"   {pods}"
            for line in (*waiting_lines(own), *ending_lines(own)):
                yield "      ", line
            for words in excess:
                yield "      ", Styled(Look.WARNING, words)
    yield from cure_lines(shown)


def _lines(shown: Simulated) -> Iterator[TextLine]:
    runs = f"{shown.runs:,} run{'' if shown.runs == 1 else 's'}"
    ref = Styled(Look.NAME, one_line(str(shown.ref), LINE_LIMIT))
    yield ref, f", {runs} with seed {shown.seed}, Kubernetes 1.{_minor(shown)}."
    yield from (f"  {line}" for line in assumptions(shown))
    marks = f"{AT_LEAST_MARK} in every run, {LIKELY_MARK} most likely, {AT_MOST_MARK} at most"
    yield f"  Pods in each domain: {marks}. Totals list the fullest domain first."
    widest = widest_of(shown)
    for i, result in enumerate(shown.results):
        yield ""
        yield Styled(Look.NAME, f"  {one_line(result.step, LINE_LIMIT) or BEFORE}")
        for constraint in result.constraints:
            yield from _constraint(constraint, widest)
        yield from (("    ", line) for line in waiting_lines(result))
        if i:
            yield from (("    ", line) for line in ending_lines(result))
    yield from cure_lines([shown])


def _of_all(result: StepResult) -> Iterator[str]:
    """Yield what a step does besides to the workloads that are simulated."""
    of_step = result._replace(waiting=None, missing=NONE, stuck=None, holding={})
    yield from (*waiting_lines(of_step), *ending_lines(of_step))


def cure_lines(shown: Sequence[Simulated]) -> Iterator[TextLine]:
    """Yield the changes with which rollouts finish, of one workload with their commands, and what explains a Pod."""
    by_change: dict[str, list[Simulated]] = {}
    for simulation in shown:
        for cure in simulation.cures:
            by_change.setdefault(cure.change, []).append(simulation)
    if by_change:
        yield ""
        several = "rollouts finish (each was simulated for all of them together)"
        finishing = several if len(shown) > 1 else "rollout finishes (each was simulated)"
        yield Styled(Look.NAME, f"  Changes with which the {finishing}:")
    for change, cured in by_change.items():
        named = f": {first_of((str(simulation.ref) for simulation in cured), MOST_REASONS)}" if len(shown) > 1 else ""
        yield f"    {change}{named}"
        made = (cure for cure in cured[0].cures if cure.change == change)
        yield from (f"      {command}" for cure in made if len(shown) == 1 for command in commands(cure.edits, None))
    if shown[0].explain:
        yield ""
        yield f"  For changes with which the first waiting Pod gets a node: {shown[0].explain}"


def widest_of(shown: Simulated) -> int:
    """Return the most Pods that any domain has, 1 at least."""
    ranges = (domain for result in shown.results for each in result.constraints for domain in each.domains.values())
    return max((bounds.most for bounds in ranges), default=1) or 1


def assumptions(shown: Simulated) -> Iterator[str]:
    """Yield what holds in every run, and what is not simulated."""
    yield f"{ties_in_words(shown.plan)} Pods are ready as soon as they have a node{_available(shown)}."
    if shown.early:
        yield ENDED_EARLY
    of_class = _newest(shown)
    if of_class.constraints:
        yield from unwritten(of_class.source, named=False)
    yield from shown.notes
    yield from gaps_in_words(shown.not_judged)


def gaps_in_words(not_judged: Sequence[str]) -> Iterator[str]:
    """Yield what is not simulated, and what may come of that."""
    if of_nodes := [gap for gap in not_judged if gap != DISRUPTION_BUDGETS]:
        yield f"Not simulated: {', '.join(of_nodes)}. They may refuse more nodes, or prefer other nodes."
    if DISRUPTION_BUDGETS in not_judged:
        yield f"Not simulated: {DISRUPTION_BUDGETS}. They may block a drain, or change which Pods preemption evicts."


def _named(shown: Simulated) -> Named:
    return next(named for named in shown.plan.named if named.name == str(shown.ref))


def _newest(shown: Simulated) -> PodClass:
    """Return what is common to the Pods that the workload makes now."""
    return _named(shown).sets[-1].maker.of_class


def _minor(shown: Simulated) -> int:
    return shown.plan.start.features.minor


def _available(shown: Simulated) -> str:
    seconds = _named(shown).sets[-1].maker.min_ready_seconds
    return f", and available after {seconds} minReadySeconds" if seconds else ""


def ties_in_words(plan: Plan) -> str:
    """Return which of the best nodes a Pod gets."""
    if plan.start.features.breaks_ties_by_heap:
        return "Among equally good nodes, kube-scheduler mostly takes the first that it looks at."
    return "Among equally good nodes, one is chosen at random."


def _constraint(of: OfConstraint, widest: int) -> Iterator[TextLine]:
    constraint = of.constraint
    yield f"    {'   '.join(constraint_words(constraint))}"
    rows = list(domain_rows(of))
    width = max((len(row.name) for row in rows), default=0)
    numbers = max((len(ends_text(row.pods)) for row in rows), default=0)
    for row in rows:
        bar = f"{_bar(row, widest)}   {unreachable_text(row)}"
        yield f"      {row.name:<{width}}   {ends_text(row.pods):>{numbers}}   {bar}".rstrip()
    yield from (f"      {line}" for line in counting_lines(of))
    if of.exceeds:
        yield Styled(Look.WARNING, f"      {excess_line(of)}")


def counting_lines(of: OfConstraint) -> Iterator[str]:
    """Yield how many Pods a constraint counts, how many it does not and why, and whether it has domains enough."""
    if of.domains:
        yield total_line(of)
    (running, unselected, outside), selector = of.uncounted, of.constraint.selector
    all_unselected = "an empty selector counts no Pod" if selector.empty else "the selector matches none"
    yield from _uncounted(
        unselected, running, all_unselected if unselected == running else "the selector does not match"
    )
    yield from _uncounted(outside, running, LEFT_OUT)
    yield from too_few_domains(of.constraint, of.eligible)


def _uncounted(number: Range, running: Range, why: str) -> Iterator[str]:
    if number.most and number == running:
        yield f"{'1 Pod runs' if running == (1, 1, 1) else f'{range_text(running)} Pods run'}, none is counted: {why}"
    elif number.most:
        are = "is" if number == (1, 1, 1) else "are"
        yield f"{range_text(number)} of {range_text(running)} running Pods {are} not counted: {why}"


def total_line(of: OfConstraint) -> str:
    """Return how many Pods all domains have, and how they lie over them where that is not the same in every run."""
    total = f"total {range_text(of.total)}"
    if all(bounds.least == bounds.most for bounds in of.domains.values()):
        return total
    shares = list(of.together.items())
    if len(shares) == 1:
        return f"{total}: {_layout(shares[0][0])} in every run"
    shown = [f"{_layout(layout)} in {_percent(share)}" for layout, share in shares[:MOST_LAYOUTS]]
    if rest := [share for _, share in shares[MOST_LAYOUTS:]]:
        shown.append(f"{len(rest)} other{'' if len(rest) == 1 else 's'} in {_percent(sum(rest))}")
    return f"{total}: {', '.join(shown)} of the runs"


def _layout(layout: Layout) -> str:
    """Return an outcome such as `2+2+1`, of many domains `5 domains with 2 and 35 with 1`."""
    if sum(number for _, number in layout) <= MOST_ROWS:
        return "+".join(str(pods) for pods, number in layout for _ in range(number))
    (pods, number), *others = layout
    domains = f"{number} domain{'' if number == 1 else 's'}"
    return " and ".join((f"{domains} with {pods}", *(f"{number} with {pods}" for pods, number in others)))


def excess_line(of: OfConstraint) -> str:
    """Return how often the skew exceeds maxSkew."""
    return f"skew larger than maxSkew {of.constraint.max_skew} {said_share(of.exceeds)}"


def domain_rows(of: OfConstraint) -> Iterator[DomainRow]:
    """Yield a row for each domain; where there are many, one for those that are alike, the most Pods first."""
    rows = [DomainRow(one_line(name, 63), pods, of.unreachable.get(name, NONE)) for name, pods in of.domains.items()]
    if len(rows) <= MOST_ROWS:
        yield from rows
        return
    alike: dict[tuple[Range, Range], list[str]] = {}
    for row in rows:
        alike.setdefault((row.pods, row.unreachable), []).append(row.name)
    ordered = sorted(alike.items(), key=lambda alike: [(-of.most, -of.most_likely, -of.least) for of in alike[0]])
    for (pods, unreachable), names in ordered[:MOST_ROWS]:
        more = f" and {len(names) - 2:,} more" if len(names) > 2 else ""
        yield DomainRow(f"{', '.join(names[:2])}{more}", pods, unreachable)
    if len(ordered) > MOST_ROWS:
        rest = [both for both, names in ordered[MOST_ROWS:] for _ in names]
        pods, unreachable = (_all_of(ranges) for ranges in zip(*rest, strict=True))
        yield DomainRow(f"{len(rest):,} more", pods, unreachable)


def _all_of(ranges: Sequence[Range]) -> Range:
    least, most = min(bounds.least for bounds in ranges), max(bounds.most for bounds in ranges)
    return Range(least, ranges[0].most_likely, most)


def unreachable_text(row: DomainRow) -> str:
    """Return how many Pods of a domain are on nodes that nobody reaches, "" if none is."""
    return f"{ends_text(row.unreachable)} on unreachable nodes" if row.unreachable.most else ""


def ends_text(bounds: Range) -> str:
    """Return the Pods of one domain, such as `3` or `2 to 5`: what is most likely of each by itself does not add up."""
    return f"{bounds.least}" if bounds.least == bounds.most else f"{bounds.least} to {bounds.most}"


def range_text(bounds: Range) -> str:
    """Return a range such as `3`, or `3 (2 to 5)`."""
    return (
        f"{bounds.most_likely}"
        if bounds.least == bounds.most
        else f"{bounds.most_likely} ({bounds.least} to {bounds.most})"
    )


def _bar(row: DomainRow, widest: int) -> str:
    of_all = (*row.pods, row.unreachable.most_likely)
    least, likely, most, lost = [n if widest <= BAR_WIDTH else -(-n * BAR_WIDTH // widest) for n in of_all]
    bar = AT_LEAST_MARK * least + LIKELY_MARK * (likely - least) + AT_MOST_MARK * (most - likely)
    return UNREACHABLE_MARK * lost + bar[lost:]


def said_share(share: float) -> str:
    """Return a share such as `in 12 % of the runs`."""
    return "in every run" if share >= 1 else f"in {_percent(share)} of the runs"


def _percent(share: float) -> str:
    """Return a share such as `12 %` or `34.5 %`; what has come once is never told as 0, nor what has not as 100."""
    return f"{min(max(share * 100, 0.1), 99.9):.1f}".removesuffix(".0") + " %"


def but_in_all(share: float) -> str:
    """Return in how many runs, nothing where that is in every one."""
    return "" if share >= 1 else f" {said_share(share)}"


def waiting_lines(result: StepResult) -> Iterator[str]:
    """Yield what waits after a step, and why."""
    if result.waiting is not None:
        waiting = result.waiting
        many = "Pod waits" if waiting.pods == (1, 1, 1) else "Pods wait"
        yield Styled(Look.ERROR, f"{range_text(waiting.pods)} {many}{but_in_all(waiting.share)}:")
        for reason, share in list(result.reasons.items())[:MOST_REASONS]:
            yield f"  {said_share(share)}: {one_line(reason, 4 * LINE_LIMIT)}"
        if len(result.reasons) > MOST_REASONS:
            yield f"  and {len(result.reasons) - MOST_REASONS} more reasons"
    if result.others.most > 0:
        pods, wait = ("Pod", "waits") if result.others == (1, 1, 1) else ("Pods", "wait")
        which = first_of(map(_of_workload, result.waiting_others.items()), MOST_REASONS)
        more = f"{ends_text(result.others)} more {pods} of other workloads {wait} than before: {which}."
        yield Styled(Look.ERROR, more)
    if result.preempted:
        victims = first_of(map(_of_workload, result.preempted.items()), MOST_REASONS)
        yield Styled(Look.WARNING, f"kube-scheduler preempts {victims}.")


def _of_workload(of: tuple[str, Range]) -> str:
    """Return how many Pods of a workload; one that nothing has made has only its name."""
    name, number = of
    return name if name.startswith("Pod ") and number == (1, 1, 1) else f"{ends_text(number)} of {name}"


def _why_missing(result: StepResult) -> str:
    if result.leaving.most:
        single = result.missing == (1, 1, 1)
        replaced = "the Pod that it replaces stays" if single else "the Pods that they replace stay"
        return f"{replaced} Terminating, on {'an unreachable node' if single else 'unreachable nodes'}"
    return "each is created only after the Pods before it are ready"


def _lost(named: tuple[str, float]) -> str:
    """Return the name of a Pod that is lost, and in how many runs if not in all."""
    name, share = named
    return f"{name.removeprefix('Pod ')}{but_in_all(share)}"


def drain_line(drained: OfDrain) -> str:
    """Return what a drain has done."""
    return _evicted(drained) if drained.evicted.most else _drain_of_nothing(drained)


def _evicted(drained: OfDrain) -> str:
    evicted = "1 Pod is" if drained.evicted == (1, 1, 1) else f"{range_text(drained.evicted)} Pods are"
    names = (
        ""
        if not drained.cordoned
        else f", and {_cordoned(drained)} {'is' if drained.cordoned == 1 else 'are'} cordoned"
    )
    return f"{evicted} evicted{names}."


def _drain_of_nothing(drained: OfDrain) -> str:
    single, number = len(drained.nodes) == 1, len(drained.nodes)
    nodes = one_line(drained.nodes[0], 63) if single else f"all {number:,} nodes"
    if not drained.cordoned:
        why = "is cordoned already, and has" if single else "are cordoned already, and have"
        return f"The {DRAIN} does nothing: {nodes} {why} no Pod to evict."
    return f"The {DRAIN} evicts no Pod, and cordons {_cordoned(drained)}."


def _cordoned(drained: OfDrain) -> str:
    number = len(drained.nodes)
    all_of = one_line(drained.nodes[0], 63) if number == 1 else f"all {number:,} nodes"
    return all_of if drained.cordoned == number else f"{drained.cordoned:,} of {number:,} nodes"


def ending_lines(result: StepResult) -> Iterator[str]:
    """Yield what did nothing, and what never finishes and what holds it."""
    if result.drained is not None and not result.held:
        yield drain_line(result.drained)
    if result.missing.most:
        pods = "Pod is" if result.missing == (1, 1, 1) else "Pods are"
        yield Styled(Look.ERROR, f"{range_text(result.missing)} {pods} missing: {_why_missing(result)}.")
    if result.lost:
        pods = "1 Pod is" if len(result.lost) == 1 else f"{len(result.lost):,} Pods are"
        lost = first_of(map(_lost, result.lost.items()), MOST_REASONS)
        yield Styled(
            Look.ERROR,
            f"{pods} deleted, and no controller replaces {'it' if len(result.lost) == 1 else 'them'}: {lost}.",
        )
    yield from held_lines(result.held, result.kept)
    yield from violated_lines(result.violated)
    if result.stuck is not None:
        stuck = result.stuck
        new = f"{range_text(stuck.updated)} of {range_text(stuck.pods)} Pods are updated"
        unavailable = "not all updated Pods are available"
        why = unavailable if stuck.updated == stuck.pods else new
        see = "; see above why Pods wait" if result.waiting is not None else ""
        yield Styled(Look.ERROR, f"The rollout never finishes{but_in_all(stuck.share)}: {why}{see}.")
    if result.holding:
        yield f"{_holding(result)}."


def violated_lines(violated: Mapping[str, float]) -> Iterator[str]:
    """Yield the PodDisruptionBudgets that preemption violates."""
    for budget, share in violated.items():
        named = f"PodDisruptionBudget {one_line(budget, LINE_LIMIT)}"
        yield Styled(
            Look.WARNING, f"Preemption violates {named}{but_in_all(share)}: more Pods are evicted than it allows."
        )


def held_lines(held: Mapping[BlockedEviction, float], kept_pods: Mapping[BlockedEviction, KeptPods]) -> Iterator[str]:
    """Yield what keeps a drain from its end: all PodDisruptionBudgets, and of each the first nodes."""
    by_budgets: dict[tuple[str, ...], list[tuple[BlockedEviction, float]]] = {}
    for eviction, share in held.items():
        by_budgets.setdefault(eviction.budgets, []).append((eviction, share))
    for budgets, kept in by_budgets.items():
        ends = "fails" if len(budgets) > 1 else "never finishes"
        for eviction, share in kept[:MOST_REASONS]:
            yield Styled(Look.ERROR, f"The {DRAIN} {ends}{but_in_all(share)}: {keeping(eviction, held, kept_pods)}.")
        if len(kept) > MOST_REASONS:
            yield f"  and the same on {len(kept) - MOST_REASONS:,} more nodes"
        yield from (f"  {_numbers_of(budget)}" for budget in kept_pods[kept[0][0]].budgets)
        yield f"  {NOT_EVICTED if len(budgets) > 1 else ASKED_AGAIN}"


def keeping(
    eviction: BlockedEviction, held: Mapping[BlockedEviction, float], kept_pods: Mapping[BlockedEviction, KeptPods]
) -> str:
    """Return which budgets keep which Pods on a node."""
    share, pods_by_share = held[eviction], kept_pods[eviction].pods.items()
    named = (f"{name}{but_in_all(of)}" if of < share else name for name, of in pods_by_share)
    pods = first_of(named, MOST_REASONS)
    *others, last = (one_line(name, LINE_LIMIT) for name in eviction.budgets)
    if not others:
        return f"PodDisruptionBudget {last} keeps {pods} on {eviction.node}"
    all_of = "both" if len(others) == 1 else "all"
    return f"PodDisruptionBudgets {', '.join(others)} and {last} {all_of} select {pods} on {eviction.node}"


def _numbers_of(budget: BudgetNumbers) -> str:
    """Return the numbers of a budget, such as `shop/web: minAvailable 3, and 3 of 3 Pods are healthy: …`."""
    allowed = range_text(budget.allowed) if budget.allowed.most else "no"
    allows = f"it allows {allowed} eviction{'s' if budget.allowed.most > 1 else ''}"
    name, limit = one_line(budget.name, LINE_LIMIT), f"{budget.field} {budget.limit}"
    if budget.limit is None:
        return f"{name}: has neither minAvailable nor maxUnavailable: {allows}"
    if budget.untold:
        return f"{name}: {limit}, and the number of Pods that it expects is not known: {allows}"
    if not budget.expected.most:
        return f"{name}: {limit}, but its workloads have 0 replicas: {allows}"
    if isinstance(budget.limit, str):
        desired, expected = budget.desired.most_likely, budget.expected.most_likely
        limit = f"{limit} ({desired if budget.field == 'minAvailable' else expected - desired} of {expected})"
    healthy = f"{range_text(budget.healthy)} of {range_text(budget.expected)} Pods are healthy"
    return f"{name}: {limit}, and {healthy}: {allows}"


def _holding(result: StepResult) -> str:
    named = " or ".join(f"only constraint {index}" for index in result.holding)
    return f"If {named} were removed, a waiting Pod would find a node"


def as_json(*shown: Simulated) -> str:
    """Return the form `Simulation`, of several workloads `SimulationList`, for programs."""
    if len(shown) == 1:
        return json.dumps(_simulation(shown[0]), indent=2)
    items = [_simulation(simulation) for simulation in shown]
    return json.dumps({"apiVersion": OUTPUT_API_VERSION, "kind": "SimulationList", "items": items}, indent=2)


def _simulation(shown: Simulated) -> dict[str, object]:
    (start, *steps), source = shown.results, _newest(shown).source
    return {
        "apiVersion": OUTPUT_API_VERSION,
        "kind": "Simulation",
        "apiGroup": shown.ref.group,
        "workload": f"{shown.ref.kind}/{shown.ref.name}",
        "namespace": shown.ref.namespace,
        "kubernetesVersion": f"1.{_minor(shown)}",
        "seed": shown.seed,
        "runs": shown.runs,
        "early": shown.early,
        "now": _result(start, _named(shown).first_class.source),
        "steps": [{"step": step.step, **_result(step, source)} for step in steps],
        "remedies": [
            {"change": change, "commands": [command_json(command) for command in commands(edits, None)]}
            for change, edits in shown.cures
        ],
        "explain": shown.explain,
        "notJudged": list(shown.not_judged),
        "notes": list(shown.notes),
    }


def _result(result: StepResult, source: str) -> dict[str, object]:
    return {
        "constraints": [_of_constraint(constraint, source) for constraint in result.constraints],
        "pending": {
            **numbers_json(result.pending),
            "share": result.waiting.share if result.waiting is not None else 0.0,
            "reasons": dict(result.reasons),
        },
        "others": {**numbers_json(result.others), "workloads": _workloads(result.waiting_others)},
        "preempted": _workloads(result.preempted),
        "unfinished": result.unfinished,
        "holding": [{"index": index, "share": share} for index, share in result.holding.items()],
        "updated": numbers_json(result.updated),
        "pods": numbers_json(result.there),
        "held": {keeping(eviction, result.held, result.kept): share for eviction, share in result.held.items()},
        "violated": dict(result.violated),
        "missing": numbers_json(result.missing),
        "lost": dict(result.lost),
        **({"stuckRollout": _of_stuck(result.stuck)} if result.stuck is not None else {}),
        **({"drained": drain_json(result.drained)} if result.drained is not None else {}),
    }


def _workloads(numbers: Mapping[str, Range]) -> list[dict[str, object]]:
    return [{"workload": name, **numbers_json(bounds)} for name, bounds in numbers.items()]


def _of_stuck(of: StuckRollout) -> dict[str, object]:
    return {"share": of.share, "updated": numbers_json(of.updated), "pods": numbers_json(of.pods)}


def drain_json(of: OfDrain) -> dict[str, object]:
    """Return what a drain has done, for programs."""
    return {"nodes": list(of.nodes), "cordoned": of.cordoned, "evicted": numbers_json(of.evicted)}


def _of_constraint(of: OfConstraint, source: str) -> dict[str, object]:
    constraint = of.constraint
    return {
        "index": constraint.index,
        "topologyKey": constraint.topology_key,
        "maxSkew": constraint.max_skew,
        "hard": constraint.hard,
        "selector": str(constraint.selector),
        "source": source,
        "domains": [
            {"value": name, **numbers_json(bounds), **_unreachable(of.unreachable.get(name))}
            for name, bounds in of.domains.items()
        ],
        "total": numbers_json(of.total),
        "outcomes": [
            {"domains": [{"pods": pods, "number": number} for pods, number in layout], "share": share}
            for layout, share in of.together.items()
        ],
        "exceedsMaxSkew": of.exceeds,
        "minDomains": constraint.min_domains,
        "eligibleDomains": of.eligible,
        "uncounted": {
            "running": numbers_json(of.uncounted.running),
            "unselected": numbers_json(of.uncounted.unselected),
            "outside": numbers_json(of.uncounted.outside),
        },
    }


def _unreachable(bounds: Range | None) -> dict[str, object]:
    return {"unreachable": numbers_json(bounds)} if bounds is not None else {}


def numbers_json(bounds: Range) -> Mapping[str, int]:
    """Return a range, for programs."""
    return {"least": bounds.least, "mostLikely": bounds.most_likely, "most": bounds.most}
