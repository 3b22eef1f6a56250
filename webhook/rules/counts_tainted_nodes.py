"""counts-tainted-nodes: nodes that no Pod may use count as domains without Pods."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.kubernetes.kinds import BATCH
from webhook.kubernetes.names import HOSTNAME
from webhook.spread.constraint import HARD, HONOR, Constraint
from webhook.spread.domains import leaves_one_domain
from webhook.spread.taints import TOLERATION_EXISTS

_COUNTS = {
    HOSTNAME: "tainted nodes count as empty domains",
    "topology.kubernetes.io/zone": "a lost zone counts as an empty domain",
    "topology.kubernetes.io/region": "a lost region counts as an empty domain",
}


@rule(
    title="a hard constraint counts nodes whose taints keep the Pod off, such as the nodes of a lost zone",
    severity=Severity.INFO,
    fix="set nodeTaintsPolicy: Honor",
    where=(HARD, Need.LABELS, Need.POD_SPEC, Nature.ADVICE),
    yields_to=("tainted-domain",),
    bad="nodeTaintsPolicy: Ignore",
    good="nodeTaintsPolicy: Honor",
)
def counts_tainted_nodes(subject: Subject) -> Iterator[Cause]:
    """
    By default, nodeTaintsPolicy is Ignore. Then a control-plane node or a cordoned node counts as a domain with 0 Pods,
    although no Pod can run there. Each other node takes only maxSkew Pods. Likewise, a lost zone counts as empty until
    somebody deletes its Node objects: its Pods, and those of the next rollout, find no place.

    With Honor, Pods go to the domains that are left. If that is worse than a Pending Pod, set minDomains, too.

    The rule does not report:

    - Jobs, because their Pods end and make room
    - Pods that tolerate every taint
    - constraints that count no more replicas than maxSkew
    - constraints to which node affinity leaves one domain, or Honor would leave one, or fewer than minDomains, because
      of the taints of today
    - in evenkeel lint, a single Pod whose constraint counts none of the other manifests
    """
    if not subject.features.node_inclusion_policies:
        return
    for constraint in subject.hard:
        key = constraint.topology_key
        if key not in _COUNTS or constraint.node_taints_policy == HONOR:
            continue
        if not _may_bar(subject, constraint) or not subject.counts_own(constraint):
            continue
        if _leaves_too_few(subject, constraint):
            continue
        if not (subject.workload.pinned or _tolerates_all(subject) or _counts_one_domain(subject, constraint)):
            path, message = subject.at(constraint, "nodeTaintsPolicy"), _COUNTS[key]
            yield Cause(path, message, constraint.node_taints_policy, HONOR)


def _may_bar(subject: Subject, constraint: Constraint) -> bool:
    """Return whether there may be more Pods than one domain takes while another one is empty."""
    workload = subject.workload
    if constraint.topology_key == HOSTNAME:
        if (workload.most_replicas or 0) > constraint.max_skew:
            return True  # Whether it counts others besides does not matter, and takes long to tell.
        counted = subject.counted(constraint)
        if counted.others is None and workload.is_pod and subject.others is not None:  # A Pod alone among manifests.
            return subject.snapshot is not None and subject.snapshot.knows_pods
        return counted.replicas is None or counted.replicas > constraint.max_skew
    # In zones and regions, a number of replicas that is not known counts for nothing.
    if workload.kind.api_version == BATCH or constraint.max_skew <= 0:
        return False
    return workload.replicas > constraint.max_skew or (workload.most_replicas or 0) > constraint.max_skew


def _leaves_too_few(subject: Subject, constraint: Constraint) -> bool:
    """Return whether Honor would now leave only one domain, in which nothing spreads, or fewer than minDomains."""
    if not subject.nodes.closed_to_some:
        return False
    eligible = subject.reach.eligible(constraint, subject.labelled)
    key, nodes = constraint.topology_key, subject.nodes
    counted = nodes.number_of_domains(key, eligible)
    honored = nodes.number_of_domains(key, eligible & subject.reach.open)
    return honored < counted and honored < max(2, constraint.min_domains)


def _counts_one_domain(subject: Subject, constraint: Constraint) -> bool:
    """Return whether node affinity leaves one domain, so that with Honor no other counts."""
    return constraint.node_affinity_policy == HONOR and leaves_one_domain(subject.pod, constraint)


def _tolerates_all(subject: Subject) -> bool:
    return any(
        toleration.operator == TOLERATION_EXISTS and not toleration.key and not toleration.effect
        for toleration in subject.pod.tolerations
    )
