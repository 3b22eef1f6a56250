"""Preemption in words and as JSON: on which node kube-scheduler makes room for a Pod, and whom it evicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenkeel.placement.explanation import Explanation
from evenkeel.scheduler.preemption import Preemption, Victims, ending_for
from evenkeel.scheduler.snapshot import NamedPod
from webhook.findings.wording import LINE_LIMIT, first_of, one_line

MOST_SHOWN = 5


def nomination(explanation: Explanation) -> Iterator[str]:
    pod, snapshot = explanation.cycle.pod, explanation.cycle.snapshot
    if not pod.nominated_node:
        return
    node = one_line(pod.nominated_node, LINE_LIMIT)
    on_node = snapshot.pods_of(pod.nominated_node)
    ending = [_name(named, pod.namespace) for named in ending_for(pod, on_node)]
    own_name = pod.namespace, pod.name
    assumed = [nominated for nominated in snapshot.nominated if nominated.may_be_assumed]
    if snapshot.nodes.get(pod.nominated_node) is None:
        absent = "but the cluster does not have it: kube-scheduler tries all others"
        yield f"Node {node} is nominated for this Pod, {absent}."
    elif ending:
        yield f"Node {node} is nominated for this Pod: kube-scheduler has preempted {_some(sorted(ending))} there."
    elif any((nominated.namespace, nominated.name) == own_name for nominated in assumed):
        may_be_binding = "kube-scheduler may already have chosen the node, and may be binding the Pod's volumes"
        yield f"Node {node} is nominated for this Pod: {may_be_binding}."
    else:
        yield f"Node {node} is nominated for this Pod: kube-scheduler tries this node first."


def in_words(preemption: Preemption | None, namespace: str, *, certain: bool = True, each: bool = False) -> str:
    """
    Return what comes of preemption for a Pod of a namespace, as a sentence without its end; "" if nothing does.

    `certain`: kube-scheduler looks at the Pod now.
    `each`: there is a Pod for each of the nodes, not one for any of them.
    """
    if preemption is None:
        return ""
    if preemption.helps:
        violating = any(preemption.candidates[node].violations for node in preemption.nodes)
        perhaps = "perhaps " if preemption.budgets_unknown else ""
        budget = f", {perhaps}in violation of a PodDisruptionBudget" if violating else ""
        return f"kube-scheduler {'will' if certain else 'would'} preempt {_where(preemption, namespace, each)}{budget}"
    if preemption.ending:
        names = sorted(_name(named, namespace) for named in preemption.ending)
        end = "it ends" if len(names) == 1 else "they end"
        return f"kube-scheduler has preempted {_some(names)} to make room, and waits until {end}"
    if not preemption.tried:
        return ""
    return "preempting Pods of lower priority does not help"


def sentences(preemption: Preemption | None, namespace: str, *, certain: bool, each: bool = False) -> Iterator[str]:
    """Yield what comes of preemption, if there is anything to say."""
    text = in_words(preemption, namespace, certain=certain, each=each)
    if text:
        first = text[:1] if text.startswith("kube-") else text[:1].upper()
        yield one_line(f"{first}{text[1:]}.", 8 * LINE_LIMIT)


def _where(preemption: Preemption, namespace: str, each: bool) -> str:
    """Return which Pods go, and from which node; of several nodes, each with its Pods."""
    victims = {node: _victims(preemption.candidates[node], namespace) for node in preemption.nodes}
    if len(preemption.nodes) == 1:
        return " on ".join((victims[preemption.nodes[0]], preemption.nodes[0]))
    which = "each" if each else "one"
    if not victims:
        return f"Pods on {which} of at least {len(preemption.candidates):,} nodes"
    return f"Pods on {which} of {first_of(f'{node} ({pods})' for node, pods in victims.items())}"


def _victims(victims: Victims, namespace: str) -> str:
    return _some(sorted(_victim(named, namespace) for named in victims.pods))


def _name(named: NamedPod, namespace: str) -> str:
    """Return the name of a Pod, with its namespace if that is another."""
    return named.name if named.namespace == namespace else f"{named.namespace}/{named.name}"


def _victim(named: NamedPod, namespace: str) -> str:
    """Return the name of a victim, and whether it is ending anyway."""
    return f"{_name(named, namespace)}{'' if named.pod.spreads else ' (ending already)'}"


def _some(names: Sequence[str]) -> str:
    """Return names as an enumeration, such as `a, b and c`."""
    shown = [one_line(name, LINE_LIMIT) for name in names[:MOST_SHOWN]]
    if len(names) > MOST_SHOWN:
        return f"{', '.join(shown)} and {len(names) - MOST_SHOWN:,} more"
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def as_json(preemption: Preemption | None) -> dict[str, object]:
    """Return the member that says what comes of preemption; none where kube-scheduler does not get as far."""
    if preemption is None:
        return {}
    nodes = [{"node": node, **_victims_json(preemption.candidates[node])} for node in preemption.nodes]
    waits = {"waitsFor": sorted(map(_full_name, preemption.ending))} if preemption.ending else {}
    return {"preemption": {"helps": preemption.helps, "nodes": nodes, **waits}}


def _full_name(named: NamedPod) -> str:
    return f"{named.namespace}/{named.name}"


def _victims_json(victims: Victims) -> dict[str, object]:
    return {"victims": sorted(map(_full_name, victims.pods)), "violations": victims.violations}
