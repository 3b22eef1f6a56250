"""The smallest skew of a soft constraint that a hard one allows."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.spread_filter import count_each
from evenkeel.simulate.forced_skew import least_skews
from tests.support.placing import HOSTNAME, ZONE, attempted, node, running, spread
from tests.support.reporting import deployment, only, pods, report

SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}
HARD_ZONE, SOFT_HOST = spread(), spread(HOSTNAME, **SOFT)
NINE = [node(f"{zone}{i}", zone) for zone, number in (("a", 5), ("b", 2), ("c", 2)) for i in range(number)]
FOUR_EACH = ["a0", "a1", "a2", "a3", "b0", "b0", "b1", "b1", "c0", "c0", "c1", "c1"]


def least(nodes, names, *constraints):
    """Of the last constraint."""
    cycle = attempted(*nodes, *map(running, names), constraints=constraints)
    return least_skews(count_each(cycle), cycle.snapshot.nodes)[-1].skew


@pytest.mark.parametrize(
    ("names", "constraints", "skew"),
    [
        (FOUR_EACH, (HARD_ZONE, SOFT_HOST), 2),
        (FOUR_EACH[:4], (HARD_ZONE, SOFT_HOST), 1),
        (["a0"] * 4 + FOUR_EACH[4:], (HARD_ZONE, SOFT_HOST), 2),
        (FOUR_EACH, (spread(maxSkew=2), SOFT_HOST), 1),
        (FOUR_EACH, (HARD_ZONE, spread(HOSTNAME, maxSkew=3, **SOFT)), 3),
        (FOUR_EACH, (spread(labelSelector={"matchLabels": {"app": "x"}}), SOFT_HOST), 1),
        (FOUR_EACH, (spread("rack"), SOFT_HOST), 1),
    ],
    ids=[
        "four Pods on two nodes, and on five",
        "few Pods are beyond by chance",
        "what is beyond that is not forced",
        "a hard one that allows more",
        "maxSkew allows it",
        "a hard one that counts other Pods",
        "a hard one that counts no node",
    ],
)
def test_what_is_forced(names, constraints, skew):
    assert skew == least(NINE, names, *constraints)


def test_zones_that_a_hard_constraint_on_nodes_forces():
    names = [node["metadata"]["name"] for node in NINE]

    assert 3 == least(NINE, names, spread(HOSTNAME), spread(**SOFT))


SITUATIONS = st.tuples(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.integers(1, 2),
    st.booleans(),
)


@given(SITUATIONS)
def test_no_distribution_that_the_hard_constraint_allows_is_more_even(situation):
    zones, placed, max_skew, hard_on_zones = situation
    nodes = [node(f"n{i}", zone) for i, zone in enumerate(zones)]
    keys = (ZONE, HOSTNAME) if hard_on_zones else (HOSTNAME, ZONE)
    found = least(
        nodes, [f"n{i % len(zones)}" for i in placed], spread(keys[0], maxSkew=max_skew), spread(keys[1], **SOFT)
    )

    def skews(numbers):
        of_zones = [sum(n for n, other in zip(numbers, zones, strict=True) if other == zone) for zone in set(zones)]
        by_key = {ZONE: max(of_zones) - min(of_zones), HOSTNAME: max(numbers) - min(numbers)}
        return by_key[keys[0]], by_key[keys[1]]

    every = (
        skews(numbers) for numbers in product(range(len(placed) + 1), repeat=len(zones)) if sum(numbers) == len(placed)
    )
    fewest = min(soft for hard, soft in every if hard <= max_skew)
    now = skews([[i % len(zones) for i in placed].count(n) for n in range(len(zones))])[1]
    assert max(1, min(fewest, now)) == found


def test_the_report_does_not_count_it():
    objects = [*NINE, *deployment(HARD_ZONE, SOFT_HOST), *pods(*FOUR_EACH)]
    one = only(*objects)

    assert [(0, (1, ""), 0), (2, (2, ZONE), 0)] == [
        (spread.skew, spread.least, spread.excess) for spread in one.spreads
    ]
    summary = report(*objects).summary
    assert (0, 1) == (summary.uneven, summary.forced)
    more = only(*NINE, *deployment(HARD_ZONE, SOFT_HOST), *pods(*["b0"] * 4, *FOUR_EACH[:4], *FOUR_EACH[8:]))
    assert [0, 2] == [spread.excess for spread in more.spreads], "beyond what is forced"
