"""Hard constraints of a workload that together never let in all of its Pods."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from evenkeel.objects.workload_object import read_workload_object
from evenkeel.scheduler.joint_limit import never_all
from evenkeel.scheduler.pod_affinity import one_per_domain
from evenkeel.scheduler.profile import Cycle
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.reader import Reader
from webhook.spread.constraint import Constraint, read_selector
from webhook.spread.selectors import as_selector


class Contradiction(NamedTuple):
    """How many Pods constraints let in together, in any order; one with a negative index is podAntiAffinity."""

    number: int
    replicas: int
    constraints: tuple[Constraint, ...]


def contradiction(cycle: Cycle, maker: Raw | None) -> Contradiction | None:
    """Return the constraints that together never let in all replicas of what makes the Pods; None if there are none."""
    if maker is None:
        return None
    workload = read_workload_object(maker)
    own = as_selector(read_selector(Reader(), workload.selector or None, ()))
    replicas, nodes = workload.replicas or 0, cycle.snapshot.nodes
    if own.matches_nothing or own.empty or not own.matches(cycle.pod.labels):
        return None
    affinity, pod = cycle.pod.pod_affinity, cycle.pod
    apart = [
        one_per_domain(term, nodes)
        for term in (affinity.anti_affinity if affinity is not None else ())
        if term.selects(pod.namespace, pod.labels, {}) and term.topology_key in nodes.common_label_keys
    ]
    limit = never_all(replace(cycle, constraints=(*cycle.constraints, *apart)), own, replicas)
    return None if limit is None else Contradiction(limit.number, replicas, limit.constraints)
