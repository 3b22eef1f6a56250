"""
A simulation as a page: after each step a bar for each domain, what waits and why, and what never ends.

    Simulated ──texts and lengths──> values of the template simulation.html
"""

from __future__ import annotations

from typing import NamedTuple

from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.render.explanation import constraint_words
from webhook.render.page import Origin, lines, page, scaled
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

WIDE_SIMULATION = 170  # The length of the longest bar.


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
        steps=[_step(result, i > 0, widest) for i, result in enumerate(shown.results)],
        helping=helping_title(shown.helping),
        remedies=[(where, one_line(words, LINE_LIMIT)) for where, words in helping_lines(shown.helping)],
    )


def _step(result: StepResult, ends: bool, widest: int) -> dict[str, object]:
    return {
        "title": one_line(result.step, LINE_LIMIT) or BEFORE,
        "constraints": [_constraint(of, widest) for of in result.constraints],
        "waiting": lines(waiting_lines(result)),
        "ends": lines(ending_lines(result)) if ends else [],
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
