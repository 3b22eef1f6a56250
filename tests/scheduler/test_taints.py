"""Which Pods a taint with NoExecute removes."""

from __future__ import annotations

import pytest

from webhook.scheduler.taints import LimitedToleration, Taint, Toleration, is_evicted

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
