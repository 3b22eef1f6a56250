"""
What kube-scheduler heeds and is not computed here, where it may change what is said of a Pod.

    what the Pod uses, what the cluster has ──what plainly does not matter is left out──> gaps, in a few words each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evenkeel.placement.claims import FREE_STORAGE, volume_gaps
from evenkeel.scheduler.framework import Feasibility, Framework, counted
from evenkeel.scheduler.pod_affinity import PodTerm
from evenkeel.scheduler.preemption import Preemption
from evenkeel.scheduler.profile import A_PLUGIN, Cycle
from webhook.kubernetes.fields import Raw
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.workload import has_kueue_gate

RESOURCE_CLAIMS, GROUP, KUEUE = "dynamic resources", "its scheduling group", "the choice of nodes by Kueue"
PLACEMENT = "placement by "  # before what ignores constraints
LABELS_OF_NAMESPACES = "labels of namespaces"
DEVICES, NOMINATED = "devices of DeviceClasses", "nominated Pods"
DISRUPTION_BUDGETS, CHOICE = "PodDisruptionBudgets", "the choice of Pods to preempt"
SINGLE = (GROUP, KUEUE, CHOICE, FREE_STORAGE)  # Those that take a verb in the singular.


def used_by(spec: Raw, *, by_kueue: bool = False) -> Iterator[str]:
    """Yield the features that a Pod uses and that are not computed; `by_kueue`: it will get Kueue's gate."""
    if spec.get("resourceClaims"):
        yield RESOURCE_CLAIMS
    if spec.get("schedulingGroup"):
        yield GROUP
    if by_kueue or has_kueue_gate(spec):
        yield KUEUE


def in_words(gaps: Sequence[str]) -> str:
    """Return a sentence without a full stop, such as `volumes and preemption are not judged`."""
    *others, last = gaps
    if others:
        return f"{', '.join(others)} and {last} are not judged"
    single = last in SINGLE or last.startswith((A_PLUGIN, PLACEMENT))
    return f"{last} {'is' if single else 'are'} not judged"


def gaps(cycle: Cycle, feasibility: Feasibility, preemption: Preemption | None, uses: Sequence[str]) -> tuple[str, ...]:
    """Return what is not computed of an attempt; `uses` are features of the Pod that used_by yields."""
    return (*_of_runs(cycle, uses), *_of_attempt(cycle, feasibility, preemption))


def gaps_of_runs(cycle: Cycle, uses: Sequence[str]) -> tuple[str, ...]:
    """Return what is not simulated of Pods; `uses` are their features that used_by yields."""
    nominated = (NOMINATED,) if any(nominated.may_be_assumed for nominated in cycle.snapshot.nominated) else ()
    return (*_of_runs(cycle, uses), *_devices(cycle), *nominated)


def _of_runs(cycle: Cycle, uses: Sequence[str]) -> tuple[str, ...]:
    of_pod = (*uses, *_volumes(cycle), *_namespaces(cycle))
    return (*of_pod, *cycle.snapshot.unread, *cycle.profile.unmodelled)


def _of_attempt(cycle: Cycle, feasibility: Feasibility, preemption: Preemption | None) -> Iterator[str]:
    yield from _devices(cycle)
    if _assumed_decide(cycle, feasibility):
        yield NOMINATED
    if preemption is not None and preemption.helps:
        if preemption.budgets_unknown:
            yield DISRUPTION_BUDGETS
        if not preemption.nodes:
            yield CHOICE


def _volumes(cycle: Cycle) -> list[str]:
    return [gap.what for gap in volume_gaps(cycle)]


def _namespaces(cycle: Cycle) -> Iterator[str]:
    """Yield a gap where a term selects namespaces by labels, and the labels of a namespace that matters are unknown."""
    snapshot, pod, own = cycle.snapshot, cycle.pod, cycle.pod.pod_affinity
    pods_in_unknown_namespaces = (
        (namespace, group.labels)
        for by_namespace in (snapshot.pods, snapshot.terminating)
        for namespace, groups in by_namespace.items()
        if namespace not in snapshot.namespaces
        for group in groups.values()
    )
    selects = own is not None and any(
        _may_select(term, namespace, labels) for namespace, labels in pods_in_unknown_namespaces for term in own.terms
    )
    if selects or (
        pod.namespace not in snapshot.namespaces
        and any(_may_select(term, pod.namespace, pod.labels) for affinity in snapshot.affine for term in affinity.terms)
    ):
        yield LABELS_OF_NAMESPACES


def _may_select(term: PodTerm, namespace: str, labels: Labels) -> bool:
    """Whether a term selects a Pod if the Pod's namespace has the labels that the term asks for."""
    return (
        bool(term.namespace_selector.requirements)
        and namespace not in term.namespaces
        and term.selector.matches(labels)
    )


def _devices(cycle: Cycle) -> Iterator[str]:
    if cycle.of_devices and any(_lacks_any(cycle, node.allocatable.scalars) for node in cycle.snapshot.nodes):
        yield DEVICES


def _lacks_any(cycle: Cycle, scalars: Sequence[tuple[str, int]]) -> bool:
    return not cycle.of_devices <= {resource for resource, amount in scalars if amount}


def _assumed_decide(cycle: Cycle, feasibility: Feasibility) -> bool:
    """
    Whether the result would be another if the nominated Pods that kube-scheduler has perhaps placed already ran on
    their nodes: another node would pass, or another reason refuse one.

    upstream: schedule_one.go:Scheduler.prepareForBindingCycle (v1.37)
    """
    own = cycle.pod.namespace, cycle.pod.name
    assumed = [nominated for nominated in cycle.snapshot.nominated if nominated.may_be_assumed]
    placed = [nominated for nominated in assumed if (nominated.namespace, nominated.name) != own]
    if not placed:
        return False
    still_nominated = tuple([nominated for nominated in cycle.snapshot.nominated if nominated not in placed])
    framework = Framework(replace(cycle, snapshot=replace(cycle.snapshot, nominated=still_nominated)))
    for nominated in placed:
        node, pod = nominated.pod.node, nominated.pod
        framework.add_pods(pod.info(nominated.namespace), node, 1)
        framework.set_usage(node, framework.usage_of(node).plus(pod.requests))
    after = framework.feasibility()
    return after.feasible != feasibility.feasible or counted(after.refusals) != counted(feasibility.refusals)
