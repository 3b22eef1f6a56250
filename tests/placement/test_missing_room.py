"""Room for a Pod that lacks some on a node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.placement.missing_room import at_most, freed, in_words, leaves_enough, lowered, lowering_in_words, share
from evenkeel.scheduler.pod_counts import Requests, Usage
from evenkeel.scheduler.resource_fit import Lack, lacking, shortages
from evenkeel.scheduler.scheduler_nodes import Allocatable

NODE = Allocatable(2_000, 4 << 30, 0, (("example.com/gpu", 2),), 10)
ASKED = Requests(1_500, 1 << 30, 0, (("example.com/gpu", 1),))


def test_what_is_lacking():
    used = Usage(10, 1_000, 1 << 30, 0, (("example.com/gpu", 2),))

    assert Lack(1, 500, 0, 0, (("example.com/gpu", 1),)) == lacking(ASKED, NODE, used)
    assert not any(lacking(ASKED, NODE, Usage(1)))
    assert not any(lacking(Requests(), NODE, Usage(1, 9_999)))


@pytest.mark.parametrize(
    ("lack", "words"),
    [
        (Lack(0, 500, 0, 0, ()), "500m of cpu"),
        (Lack(0, 3_000, 512 << 20, 0, ()), "3 of cpu and 512Mi of memory"),
        (Lack(1, 0, 0, 0, ()), "room for 1 Pod"),
        (Lack(2, 500, 0, 0, ()), "room for 2 Pods and 500m of cpu"),
        (Lack(0, 0, (10 << 30) + 1, 1 << 30, ()), "11Gi of memory and 1Gi of ephemeral-storage"),
        (Lack(0, 0, 5, 0, (("example.com/gpu", 1),)), "5 of memory and 1 of example.com/gpu"),
    ],
)
def test_in_words(lack, words):
    assert words == in_words(lack)


def test_what_is_not_in_use_cannot_be_freed():
    assert None is freed(Usage(1, 100), Lack(0, 500, 0, 0, ()))
    assert None is freed(Usage(1, 500), Lack(0, 0, 0, 0, (("example.com/gpu", 1),)))
    assert None is freed(Usage(1, 500), Lack(0, 0, 0, 1, ()))
    all_of_it = 500, 5, 5, (("example.com/gpu", 1),)
    assert Usage(0, 0, 0, 0, (("example.com/gpu", 0),)) == freed(Usage(1, *all_of_it), Lack(1, *all_of_it))


def test_no_more_is_asked_less_than_is_requested():
    lack = Lack(0, 9_999, 5, 7, (("example.com/gpu", 3),))

    assert Lack(0, 1_500, 5, 0, (("example.com/gpu", 1),)) == at_most(lack, ASKED)
    assert Requests(0, (1 << 30) - 5, 0, (("example.com/gpu", 0),)) == lowered(ASKED, at_most(lack, ASKED))


def test_the_largest_share_counts():
    assert 0.5 == share(Lack(0, 500, 2 << 30, 0, ()), NODE)
    assert 1 == share(Lack(0, 500, 0, 0, (("example.com/gpu", 2),)), NODE)


AMOUNTS = st.integers(0, 4_000)


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, st.integers(0, 12))
def test_with_what_it_lacked_the_pod_fits(cpu, memory, used_cpu, used_memory, pods):
    """Freed on the node, or not requested."""
    asked, node = Requests(cpu, memory), Allocatable(2_000, 2_000, 0, (), 10)
    used = Usage(pods, used_cpu, used_memory)
    lack = lacking(asked, node, used)

    assert any(lack) == bool(shortages(asked, node, used))
    if (left := freed(used, lack)) is not None:
        assert not shortages(asked, node, left)
    if not lack.pods:
        less = lowered(asked, at_most(lack, asked))
        assert min(less[:3]) >= 0
        assert not shortages(less, node, used)


@pytest.mark.parametrize(
    ("requests", "lack", "words"),
    [
        (Requests(9_000, 500_000_000), Lack(0, 1_000, 0, 0, ()), "cpu from 9 to 8"),
        (Requests(100, 10_500 << 20), Lack(0, 0, 500 << 20, 0, ()), "memory from 10500Mi to 10000Mi"),
        (Requests(100, 500_000_000), Lack(0, 0, 1, 0, ()), "memory from 500000000 to 499999999"),
        (
            Requests(1_500, 4 << 30, 0, (("example.com/gpu", 3),)),
            Lack(0, 500, 1 << 30, 0, (("example.com/gpu", 1),)),
            "cpu from 1500m to 1 and memory from 4Gi to 3Gi and example.com/gpu from 3 to 2",
        ),
    ],
)
def test_requests_that_are_lowered_are_named_exactly_and_no_others(requests, lack, words):
    assert words == lowering_in_words(requests, lack)


@pytest.mark.parametrize(
    ("lack", "enough"),
    [
        (Lack(0, 1_125, 0, 0, ()), True),
        (Lack(0, 1_126, 0, 0, ()), False),
        (Lack(0, 0, 0, 0, (("example.com/gpu", 1),)), False),
    ],
)
def test_a_quarter_of_each_request_that_is_lowered_is_left(lack, enough):
    assert enough == leaves_enough(ASKED, lack)
