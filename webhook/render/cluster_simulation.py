"""A simulation of a whole cluster as text and JSON: after each step the workloads that are hurt, and sums."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, NAME_LIMIT, number_of, one_line
from webhook.objects.fields import IntOrPercent
from webhook.objects.names import OUTPUT_API_VERSION
from webhook.placement.room import in_words
from webhook.render.simulation import (
    ENDED_EARLY,
    MOST_REASONS,
    but_in_all,
    drain_json,
    drain_line,
    ends_text,
    gaps_in_words,
    held_lines,
    keeping,
    numbers_json,
    ties_in_words,
    violated_lines,
)
from webhook.render.style import UNCOLOURED, Look, Style, Styled, TextLine, columns, restyled
from webhook.simulation.cluster_results import ClusterStep, SkewResult, Sum, WorkloadResult
from webhook.simulation.each_domain import NO_DOMAIN, DomainResult, LossOfWorkload, worst_first
from webhook.simulation.results import Range
from webhook.simulation.run import Plan
from webhook.simulation.step import DRAIN

MOST_IN_FULL, MOST_LOSSES = 6, 20  # the first: with more, only what they come to is shown
USUAL_KEEP = "50%"
MOST_WHOLE = 10  # Workloads that come back whole, each in a row of its own.
NO_GROUP = "-"  # the name of the sum of workloads without the label
OUT = "workloads that lose all their Pods at once, or get none of the lost Pods back"
IN_TURN = "each domain in turn, the worst first"


class ClusterSimulated(NamedTuple):
    """
    All that is to be printed of a simulation of a whole cluster, once or for each of several `domains` in turn: the
    steps of all of these, one after the other.

    Shown are the workloads of `namespace`, "" for all, that the labels `selector` match, and `shown` is how many these
    are; sums are by the label `by`, "" for namespaces.  What of a workload is to be kept is None if nobody has asked.
    Runs ended `early` if further ones would change no number.
    """

    plan: Plan
    seed: int
    steps: Sequence[ClusterStep]
    domains: Sequence[DomainResult]
    not_judged: Sequence[str]
    notes: Sequence[str]
    namespace: str
    selector: str
    by: str
    shown: int
    keep: IntOrPercent | None = None
    early: bool = False

    @property
    def least_kept(self) -> IntOrPercent:
        """How much of a workload is to be kept."""
        return USUAL_KEEP if self.keep is None else self.keep

    @property
    def in_turn(self) -> bool:
        """Whether domains are taken in turn."""
        return self.domains[0].domain != NO_DOMAIN


class Row(NamedTuple):
    """A line of a table: the `cells` in its columns, what is said below, and the workload that it is of, if any."""

    name: str
    cells: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    result: WorkloadResult | None = None


class ResultTable(NamedTuple):
    """The titles of the columns, and the rows."""

    titles: tuple[str, ...]
    rows: Sequence[Row]


def joined(each: Sequence[ClusterSimulated]) -> ClusterSimulated:
    """Return the simulations of domains in turn as a single one."""
    return each[0]._replace(
        steps=[step for of in each for step in of.steps],
        domains=worst_first(domain for of in each for domain in of.domains),
        not_judged=list(dict.fromkeys(gap for of in each for gap in of.not_judged)),
        notes=list(dict.fromkeys(note for of in each for note in of.notes)),
        early=any(of.early for of in each),
    )


def text(simulated: ClusterSimulated, style: Style = UNCOLOURED) -> str:
    """Render a simulation for a person who is about to do it."""
    return style.lines((*head(simulated), *numbers(simulated)))


def head(simulated: ClusterSimulated) -> Iterator[str]:
    """Yield what was simulated and how, and what is not simulated."""
    plan, runs = simulated.plan, sorted({of.runs for of in simulated.domains})
    version = f"Kubernetes 1.{plan.start.features.minor}"
    all_of = f"The whole cluster, {number_of(len(plan.workloads), 'workload')}"
    yield f"{all_of}, {_runs(runs, simulated)} with seed {simulated.seed}, {version}."
    yield f"  {ties_in_words(plan)} Pods are ready as soon as they have a node."
    if simulated.early:
        yield f"  {ENDED_EARLY}"
    if simulated.shown < len(plan.workloads):
        yield f"  Shown: {number_of(simulated.shown, 'workload')}{_chosen(simulated)}."
    yield from (f"  {line}" for line in (*simulated.notes, *gaps_in_words(simulated.not_judged)))


def _runs(numbers: Sequence[int], simulated: ClusterSimulated) -> str:
    least = f"{numbers[0]:,} to " if len(numbers) > 1 else ""
    return f"{least}{number_of(numbers[-1], 'run')}{' of each domain' if simulated.in_turn else ''}"


def numbers(simulated: ClusterSimulated) -> list[TextLine]:
    """Return the lines in which any run may change a number."""
    lines = list[TextLine]()
    for step in steps_in_full(simulated):
        lines += [
            "",
            Styled(Look.NAME, f"  {one_line(step.step.text, LINE_LIMIT)}"),
            *_lines(step_parts(step, simulated)),
        ]
    if simulated.in_turn:
        lines += ["", Styled(Look.NAME, f"  {IN_TURN}"), *_lines(domain_parts(simulated))]
    if simulated.in_turn or simulated.keep is not None:
        title, *below = kept_parts(simulated)
        lines += ["", *_lines([title], 2), *_lines(below)]
    return lines


def steps_in_full(simulated: ClusterSimulated) -> Sequence[ClusterStep]:
    """Return the steps of which each workload is shown: none where there are many domains."""
    return simulated.steps if len(simulated.domains) <= MOST_IN_FULL else ()


def domain_parts(simulated: ClusterSimulated) -> Iterator[str | ResultTable]:
    """Yield what the steps of each domain come to."""
    rows = []
    for of in simulated.domains[:MOST_LOSSES]:
        few = Styled(Look.ERROR if of.not_kept else "", f"{len(of.not_kept):,}")
        cells = (ends_text(of.lost), *_hurt(of.more, of.missing, of.out), few)
        rows.append(Row(of.domain, cells, tuple(_domain_remarks(of))))
    yield ResultTable(("domain", "lost", "wait", "missing", "out", f"keep < {_kept(simulated)}"), rows)
    if more := simulated.domains[MOST_LOSSES:]:
        yield f"and {len(more):,} more, none of them worse"
    yield f"out: {OUT}"
    if any(any(of.room) for of in simulated.domains[:MOST_LOSSES]):
        yield "lacks: the room that is missing for the waiting Pods; each amount is the most of any run"


def _domain_remarks(of: DomainResult) -> Iterator[str]:
    if of.held:
        yield f"a {DRAIN} does not finish{but_in_all(of.held)}: the numbers count only the Pods that it can move"
    if any(of.room):
        yield f"lacks {in_words(of.room)}"


def _kept(simulated: ClusterSimulated) -> str:
    return str(simulated.least_kept).replace("%", " %")


def kept_parts(simulated: ClusterSimulated) -> Iterator[str | ResultTable]:
    """Yield how many workloads do not keep enough Pods, and these, each with the domain in which it loses most."""
    worst = dict[str, tuple[LossOfWorkload, str]]()
    for of in simulated.domains:
        for loss in of.not_kept:
            if loss.workload not in worst or loss.kept.least < worst[loss.workload][0].kept.least:
                worst[loss.workload] = loss, of.domain
    keep = f"{_kept(simulated)} of {'their' if len(worst) != 1 else 'its'} Pods"
    if isinstance(simulated.keep, int):
        keep = number_of(simulated.keep, "Pod")
    if not worst:
        yield Styled(Look.GOOD, f"Every workload keeps at least {keep.replace('their', 'its')} on their nodes.")
        return
    few = f"{number_of(len(worst), 'workload')} {'does' if len(worst) == 1 else 'do'} not keep {keep} on their nodes:"
    yield Styled(Look.ERROR, few)
    losses = sorted(worst.values(), key=lambda of: of[0].by_share)
    titles = ("workload", "Pods", "keeps", *(["domain"] if simulated.in_turn else []))
    cells = [(loss.workload, f"{loss.pods:,}", ends_text(loss.kept), domain) for loss, domain in losses[:MOST_LOSSES]]
    yield ResultTable(titles, [Row(name, tuple(others[: len(titles) - 1])) for name, *others in cells])
    if len(losses) > MOST_LOSSES:
        yield f"and {len(losses) - MOST_LOSSES:,} more"


def _chosen(simulated: ClusterSimulated) -> str:
    where = f" of namespace {simulated.namespace}" if simulated.namespace else ""
    return f"{where}{f' with {one_line(simulated.selector, LINE_LIMIT)}' if simulated.selector else ''}"


def step_parts(step: ClusterStep, simulated: ClusterSimulated) -> Iterator[str | ResultTable]:
    """Yield what a step comes to, in all, for each workload, and in sums."""
    if step.drained is not None:
        yield drain_line(step.drained)
    yield from held_lines(step.held, step.kept)
    yield from violated_lines(step.violated)
    yield _total(step.total)
    few = len(step.whole) <= MOST_WHOLE
    if listed := (*step.hurt, *(step.whole if few else ())):
        yield ""
        rows = [
            Row(of.workload, (*_cells(of.pods, of.lost, of.back), *_hurt(of.more, of.missing)), tuple(_remarks(of)), of)
            for of in listed
        ]
        yield ResultTable(("workload", "Pods", "lost", "back", "wait", "missing"), rows)
    if not few:
        yield ""
        yield _whole(step)
    if len(step.sums) > 1 or (simulated.by and step.sums):
        yield ""
        sums = [
            Row(of.name or NO_GROUP, (*_cells(of.lost, of.back), *_hurt(of.more, of.missing, of.broken)))
            for of in step.sums
        ]
        yield ResultTable(
            (simulated.by or "namespace", "lost", "back", "wait", "missing", "incomplete workloads"), sums
        )
    if step.elsewhere:
        are = "is" if step.elsewhere == 1 else "are"
        yield f"{number_of(step.elsewhere, 'workload')} that {are} not shown {are} affected, too."


def _cells(*ranges: Range) -> tuple[str, ...]:
    return tuple(map(ends_text, ranges))


def _hurt(*ranges: Range) -> tuple[str, ...]:
    """Return the cells of Pods or workloads that are not to be, red where there are any."""
    return tuple([Styled(Look.ERROR if bounds.most else "", ends_text(bounds)) for bounds in ranges])


def _total(total: Sum) -> str:
    """Return what becomes of all Pods that are lost, such as `8 Pods are lost: 5 find room, 3 wait.`."""
    (lost, pods), *ends = total_words(total.lost, total.back, total.more, total.missing)
    words = [f"{ends_text(number)} {what}" for number, what in ends if number.most]
    said = f"{ends_text(lost)} {pods}" if lost.most else "No Pod is lost"
    look = Look.ERROR if total.more.most or total.missing.most else Look.GOOD if lost.most else ""
    return Styled(look, f"{said}{': ' if words else ''}{', '.join(words)}.")


def total_words(lost: Range, back: Range, more: Range, missing: Range) -> Iterator[tuple[Range, str]]:
    """Yield each number, and what becomes of so many Pods."""
    yield lost, "Pod is lost" if lost == (1, 1, 1) else "Pods are lost"
    yield back, f"{'finds' if back == (1, 1, 1) else 'find'} room"
    yield more, f"more {'waits' if more == (1, 1, 1) else 'wait'} than before"
    yield missing, f"{_are(missing)} missing"


def _whole(step: ClusterStep) -> str:
    """Return how many workloads lose Pods and get all of them back."""
    uneven = sum(of.uneven for of in step.whole)
    skew = (
        f"; of these, {uneven:,} then {'has' if uneven == 1 else 'have'} a skew larger than maxSkew" if uneven else ""
    )
    lost = f"{ends_text(step.lost_by_whole)} Pods"
    return f"{number_of(len(step.whole), 'workload')} lose {lost} and get all of them back{skew}."


def _remarks(of: WorkloadResult) -> Iterator[str]:
    """Yield why Pods of a workload wait, a line for each cause, and what else is wrong with it."""
    if of.loses_all:
        yield Styled(Look.WARNING, f"loses all its Pods at once{but_in_all(of.loses_all)}")
    for cause, pods in list(of.causes.items())[:MOST_REASONS]:
        yield f"{ends_text(pods)} {'waits' if pods == (1, 1, 1) else 'wait'}: {one_line(cause, 4 * LINE_LIMIT)}"
    if len(of.causes) > MOST_REASONS:
        yield f"and {number_of(len(of.causes) - MOST_REASONS, 'more reason')}"
    if of.waited and of.causes:
        yield f"{of.waited:,} of these waited before"
    yield from _missing(of)
    if of.preempted.most:
        yield f"{ends_text(of.preempted)} {_are(of.preempted)} preempted"
    yield from (_skew(skew) for skew in of.skews if skew.exceeds)


def _missing(of: WorkloadResult) -> Iterator[str]:
    if of.stranded.most:
        stay = "stays" if of.stranded == (1, 1, 1) else "stay"
        yield f"{ends_text(of.stranded)} {stay} on unreachable nodes, and {_are(of.stranded)} not replaced"
    if of.leaving.most:
        replaced = "the Pod that it replaces is" if of.leaving == (1, 1, 1) else "the Pods that they replace are"
        why = f"until {replaced} gone from unreachable nodes"
        yield f"{ends_text(of.leaving)} {_are(of.leaving)} missing {why}"
    if of.queued.most:
        yield (
            f"{ends_text(of.queued)} {_are(of.queued)} missing: each is created only after the Pods before it are ready"
        )
    if of.gone.most:
        yield (
            f"{ends_text(of.gone)} {_are(of.gone)} missing: no controller replaces "
            f"{'it' if of.gone == (1, 1, 1) else 'them'}"
        )


def _skew(of: SkewResult) -> str:
    words = f"skew {ends_text(of.skew)} by {of.topology_key}, more than maxSkew {of.max_skew}{but_in_all(of.exceeds)}"
    return Styled(Look.WARNING, words)


def _lines(parts: Iterable[str | ResultTable], indent: int = 4) -> Iterator[TextLine]:
    """Yield the lines of texts and tables, below each other and indented."""
    for part in parts:
        for line in [(part,)] if isinstance(part, str) else _table(*part):
            yield (" " * indent, *line) if any(line) else ""


def _table(titles: Sequence[str], rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Yield a line with the titles of the columns, and for each row its cells, and what is said below."""
    lines = [
        (
            Styled(Look.NAME, one_line(row.name, LINE_LIMIT)),
            *(restyled(cell, one_line(cell, NAME_LIMIT)) for cell in row.cells),
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    sides = "<" + ">" * len(titles)
    yield columns([Styled(Look.FAINT, title) for title in titles], widths, sides)
    for row, line in zip(rows, lines, strict=True):
        yield columns(line, widths, sides)
        yield from (("  ", remark) for remark in row.remarks)


def _are(number: Range) -> str:
    return "is" if number == (1, 1, 1) else "are"


def as_json(simulated: ClusterSimulated) -> str:
    """Return the form `ClusterSimulation`, for programs."""
    return json.dumps(
        {
            "apiVersion": OUTPUT_API_VERSION,
            "kind": "ClusterSimulation",
            "namespace": simulated.namespace,
            "selector": simulated.selector,
            "by": simulated.by,
            "kubernetesVersion": f"1.{simulated.plan.start.features.minor}",
            "ties": simulated.plan.start.ties,
            "seed": simulated.seed,
            "runs": max(of.runs for of in simulated.domains),
            "early": simulated.early,
            "steps": [_step_json(step, simulated.plan) for step in simulated.steps],
            "keep": simulated.least_kept,
            "domains": [_domain_json(of, simulated.plan) for of in simulated.domains],
            "notJudged": list(simulated.not_judged),
            "notes": list(simulated.notes),
        },
        indent=2,
    )


def _domain_json(of: DomainResult, plan: Plan) -> dict[str, object]:
    return {
        "domain": of.domain,
        "runs": of.runs,
        "held": of.held,
        **_ranges_json(of),
        "notKept": [
            {**_named(loss.workload, plan), "pods": loss.pods, "kept": numbers_json(loss.kept)} for loss in of.not_kept
        ],
        "lacks": {
            "pods": of.room.pods,
            "milliCpu": of.room.milli_cpu,
            "memory": of.room.memory,
            "ephemeralStorage": of.room.ephemeral_storage,
            "others": dict(of.room.scalars),
        },
    }


def _named(workload: str, plan: Plan) -> dict[str, object]:
    ref = plan.workloads[workload].ref
    return {"apiGroup": ref.group, "workload": f"{ref.kind}/{ref.name}", "namespace": ref.namespace}


def _step_json(step: ClusterStep, plan: Plan) -> dict[str, object]:
    return {
        "step": step.step.text,
        "total": _ranges_json(step.total),
        "sums": [{"name": of.name, **_ranges_json(of)} for of in step.sums],
        "workloads": [_workload_json(of, plan) for of in (*step.hurt, *step.whole)],
        "elsewhere": step.elsewhere,
        "held": {keeping(eviction, step.held, step.kept): share for eviction, share in step.held.items()},
        **({"drained": drain_json(step.drained)} if step.drained is not None else {}),
        "violated": dict(step.violated),
    }


def _ranges_json(of: DomainResult | Sum | WorkloadResult) -> dict[str, object]:
    """Return the ranges among the fields, by the names of these."""
    return {name: numbers_json(value) for name, value in of._asdict().items() if isinstance(value, Range)}


def _workload_json(of: WorkloadResult, plan: Plan) -> dict[str, object]:
    return {
        **_named(of.workload, plan),
        "hurt": of.hurt,
        "losesAll": of.loses_all,
        **_ranges_json(of),
        "waitedBefore": of.waited,
        "reasons": {cause: numbers_json(pods) for cause, pods in of.causes.items()},
        "skews": [
            {
                "index": skew.position,
                "topologyKey": skew.topology_key,
                "maxSkew": skew.max_skew,
                "skew": numbers_json(skew.skew),
                "exceedsMaxSkew": skew.exceeds,
            }
            for skew in of.skews
        ],
    }
