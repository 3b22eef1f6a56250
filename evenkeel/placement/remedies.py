"""
Changes under which a node would take a Pod that no node takes now: each was tried, and only those that help are kept.

    Cycle ──each finder, from its smallest change on──> the first change under which a node takes the Pod ──> Remedy
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from evenkeel.placement import affinity_changes, new_nodes, template_edits, volume_changes
from evenkeel.placement.closed_nodes import closing_taints, kept_closed
from evenkeel.placement.kubectl_commands import ClusterEdit, ObjectEdit, deleting
from evenkeel.placement.missing_room import (
    at_most,
    freed,
    in_words,
    lacking_room,
    leaves_enough,
    lowered,
    lowering_in_words,
    share,
)
from evenkeel.placement.obstacles import obstacles
from evenkeel.placement.variants import (
    MOST_REMEDIES,
    NEW_NODE,
    Finder,
    Variant,
    first_key,
    largest_first,
    place_name,
    refused,
    with_changed,
)
from evenkeel.scheduler.framework import Feasibility, feasible_nodes, find_feasible
from evenkeel.scheduler.incoming import IncomingPod
from evenkeel.scheduler.pod_counts import NO_REQUESTS, UNUSED, Usage
from evenkeel.scheduler.profile import (
    NODE_AFFINITY,
    NODE_RESOURCES_FIT,
    NODE_UNSCHEDULABLE,
    TAINT_TOLERATION,
    Cycle,
)
from evenkeel.scheduler.resource_fit import Lack
from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode, SchedulerNodes
from evenkeel.scheduler.snapshot import NamedPod
from evenkeel.scheduler.snapshot_changes import without_pod
from evenkeel.scheduler.spread_counts import DomainCounts
from evenkeel.scheduler.spread_filter import HardConstraints
from webhook.kubernetes.likeness import REPLACED, likely_meant
from webhook.kubernetes.names import HOSTNAME, TOPOLOGY_LABELS
from webhook.spread.affinity import ANY_NODE
from webhook.spread.constraint import HONOR, IGNORE, SOFT, Constraint
from webhook.spread.domains import carrying_every_key
from webhook.spread.known_taints import Owner, known_taint
from webhook.spread.nodes import NodeSet, union
from webhook.spread.taints import (
    CORDONED,
    EQUAL,
    Taint,
    Toleration,
)

NOW, IN_TEMPLATE = "now", "template"
ALIKE = 2  # How many domains to delete Pods in, or nodes to label, are tried: others are no better.
MOST_PODS_DELETED = 4  # Nobody wants to delete more for one that waits.
SIZES = 3  # Sizes of nodes that are tried as a new node.
REMEDIES_TRIED, PAIR_TRIES = 60, 4  # Tries of one finder at most, and of one after a first change.
# A try looks at all nodes, so in a large cluster there are fewer.  With 5,000 nodes there are 100 tries each of changes
# in the cluster, of changes of the template, and of pairs.
NODES_TRIED = 500_000


class Remedy(NamedTuple):
    """A change under which a node takes the Pod."""

    change: str  # In words.
    where: str  # NOW: in the cluster.  IN_TEMPLATE: it rolls out the workload.
    nodes: tuple[str, ...]  # Those that then take the Pod.
    cycle: Cycle  # The attempt as it would be after the change.
    also_now: bool = False  # Of two changes, one is in the template and one in the cluster.
    edits: tuple[ObjectEdit, ...] | None = None  # What kubectl does for it; None where a person has to find out more.
    remade: tuple[str, ...] = ()  # Names of waiting Pods that are deleted, and made again as in `cycle`.
    loses_data: bool = False  # It deletes claims with their volumes.
    # It lets Pods on nodes that are kept for others, such as the control plane, or deletes nodes that may come back.
    last_resort: bool = False


class Change(NamedTuple):
    """Another value of a field of a constraint."""

    field: str  # As it is written, e.g. maxSkew.
    attribute: str  # As Constraint has it, e.g. max_skew.
    value: object

    def __str__(self) -> str:
        return f"{self.field}: {self.value}"


def remedies(cycle: Cycle, feasibility: Feasibility) -> tuple[Remedy, ...]:
    """
    Return at most MOST_REMEDIES changes that let the Pod in: those in the cluster, then those of the template, and the
    smaller ones first.

    Where no single change helps, pairs are tried; none is returned if these do not help, either.  A larger node, where
    the Pod is too large for all nodes, is the last of those in the cluster.
    """
    finders = _finders(cycle, feasibility)
    helping = list(_single(cycle, finders))
    if all(remedy.last_resort for remedy in helping):
        helping += _pairs(cycle, _no_last_resort(finders))
    if refused(feasibility, NODE_RESOURCES_FIT):
        larger = [
            (NOW, partial(new_nodes.with_larger_node, labels=labels, place=place))
            for labels, place in new_nodes.places_of_new(cycle)
        ]
        helping += islice(_single(cycle, larger), 1)
    return _printed(helping)


def asking_as(pod: IncomingPod, changed: IncomingPod) -> IncomingPod:
    """Return the Pod with the fields of `changed` that a change of its template may change, except constraints."""
    return replace(
        pod,
        requests=changed.requests,
        affinity=changed.affinity,
        tolerations=changed.tolerations,
        pod_affinity=changed.pod_affinity,
        ports=changed.ports,
    )


def _finders(cycle: Cycle, feasibility: Feasibility) -> list[tuple[str, Finder]]:
    """Return the functions that find changes against the refusals, each with NOW or IN_TEMPLATE."""
    return [
        *((NOW, finder) for finder in _now(cycle, feasibility)),
        *((IN_TEMPLATE, finder) for finder in _template(cycle, feasibility)),
    ]


def _printed(remedies: Sequence[Remedy]) -> tuple[Remedy, ...]:
    """Return at most MOST_REMEDIES of the remedies, half of them of each group where both have more."""
    distinct: dict[object, Remedy] = {}  # Two finders may find the same: a Pod may be in the way of two constraints.
    for remedy in remedies:
        distinct.setdefault(remedy.edits or remedy.change, remedy)
    now, template = (_of_group(distinct.values(), where) for where in (NOW, IN_TEMPLATE))
    printed_now = now[: max(MOST_REMEDIES // 2, MOST_REMEDIES - len(template))]
    return (*printed_now, *template[: MOST_REMEDIES - len(printed_now)])


def _of_group(remedies: Iterable[Remedy], where: str) -> list[Remedy]:
    return [remedy for remedy in remedies if remedy.where == where]


class _Tries:
    """Tries variants; `left` is how many more may be tried."""

    def __init__(self, cycle: Cycle) -> None:
        self.left = NODES_TRIED // max(1, len(cycle.snapshot.nodes))

    def first(self, where: str, variants: Iterator[Variant], most: int) -> Remedy | None:
        """Return the first of at most `most` variants under which a node takes the Pod."""
        for change, cycle, edits in islice(variants, min(most, self.left)):
            self.left -= 1
            if feasible := feasible_nodes(cycle):
                return Remedy(change, where, tuple(cycle.snapshot.nodes.names(feasible)), cycle, edits=edits)
        return None


def _single(cycle: Cycle, finders: Sequence[tuple[str, Finder]]) -> Iterator[Remedy]:
    """Yield one change of each finder; the finders of a group share its tries."""
    hopeful = _hopeful(cycle, finders)
    for group in (NOW, IN_TEMPLATE):
        finders_of_group = [finder for where, finder in hopeful if where == group]
        tries = _Tries(cycle)
        for done, finder in enumerate(finders_of_group):
            own_tries = tries.left // (len(finders_of_group) - done)
            if remedy := tries.first(group, finder(cycle), max(PAIR_TRIES, min(REMEDIES_TRIED, own_tries))):
                yield remedy._replace(last_resort=_sort(finder) in LAST_RESORTS)


def _pairs(cycle: Cycle, finders: Sequence[tuple[str, Finder]]) -> Iterator[Remedy]:
    """Yield two changes together: the smallest of a finder, and one of another that helps after the first."""
    tries = _Tries(cycle)
    sorts = {_sort(finder) for _, finder in finders}
    for i, (where, finder) in enumerate(finders):
        for first in islice(finder(cycle), 1 if tries.left else 0):
            after_first = _finders(first.cycle, find_feasible(first.cycle))
            # Earlier finders are left out: they had their turn as the first.  New sorts are those against refusals that
            # only show after the first change.
            others = (*finders[i + 1 :], *(finder for finder in after_first if _sort(finder[1]) not in sorts))
            for other_where, other in _hopeful(first.cycle, _no_last_resort(others)):
                both = IN_TEMPLATE if IN_TEMPLATE in (where, other_where) else NOW
                if remedy := tries.first(both, other(first.cycle), PAIR_TRIES):
                    edits = None
                    if first.edits is not None and remedy.edits is not None:
                        edits = (*first.edits, *remedy.edits)
                    change = f"{first.change}, and {remedy.change}"
                    also_now = both == IN_TEMPLATE and NOW in (where, other_where)
                    yield remedy._replace(change=change, also_now=also_now, edits=edits)


def _no_last_resort(finders: Iterable[tuple[str, Finder]]) -> list[tuple[str, Finder]]:
    return [finder for finder in finders if _sort(finder[1]) not in LAST_RESORTS]


def _hopeful(cycle: Cycle, finders: Sequence[tuple[str, Finder]]) -> list[tuple[str, Finder]]:
    """
    Return the finders that may help.

    One that changes constraints cannot if no node takes the Pod even without any; and one that changes a single
    constraint cannot if the other constraints refuse all nodes that would.
    """
    anywhere = replace(cycle, pod=replace(cycle.pod, nominated_node=""), constraints=())
    without_constraints = feasible_nodes(anywhere)
    if not without_constraints:
        return [finder for finder in finders if _sort(finder[1]) not in OF_CONSTRAINTS]
    hopeless = _hopeless(cycle, without_constraints)
    return [finder for finder in finders if _changed_constraint(finder[1]) not in hopeless]


def _hopeless(cycle: Cycle, nodes: NodeSet) -> frozenset[int]:
    """
    Return the indices of the hard constraints that it does not help to remove: the others refuse all these nodes.

    A constraint that alone requires a key that some nodes lack is never among them: without it the others would count
    more nodes.
    """
    hard, all_nodes = HardConstraints.of(cycle), cycle.snapshot.nodes
    constraints = [counts.constraint for counts in hard.counts]
    refused = [counts.refused_nodes() for counts in hard.counts]
    hopeless = set[int]()
    for i, constraint in enumerate(constraints):
        labelled = carrying_every_key(all_nodes, [*constraints[:i], *constraints[i + 1 :]])
        if labelled == hard.labelled and not nodes & labelled & ~union([*refused[:i], *refused[i + 1 :]]):
            hopeless.add(constraint.index)
    return frozenset(hopeless)


def _changed_constraint(finder: Finder) -> int | None:
    """Return the index of the constraint that a finder changes; None if it does not change just one."""
    if not isinstance(finder, partial) or _sort(finder) not in OF_ONE_CONSTRAINT:
        return None
    constraint = finder.keywords.get("constraint") or finder.keywords["counts"].constraint
    return int(constraint.index)


def _sort(finder: Finder) -> object:
    """Return the function without its arguments, by which finders of the same sort are equal."""
    return finder.func if isinstance(finder, partial) else finder


def _now(cycle: Cycle, feasibility: Feasibility) -> Iterator[Finder]:
    """Yield the functions that find changes in the cluster, the smallest changes first."""
    nodes = cycle.snapshot.nodes
    key = first_key(cycle.constraints)
    by_domain = nodes.domains(key) if key else {"": nodes.all}
    kept_shut, opened_last = kept_closed(cycle)
    for plugin in (NODE_UNSCHEDULABLE, TAINT_TOLERATION):
        shut = refused(feasibility, plugin) & ~kept_shut & ~union(opened_last)
        for domain, members in islice(largest_first(by_domain, shut), MOST_REMEDIES // 2):
            yield partial(_opened, which=members & shut, place=place_name(key, domain))
    if feasibility.spread.unlabelled:
        misspelt = misspelt_keys(cycle)
        for constraint in _hard(cycle):
            if constraint.topology_key not in misspelt:
                yield partial(_labelled, key=constraint.topology_key)
    for constraint in _hard(cycle):
        if constraint.topology_key != HOSTNAME and "" in nodes.domains(constraint.topology_key):
            yield partial(_relabelled, key=constraint.topology_key)
    for groups in (
        *(obstacle.groups for obstacle in obstacles(cycle, feasibility)),
        *volume_changes.in_the_way(cycle, feasibility),
    ):
        yield partial(_without_group, groups=groups)
    yield from volume_changes.in_cluster(cycle, feasibility, key)
    for labels, place in new_nodes.places_of_new(cycle):
        yield partial(new_nodes.with_node, labels=labels, place=place)
    for other in dict.fromkeys((key, *affinity_changes.keys_apart(cycle, feasibility))):
        if other:
            yield partial(new_nodes.with_domain, key=other)
    if refused(feasibility, NODE_RESOURCES_FIT):
        yield _with_room  # A person has to find out of whom: Pods that a controller makes again come back.
    for counts in feasibility.spread.domains:
        for domain in sorted(counts.refused(), key=lambda name: (counts.match_num(name), name))[:ALIKE]:
            yield partial(_without_bare_pods, counts=counts, domain=domain)
    for of_owner in opened_last:
        shut = refused(feasibility, NODE_UNSCHEDULABLE, TAINT_TOLERATION) & of_owner
        for domain, members in islice(largest_first(by_domain, shut), MOST_REMEDIES // 2):
            yield partial(_opened_last, which=members & shut, place=place_name(key, domain))
    lost = new_nodes.lost_nodes(cycle)
    for domain, members in islice(largest_first(by_domain, lost), MOST_REMEDIES):
        yield partial(_without_nodes, which=members & lost, place=place_name(key, domain))


def _template(cycle: Cycle, feasibility: Feasibility) -> Iterator[Finder]:
    """Yield the functions that find changes in the Pod's template, the smallest changes first."""
    meant = misspelt_keys(cycle)
    for constraint in _hard(cycle):
        if constraint.topology_key in meant:
            right = Change("topologyKey", "topology_key", meant[constraint.topology_key])
            yield partial(_with_constraint, constraint=constraint, changes=[right])
    for constraint in _hard(cycle):
        yield partial(_with_constraint, constraint=constraint, changes=_policies(constraint))
    for counts in feasibility.spread.domains:
        yield partial(_with_fewer_domains, counts=counts)
        yield partial(_with_larger_skew, counts=counts)
    for taint in islice(_untolerated(cycle, None, Owner.POOL), MOST_REMEDIES):
        yield partial(_tolerating, taint=taint)
    if refused(feasibility, NODE_RESOURCES_FIT):
        yield _requesting_less
    if refused(feasibility, NODE_AFFINITY) or feasibility.rejected:
        yield _without_affinity
    yield from affinity_changes.in_template(cycle, feasibility)
    for constraint in _hard(cycle):
        soften = Change("whenUnsatisfiable", "when_unsatisfiable", SOFT)
        yield partial(_with_constraint, constraint=constraint, changes=[soften])
    for constraint in _hard(cycle):
        yield partial(_without_constraint, constraint=constraint)
    for taint in islice(_untolerated(cycle, Owner.PLATFORM, Owner.SYSTEM), MOST_REMEDIES):
        yield partial(_tolerating_last, taint=taint)


def misspelt_keys(cycle: Cycle) -> dict[str, str]:
    """Return the topology keys of hard constraints that no node has, each with the key that nodes have instead."""
    label_keys = cycle.snapshot.nodes.label_keys
    by_short_name = {label.rpartition("/")[2]: label for label in {*TOPOLOGY_LABELS, HOSTNAME} & label_keys}
    known = {**by_short_name, **REPLACED}
    absent = {constraint.topology_key for constraint in _hard(cycle)} - label_keys
    return {key: meant for key in sorted(absent) if (meant := likely_meant(key) or known.get(key)) is not None}


def _hard(cycle: Cycle) -> list[Constraint]:
    return [constraint for constraint in cycle.constraints if constraint.hard]


def _opened(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Uncordon a node, and remove the taints that the Pod does not tolerate."""
    closed = [(node, closing_taints(node.taints, cycle)) for node in cycle.snapshot.nodes.members(which)]
    # Nodes that only need an uncordon come first: that is the smallest change.  Names decide nothing.
    closed.sort(key=lambda closed_node: (len(closed_node[1]), closed_node[1], new_nodes.without_name(closed_node[0])))
    for node, closing in closed[:MOST_REMEDIES]:
        cordoned = node.unschedulable or any(taint.key == CORDONED.key for taint in node.taints)
        taints = tuple([taint for taint in node.taints if taint not in closing and taint.key != CORDONED.key])
        changes = [f"uncordon {node.name}"] if cordoned else []
        changes += [f"remove the taint {taint} from {node.name}" for taint in closing]
        opened = replace(node, unschedulable=False, taints=taints)
        edits = [ClusterEdit(("uncordon", node.name), (node.name,))] if cordoned else []
        edits += [_untainting(node.name, taint) for taint in closing]
        yield Variant(
            " and ".join(changes) + (f" ({place})" if place else ""), with_changed(cycle, opened), tuple(edits)
        )


def _opened_last(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """Remove the taint of a pool or the control plane from a node: any Pod may then run there."""
    yield from _opened(cycle, which=which, place=place)


def _untainting(node: str, taint: Taint) -> ClusterEdit:
    return ClusterEdit(("taint", "node", node, f"{taint}-"), (node,), (taint.key, taint.value))


def _without_nodes(cycle: Cycle, *, which: NodeSet, place: str) -> Iterator[Variant]:
    """
    Delete nodes that nobody reaches: their Node objects remain, and count as empty nodes.

    They may come back: the taint does not say how long they have been away.
    """
    nodes = cycle.snapshot.nodes
    names = list(nodes.names(which))
    others = SchedulerNodes(nodes.members(nodes.all & ~which))
    shown = _some_nodes(names)
    words = f"delete nodes {shown}, if they are lost" if len(names) > 1 else f"delete node {shown}, if it is lost"
    where = f" ({place})" if place else ""
    edit = ClusterEdit(("delete", "node", *names), tuple(names))
    yield Variant(f"{words} for good{where}", replace(cycle, snapshot=replace(cycle.snapshot, nodes=others)), (edit,))


def _some_nodes(names: Sequence[str]) -> str:
    return f"{', '.join(names[:2])} and {len(names) - 2} more" if len(names) > 2 else " and ".join(names)


def _without_bare_pods(cycle: Cycle, *, counts: DomainCounts, domain: str) -> Iterator[Variant]:
    """
    Delete as many of the counted Pods in one domain as its skew is too large, of those that no controller owns.

    A Pod that a controller makes again would take the place, or wait instead of this one.
    """
    constraint, snapshot = counts.constraint, cycle.snapshot
    key, nodes = constraint.topology_key, cycle.snapshot.nodes
    counted = cycle.reach.eligible(constraint, carrying_every_key(nodes, _hard(cycle))) & nodes.domains(key)[domain]
    groups = snapshot.pods.get(cycle.pod.namespace, {}).items()
    matched = {labels: group.nodes for labels, group in groups if constraint.selector.matches(group.labels)}
    node_names = nodes.names(counted & nodes.named(chain.from_iterable(matched.values())))
    pods = [named for node in node_names for named in snapshot.pods_of(node) if named.pod.labels in matched]
    bare = sorted(named for named in pods if _is_bare(named, cycle))
    least = max(1, counts.skew(domain, counts.min_match_num) - constraint.max_skew)
    for number in range(least, min(len(bare), MOST_PODS_DELETED) + 1):
        yield _deleted(cycle, bare[:number], f"on {domain}" if key == HOSTNAME else place_name(key, domain))


def _without_group(cycle: Cycle, *, groups: Iterable[Sequence[NamedPod]]) -> Iterator[Variant]:
    """Delete one of the groups of Pods, the smallest first, if no controller makes any of its Pods again."""
    small_groups = (group for group in groups if 0 < len(group) <= MOST_PODS_DELETED)
    for group in sorted(small_groups, key=len):
        if all(_is_bare(named, cycle) for named in group):
            nodes = sorted({named.pod.node for named in group})
            yield _deleted(cycle, sorted(group), f"on {' and '.join(nodes)}")


def _deleted(cycle: Cycle, pods: Sequence[NamedPod], place: str) -> Variant:
    snapshot, namespace, names = cycle.snapshot, cycle.pod.namespace, [named.name for named in pods]
    for named in pods:
        snapshot = without_pod(snapshot, namespace, named.name, named.pod)
    words = f"delete {pods_by_name(names)}, which no controller creates again ({place})"
    return Variant(words, replace(cycle, snapshot=snapshot), (deleting(namespace, *names),))


def pods_by_name(names: Sequence[str]) -> str:
    """Name Pods in words such as `Pods web-1 and web-2`."""
    return f"Pod {names[0]}" if len(names) == 1 else f"Pods {', '.join(names[:-1])} and {names[-1]}"


def _is_bare(named: NamedPod, cycle: Cycle) -> bool:
    """Whether a Pod of the same namespace still exists, also in a simulated run, and no controller makes it again."""
    pod, groups = named.pod, cycle.snapshot.pods.get(cycle.pod.namespace, {})
    if named.namespace != cycle.pod.namespace or pod.owned or not pod.spreads or pod.labels not in groups:
        return False
    return bool(groups[pod.labels].nodes.get(pod.node)) and named in cycle.snapshot.pods_of(pod.node)


def _with_room(cycle: Cycle) -> Iterator[Variant]:
    """Free as much on a node as the Pod lacks there, first on the nodes that lack least."""
    snapshot = cycle.snapshot
    lacking_least = sorted(_lacking(cycle), key=lambda lack: (share(lack[2], lack[0].allocatable), lack[0].name))
    for node, used, lack in lacking_least:
        if (after := freed(used, lack)) is not None:
            changed = replace(snapshot, usage={**snapshot.usage, node.name: after})
            yield Variant(f"free {in_words(lack)} on {node.name}", replace(cycle, snapshot=changed))


def _lacking(cycle: Cycle) -> Iterator[tuple[SchedulerNode, Usage, Lack]]:
    """Yield the nodes that lack room but would otherwise take the Pod, with their usage and what they lack."""
    pod, snapshot = cycle.pod, cycle.snapshot
    with_all_room = replace(cycle, pod=replace(pod, requests=NO_REQUESTS), snapshot=replace(snapshot, usage={}))
    for node, lack in lacking_room(cycle, snapshot.nodes.members(feasible_nodes(with_all_room))):
        yield node, snapshot.usage.get(node.name, UNUSED), lack


def _labelled(cycle: Cycle, *, key: str) -> Iterator[Variant]:
    """Label a node that lacks the key: with its name for HOSTNAME, else with a value that a person has to find out."""
    nodes = cycle.snapshot.nodes
    lacking_key = islice(nodes.members(nodes.all & ~nodes.carrying(key)), ALIKE)
    if key == HOSTNAME:
        for node in lacking_key:
            edit = ClusterEdit(("label", "node", node.name, f"{key}={node.name}"), (node.name,), (key, node.name))
            yield Variant(
                f"label {node.name} with {key}={node.name}", _with_label(cycle, (node,), key, node.name), (edit,)
            )
        return
    for node in lacking_key:
        yield from _with_right_label(cycle, (node,), key, f"label {node.name}")


def _relabelled(cycle: Cycle, *, key: str) -> Iterator[Variant]:
    """Label all nodes on which the key is empty: to kube-scheduler, this is a domain like any other."""
    nodes = cycle.snapshot.nodes
    blank = tuple(nodes.members(nodes.domains(key)[""]))
    names = _some_nodes([node.name for node in blank])
    yield from _with_right_label(cycle, blank, key, f'in place of "", label {names}')


def _with_right_label(cycle: Cycle, changed: Sequence[SchedulerNode], key: str, words: str) -> Iterator[Variant]:
    """Label nodes with a value that a person has to find out; those with which it helps are named."""
    by_value, what = cycle.snapshot.nodes.domains(key), key.rpartition("/")[2]
    whose = "its" if len(changed) == 1 else "their"
    largest = sorted(filter(None, by_value), key=lambda value: (-by_value[value].bit_count(), value))
    values = (*largest[:MOST_REMEDIES], NEW_NODE)
    labelled = {value: _with_label(cycle, changed, key, value) for value in values}
    if helping := [value for value in values if feasible_nodes(labelled[value])]:
        value_names = [f"a new {what}" if value == NEW_NODE else value for value in helping]
        only = "" if len(helping) == len(values) else f", only if {whose} {what} is {' or '.join(value_names)}"
        yield Variant(f"{words} with {whose} {what} ({key}){only}", labelled[helping[0]])


def _with_label(cycle: Cycle, changed: Sequence[SchedulerNode], key: str, value: str) -> Cycle:
    return with_changed(cycle, *[replace(node, labels={**node.labels, key: value}) for node in changed])


def _with_constraint(cycle: Cycle, *, constraint: Constraint, changes: Sequence[Change]) -> Iterator[Variant]:
    for change in changes:
        read: dict[str, Any] = {change.attribute: change.value}
        edit = partial(template_edits.with_constraint, constraint=constraint, fields={change.field: change.value})
        after = _with_constraints(cycle, constraint, (replace(constraint, **read),))
        yield Variant(f"{change} on constraint {constraint.index}", after, (edit,))


def _with_constraints(cycle: Cycle, constraint: Constraint, instead: Sequence[Constraint]) -> Cycle:
    return replace(
        cycle,
        constraints=tuple(
            [
                new
                for existing in cycle.constraints
                for new in (instead if existing.index == constraint.index else (existing,))
            ]
        ),
    )


def _policies(constraint: Constraint) -> list[Change]:
    """Return changes to other node inclusion policies; nodeTaintsPolicy is only ever changed to Honor."""
    policies: list[Change] = []
    if constraint.node_taints_policy == IGNORE:
        policies.append(Change("nodeTaintsPolicy", "node_taints_policy", HONOR))
    other = IGNORE if constraint.node_affinity_policy == HONOR else HONOR
    return [*policies, Change("nodeAffinityPolicy", "node_affinity_policy", other)]


def _with_fewer_domains(cycle: Cycle, *, counts: DomainCounts) -> Iterator[Variant]:
    """Lower minDomains to the number of eligible domains."""
    reached = max(1, len(counts.eligible))
    if reached < counts.constraint.min_domains:
        fewer = Change("minDomains", "min_domains", reached)
        yield from _with_constraint(cycle, constraint=counts.constraint, changes=[fewer])


def _with_larger_skew(cycle: Cycle, *, counts: DomainCounts) -> Iterator[Variant]:
    """Raise maxSkew: to the smallest that helps, or if none does to the smallest that opens a domain."""
    skews = sorted({counts.skew(domain, counts.min_match_num) for domain in counts.refused()})
    changes = [Change("maxSkew", "max_skew", skew) for skew in skews]
    variants = list(_with_constraint(cycle, constraint=counts.constraint, changes=changes))
    # Bisection is right, since a larger maxSkew never opens fewer nodes.
    smallest = bisect_left(variants, True, key=lambda variant: bool(feasible_nodes(variant.cycle)))
    yield from variants[smallest : smallest + 1] or variants[:1]


def _untolerated(cycle: Cycle, *owners: Owner | None) -> Iterator[Taint]:
    """Yield the taints of these owners that the Pod does not tolerate, those of the most nodes first."""
    tainted = cycle.reach.untolerated.items()
    for taint, _ in sorted(tainted, key=lambda tainted_nodes: (-tainted_nodes[1].bit_count(), tainted_nodes[0])):
        known = known_taint(taint)
        if (known.owner if known is not None else None) in owners:
            yield taint


def _tolerating(cycle: Cycle, *, taint: Taint) -> Iterator[Variant]:
    toleration = Toleration(taint.key, EQUAL, taint.value, taint.effect)
    pod = replace(cycle.pod, tolerations=(*cycle.pod.tolerations, toleration))
    edit = partial(template_edits.tolerating, toleration=toleration)
    yield Variant(f"add a toleration of {taint}", replace(cycle, pod=pod), (edit,))


def _tolerating_last(cycle: Cycle, *, taint: Taint) -> Iterator[Variant]:
    """Tolerate the taint of the control plane, of a system pool, or of machines on which other images start."""
    yield from _tolerating(cycle, taint=taint)


def _requesting_less(cycle: Cycle) -> Iterator[Variant]:
    """Lower the requests so that they fit on a node, by the least first, as long as enough is left of each."""
    requests = cycle.pod.requests
    asked = Allocatable(*requests[:4], pods=1)
    lacks = {at_most(lack, requests) for _, _, lack in _lacking(cycle) if not lack.pods}
    lacks = {lack for lack in lacks if leaves_enough(requests, lack)}
    for lack in sorted(lacks, key=lambda lack: (share(lack, asked), lack)):
        lowest = replace(cycle.pod, requests=lowered(requests, lack))
        edit = partial(template_edits.requesting_less, lack=lack)
        words = f"lower the requests: {lowering_in_words(requests, lack)}"
        yield Variant(words, replace(cycle, pod=lowest), (edit,))


def _without_affinity(cycle: Cycle) -> Iterator[Variant]:
    pod = replace(cycle.pod, affinity=ANY_NODE)
    words = "remove the nodeSelector and the required node affinity"
    yield Variant(words, replace(cycle, pod=pod), (template_edits.without_node_affinity,))


def _without_constraint(cycle: Cycle, *, constraint: Constraint) -> Iterator[Variant]:
    edit = partial(template_edits.with_constraint, constraint=constraint, fields=None)
    yield Variant(f"remove constraint {constraint.index}", _with_constraints(cycle, constraint, ()), (edit,))


# The sorts of finders that change constraints, or what these count.
OF_ONE_CONSTRAINT = frozenset({_with_constraint, _with_fewer_domains, _with_larger_skew, _without_constraint})
OF_CONSTRAINTS = OF_ONE_CONSTRAINT | {_without_bare_pods}
LAST_RESORTS = frozenset({_opened_last, _without_nodes, _tolerating_last})
