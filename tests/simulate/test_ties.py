"""Which of several best nodes is taken."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from evenkeel.simulate import ties
from evenkeel.simulate.ties import by_heap, nodes_in_a_row, uniform


def test_uniform_takes_each_as_often():
    random = Random(1)
    counted = Counter(uniform(0b10110, random) for _ in range(6_000))

    assert {1, 2, 4} == set(counted)
    assert all(1_850 < number < 2_150 for number in counted.values())


def heapified(scores):
    """The place of the root after container/heap.Init with the larger score before the smaller."""
    found = [(score, i) for i, score in enumerate(scores)]

    def down(i):
        while (child := 2 * i + 1) < len(found):
            if child + 1 < len(found) and found[child + 1][0] > found[child][0]:
                child += 1
            if not found[child][0] > found[i][0]:
                return
            found[i], found[child] = found[child], found[i]
            i = child

    for i in reversed(range(len(found) // 2)):
        down(i)
    return found[0][1]


def test_by_heap_is_the_root_of_gos_heap_where_nothing_is_late(monkeypatch):
    monkeypatch.setattr(ties, "LATENESS", 1e-12)
    random = Random(1)
    for _ in range(2_000):
        size = random.randrange(1, 40)
        scores = [random.randrange(3) for _ in range(size)]
        best = sum(1 << i for i, score in enumerate(scores) if score == max(scores))

        assert heapified(scores) == by_heap(best, (1 << size) - 1, 0, size, random), scores


def test_the_list_begins_where_the_search_began_and_has_only_the_candidates(monkeypatch):
    monkeypatch.setattr(ties, "LATENESS", 1e-12)

    assert by_heap(0b1010_0000, 0b1110_0011, 6, 8, Random(1)) == 7
    assert by_heap(0b0010_0010, 0b1110_0011, 6, 8, Random(1)) == 1


def test_the_first_of_the_list_is_taken_more_often_than_any_other():
    counted = Counter(by_heap(0b111, 0b111, 0, 3, Random(i)) for i in range(3_000))

    assert set(counted) == {0, 1, 2}
    assert counted[0] > 1_800


@pytest.mark.parametrize(("nodes", "row"), [(1, 1), (15, 1), (16, 2), (40, 3), (90, 6), (500, 22), (5_000, 70)])
def test_a_worker_takes_some_nodes_in_a_row(nodes, row):
    assert row == nodes_in_a_row(nodes)


def test_of_nodes_in_a_row_the_first_is_before_the_others():
    """As kube-scheduler 1.37.1 has it on two CPUs, where of 90 nodes the first or the seventh is taken."""
    every = (1 << 90) - 1
    counted = Counter(by_heap(every, every, 0, 90, Random(i)) for i in range(3_000))

    assert all(position % 6 == 0 for position in counted)
    assert {0, 6} <= set(counted)
    assert counted[0] > 1_800
