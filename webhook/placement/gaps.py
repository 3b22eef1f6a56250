"""
What kube-scheduler heeds and is not computed here, where it may change what is said of a Pod.

    what the Pod uses, what the cluster has ──what plainly does not matter is left out──> gaps, in a few words each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from webhook.objects.fields import Raw, as_list, as_mapping
from webhook.objects.labels import Labels
from webhook.objects.names import POD_AFFINITY, POD_ANTI_AFFINITY
from webhook.placement.claims import FREE_STORAGE, VOLUMES, volume_gaps
from webhook.placement.pods import without_pods_on
from webhook.scheduler.counts import NO_REQUESTS, UNUSED
from webhook.scheduler.framework import Feasibility, Framework, feasible_nodes, usable_nodes
from webhook.scheduler.nodes import NodeSet, union
from webhook.scheduler.plugins.inter_pod_affinity import AFFINITY_UNMET
from webhook.scheduler.pod_affinity import PodTerm
from webhook.scheduler.profile import (
    A_PLUGIN,
    INTER_POD_AFFINITY,
    NODE_PORTS,
    NODE_RESOURCES_FIT,
    NODE_VOLUME_LIMITS,
    POD_TOPOLOGY_SPREAD,
    VOLUME_RESTRICTIONS,
    Cycle,
)
from webhook.scheduler.snapshot import NominatedPod
from webhook.scheduler.volumes import VOLUME_KINDS

DYNAMIC_RESOURCES, GROUP = "dynamic resources", "its scheduling group"
LABELS_OF_NAMESPACES = "labels of namespaces"
DEVICES, NOMINATED, PREEMPTION = "devices of DeviceClasses", "nominated Pods", "preemption"
SINGLE = (GROUP, PREEMPTION, FREE_STORAGE)
# Nodes that are tried one by one, fewer in a large cluster: each takes as long as the cluster is large.
MOST_TRIED, NODES_LOOKED_AT = 20, 20_000
# Plugins whose refusals other Pods make, so that they may end when Pods are preempted.
MADE_BY_PODS = (
    *(NODE_PORTS, NODE_RESOURCES_FIT, VOLUME_RESTRICTIONS, NODE_VOLUME_LIMITS),
    *(POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY),
)


def used_by(spec: Raw) -> Iterator[str]:
    """Yield the features that a Pod uses and that are not computed."""
    if spec.get("resourceClaims"):
        yield DYNAMIC_RESOURCES
    if spec.get("schedulingGroup"):
        yield GROUP


def left_out(pod: Raw) -> Iterator[str]:
    """Yield what a raw Pod uses and the dump that it is from does not have: fields that every Pod has are absent."""
    spec = as_mapping(pod.get("spec"))
    containers = [as_mapping(container) for container in as_list(spec.get("containers"))]
    if not all(container.get("image") for container in containers):
        yield "images"
    ports = [as_mapping(port) for container in containers for port in as_list(container.get("ports"))]
    if any(port.get("hostPort") and not port.get("containerPort") for port in ports):
        yield "host ports"
    affinity = as_mapping(spec.get("affinity"))
    of_pods = [as_mapping(affinity.get(kind)) for kind in (POD_AFFINITY, POD_ANTI_AFFINITY)]
    if any({} in as_list(terms) for kind in of_pods for terms in kind.values()):
        yield "affinity to other Pods"
    if any(volume.get(kind) == {} for volume in map(as_mapping, as_list(spec.get("volumes"))) for kind in VOLUME_KINDS):
        yield VOLUMES


def in_words(gaps: Sequence[str]) -> str:
    """Return a sentence without its end, such as `volumes and preemption are not judged`."""
    *others, last = gaps
    single = not others and (last in SINGLE or last.startswith(A_PLUGIN))
    hint = ", which may make room," if last == PREEMPTION else ""
    return f"{', '.join(others)}{' and ' * bool(others)}{last}{hint} {'is' if single else 'are'} not judged"


def gaps(cycle: Cycle, feasibility: Feasibility, uses: Sequence[str], name: str) -> tuple[str, ...]:
    """Return what is not computed of an attempt for a Pod of this name, which `uses` these features."""
    of_pod = (*uses, *_volumes(cycle), *_namespaces(cycle))
    return (*of_pod, *cycle.snapshot.unread, *cycle.profile.unmodelled, *_of_cluster(cycle, feasibility, name))


def gaps_of_runs(cycle: Cycle, uses: Sequence[str]) -> tuple[str, ...]:
    """Return what is not simulated of Pods that `use` these features; preemption only matters if some of them wait."""
    lower = any(priority < cycle.pod.priority for priority in cycle.snapshot.priorities.values())
    preempting = (PREEMPTION,) if lower and cycle.pod.preempts else ()
    nominated = (NOMINATED,) if _nominated(cycle, "") else ()
    of_pod = (*uses, *_volumes(cycle), *_namespaces(cycle))
    return (*of_pod, *cycle.snapshot.unread, *cycle.profile.unmodelled, *_devices(cycle), *nominated, *preempting)


def _of_cluster(cycle: Cycle, feasibility: Feasibility, name: str) -> Iterator[str]:
    yield from _devices(cycle)
    if _tries_its_own_node(cycle, feasibility, name) or _nominated_decide(cycle, feasibility, name):
        yield NOMINATED
    if not feasibility.feasible and _may_preempt(cycle, feasibility):
        yield PREEMPTION


def _volumes(cycle: Cycle) -> list[str]:
    return [gap.what for gap in volume_gaps(cycle)]


def _namespaces(cycle: Cycle) -> Iterator[str]:
    """Yield what is missing where a term selects namespaces by labels, and those of one that matters are not known."""
    snapshot, pod, own = cycle.snapshot, cycle.pod, cycle.pod.pod_affinity
    there = (
        (namespace, group.labels)
        for of_namespaces in (snapshot.pods, snapshot.terminating)
        for namespace, groups in of_namespaces.items()
        if namespace not in snapshot.namespaces
        for group in groups.values()
    )
    selects = own is not None and any(
        _may_select(term, namespace, labels) for namespace, labels in there for term in own.terms
    )
    if selects or (
        pod.namespace not in snapshot.namespaces
        and any(_may_select(term, pod.namespace, pod.labels) for affinity in snapshot.affine for term in affinity.terms)
    ):
        yield LABELS_OF_NAMESPACES


def _may_select(term: PodTerm, namespace: str, labels: Labels) -> bool:
    """Return whether a term selects a Pod if the labels of its namespace are those that the term asks for."""
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


def _tries_its_own_node(cycle: Cycle, feasibility: Feasibility, name: str) -> bool:
    """
    Return whether the Pod goes to its own nominated node before others, whatever they score.

    upstream: schedule_one.go:Scheduler.findNodesThatFitPod (v1.37)
    """
    several = feasibility.feasible.bit_count() > 1
    own = [nominated for nominated in cycle.snapshot.nominated if _is_named(nominated, cycle, name)]
    return several and any(
        cycle.snapshot.nodes.named((nominated.pod.node,)) & feasibility.feasible for nominated in own
    )


def _is_named(nominated: NominatedPod, cycle: Cycle, name: str) -> bool:
    return (nominated.namespace, nominated.name) == (cycle.pod.namespace, name)


def _nominated(cycle: Cycle, name: str) -> list[NominatedPod]:
    """
    Return the nominated Pods for which room is kept on nodes that the Pod could use.

    upstream: framework.go:addGENominatedPods (v1.37)
    """
    if not cycle.snapshot.nominated:
        return []
    usable = set(cycle.snapshot.nodes.names(usable_nodes(cycle)))
    return [
        nominated
        for nominated in cycle.snapshot.nominated
        if nominated.pod.priority >= cycle.pod.priority
        and nominated.pod.node in usable
        and not _is_named(nominated, cycle, name)
    ]


def _nominated_decide(cycle: Cycle, feasibility: Feasibility, name: str) -> bool:
    """
    Return whether another node would pass, or another reason refuse one, if nominated Pods were on their nodes.

    So it is taken to be where these are too many nodes to try.

    upstream: framework.go:RunFilterPluginsWithNominatedPods (v1.37)
    """
    by_node: dict[str, list[NominatedPod]] = {}
    for nominated in _nominated(cycle, name):
        by_node.setdefault(nominated.pod.node, []).append(nominated)
    return len(by_node) > _most_tried(cycle) or any(
        _refuse(cycle, feasibility, node, nominated) for node, nominated in by_node.items()
    )


def _most_tried(cycle: Cycle) -> int:
    """Return how many nodes are tried one by one."""
    return max(1, min(MOST_TRIED, NODES_LOOKED_AT // max(1, len(cycle.snapshot.nodes))))


def _refuse(cycle: Cycle, feasibility: Feasibility, node: str, nominated: Sequence[NominatedPod]) -> bool:
    """Return whether the nominated Pods of a node would keep the Pod off it, or give another reason for that."""
    framework, usage = Framework(cycle), cycle.snapshot.usage.get(node, UNUSED)
    for kept in nominated:
        usage = usage.plus(kept.pod.requests or NO_REQUESTS)
        framework.add_pods(kept.pod.info(kept.namespace), node, 1)
        framework.set_usage(node, usage)
    before, after = (
        _reasons(of, cycle.snapshot.nodes.named_one(node)) for of in (feasibility, framework.feasibility())
    )
    return bool(after) and (before != after)


def _reasons(feasibility: Feasibility, node: NodeSet) -> tuple[str, ...]:
    """Return what refuses a node, nothing where it passes."""
    return tuple([reason for refusal in feasibility.refusals if refusal.nodes & node for reason in refusal.reasons])


def _may_preempt(cycle: Cycle, feasibility: Feasibility) -> bool:
    """
    Return whether a node would perhaps take the Pod if it had no Pods of lower priority; too many are not tried.

    upstream: preemption.go:Evaluator.Preempt (v1.37)
    """
    snapshot, pod = cycle.snapshot, cycle.pod
    if not pod.preempts or feasibility.rejected:
        return False
    with_lower = [name for name, priority in snapshot.priorities.items() if priority < pod.priority]
    nodes = snapshot.nodes.named(with_lower) & _refused_by_pods(feasibility)
    if nodes.bit_count() > _most_tried(cycle) or (pod.pod_affinity is not None and pod.pod_affinity.affinity):
        return bool(nodes)  # A Pod that goes may be one that the Pod wants nearby.
    return any(_passes_empty(cycle, name) for name in snapshot.nodes.names(nodes))


def _passes_empty(cycle: Cycle, node: str) -> bool:
    """Return whether a node would take the Pod if it had no Pods at all."""
    empty = replace(cycle, snapshot=without_pods_on(cycle.snapshot, node))
    return bool(feasible_nodes(empty) & cycle.snapshot.nodes.named((node,)))


def _refused_by_pods(feasibility: Feasibility) -> NodeSet:
    """Return the nodes that are refused for a reason that may end when Pods go."""
    return (
        union(
            refusal.nodes
            for refusal in feasibility.refusals
            if refusal.plugin in MADE_BY_PODS and AFFINITY_UNMET not in refusal.reasons
        )
        & ~feasibility.spread.unlabelled
    )
