"""The nodes where preemption helps, the Pods that it evicts, and the message, for a Pod that no node takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.conformance.cases import Difference, compared, objects
from tests.conformance.defaults import in_force
from tests.conformance.placement import read_pod, read_snapshot, system_defaults
from webhook.objects.fields import as_list, as_mapping
from webhook.scheduler.features import Features
from webhook.scheduler.framework import Framework, feasible_nodes
from webhook.scheduler.preemption import Preemption, Victims, messages, preempt
from webhook.scheduler.profile import Cycle

RECORDED = "preemption.jsonl.gz"


def differences(case: Mapping[str, object], features: Features) -> Iterator[Difference]:
    """
    Of several nodes that may be chosen, those that were in many tries.

    The order of Pods that are alike in priority and start time is that of the scheduler's cache.  Where it decides,
    what was recorded must be among what we say.
    """
    cycle = Cycle(
        read_pod(case, features),
        in_force(case, features)[1],
        read_snapshot(case, features),
        features,
        system_defaults(case),
    )
    framework = Framework(cycle)
    feasibility = framework.feasibility()
    if feasible_nodes(cycle) != feasibility.feasible:
        yield Difference("feasible", "feasible_nodes and feasibility differ", None)
    if feasibility.error:
        yield from compared(case, "error", feasibility.error)
        return
    yield from compared(case, "feasible", sorted(cycle.snapshot.nodes.names(feasibility.feasible)))
    if feasibility.feasible:
        return
    ours = preempt(framework, feasibility, cycle.snapshot.pods_of, cycle.snapshot.budgets)
    if ours is not None:
        yield from _of_candidates(case, ours)
    if ours is None or not ours.candidates:
        yield from compared(case, "message", messages(cycle, feasibility, ours)[0])
    if framework.feasibility() != feasibility:
        yield Difference("framework", "not as it was", None)


def _of_candidates(case: Mapping[str, object], ours: Preemption) -> Iterator[Difference]:
    recorded = as_mapping(as_mapping(case["expected"]).get("candidates"))
    if ours.candidates.keys() != recorded.keys():
        yield Difference("candidates", sorted(ours.candidates), sorted(recorded))
        return
    names = {str(as_mapping(pod.get("metadata")).get("name")) for pod in objects(case.get("pods"), "pods")}
    for node, taken in recorded.items():
        victims, violations = as_list(as_mapping(taken).get("victims")), as_mapping(taken).get("violations")
        outcomes = ours.candidates[node]
        if not any(violations == one.violations and _is_of(one, victims, names) for one in outcomes):
            yield Difference(f"victims on {node}", [_names(one) for one in outcomes], [victims, violations])
    chosen = set(map(str, as_list(as_mapping(case["expected"]).get("chosen"))))
    certain = all(len(outcomes) == 1 for outcomes in ours.candidates.values())
    if not chosen <= set(ours.nodes) or (certain and chosen != set(ours.nodes)):
        yield Difference("chosen", list(ours.nodes), sorted(chosen))


def _is_of(outcome: Victims, victims: list[object], names: set[str]) -> bool:
    """Whether these Pods, which are all there, may be those of an outcome: of Pods that are alike, any."""
    left = Counter(map(str, victims))
    for alike in outcome.alike:
        of_sort = [named.name for named in alike.pods if left[named.name]]
        if len(of_sort) != alike.number:
            return False
        left.subtract(of_sort)
    return left.total() == 0 and set(map(str, victims)) <= names


def _names(outcome: Victims) -> list[object]:
    return [[[named.name for named in alike.pods], alike.number] for alike in outcome.alike] + [outcome.violations]
