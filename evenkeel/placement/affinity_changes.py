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
    """Make one required term after the other preferred, in other Pods of the same template, too."""
    affinity, kind = cycle.pod.pod_affinity or NO_TERMS, POD_ANTI_AFFINITY if apart else POD_AFFINITY
    terms = affinity.anti_affinity if apart else affinity.affinity
    for index, term in enumerate(terms):
        which = f" (term {index})" if len(terms) > 1 else ""
        softer, affine = preferring(affinity, index, apart=apart), cycle.snapshot.affine
        if affinity in affine and _are_of_template(cycle, affine[affinity]):
            others = {other: nodes for other, nodes in affine.items() if other != affinity}
            affine = {**others, softer: affine[affinity]}
        changed = replace(cycle.snapshot, affine=affine)
        pod = replace(cycle.pod, pod_affinity=softer)
        words = f"make {kind}{which} per {term.topology_key} preferred, not required"
        edit = partial(template_edits.preferring, kind=kind, index=index, number=len(terms))
        yield Variant(words, replace(cycle, pod=pod, snapshot=changed), (edit,))


def _are_of_template(cycle: Cycle, pods: Mapping[str, int]) -> bool:
    """Whether the Pods with the same terms, numbers by node, are all of the Pod's template, as far as labels tell."""
    pod, snapshot = cycle.pod, cycle.snapshot
    template_labels = {item for item in pod.labels.items() if item[0] not in KINDS.addable}
    pods_of_template = Counter[str]()
    for by_namespace in (snapshot.pods, snapshot.terminating):
        for group in by_namespace.get(pod.namespace, {}).values():
            if template_labels <= group.labels.items():
                pods_of_template.update(group.nodes)
    return all(number <= pods_of_template[node] for node, number in pods.items())


def _with_other_ports(cycle: Cycle) -> Iterator[Variant]:
    """Change each host port that any Pod has to the next number that no Pod has."""
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
    """Yield the topology keys, except HOSTNAME, of the anti-affinity that may refuse nodes."""
    if refused(feasibility, INTER_POD_AFFINITY):
        own = cycle.pod.pod_affinity.anti_affinity if cycle.pod.pod_affinity is not None else ()
        of_others = (term for affinity in cycle.snapshot.affine for term in affinity.anti_affinity)
        for term in (*own, *filter(cycle.is_selected_by, of_others)):
            if term.topology_key != HOSTNAME:
                yield term.topology_key
