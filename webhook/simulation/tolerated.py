"""Which Pods a taint with NoExecute removes from their node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from webhook.scheduler.nodes import Taint, Toleration


class Tolerated(NamedTuple):
    """A toleration, and for how many seconds it holds against NoExecute; None: for ever."""

    toleration: Toleration
    seconds: int | None


Tolerations = tuple[Tolerated, ...]


def is_evicted(tolerations: Tolerations, taints: Iterable[Taint]) -> bool:
    """
    upstream: taint_eviction.go:Controller.processPodOnNode (v1.37)

    Whether taints with NoExecute in the end remove a Pod: it does not tolerate one, or only for a while.
    """
    for taint in taints:
        using = [one for one in tolerations if one.toleration.tolerates(taint)]
        if not using or any(one.seconds is not None for one in using):
            return True
    return False
