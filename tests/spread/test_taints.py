"""Taints, and the tolerations of Pods with the time for which they hold."""

from __future__ import annotations

import pytest

from webhook.spread.taints import (
    ADDED_TOLERATIONS,
    LimitedToleration,
    Taint,
    Toleration,
    is_evicted,
    read_limited_tolerations,
)

TAINT = Taint("going", "x", "NoExecute")


def tolerating(seconds=None, value="x"):
    return LimitedToleration(Toleration("going", "Equal", value, "NoExecute"), seconds)


@pytest.mark.parametrize(
    ("tolerations", "evicted"),
    [
        ((), True),
        ((tolerating(value="y"),), True),
        ((tolerating(),), False),
        ((tolerating(300),), True),
        ((tolerating(), tolerating(300)), True),
        ((tolerating(), tolerating(300, value="y")), False),
    ],
)
def test_a_pod_goes_that_does_not_tolerate_a_taint_for_ever(tolerations, evicted):
    assert is_evicted(tolerations, [TAINT]) is evicted


def test_without_a_taint_nothing_goes():
    assert not is_evicted((), [])


def test_tolerations_have_the_time_for_which_they_hold_and_those_that_are_added():
    spec = {"tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 9}]}

    assert (
        LimitedToleration(Toleration("node.kubernetes.io/unreachable", "Exists", "", ""), 9),
        ADDED_TOLERATIONS[0],
    ) == read_limited_tolerations(spec)
    assert ADDED_TOLERATIONS == read_limited_tolerations({})
