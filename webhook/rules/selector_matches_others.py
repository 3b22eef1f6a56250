"""selector-matches-others: a selector that counts Pods of other workloads."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Nature, Need, Subject, in_yaml, rule
from webhook.kubernetes.reader import brief
from webhook.kubernetes.workload import Workload
from webhook.spread.constraint import Constraint
from webhook.spread.selectors import Match, as_selector


@rule(
    title="labelSelector also counts the Pods of another workload",
    severity=Severity.INFO,
    fix="select labels that only its own Pods have",
    where=(Need.GIVEN_LABELS, Need.OTHERS, Nature.ADVICE),
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
    The scheduler spreads the Pods of both workloads together. The Pods of one workload may then all be in one domain,
    and a hard constraint may keep one of its Pods out of a domain that the other workload fills. This may be intended,
    for example for a stable version and its canary.

    evenkeel tells Pods apart by the workload's own selector and by the labels that its controller adds. Of an
    operator's custom resource, it knows only the Pods that the operator makes for it.

    The rule does not report a Pod without a controller, whose constraints are there to spread it among others, or a
    workload with no more replicas than maxSkew.
    """
    if subject.workload.is_pod or subject.workload.is_hook:
        return
    for constraint in subject.constraints:
        if constraint.selector.empty or _has_few(subject.workload, constraint):
            continue
        if not subject.workload.labels_known:
            yield from _of_operator(subject, constraint)
        elif subject.counts_own(constraint) and (others := subject.counted(constraint).others):
            path, narrower = subject.at(constraint, "labelSelector"), subject.own_selector
            tells_apart = narrower and not narrower.items() <= others.labels.items()
            fix, _ = subject.copy_own_selector(constraint) if tells_apart else (None, None)
            written = brief(str(as_selector(constraint.label_selector)), 100)
            yield Cause(path, f"also counts {others.whose}", written, "labels that only its own Pods have", fix=fix)


def _of_operator(subject: Subject, constraint: Constraint) -> Iterator[Cause]:
    """Yield a constraint that counts other Pods that an operator makes of the custom resource."""
    labels, selector, operator = subject.workload.labels, constraint.selector, subject.workload.kind.operator
    if operator is None or selector.match(labels, selector.keys) is Match.NO:
        return
    for label in operator.others:
        if label.item in ("", subject.workload.item) and selector.matches({label.key: label.value}):
            path, own = subject.at(constraint, "labelSelector"), {label.key: labels.get(label.key, "")}
            fix = f"write labelSelector: {in_yaml({'matchLabels': own})}" if own[label.key] else None
            written = brief(str(as_selector(constraint.label_selector)), 100)
            message = f"also counts other Pods of its operator, with {label.key}={label.value}"
            yield Cause(path, message, written, "labels that only its own Pods have", fix=fix)
            return


def _has_few(workload: Workload, constraint: Constraint) -> bool:
    """Return whether the workload never has more replicas than maxSkew, unless an unknown autoscaler adds some."""
    if workload.kind.replicas is None or (workload.scaling is not None and workload.scaling.most is None):
        return False
    return max(workload.replicas, workload.most_replicas or 0) <= constraint.max_skew
