"""skew-never-binds: a maxSkew that the workload has too few Pods to reach."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import Nature, Need, Subject, rule
from webhook.findings.wording import number_of
from webhook.spread.constraint import HARD

TOO_FEW_PODS = "with so few Pods the skew cannot exceed maxSkew"


@rule(
    title="maxSkew is not smaller than the number of Pods, so the skew never refuses a node",
    severity=Severity.INFO,
    fix="lower maxSkew, or remove the constraint",
    where=(HARD, Need.LABELS, Nature.ADVICE),
    bad="maxSkew: 6",
    good="maxSkew: 1",
)
def skew_never_binds(subject: Subject) -> Iterator[Cause]:
    """
    The skew is at most the number of Pods that the selector counts. If the selector counts only the workload's own
    Pods, and these are never more than maxSkew, even during a rolling update, then all of them may run in one domain.
    With pod-template-hash in matchLabelKeys, a rolling update adds no Pods.

    The selector counts only the workload's own Pods if it asks for everything that the workload's own selector asks
    for, and no other controller of the cluster or workload of the input has these labels. In evenkeel lint,
    app.kubernetes.io/name is enough, as in Helm's charts.

    The rule does not report a workload whose replicas may come from an autoscaler that is not among the manifests:
    without replicas or with 0, and in the webhook or the output of a cluster also with 1.
    """
    for constraint in subject.hard:
        if constraint.max_skew < subject.workload.replicas or subject.workload.pinned:
            continue
        most = subject.counted(constraint).pods if subject.counts_own(constraint) else None
        if most is not None and constraint.max_skew >= most:
            wanted = "no constraint, or more Pods"
            fixes: list[str] = []
            if most > 1:
                wanted = f"less than {most}, the largest number of Pods at any time"
                fixes.append(f"lower maxSkew below {most}")
            if not Repairs(subject).is_needed(constraint):
                fixes.append("remove the constraint")
            path, count = subject.at(constraint, "maxSkew"), number_of(most, "Pod")
            message = f"the skew never refuses a node: the constraint counts at most {count}"
            fix = ", or ".join(fixes) or "run more Pods"
            yield Cause(path, message, str(constraint.max_skew), wanted, fix=fix, idle=TOO_FEW_PODS)
