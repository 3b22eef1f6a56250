"""
A simulation as a page: after each step a bar for each domain, what waits and why, and what never ends.

    Simulated ──texts and lengths──> values of the template simulation.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, number_of, one_line
from webhook.objects.names import HOSTNAME, REGION, ZONE
from webhook.render.explanation import constraint_words
from webhook.render.page import Origin, begun, lines, page, scaled
from webhook.render.simulation import (
    BEFORE,
    DomainRow,
    Simulated,
    assumptions,
    counting_lines,
    domain_rows,
    ending_lines,
    ends_text,
    excess_line,
    helping_lines,
    helping_title,
    unreachable_text,
    waiting_lines,
    widest_of,
)
from webhook.simulation.results import OfConstraint, StepResult
from webhook.simulation.step import (
    ADD,
    APPLY,
    CORDON,
    DELETE,
    DRAIN,
    EACH,
    LOSE,
    OF_NODES,
    ROLLOUT,
    SCALE,
    TAINT,
    Step,
    Which,
)

WIDE_SIMULATION = 170  # The length of the longest bar.
SINGLE_NODE = "node"
NOUNS: Mapping[str, str] = {ZONE: "zone", REGION: "region", HOSTNAME: SINGLE_NODE}


class RangeBar(NamedTuple):
    """
    One bar in three parts: what is there in every run, most likely more, and at most more.

    Most likely so much of it is `unreachable`.
    """

    name: str
    words: str
    least: float
    likely: float
    most: float
    unreachable: float


def html(shown: Simulated, origin: Origin) -> str:
    """Render the page as one file, for a browser."""
    runs = f"{shown.runs:,} run{'' if shown.runs == 1 else 's'}"
    widest = widest_of(shown)
    return page(
        "simulation.html",
        title=f"What happens to {one_line(str(shown.ref), LINE_LIMIT)}",
        origin=str(origin),
        runs=f"{runs} with seed {shown.seed}.",
        notes=lines(assumptions(shown)),
        steps=[_step(*of, widest) for of in zip(shown.results, (None, *shown.plan.steps), strict=True)],
        helping=helping_title(shown.helping),
        remedies=[(where, one_line(words, LINE_LIMIT)) for where, words in helping_lines(shown.helping)],
    )


def step_words(step: Step) -> str:
    """Return what happens in a step, such as `zone a goes down`."""
    if step.action not in OF_NODES:
        number = number_of(step.number, "replica" if step.action == SCALE else SINGLE_NODE)
        labels = ", ".join(f"{key}={value}" for key, value in step.labels.items())
        join = f"{number} {'joins' if step.number == 1 else 'join'}{' with ' if labels else ''}{labels}"
        others = {ROLLOUT: "rolled out", APPLY: "applied", SCALE: f"scaled to {number}"}
        return join if step.action == ADD else f"the workload is {others[step.action]}"
    noun, named = _noun(step.which), place(step.which)
    single = noun == SINGLE_NODE or (noun and step.action == LOSE)
    nodes = named if single else f"the nodes {'of' if noun else 'with'} {named}"
    in_turn = " in turn" if step.which.value == EACH else ""
    if step.action == LOSE:
        return f"{nodes} {'goes' if single else 'go'} down{in_turn}"
    if step.action == TAINT:
        return f"{nodes} {'gets' if single else 'get'} the taint {step.text.partition(',')[2]}{in_turn}"
    done = {DRAIN: "drained", CORDON: "cordoned", DELETE: "deleted"}[step.action]
    return f"{nodes} {'is' if single else 'are'} {done}{in_turn}"


def place(which: Which) -> str:
    """Return where nodes are, such as `zone a` or `node a1`, or the label that they have."""
    noun = _noun(which)
    if which.value == EACH:
        return f"each {noun}" if noun else f"each value of {which.key}"
    return f"{noun} {which.name or which.value}" if noun else str(which)


def _noun(which: Which) -> str:
    return SINGLE_NODE if which.name else NOUNS.get(which.key, "")


def _step(result: StepResult, step: Step | None, widest: int) -> dict[str, object]:
    title, code = (step_words(step), step.text) if step is not None else (BEFORE, "")
    return {
        "title": one_line(begun(title), LINE_LIMIT),
        "code": one_line(code, LINE_LIMIT),
        "constraints": [_constraint(of, widest) for of in result.constraints],
        "waiting": lines(waiting_lines(result)),
        "ends": lines(ending_lines(result)) if step is not None else [],
    }


def _constraint(of: OfConstraint, widest: int) -> dict[str, object]:
    return {
        "words": ", ".join(lines(constraint_words(of.constraint))),
        "bars": [_bar(row, widest) for row in domain_rows(of)],
        "counting": lines(counting_lines(of)),
        "exceeds": excess_line(of) if of.exceeds else "",
    }


def _bar(row: DomainRow, widest: int) -> RangeBar:
    numbers = (*row.pods, row.unreachable.most_likely)
    words = ", ".join(filter(None, (ends_text(row.pods), unreachable_text(row))))
    return RangeBar(row.name, words, *[scaled(number, widest, WIDE_SIMULATION) for number in numbers])
