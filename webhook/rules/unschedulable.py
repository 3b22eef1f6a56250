"""unschedulable: a replica that no node of the cluster would take now."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.room import Bound
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.findings.wording import constraint_names, number_of, some
from webhook.kubernetes.kinds import BATCH
from webhook.kubernetes.reader import brief
from webhook.spread.constraint import HARD, HONOR
from webhook.spread.nodes import NodeSet


@rule(
    title="the cluster has no room for all replicas now",
    severity=Severity.WARNING,
    fix="run evenkeel explain, which tries changes",
    where=(HARD, Need.LABELS, Need.POD_SPEC, Need.NODES, Need.PODS, Nature.ADVICE),
    yields_to=(
        "contradicting-constraints",
        "pinned-domain",
        "tainted-domain",
        "too-few-domains",
        "unknown-topology-key",
    ),
    bad="""
    replicas: 6
    containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]
    """,
    good="""
    replicas: 3
    containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]
    """,
    context="""
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a}}
    status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}
    status: {allocatable: {cpu: "2", memory: 8Gi, pods: "110"}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: agent, namespace: default, labels: {app: agent}}
    spec:
      nodeName: n2
      containers: [{name: agent, image: agent, resources: {requests: {cpu: 500m}}}]
    """,
)
def unschedulable(subject: Subject) -> Iterator[Cause]:
    """
    A domain that has room for only a few Pods holds back all others, because none may have more than maxSkew Pods above
    it. The remaining replicas wait, even if other domains have room.

    The finding is certain: the scheduler cannot place more replicas in any order. Replicas that run are counted where
    they are. The rule knows no nodes that an autoscaler would add, and assumes that every node may have the devices of
    dynamic resource allocation.

    The rule reports nothing if the strategy is Recreate, which may remove the running Pods first, or if preemption may
    make room: the Pod has a priority, or Pods with a lower priority than the default run. The webhook does not read
    PriorityClasses, so it reports nothing if any Pod uses one, and treats the room of Pods with a negative priority as
    free.

    If there are fewer domains than minDomains, this is only an `info` while nodes may join in other domains.
    """
    workload = subject.workload
    if (
        workload.pinned
        or workload.kind.api_version == BATCH
        or workload.stored
        or any(subject.may_carry(constraint.topology_key) for constraint in subject.hard)
    ):
        return
    room = subject.room
    if room is None:
        return
    running = room.running_pods
    wanted = workload.replicas - running
    if wanted <= 0 or (running and (_new_revision(subject) or workload.strategy == "Recreate")):
        return
    if room.may_preempt:
        return
    bound = room.most_replicas(subject.hard, wanted, others_affinity=True)
    if bound.number < wanted:
        yield _cause(subject, bound, running)


def _new_revision(subject: Subject) -> bool:
    """Return whether a label that only the controller knows decides which of the running Pods are counted."""
    return any(not subject.workload.labels.keys() >= set(constraint.match_label_keys) for constraint in subject.hard)


def _scarce_nodes(subject: Subject, bound: Bound) -> NodeSet:
    """Return the nodes of the domain that keeps the minimum down."""
    return subject.nodes.domains(bound.constraint.topology_key)[bound.scarce] if bound.constraint else 0


def _affinity_excludes_scarce(subject: Subject, bound: Bound) -> bool:
    """Return whether node affinity or nodeSelector, and no taint, keeps the Pod out of the scarce domain."""
    nodes = _scarce_nodes(subject, bound)
    return bool(nodes & subject.reach.open) and not nodes & subject.reach.affine


def _cause(subject: Subject, bound: Bound, running: int) -> Cause:
    """Return the cause, at the field that is to blame: on the same field, other rules may say more."""
    replicas, constraint = subject.workload.replicas, bound.constraint
    fitting = running + bound.number
    how_many = f"at most {fitting} of {replicas} replicas fit now"
    if not fitting:
        how_many = f"none of {replicas} replicas fits now"
    if bound.together:
        message = f"{how_many}: {constraint_names(bound.together)} together allow no more, as Pods lie now"
        path = subject.at(bound.named, "maxSkew")
        return Cause(path, message, f"room for {number_of(fitting, 'replica')}", f"room for {replicas}")
    if constraint is None:
        return _without_room(subject, bound, how_many, fitting)
    if not bound.scarce:
        path, number = subject.at(constraint, "minDomains"), str(constraint.min_domains)
        message, wanted = f"{how_many}: fewer domains than minDomains", "at most the number of eligible domains"
        # If nodes may join in other domains, this is what minDomains is for.
        at_most = Severity.INFO if subject.may_get_domains(constraint) else Severity.ERROR
        return Cause(path, message, number, wanted, at_most=at_most)
    place = f"{constraint.topology_key.rpartition('/')[2]} {some([bound.scarce])}"
    if _affinity_excludes_scarce(subject, bound):
        message = f"{how_many}: {place} counts as a domain, but affinity or nodeSelector excludes it"
        path, policy = subject.at(constraint, "nodeAffinityPolicy"), constraint.node_affinity_policy
        return Cause(path, message, policy, HONOR, fix=f"set nodeAffinityPolicy: {HONOR}")
    if constraint.node_taints_policy != HONOR and not subject.reach.usable & _scarce_nodes(subject, bound):
        path, policy = subject.at(constraint, "nodeTaintsPolicy"), constraint.node_taints_policy
        return Cause(path, f"{how_many}: {place} counts as a domain, but taints or cordons close it", policy, HONOR)
    room = f"room for only {bound.takes} more" if bound.takes else "no room"
    message = f"{how_many}: {place} has {room}, so maxSkew {constraint.max_skew} closes the other domains"
    wanted = f"room in {place}, or maxSkew of more than {constraint.max_skew}"
    return Cause(
        subject.at(constraint, "maxSkew"), message, f"{constraint.max_skew}", wanted, fix=f"make room in {place}"
    )


def _without_room(subject: Subject, bound: Bound, how_many: str, fitting: int) -> Cause:
    """Return the cause if no skew refuses a node, but a key, node affinity or too little room does."""
    for constraint in subject.hard:
        key = constraint.topology_key
        if key not in subject.nodes.label_keys:
            path, wanted = subject.at(constraint, "topologyKey"), "a key that nodes carry"
            return Cause(path, f"{how_many}: no node has the label {brief(key, 40)}", brief(key), wanted)
    if not subject.reach.affine:
        message = f"{how_many}: no node matches its nodeSelector or node affinity"
        fix = "correct them, or label a node to match"
        return Cause(subject.at(subject.hard[0]), message, "no such node", "a node that matches", fix=fix)
    value, wanted = f"room for {number_of(fitting, 'replica')}", f"room for {subject.workload.replicas}"
    fix, why = "free room, add nodes, or request less", "no room"
    if number := bound.kept_off.bit_count():
        why = f"anti-affinity or host ports of Pods exclude {number_of(number, 'node')}, and no other has room"
    return Cause(subject.at(subject.hard[0]), f"{how_many}: {why}", value, wanted, fix=fix)
