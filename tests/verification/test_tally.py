"""Decisions are counted by the verdict, by what took part, and by how much they are worth."""

from __future__ import annotations

from webhook.verification.computation import HARD_PART, PREEMPTION_PART
from webhook.verification.decision import HAS_GATES, PodDecision
from webhook.verification.judgement import AGREES, DIFFERS, Judged
from webhook.verification.tally import PartTally, Tally

PLACED, REFUSED = PodDecision({}, "n1"), PodDecision({}, "", "Unschedulable", "0/1 nodes are available")


def counted(*judged):
    tally = Tally()
    for each in judged:
        tally.add(each)
    return tally


def test_decisions_are_counted_by_verdict_and_part():
    tally = counted(
        Judged(PLACED, AGREES, states=1, power=0.5, parts=(HARD_PART,)),
        Judged(PLACED, AGREES, states=3, power=0.0),
        Judged(PLACED, DIFFERS, states=9, parts=(HARD_PART,)),
        Judged(REFUSED, AGREES, states=1, parts=(PREEMPTION_PART,)),
        Judged(PLACED, HAS_GATES),
    )

    assert PartTally(agree=3, differ=1, chosen=2, power=0.5, powerless=1) == tally.every
    assert PartTally(agree=2, differ=1, chosen=2, power=0.5, powerless=1) == tally.placed
    assert PartTally(agree=1) == tally.refused
    assert PartTally(agree=1, differ=1, chosen=1, power=0.5) == tally.parts[HARD_PART]
    assert (1, {HAS_GATES: 1}) == (tally.in_other_states, dict(tally.not_compared))


def test_the_power_is_the_mean_of_those_that_have_one():
    assert (None, 0.25) == (PartTally(agree=3).mean_power, PartTally(agree=3, chosen=2, power=0.5).mean_power)


def test_where_only_some_nodes_were_scored_the_score_is_counted_apart():
    tally = counted(Judged(PLACED, AGREES, wins=True), Judged(PLACED, AGREES, wins=False), Judged(REFUSED, AGREES))

    assert (2, 1, 3, 0) == (tally.scored, tally.win, tally.every.agree, tally.every.chosen)
