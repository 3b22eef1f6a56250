"""How likely it is that two lots of outcomes differ as much as they do, if both come of the same chances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from random import Random

DRAWS = 20_000


def likelihood(some: Iterable[Hashable], others: Iterable[Hashable], draws: int = DRAWS) -> float:
    """
    The share of all ways to deal the same outcomes into two lots of these sizes that differ at least as much.

    It is a permutation test of Pearson's statistic: exact but for `draws` ways that stand for all, the same in every
    call.  The least that it can say is 1 / (draws + 1).
    """
    few, many = list(some), list(others)
    together, random = few + many, Random(1)
    numbers: Mapping[Hashable, int] = Counter(together)
    found = statistic(Counter(few), numbers, len(few), len(together))
    as_far = 0
    for _ in range(draws):
        dealt = Counter(random.sample(together, len(few)))
        as_far += statistic(dealt, numbers, len(few), len(together)) >= found - 1e-9
    return (1 + as_far) / (1 + draws)


def statistic(few: Mapping[Hashable, int], together: Mapping[Hashable, int], number: int, total: int) -> float:
    """Pearson's: how far the outcomes of the fewer are from their share of all."""
    return sum(
        (few.get(outcome, 0) - wanted) ** 2 / wanted
        for outcome, wanted in ((outcome, times * number / total) for outcome, times in together.items())
    )
