"""The nodes where preemption helps, the Pods that it evicts, and the message, for a Pod that no node takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random

from evenkeel.scheduler.framework import Framework, feasible_nodes
from evenkeel.scheduler.preemption import Preemption, Victims, cheapest, messages, preempt
from evenkeel.scheduler.profile import Cycle
from tests.conformance.cases import Difference, compared
from tests.conformance.defaults import in_force
from tests.conformance.placement import read_pod, read_snapshot, system_defaults
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_list, as_mapping

RECORDED, ORDERS = "preemption.jsonl.gz", 200


def differences(case: Mapping[str, object], features: Features) -> Iterator[Difference]:
    """
    Of several nodes that may be chosen, those that were in many tries.

    The order of Pods with the same priority and start time is that of the scheduler's cache.  Where other victims were
    recorded than ours, which go by name, an attempt with another order must come to these.
    """
    framework, cycle = _framework(case, features)
    feasibility = framework.feasibility()
    if feasible_nodes(cycle) != feasibility.feasible:
        yield Difference("feasible", "feasible_nodes and feasibility differ", None)
    if feasibility.error:
        yield from compared(case, "error", feasibility.error)
        return
    yield from compared(case, "feasible", sorted(cycle.snapshot.nodes.names(feasibility.feasible)))
    if feasibility.feasible:
        return
    given = framework, feasibility, cycle.snapshot.pods_of, cycle.snapshot.budgets
    ours = preempt(*given)
    if ours is not None:
        yield from _of_candidates(case, ours, partial(preempt, *given))
    if ours is None or not ours.candidates:
        yield from compared(case, "message", messages(cycle, feasibility, ours)[0])
    if framework.feasibility() != feasibility:
        yield Difference("framework", "not as it was", None)


def names_decide(case: Mapping[str, object], features: Features) -> bool:
    """Whether other victims were recorded than ours, which of equal Pods go by name."""
    framework, cycle = _framework(case, features)
    ours = preempt(framework, framework.feasibility(), cycle.snapshot.pods_of, cycle.snapshot.budgets)
    recorded = as_mapping(as_mapping(case["expected"]).get("candidates"))
    return ours is not None and any(not _is(victims, recorded[node]) for node, victims in ours.candidates.items())


def _framework(case: Mapping[str, object], features: Features) -> tuple[Framework, Cycle]:
    pod, constraints, snapshot = read_pod(case, features), in_force(case, features)[1], read_snapshot(case, features)
    cycle = Cycle(pod, constraints, snapshot, features, system_defaults(case))
    return Framework(cycle), cycle


def _of_candidates(
    case: Mapping[str, object], ours: Preemption, attempt: Callable[[Random], Preemption | None]
) -> Iterator[Difference]:
    recorded = as_mapping(as_mapping(case["expected"]).get("candidates"))
    if ours.candidates.keys() != recorded.keys():
        yield Difference("candidates", sorted(ours.candidates), sorted(recorded))
        return
    found = dict(ours.candidates)
    for order in range(ORDERS):
        differing = [node for node, victims in found.items() if not _is(victims, recorded[node])]
        if not differing or (attempted := attempt(Random(order))) is None:
            break
        found |= {node: attempted.candidates[node] for node in differing if node in attempted.candidates}
    for node, victims in found.items():
        if not _is(victims, recorded[node]):
            yield Difference(f"victims on {node}", [_names(ours.candidates[node]), victims.violations], recorded[node])
    chosen = set(map(str, as_list(as_mapping(case["expected"]).get("chosen"))))
    nodes = ours.nodes if found == ours.candidates else cheapest(found)
    if chosen != set(nodes):
        yield Difference("chosen", list(nodes), sorted(chosen))


def _is(victims: Victims, recorded: object) -> bool:
    taken = as_mapping(recorded)
    named = sorted(map(str, as_list(taken.get("victims"))))
    return named == sorted(_names(victims)) and victims.violations == taken.get("violations")


def _names(victims: Victims) -> list[str]:
    return [named.name for named in victims.pods]
