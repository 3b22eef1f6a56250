"""
A simulation as text: after each step a table of workloads, with what waits and why below each, and the Pods in each
domain where one workload is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from evenkeel.placement.gaps import DISRUPTION_BUDGETS
from evenkeel.simulate.constraint_words import (
    constraint_words,
    counts_none,
    spreads_nothing,
    too_few_domains,
    unwritten,
)
from evenkeel.simulate.disruption import MORE_THAN_ONE
from evenkeel.simulate.results import (
    BudgetNumbers,
    ConstraintResult,
    CureResult,
    DomainResult,
    DrainResult,
    HeldEviction,
    Layout,
    Range,
    RolloutResult,
    Simulation,
    StepResult,
    Sum,
    WorkloadResult,
)
from evenkeel.simulate.run import Plan
from evenkeel.simulate.step import DRAIN, OF_NODES, TAINT, Step
from evenkeel.terminal.style import UNCOLOURED, Look, Style, Styled, TextLine, columns, restyled
from webhook.findings.wording import LINE_LIMIT, NAME_LIMIT, first_of, number_of, one_line, shown_name

BAR_WIDTH = 40  # characters of the longest bar
MOST_ROWS, MOST_REASONS, MOST_LAYOUTS = 12, 3, 3
MOST_HURT, MOST_WHOLE = 30, 10  # Workloads that have a row of their own: one screen.
BEFORE = "now"
# What a mark in a bar stands for.
AT_LEAST_MARK, LIKELY_MARK, AT_MOST_MARK, UNREACHABLE_MARK = "#", "+", ".", "x"
LEGEND: Mapping[str, str] = {
    AT_LEAST_MARK: "in every run",
    LIKELY_MARK: "most likely",
    AT_MOST_MARK: "at most",
    UNREACHABLE_MARK: "on unreachable nodes",
}
ASKED_AGAIN = "kubectl tries again every 5 seconds, without end."
NOT_EVICTED = (
    f'kube-apiserver answers "{MORE_THAN_ONE}" (500), even if each budget allows an eviction: '
    "kubectl skips the Pod, and fails once it is done with the others."
)
ONE = Range(1, 1, 1)
LEFT_OUT = "on nodes that lack a topologyKey, or that nodeAffinityPolicy or nodeTaintsPolicy excludes"


class Row(NamedTuple):
    """A line of a table."""

    name: str
    cells: tuple[str, ...]  # in the other columns
    remarks: Sequence[TextLine] = ()  # printed below


def text(simulation: Simulation, plan: Plan, style: Style = UNCOLOURED, *, of_policy: bool = False) -> str:
    """
    Render a simulation for a person who is about to do it.

    `of_policy`: the user has named the policy whose defaults new Pods get.
    """
    results = (simulation.now, *simulation.steps)
    lines = (
        *steps_lines(plan, results),
        *_cures(simulation, plan),
        *_ways_back(simulation),
        *_footer(simulation, plan, of_policy),
    )
    return style.lines((*_unknown_fields(simulation, plan), *lines))


def as_json(simulation: Simulation) -> str:
    """Return the form `Simulation`, for programs."""
    return msgspec.json.format(msgspec.json.encode(simulation), indent=2).decode()


def steps_lines(plan: Plan, results: Sequence[StepResult]) -> list[TextLine]:
    """Return the lines that depend on the runs; `results` are those before any step, and after each."""
    sections = list[tuple[str, list[TextLine]]]()
    widest = _widest(results)
    if _shows_domains(plan):
        workload = results[0].workloads[0]
        skews = [_skew(constraint) for constraint in workload.constraints if constraint.exceeds_max_skew]
        sections.append((f"{workload}: {BEFORE}", [*_domains(workload, widest), *skews, *_waiting(workload)]))
    for step, result in zip(plan.steps, results[1:], strict=True):
        domains = _domains(result.workloads[0], widest) if _shows_domains(plan) else ()
        sections.append((result.step, [*_step(step, result), *domains] or ["Nothing changes for any Pod."]))
    return [line for title, lines in sections for line in _section(title, lines)]


def _unknown_fields(simulation: Simulation, plan: Plan) -> Iterator[TextLine]:
    """Yield, before all else, what of the workloads' own fields is not simulated, and an empty line."""
    if fields := _of_workloads(simulation, plan):
        yield f"Not simulated: {', '.join(fields)}. The controller may do otherwise than is said here."
        yield ""


def _of_workloads(simulation: Simulation, plan: Plan) -> list[str]:
    """Return what is not simulated of fields of the workloads."""
    begins = tuple([f"{named.name}: " for named in plan.named])
    return [gap for gap in simulation.not_judged if gap.startswith(begins)]


def _section(title: str, lines: list[TextLine]) -> Iterator[TextLine]:
    """Yield an indented section, and an empty line after it."""
    yield Styled(Look.NAME, one_line(title, LINE_LIMIT))
    for line in lines[1:] if lines[:1] == [""] else lines:
        yield ("  ", *((line,) if isinstance(line, str) else line)) if line else ""
    yield ""


def _shows_domains(plan: Plan) -> bool:
    """Return whether the domains of each constraint are shown: there is only room for those of one workload."""
    return len(plan.named) == 1


def _cures(simulation: Simulation, plan: Plan) -> Iterator[TextLine]:
    """Yield the changes with which rollouts finish, and the command that explains a Pod; commands for one workload."""
    by_change: dict[str, list[CureResult]] = {}
    for cure in simulation.cures:
        by_change.setdefault(cure.change, []).append(cure)
    single = _shows_domains(plan)
    lines = list[TextLine]()
    for change, cures in by_change.items():
        refs = (
            f"{cure.workload.partition('/')[0]} {cure.namespace}/{cure.workload.partition('/')[2]}" for cure in cures
        )
        lines.append(change if single else f"{change}: {first_of(refs, MOST_REASONS)}")
        lines += [f"  {command['shell']}" for command in cures[0].commands if single]
    if lines:
        yield from _section("Changes with which a rollout finishes (each was simulated)", lines)
    if simulation.explain:
        yield f"For changes with which the first waiting Pod gets a node: {simulation.explain}"
        yield ""


def _ways_back(simulation: Simulation) -> Iterator[TextLine]:
    """Yield which workloads, uneven after the last step, a few deletions bring back."""
    for way in simulation.ways_back:
        bring = _counted(way.deletions, "deletion brings", "deletions bring")
        yield f"Where {way} is then beyond maxSkew, {bring} it back. After the steps, to name the Pods: {way.command}"
    if simulation.ways_back:
        yield ""


def _footer(simulation: Simulation, plan: Plan, of_policy: bool) -> Iterator[TextLine]:
    """Yield what was assumed and not simulated, and what the marks of bars mean."""
    results = (simulation.now, *simulation.steps)
    if _shows_domains(plan):
        yield from unwritten(results[-1].workloads[0].source, named=of_policy)
        for constraint in results[-1].workloads[0].constraints:
            yield from (f"Constraint {constraint.index}: {advice}." for advice in constraint.advice)
    yield from simulation.notes
    of_workloads = _of_workloads(simulation, plan)
    yield from gaps_in_words([gap for gap in simulation.not_judged if gap not in of_workloads])
    runs = f"{number_of(simulation.runs, 'run')} with seed {simulation.seed}"
    enough = " (more would change no number)" if simulation.early else ""
    yield f"{runs}{enough}, Kubernetes {simulation.kubernetes_version}."
    seconds = max((named.min_ready_seconds for named in plan.named), default=0)
    available = f", and available after {seconds} minReadySeconds" if seconds else ""
    yield f"Pods are ready as soon as they have a node{available}. {ties_in_words(plan)}"
    if _shows_domains(plan) and (marks := list(_marks(results))):
        yield f"Bars: {', '.join(marks)}."


def gaps_in_words(not_judged: Sequence[str]) -> Iterator[str]:
    """Yield what is not simulated, and what may come of that."""
    workloads = [gap for gap in not_judged if "/" in gap or gap.startswith("rollouts of the kind ")]
    if workloads:
        yield f"Not simulated: {', '.join(workloads)}. Where their Pods would be is not known."
    if about_nodes := [gap for gap in not_judged if gap not in (DISRUPTION_BUDGETS, *workloads)]:
        yield f"Not simulated: {', '.join(about_nodes)}. They may refuse more nodes, or prefer other nodes."
    if DISRUPTION_BUDGETS in not_judged:
        yield f"Not simulated: {DISRUPTION_BUDGETS}. They may block a drain, or change which Pods preemption evicts."


def ties_in_words(plan: Plan) -> str:
    """Return in words which of several best nodes a Pod gets."""
    if plan.start.features.breaks_ties_by_heap:
        return "Among equally good nodes, kube-scheduler mostly takes the first that it looks at."
    return "Among equally good nodes, one is chosen at random."


def unchanged(number: int) -> str:
    """Return how many workloads of files are left out, as the cluster has them, and what was not compared."""
    are = "is" if number == 1 else "are"
    left_out = f"{number_of(number, 'workload')} of the files {are} as in the cluster: left out"
    return f"{left_out} (environment, commands and most annotations are not compared)."


def nothing_changes(unchanged_notes: Sequence[str], not_judged: Sequence[str]) -> str:
    """Return that there is nothing to simulate, and what was not judged."""
    return "\n".join([" ".join((*unchanged_notes, "Nothing is rolled out.")), *gaps_in_words(not_judged)])


def _step(step: Step, result: StepResult) -> Iterator[TextLine]:
    """Yield what a step comes to: in all, for each workload, and in each namespace."""
    if result.drained is not None:
        yield drain_line(result.drained)
    yield from held_lines(result.held)
    for budget, share in result.violated.items():
        named = f"PodDisruptionBudget {one_line(budget, LINE_LIMIT)}"
        violates = f"Preemption violates {named}{but_in_all(share)}: more Pods are evicted than it allows."
        yield Styled(Look.WARNING, violates)
    lost = "evicted" if step.action in (DRAIN, TAINT) else "lost"
    if step.action in OF_NODES and len(result.workloads) != 1 and result.drained is None:
        yield _total(result.total, lost)
    if rollouts := [workload.rollout for workload in result.workloads if workload.rollout is not None]:
        finished = sum(not rollout.stuck for rollout in rollouts)
        if finished == len(rollouts):
            yield Styled(Look.GOOD, "Successfully rolled out.")
        elif len(rollouts) > 1:
            yield Styled(Look.ERROR, f"{finished:,} of {len(rollouts):,} rollouts finish in every run.")
    whole = [workload for workload in result.workloads if not workload.hurt]
    whole_with_row = whole
    if len(whole) > MOST_WHOLE:
        whole_with_row = [workload for workload in whole if _is_uneven(workload)][:MOST_WHOLE]
    rows = [*result.hurt[:MOST_HURT], *whole_with_row]
    columns = _columns(rows, lost)
    yield from _table(
        ("workload", *(title for title, _ in columns)),
        [Row(str(row), tuple([cell(row) for _, cell in columns]), tuple(_remarks(row))) for row in rows],
    )
    if len(result.hurt) > MOST_HURT:
        yield f"{len(result.hurt) - MOST_HURT:,} more workloads are hurt; to see all: -o json"
    if len(whole_with_row) < len(whole):
        yield _whole(whole[len(whole_with_row) :], lost, more=bool(rows))
    if len(result.sums) > 1 and any(
        of_namespace.lost.most or of_namespace.more.most or of_namespace.missing.most for of_namespace in result.sums
    ):
        yield ""
        sums = [
            Row(
                of_namespace.name,
                (
                    ends_text(of_namespace.lost),
                    ends_text(of_namespace.back),
                    *map(_red, (of_namespace.more, of_namespace.missing, of_namespace.broken)),
                ),
            )
            for of_namespace in result.sums
        ]
        yield from _table(("namespace", lost, "back", "waiting (new)", "missing", "incomplete workloads"), sums)
    if result.elsewhere:
        others = first_of(map(_other, result.elsewhere), MOST_REASONS)
        yield f"{number_of(len(result.elsewhere), 'more workload')} {_are(len(result.elsewhere))} affected: {others}."


def _columns(rows: Sequence[WorkloadResult], lost: str) -> list[tuple[str, Callable[[WorkloadResult], str]]]:
    """Return the titles and cells of the columns in which any row has a Pod: `now` - `lost` + `back` is `then`."""
    loses = any(row.lost.most for row in rows)
    all_columns: list[tuple[str, Callable[[WorkloadResult], str], bool]] = [
        ("now", lambda row: ends_text(row.pods), True),
        (lost, lambda row: ends_text(row.lost), loses),
        ("back" if loses else "new", lambda row: ends_text(row.back), any(row.back.most for row in rows)),
        ("then", lambda row: ends_text(row.after), True),
        ("waiting", _waiting_cell, any(row.waiting.most for row in rows)),
        ("missing", lambda row: _red(row.missing), any(row.missing.most for row in rows)),
    ]
    return [(title, cell) for title, cell, shown in all_columns if shown]


def _waiting_cell(workload: WorkloadResult) -> str:
    """Return how many Pods wait, and how many of them did not before any step."""
    new = f" ({ends_text(workload.more)} new)" if workload.waited_before and workload.waiting.most else ""
    return Styled(Look.ERROR if workload.more.most else "", f"{ends_text(workload.waiting)}{new}")


def _red(bounds: Range) -> str:
    """Return a number of Pods or workloads, in red unless it is 0."""
    return Styled(Look.ERROR if bounds.most else "", ends_text(bounds))


def _total(total: Sum, lost: str) -> str:
    """Return what becomes of all Pods that are lost, such as `8 Pods are lost: 5 find room, 3 are missing.`"""
    ends = (
        (total.back, "finds room", "find room"),
        (total.more, "more waits than before all steps", "more wait than before all steps"),
        (total.missing, "is missing", "are missing"),
    )
    words = [_counted(number, one, many) for number, one, many in ends if number.most]
    beginning = _counted(total.lost, f"Pod is {lost}", f"Pods are {lost}") if total.lost.most else f"No Pod is {lost}"
    look: str = Look.GOOD if total.lost.most else ""
    if total.more.most or total.missing.most:
        look = Look.ERROR
    return Styled(look, f"{beginning}{': ' if words else ''}{', '.join(words)}.")


def _whole(whole: Sequence[WorkloadResult], lost: str, *, more: bool) -> str:
    """Return how many workloads without a row are whole; `more`: others have a row."""
    have = (
        f"get back all Pods that are {lost}" if any(workload.lost.most for workload in whole) else "have all their Pods"
    )
    return f"{len(whole):,} {'more ' if more else ''}workloads {have}."


def _other(workload: WorkloadResult) -> str:
    """Return what is wrong with a workload that is not shown."""
    numbers = ((workload.more, "waiting"), (workload.missing, "missing"), (workload.preempted, "preempted"))
    words = ", ".join(f"{ends_text(number)} {what}" for number, what in numbers if number.most)
    return f"{workload} ({words or f'{ends_text(workload.lost)} lost at once'})"


def _remarks(workload: WorkloadResult) -> Iterator[TextLine]:
    """Yield what else is to be known of a workload, a line each."""
    if workload.loses_all and workload.pods.most > 1:
        yield Styled(Look.WARNING, f"loses all its Pods at once{but_in_all(workload.loses_all)}")
    elif workload.loses_all and workload.back.most:  # Else the row ends with a Pod that waits or is missing.
        often = but_in_all(workload.loses_all)
        yield Styled(Look.WARNING, f"loses its only Pod{often}: none runs until another is ready")
    if workload.rollout is not None and workload.rollout.stuck:
        yield _rollout(workload.rollout, waits=bool(workload.waiting.most))
    yield from _waiting(workload)
    if workload.stranded.most:
        stay = _counted(workload.stranded, "stays on an unreachable node", "stay on unreachable nodes")
        yield f"{stay}, and {_are(workload.stranded.most)} not replaced"
    if workload.leaving.most:
        replaced = "the Pod that it replaces is" if workload.leaving == ONE else "the Pods that they replace are"
        yield f"{_missing(workload.leaving)} until {replaced} gone from unreachable nodes"
    if workload.queued.most:
        yield f"{_missing(workload.queued)}: each is created only after the Pods before it are ready"
    if workload.gone.most:
        yield f"{_missing(workload.gone)}: no controller replaces {'it' if workload.gone == ONE else 'them'}"
    if workload.unready.most:
        yield f"{_counted(workload.unready, 'Pod is', 'Pods are')} not ready, and the simulation does not change that"
    if workload.preempted.most:
        yield _counted(workload.preempted, "is preempted", "are preempted")
    for constraint in workload.constraints:
        if constraint.exceeds_max_skew:
            yield _skew(constraint)


def _rollout(rollout: RolloutResult, *, waits: bool) -> str:
    """
    Return how far a rollout gets that does not finish, in the words of kubectl rollout status.

    `waits`: Pods wait for a node, so that new nodes may help.
    """
    wanted = range_text(rollout.wanted)
    if rollout.updated.most < rollout.wanted.least:
        how_far = f"{range_text(rollout.updated)} out of {wanted} new replicas have been updated"
    elif rollout.old.most:
        how_far = f"{range_text(rollout.old)} old replicas are pending termination"
    else:
        how_far = f"{range_text(rollout.available)} of {wanted} updated replicas are available"
    where = but_in_all(rollout.stuck) or (" on the nodes that are there" if waits else "")
    return Styled(Look.ERROR, f"the rollout does not finish{where}: {how_far}")


def _waiting(workload: WorkloadResult) -> Iterator[TextLine]:
    """Yield why Pods of a workload wait, a line for each reason, and which constraint alone keeps them waiting."""
    for reason, pods in list(workload.reasons.items())[:MOST_REASONS]:
        often = but_in_all(workload.waits) if len(workload.reasons) == 1 else ""
        yield f"{_counted(pods, 'Pod waits', 'Pods wait')}{often}: {one_line(reason, 4 * LINE_LIMIT)}"
    if len(workload.reasons) > MOST_REASONS:
        yield f"and {number_of(len(workload.reasons) - MOST_REASONS, 'more reason')}"
    if workload.holding:
        named = " or ".join(f"only constraint {index}" for index in workload.holding)
        yield f"If {named} were removed, a waiting Pod would find a node."


def _skew(constraint: ConstraintResult) -> str:
    """Return the skew of a constraint that exceeds maxSkew; no warning for a soft one, which only prefers."""
    skew = f"skew {ends_text(constraint.skew)} by {constraint.topology_key}"
    often = but_in_all(constraint.exceeds_max_skew)
    if not constraint.hard:
        return f"{skew}; maxSkew {constraint.max_skew} is preferred, not required"
    return Styled(Look.WARNING, f"{skew}, more than maxSkew {constraint.max_skew}{often}")


def _is_uneven(workload: WorkloadResult) -> bool:
    return any(constraint.hard and constraint.exceeds_max_skew > 0 for constraint in workload.constraints)


def _table(titles: Sequence[str], rows: Sequence[Row]) -> Iterator[TextLine]:
    """Yield a line with the titles of the columns, and for each row its cells, and what is said below."""
    lines = [
        (
            Styled(Look.NAME, one_line(row.name, LINE_LIMIT)),
            *(restyled(cell, one_line(cell, NAME_LIMIT)) for cell in row.cells),
        )
        for row in rows
    ]
    if not lines:
        return
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    sides = "<" + ">" * len(titles)
    yield columns([Styled(Look.FAINT, title) for title in titles], widths, sides)
    for row, line in zip(rows, lines, strict=True):
        yield columns(line, widths, sides)
        for remark in row.remarks:
            yield ("  ", remark) if isinstance(remark, str) else ("  ", *remark)


def _domains(workload: WorkloadResult, widest: int) -> Iterator[TextLine]:
    """Yield each constraint with its domains, the Pods in each as a bar, and what it does not count."""
    for constraint in workload.constraints:
        yield ""
        yield "   ".join(constraint_words(constraint))
        rows = list(domain_rows(constraint))
        width = max((len(row.value) for row in rows), default=0)
        numbers = max((len(ends_text(row.pods)) for row in rows), default=0)
        for row in rows:
            unreachable = f"{ends_text(row.unreachable)} on unreachable nodes" if row.unreachable.most else ""
            line = f"  {row.value:<{width}}   {ends_text(row.pods):>{numbers}}   {_bar(row, widest)}   {unreachable}"
            yield line.rstrip()
        yield from (f"  {line}" for line in counting_lines(constraint))


def _widest(results: Iterable[StepResult]) -> int:
    """Return the most Pods that any domain has, 1 at least."""
    numbers = (
        domain.pods.most
        for result in results
        for workload in result.workloads
        for constraint in workload.constraints
        for domain in constraint.domains
    )
    return max(numbers, default=1) or 1


def _marks(results: Iterable[StepResult]) -> Iterator[str]:
    """Yield what each mark stands for that occurs in a bar."""
    bars = [
        _bar(row, 1)
        for result in results
        for workload in result.workloads
        for constraint in workload.constraints
        for row in domain_rows(constraint)
    ]
    yield from (f"{mark} {meaning}" for mark, meaning in LEGEND.items() if any(mark in bar for bar in bars))


def counting_lines(constraint: ConstraintResult) -> Iterator[str]:
    """Yield how Pods lie over the domains, how many are not counted and why, and whether it has domains enough."""
    if not all(row.pods.fixed for row in constraint.domains):
        yield layouts_line(constraint)
    counts = constraint.uncounted
    selects_none = counts.unselected == counts.running
    yield from _uncounted(constraint, counts.unselected, "" if selects_none else "its selector does not match")
    yield from _uncounted(constraint, counts.outside, LEFT_OUT)
    yield from too_few_domains(constraint, constraint.eligible_domains)
    if constraint.spreads_nothing:
        yield spreads_nothing(constraint.spreads_nothing)


def _uncounted(constraint: ConstraintResult, number: Range, why: str) -> Iterator[str]:
    running = constraint.uncounted.running
    if number.most and number == running:
        yield counts_none(_counted(running, "Pod runs", "Pods run"), constraint, why)
    elif number.most:
        of_running = f"{range_text(number)} of {range_text(running)} running Pods"
        yield f"constraint {constraint.index} does not count {of_running}: {why}"


def layouts_line(constraint: ConstraintResult) -> str:
    """Return how the Pods lie over the domains, where that is not the same in every run."""
    total, layouts = f"total {range_text(constraint.total)}", constraint.outcomes
    if len(layouts) == 1:
        return f"{total}: {_layout(layouts[0])} in every run"
    shown = [f"{_layout(layout)} in {_percent(layout.share)}" for layout in layouts[:MOST_LAYOUTS]]
    if rest := layouts[MOST_LAYOUTS:]:
        shown.append(f"{number_of(len(rest), 'other')} in {_percent(sum(layout.share for layout in rest))}")
    return f"{total}: {', '.join(shown)} of the runs"


def _layout(layout: Layout) -> str:
    """Return an outcome such as `2+2+1`, of many domains `5 domains with 2 and 35 with 1`."""
    alike = layout.domains
    if sum(domains.number for domains in alike) <= MOST_ROWS:
        return "+".join(str(domains.pods) for domains in alike for _ in range(domains.number))
    first, *others = alike
    rest = (f"{domains.number} with {domains.pods}" for domains in others)
    return " and ".join((f"{number_of(first.number, 'domain')} with {first.pods}", *rest))


def domain_rows(constraint: ConstraintResult) -> Iterator[DomainResult]:
    """Yield a row for each domain; where there are many, one for those that are alike, the most Pods first."""
    if len(constraint.domains) <= MOST_ROWS:
        yield from (replace(row, value=shown_name(row.value)) for row in constraint.domains)
        return
    alike: dict[tuple[Range, Range], list[str]] = {}
    for row in constraint.domains:
        alike.setdefault((row.pods, row.unreachable), []).append(shown_name(row.value))
    ordered = sorted(alike.items(), key=lambda row: [(-n.most, -n.most_likely, -n.least) for n in row[0]])
    for (pods, unreachable), names in ordered[:MOST_ROWS]:
        more = f" and {len(names) - 2:,} more" if len(names) > 2 else ""
        yield DomainResult(f"{', '.join(names[:2])}{more}", pods, unreachable)
    if len(ordered) > MOST_ROWS:
        rest = [both for both, names in ordered[MOST_ROWS:] for _ in names]
        pods, unreachable = (_all_of(ranges) for ranges in zip(*rest, strict=True))
        yield DomainResult(f"{len(rest):,} more", pods, unreachable)


def _all_of(ranges: Sequence[Range]) -> Range:
    least, most = min(bounds.least for bounds in ranges), max(bounds.most for bounds in ranges)
    return Range(least, ranges[0].most_likely, most)


def _bar(row: DomainResult, widest: int) -> str:
    pods = row.pods
    numbers = (pods.least, pods.most_likely, pods.most, row.unreachable.most_likely)
    least, likely, most, unreachable = [n if widest <= BAR_WIDTH else -(-n * BAR_WIDTH // widest) for n in numbers]
    bar = AT_LEAST_MARK * least + LIKELY_MARK * (likely - least) + AT_MOST_MARK * (most - likely)
    return UNREACHABLE_MARK * unreachable + bar[unreachable:]


def drain_line(drained: DrainResult) -> str:
    """Return what a drain has done."""
    nodes, cordoned = len(drained.nodes), drained.cordoned
    all_nodes = one_line(drained.nodes[0], NAME_LIMIT) if nodes == 1 else f"all {nodes:,} nodes"
    which = all_nodes if cordoned == nodes else f"{cordoned:,} of {nodes:,} nodes"
    if drained.evicted.most:
        also = f", and {which} {_are(cordoned)} cordoned" if cordoned else ""
        return f"{_counted(drained.evicted, 'Pod is', 'Pods are')} evicted{also}."
    if cordoned:
        return f"The {DRAIN} evicts no Pod, and cordons {which}."
    already = "is cordoned already, and has" if nodes == 1 else "are cordoned already, and have"
    return f"The {DRAIN} does nothing: {all_nodes} {already} no Pod to evict."


def held_lines(held: Iterable[HeldEviction]) -> Iterator[TextLine]:
    """Yield what keeps a drain from its end: all PodDisruptionBudgets, and of each the first nodes."""
    by_budgets: dict[tuple[str, ...], list[HeldEviction]] = {}
    for eviction in held:
        by_budgets.setdefault(eviction.names, []).append(eviction)
    for names, evictions in by_budgets.items():
        for eviction in evictions[:MOST_REASONS]:
            line = f"The {DRAIN} {_ending(eviction)}: {_keeping(eviction)}."
            yield Styled(Look.ERROR, line)
        if len(evictions) > MOST_REASONS:
            yield f"  and the same on {len(evictions) - MOST_REASONS:,} more nodes"
        yield from (f"  {_numbers_of(budget)}" for budget in evictions[0].budgets)
        yield f"  {NOT_EVICTED if len(names) > 1 else ASKED_AGAIN}"


def _ending(eviction: HeldEviction) -> str:
    """Return how a drain ends; a budget may give way once new nodes take the Pods that it misses."""
    often = but_in_all(eviction.share)
    if len(eviction.names) > 1:
        return f"leaves Pods behind{often}"
    if any(budget.healthy.least < budget.expected.most for budget in eviction.budgets):
        return f"does not finish{often or ' on the nodes that are there'}"
    return f"never finishes{often}"


def _keeping(eviction: HeldEviction) -> str:
    """Return which budgets keep which Pods on a node."""
    named = (f"{name}{but_in_all(share)}" if share < eviction.share else name for name, share in eviction.pods.items())
    pods = first_of(named, MOST_REASONS)
    *others, last = (one_line(name, LINE_LIMIT) for name in eviction.names)
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


def ends_text(bounds: Range) -> str:
    """Return a range such as `3` or `2–5`, without the most likely number: those of several ranges do not add up."""
    return f"{bounds.least:,}" if bounds.fixed else f"{bounds.least:,}–{bounds.most:,}"


def range_text(bounds: Range) -> str:
    """Return a range such as `3`, or `3 (2–5)`."""
    return f"{bounds.least:,}" if bounds.fixed else f"{bounds.most_likely:,} ({ends_text(bounds)})"


def _counted(number: Range, one: str, many: str) -> str:
    """Return a range with what it counts, such as `1 Pod waits` or `2–5 Pods wait`."""
    return f"{ends_text(number)} {one if number == ONE else many}"


def _missing(number: Range) -> str:
    return _counted(number, "is missing", "are missing")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def but_in_all(share: float) -> str:
    """Return in how many runs, such as ` in 12 % of the runs`; nothing where that is in every one."""
    return "" if share >= 1 else f" in {_percent(share)} of the runs"


def _percent(share: float) -> str:
    """Return a share such as `12 %` or `34.5 %`; never 0 or 100, since it is of runs that differ."""
    return f"{min(max(share * 100, 0.1), 99.9):.1f}".removesuffix(".0") + " %"
