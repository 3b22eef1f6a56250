"""A simulation of a whole cluster as text and JSON: after each step the workloads that are hurt, and sums."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, NAME_LIMIT, number_of, one_line
from webhook.objects.names import OUTPUT_API_VERSION
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
from webhook.simulation.results import Range
from webhook.simulation.run import Plan

MOST_WHOLE = 10  # Workloads that come back whole, each in a row of its own.


class ClusterSimulated(NamedTuple):
    """All that is to be printed of a simulation of a whole cluster."""

    plan: Plan
    seed: int
    runs: int
    steps: Sequence[ClusterStep]
    not_judged: Sequence[str]
    notes: Sequence[str]
    namespace: str  # of the workloads that are shown; "" for all
    selector: str  # of the labels of the workloads that are shown
    shown: int  # how many these are
    early: bool = False  # further runs would change no number


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


def text(simulated: ClusterSimulated, style: Style = UNCOLOURED) -> str:
    """Render a simulation for a person who is about to do it."""
    return style.lines((*head(simulated), *numbers(simulated)))


def head(simulated: ClusterSimulated) -> Iterator[str]:
    """Yield what was simulated and how, and what is not simulated."""
    plan = simulated.plan
    version = f"Kubernetes 1.{plan.start.features.minor}"
    all_of = f"The whole cluster, {number_of(len(plan.workloads), 'workload')}"
    yield f"{all_of}, {number_of(simulated.runs, 'run')} with seed {simulated.seed}, {version}."
    yield f"  {ties_in_words(plan)} Pods are ready as soon as they have a node."
    if simulated.early:
        yield f"  {ENDED_EARLY}"
    if simulated.shown < len(plan.workloads):
        yield f"  Shown: {number_of(simulated.shown, 'workload')}{_chosen(simulated)}."
    yield from (f"  {line}" for line in (*simulated.notes, *gaps_in_words(simulated.not_judged)))


def numbers(simulated: ClusterSimulated) -> list[TextLine]:
    """Return the lines in which any run may change a number."""
    lines = list[TextLine]()
    for step in simulated.steps:
        lines += [
            "",
            Styled(Look.NAME, f"  {one_line(step.step.text, LINE_LIMIT)}"),
            *_lines(step_parts(step)),
        ]
    return lines


def _chosen(simulated: ClusterSimulated) -> str:
    where = f" of namespace {simulated.namespace}" if simulated.namespace else ""
    return f"{where}{f' with {one_line(simulated.selector, LINE_LIMIT)}' if simulated.selector else ''}"


def step_parts(step: ClusterStep) -> Iterator[str | ResultTable]:
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
    if len(step.sums) > 1:
        yield ""
        sums = [Row(of.name, (*_cells(of.lost, of.back), *_hurt(of.more, of.missing, of.broken))) for of in step.sums]
        yield ResultTable(("namespace", "lost", "back", "wait", "missing", "incomplete workloads"), sums)
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


def _lines(parts: Iterable[str | ResultTable]) -> Iterator[TextLine]:
    """Yield the lines of texts and tables, below each other and indented."""
    for part in parts:
        for line in [(part,)] if isinstance(part, str) else _table(*part):
            yield ("    ", *line) if any(line) else ""


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
            "kubernetesVersion": f"1.{simulated.plan.start.features.minor}",
            "seed": simulated.seed,
            "runs": simulated.runs,
            "early": simulated.early,
            "steps": [_step_json(step, simulated.plan) for step in simulated.steps],
            "notJudged": list(simulated.not_judged),
            "notes": list(simulated.notes),
        },
        indent=2,
    )


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


def _ranges_json(of: Sum | WorkloadResult) -> dict[str, object]:
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
