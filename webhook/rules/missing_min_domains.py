"""missing-min-domains: a hard constraint on zones without minDomains, which a platform team asks for."""

from __future__ import annotations

from collections.abc import Iterator, Set

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import LARGEST_NUMBER, TOPOLOGY_KEY, Need, Subject, rule
from webhook.kubernetes.names import ZONE
from webhook.spread.constraint import HARD, SOFT, Constraint
from webhook.spread.new_pod import places_quickly

ROLLOUTS_STOP = "minDomains: once a domain is gone, each other takes only maxSkew Pods, so rollouts can stop"


@rule(
    title="a hard constraint has no minDomains, so all Pods may run in one domain",
    severity=Severity.IGNORE,
    fix="set minDomains to the number of domains that can have nodes",
    where=(HARD, Need.REPLICAS),
    parameters={
        "properties": {
            "minDomains": {
                "type": "integer",
                "minimum": 2,
                "maximum": LARGEST_NUMBER,
                "description": "the number that the fix writes, such as the zones of the cluster",
            },
            "topologyKeys": {
                "type": "array",
                "items": TOPOLOGY_KEY,
                "default": [ZONE],
                "description": "the keys that the rule applies to; empty: all",
            },
        },
        "examples": [{"minDomains": 3}],
    },
    cel="""
    variables.replicas < 2 || variables.constraints.all(c, c.whenUnsatisfiable != 'DoNotSchedule'
      || c.?minDomains.orValue(1) > 1 || variables.replicas <= c.maxSkew
      || parameters.topologyKeys.size() > 0 && !(c.topologyKey in parameters.topologyKeys)
      || c.topologyKey in variables.spec.?nodeSelector.orValue({}) || c.topologyKey in variables.one_value_keys)
      || variables.runs_on_one_node
    """,
    bad="maxSkew: 1",
    good="minDomains: 3",
)
def missing_min_domains(subject: Subject) -> Iterator[Cause]:
    """
    A zone counts only if it has a node. While one zone has nodes, a hard constraint refuses none of them, so all Pods
    may run in that zone, and no autoscaler is asked for another one. With minDomains: 3, each zone takes only maxSkew
    Pods until three zones have nodes. Pods then wait for these nodes: the rule single-domain says when they come.

    The rule takes minDomains: 1 for none, because it is the default. The rule does not report:

    - workloads of no more Pods than maxSkew, because one domain may have them all
    - Pods to which nodeSelector, node affinity or a claim leaves one domain, because minDomains would keep them waiting
    """
    workload, keys = subject.workload, subject.keys("topologyKeys")
    if workload.pinned or not subject.features.min_domains:
        return
    replicas = max(workload.replicas, workload.most_replicas or 0)
    for constraint in subject.hard:
        if keys and constraint.topology_key not in keys:
            continue
        several = replicas > max(1, constraint.max_skew) and constraint.min_domains == 1
        if not several or subject.tied(constraint) is not None:
            continue
        allowed = _allowed(subject, constraint)
        if allowed is None or len(allowed) > 1:
            message = "should be set: a domain without a node does not count"
            fix, edit = _repair(subject, constraint, allowed)
            yield Cause(subject.at(constraint, "minDomains"), message, "none", "2 or more", fix, edit)


def _allowed(subject: Subject, constraint: Constraint) -> Set[str] | None:
    """Return the domains that node affinity allows, without those where it matches no node; None if it allows any."""
    if not places_quickly(subject.workload.pod_spec or {}):
        return None  # Affinity is too large to look at all nodes.
    domains = subject.nodes.domains(constraint.topology_key)
    excluded = {domain for domain, nodes in domains.items() if not nodes & subject.reach.affine}
    allowed = subject.pod.affinity.values(constraint.topology_key)
    if allowed is None and excluded:
        allowed = frozenset(domains)
    return allowed and allowed - excluded


def _repair(subject: Subject, constraint: Constraint, allowed: Set[str] | None) -> tuple[str | None, Edit | None]:
    """Return the fix, in words and as an edit; no edit if the policy names no number."""
    repairs = Repairs(subject)
    pair = repairs.pairs[constraint.index]
    if pair is None or pair.when_unsatisfiable == SOFT:  # The API server refuses minDomains in a soft constraint.
        return repairs.of_mode(constraint), None
    number = subject.number("minDomains")
    if not number:
        return None, None
    if allowed is not None:  # More would keep Pods waiting.
        number = min(number, len(allowed))
    edit = Edit(subject.at(constraint, "minDomains"), number, caution=ROLLOUTS_STOP)
    return f"write minDomains: {number}; once a domain is gone, rollouts can stop", edit
