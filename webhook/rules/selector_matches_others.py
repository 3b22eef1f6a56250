"""selector-matches-others: a selector that counts Pods of other workloads."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.kubernetes.reader import brief
from webhook.kubernetes.workload import Workload
from webhook.spread.constraint import Constraint
from webhook.spread.selectors import as_selector


@rule(
    title="labelSelector also counts the Pods of another workload",
    severity=Severity.INFO,
    fix="select labels that only its own Pods have",
    where=(Need.LABELS, Need.OTHERS, Nature.ADVICE),
    yields_to=("selector-misses-own-pod",),
    bad="""
    labels: {app: web, role: primary}
    selector: {matchLabels: {app: web, role: primary}}
    labelSelector: {matchLabels: {app: web}}
    """,
    good="""
    labels: {app: web, role: primary}
    selector: {matchLabels: {app: web, role: primary}}
    labelSelector: {matchLabels: {app: web, role: primary}}
    """,
    context="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: web-replica}
    spec:
      replicas: 3
      selector: {matchLabels: {app: web, role: replica}}
      template:
        metadata: {labels: {app: web, role: replica}}
    """,
)
def selector_matches_others(subject: Subject) -> Iterator[Cause]:
    """
    The scheduler spreads the Pods of both workloads together. The Pods of one workload may then all be in one
    domain, and a hard constraint may keep one of its Pods out of a domain that the other workload fills. This may
    be intended, for example for a stable version and its canary.

    evenkeel tells Pods apart by the workload's own selector and by the labels that its controller adds. Among
    manifests, workloads in other files count unless they most likely belong to another cluster.

    The rule does not report a Pod without a controller, because its constraints are there to spread it among
    others. It does not report a workload with no more replicas than maxSkew, because a constraint for its own Pods
    alone would spread nothing. Hooks and tests of Helm and Argo CD are not reported and do not count.
    """
    if subject.workload.is_pod or subject.workload.is_hook:
        return
    for constraint in subject.constraints:
        if constraint.selector.empty or _has_few(subject.workload, constraint) or not subject.counts_own(constraint):
            continue
        if others := subject.counted(constraint).others:
            path, narrower = subject.at(constraint, "labelSelector"), subject.own_selector
            tells_apart = narrower and not narrower.items() <= others.labels.items()
            fix, _ = subject.copy_own_selector(constraint) if tells_apart else (None, None)
            written = brief(str(as_selector(constraint.label_selector)), 100)
            yield Cause(path, f"also counts {others.whose}", written, "labels that only its own Pods have", fix=fix)


def _has_few(workload: Workload, constraint: Constraint) -> bool:
    """Return whether the workload never has more replicas than maxSkew, unless an unknown autoscaler adds some."""
    if workload.kind.replicas is None or (workload.scaling is not None and workload.scaling.most is None):
        return False
    return max(workload.replicas, workload.most_replicas or 0) <= constraint.max_skew
