"""Changes against what refuses a Pod because of other Pods: affinity between Pods, and host ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from evenkeel.placement import template_edits
from evenkeel.placement.variants import Finder, Variant, refused
from evenkeel.scheduler.framework import Feasibility
from evenkeel.scheduler.host_ports import HostPort
from evenkeel.scheduler.plugins.inter_pod_affinity import NO_TERMS
from evenkeel.scheduler.pod_affinity import preferring
from evenkeel.scheduler.profile import INTER_POD_AFFINITY, NODE_PORTS, Cycle
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.names import HOSTNAME, POD_AFFINITY, POD_ANTI_AFFINITY

LAST_PORT = 65_535


def in_template(cycle: Cycle, feasibility: Feasibility) -> Iterator[Finder]:
    """Yield the functions that find changes in the Pod's template."""
    if cycle.pod.pod_affinity is not None and refused(feasibility, INTER_POD_AFFINITY):
        yield partial(_preferring, apart=True)
        yield partial(_preferring, apart=False)
    if refused(feasibility, NODE_PORTS):
        yield _with_other_ports


def _preferring(cycle: Cycle, *, apart: bool) -> Iterator[Variant]:
    """Yield one required term after the other preferred, as the Pods of its template will have it, too."""
    affinity, kind = cycle.pod.pod_affinity or NO_TERMS, POD_ANTI_AFFINITY if apart else POD_AFFINITY
    terms = affinity.anti_affinity if apart else affinity.affinity
    for index, term in enumerate(terms):
        which = f" (term {index})" if len(terms) > 1 else ""
        softer, affine = preferring(affinity, index, apart=apart), cycle.snapshot.affine
        if affinity in affine and _are_alike(cycle, affine[affinity]):
            others = {terms: nodes for terms, nodes in affine.items() if terms != affinity}
            affine = {**others, softer: affine[affinity]}
        changed = replace(cycle.snapshot, affine=affine)
        pod = replace(cycle.pod, pod_affinity=softer)
        words = f"make {kind}{which} per {term.topology_key} preferred, not required"
        edit = partial(template_edits.preferring, kind=kind, index=index, number=len(terms))
        yield Variant(words, replace(cycle, pod=pod, snapshot=changed), (edit,))


def _are_alike(cycle: Cycle, pods: Mapping[str, int]) -> bool:
    """Return whether Pods with the Pod's terms, by node, are those of its template, as far as labels tell."""
    pod, snapshot = cycle.pod, cycle.snapshot
    of_template = {item for item in pod.labels.items() if item[0] not in KINDS.addable}
    alike = Counter[str]()
    for there in (snapshot.pods, snapshot.terminating):
        for group in there.get(pod.namespace, {}).values():
            if of_template <= group.labels.items():
                alike.update(group.nodes)
    return all(number <= alike[node] for node, number in pods.items())


def _with_other_ports(cycle: Cycle) -> Iterator[Variant]:
    """Yield another number for each host port that a Pod has somewhere: the next one that no Pod has."""
    taken = {port.port for ports in cycle.snapshot.ports.values() for port in ports}
    own = {port.port for port in cycle.pod.ports}
    changed, words = list[HostPort](), list[str]()
    for port in cycle.pod.ports:
        number = port.port
        while number in taken or (number in own and number != port.port):
            number += 1
        if number != port.port:
            taken.add(number)
            words.append(f"use host port {number} in place of {port}")
        changed.append(port._replace(port=number))
    if words and all(port.port <= LAST_PORT for port in changed):
        yield Variant(" and ".join(words), replace(cycle, pod=replace(cycle.pod, ports=tuple(changed))))


def keys_apart(cycle: Cycle, feasibility: Feasibility) -> Iterator[str]:
    """Yield the topology keys, but for that of nodes, of anti-affinity that refuses a node."""
    if refused(feasibility, INTER_POD_AFFINITY):
        own = cycle.pod.pod_affinity.anti_affinity if cycle.pod.pod_affinity is not None else ()
        of_others = (term for affinity in cycle.snapshot.affine for term in affinity.anti_affinity)
        for term in (*own, *filter(cycle.is_selected_by, of_others)):
            if term.topology_key != HOSTNAME:
                yield term.topology_key
