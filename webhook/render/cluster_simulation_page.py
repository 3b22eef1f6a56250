"""
A simulation of a whole cluster as a page: what it comes to, and for each step the workloads that are hurt, each with a
bar of its Pods.

    ClusterSimulated ──the parts of its text, and lengths──> values of the template cluster_simulation.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, first_of, one_line
from webhook.render.cluster_simulation import (
    IN_TURN,
    MOST_WHOLE,
    OUT,
    ClusterSimulated,
    ResultTable,
    domain_parts,
    head,
    kept_parts,
    step_parts,
    steps_in_full,
    total_words,
)
from webhook.render.page import Origin, Tile, begun, lines, page, scaled
from webhook.render.simulation import NONE, but_in_all, ends_text
from webhook.render.simulation_page import place, step_words
from webhook.simulation.cluster_results import WorkloadResult
from webhook.simulation.run import FoundWorkload
from webhook.simulation.step import EACH, Step

MOST_TABLE_ROWS = 200
WHOLE_BAR = 100
KEPT, BACK, UNSURE, BAD = "bar", "fewer", "most", "every"  # How Pods are drawn, by classes of the style.


class BarPart(NamedTuple):
    """A part of a bar, of 100: how it is drawn, where it begins, and its length."""

    look: str
    start: float
    length: float


class Section(NamedTuple):
    """A heading, what was written for it on the command line, and lines and tables."""

    title: str
    code: str
    parts: Sequence[str | Mapping[str, object]]


def html(simulated: ClusterSimulated, asked: Sequence[Step], origin: Origin) -> str:
    """Render the page as one file, for a browser; steps are `asked` for once for all domains that are taken in turn."""
    size, *notes = lines(head(simulated))
    sections = list(_sections(simulated))
    return page(
        "cluster_simulation.html",
        title=f"What happens to the cluster if {one_line(', then '.join(map(step_words, asked)), LINE_LIMIT)}",
        origin=str(origin),
        size=size,
        notes=notes,
        worst=_worst(simulated, asked),
        tiles=list(_tiles(simulated)),
        alerts=lines(_alerts(simulated)),
        drawn=any(part["drawn"] for section in sections for part in section.parts if not isinstance(part, str)),
        sections=sections,
    )


def _worst(simulated: ClusterSimulated, asked: Sequence[Step]) -> str:
    """Return of which domain the numbers are that stand above all."""
    if not simulated.in_turn:
        return ""
    which = next(step.which for step in asked if step.which.value == EACH)
    worst = place(replace(which, value=simulated.domains[0].domain))
    return f"The worst of {len(simulated.domains):,} is {one_line(worst, LINE_LIMIT)}:"


def _tiles(simulated: ClusterSimulated) -> Iterator[Tile]:
    """Yield what all steps come to; of more than one, what finds room in each is not what runs in the end."""
    of = simulated.domains[0]
    back = simulated.steps[0].total.back if len(simulated.steps) == 1 else NONE
    (lost, pods), *ends = total_words(of.lost, back, of.more, of.missing)
    yield Tile(ends_text(lost), pods)
    for number, words in (*ends, (of.out, OUT)):
        if number is not back or number.most:
            yield Tile(ends_text(number), words, bad=number is not back and number.most > 0)


def _alerts(simulated: ClusterSimulated) -> Iterator[str]:
    """Yield which drains do not finish, and which workloads are out; of domains in turn the tables have both."""
    steps = () if simulated.in_turn else simulated.steps
    for step in steps:
        if step.held:
            ends = f"this does not finish{but_in_all(max(step.held.values()))}"
            yield f"{begun(step_words(step.step))}: {ends}, and the next step starts after a part of it."
    out = dict[str, float]()
    for of in (of for step in steps for of in step.hurt if of.out):
        out[of.workload] = max(of.out, out.get(of.workload, 0.0))
    if out:
        yield f"{begun(OUT)}: {first_of([f'{name}{but_in_all(share)}' for name, share in out.items()], MOST_WHOLE)}."


def _sections(simulated: ClusterSimulated) -> Iterator[Section]:
    if simulated.in_turn:
        yield Section(begun(IN_TURN), "", list(_shown(domain_parts(simulated), {})))
    if simulated.in_turn or simulated.keep is not None:
        title, *parts = _shown(kept_parts(simulated), {})
        yield Section(str(title).rstrip(".:"), "", parts)
    workloads = simulated.plan.workloads
    for step in steps_in_full(simulated):
        title, code = (one_line(words, LINE_LIMIT) for words in (begun(step_words(step.step)), step.step.text))
        yield Section(title, code, list(_shown(step_parts(step, simulated), workloads)))


def _shown(
    parts: Iterable[str | ResultTable], workloads: Mapping[str, FoundWorkload]
) -> Iterator[str | Mapping[str, object]]:
    """Yield each line that says anything, and of each table the first rows."""
    for part in parts:
        if isinstance(part, ResultTable):
            first, more = part.rows[:MOST_TABLE_ROWS], len(part.rows[MOST_TABLE_ROWS:])
            yield {
                "titles": part.titles,
                "rows": [(row, list(_bar(row.result, workloads)) if row.result is not None else ()) for row in first],
                "drawn": any(row.result is not None for row in first),
                "told": any(row.remarks for row in first),
            }
            if more:
                yield f"and {more:,} more"
        elif part:
            yield from lines([part])


def _bar(of: WorkloadResult, workloads: Mapping[str, FoundWorkload]) -> Iterator[BarPart]:
    """Yield the parts of a bar that is all Pods which the workload had before any step, or has now if that is more."""
    kept, back, bad = max(0, of.pods.least - of.lost.most), of.back.least, of.more.least + of.missing.least
    every = max(workloads[of.workload].running, of.pods.most, kept + back + bad)
    differs = any(number.least < number.most for number in (of.pods, of.lost, of.back, of.more, of.missing))
    start, parts = 0, {KEPT: kept, BACK: back, UNSURE: every - kept - back - bad if differs else 0, BAD: bad}
    for look, number in parts.items():
        if number:
            yield BarPart(look, scaled(start, every, WHOLE_BAR), scaled(number, every, WHOLE_BAR))
        start += number
