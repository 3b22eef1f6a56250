"""selector-matches-others: a selector that counts Pods of other workloads."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.objects.labels import Labels
from webhook.objects.reading import brief
from webhook.scheduler.constraint import Constraint
from webhook.scheduler.selectors import Match, as_selector


@rule(
    title="labelSelector also counts the Pods of another workload",
    severity=Severity.INFO,
    fix="select labels that only its own Pods have",
    where=(Need.OTHERS,),
    nature=Nature.ADVICE,
    yields_to=("selector-misses-own-pod",),
    bad="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 3
      selector: {matchLabels: {app: db, role: primary}}
      template:
        metadata: {labels: {app: db, role: primary}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: db}}
    """,
    good="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 3
      selector: {matchLabels: {app: db, role: primary}}
      template:
        metadata: {labels: {app: db, role: primary}}
        spec:
          topologySpreadConstraints:
          - maxSkew: 1
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            nodeTaintsPolicy: Honor
            labelSelector: {matchLabels: {app: db, role: primary}}
    """,
    context="""
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db-replica}
    spec:
      replicas: 3
      selector: {matchLabels: {app: db, role: replica}}
      template:
        metadata: {labels: {app: db, role: replica}}
    """,
)
def selector_matches_others(subject: Subject) -> Iterator[Cause]:
    """
    The Pods of both workloads are spread together, so that those of one alone may all be in one domain, and a hard
    constraint may keep a Pod of one out of a domain that the other fills.  That may be what is wanted, as for a stable
    version and its canary.

    Pods are told apart by the workload's own selector and by the labels that its controller adds.  Among manifests,
    those of other files count unless they most likely go into another cluster.  A Pod that nothing controls is not
    reported: its constraints are there to spread it among others.
    """
    if subject.workload.is_pod:
        return
    for constraint in subject.constraints:
        if constraint.selector.empty or not subject.counts_own(constraint):
            continue
        if not subject.workload.labels.keys() >= set(constraint.match_label_keys):
            continue  # The values of the others decide, such as that of pod-template-hash, and nobody knows them yet.
        if other := _other_workload(subject, constraint) or _other_pods(subject, constraint):
            whose, labels = other
            path, narrower = subject.at(constraint, "labelSelector"), subject.own_selector
            tells_apart = narrower and not narrower.items() <= labels.items()
            fix, _ = subject.copy_own_selector(constraint) if tells_apart else (None, None)
            written = brief(str(as_selector(constraint.label_selector)), 100)
            yield Cause(path, f"also counts {whose}", written, "labels that only its own Pods have", fix=fix)


def _other_workload(subject: Subject, constraint: Constraint) -> tuple[str, Labels] | None:
    """Return another workload of the input whose Pods the constraint counts, in words, and their labels."""
    if subject.others is None:
        return None
    for other in subject.others.matching(subject.workload.ref, constraint.selector):
        if constraint.selector.match(other.labels, other.addable) is Match.YES:
            return f"the Pods of {other.kind} {brief(other.name, 40)[1:-1]}", other.labels
    return None


def _other_pods(subject: Subject, constraint: Constraint) -> tuple[str, Labels] | None:
    """
    Return Pods in the cluster that the constraint counts, and that cannot be the workload's, in words, and their
    labels.
    """
    own, added = subject.workload_selector, subject.workload.kind.added_labels
    if subject.snapshot is None or own.matches_nothing or own.empty or own.keys & subject.workload.addable:
        return None  # A Job's selector is made up when it is created.
    for group in subject.snapshot.pods.get(subject.workload.namespace, {}).values():
        may_be_own = own.matches(group.labels) and group.labels.keys() >= set(added)
        if not may_be_own and constraint.selector.matches(group.labels):
            shown = ",".join(f"{key}={value}" for key, value in sorted(group.labels.items())[:10])
            return f"other Pods, such as those with {brief(shown, 60)[1:-1]}", group.labels
    return None
