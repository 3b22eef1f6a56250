"""empty-selector: a selector that is null or empty."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import Need, Subject, rule
from webhook.findings.stray_selectors import stray_selector
from webhook.spread.constraint import Constraint


@rule(
    title="labelSelector is null or empty, so the constraint spreads nothing",
    severity=Severity.ERROR,
    fix="select the labels of the Pods to spread",
    where=(Need.SELECTORS,),
    cel="""
    variables.constraints.all(c, c.?labelSelector.hasValue() && (features.empty_selector_counts
      || c.?labelSelector.?matchLabels.orValue({}).size() + c.?labelSelector.?matchExpressions.orValue([]).size() > 0
      || c.?matchLabelKeys.orValue([]).exists(k, k in variables.labels || k in variables.carried)))
    """,
    bad="labelSelector: {}",
    good="labelSelector: {matchLabels: {app: web}}",
)
def empty_selector(subject: Subject) -> Iterator[Cause]:
    """
    A null selector matches no Pod. `{}` matches every Pod, but the scheduler counts it as 0. The API server accepts
    both, and neither spreads anything. A hard constraint still keeps Pods off every node that lacks the key.

    Up to Kubernetes 1.26, and from 1.38 on, `{}` counts every Pod of the namespace. There the finding is at most an
    `info`, also if the policy enforces the rule. Repair a hard constraint with `{}` before the upgrade to 1.38: from
    then on it can keep Pods Pending.

    `{}` is not empty if matchLabelKeys add labels to it. In an operator's custom resource, the rule reports the
    selector only if the operator is known to keep it as it is.
    """
    for constraint in subject.constraints:
        null = constraint.label_selector is None
        if not null and _selects_labels(subject, constraint):
            continue
        if subject.operator_adds_to_selector(constraint):
            continue
        path = subject.at(constraint, "labelSelector")
        stray = stray_selector(subject, constraint)
        fix, edit = subject.copy_own_selector(constraint) if stray is None else (stray.fix, stray.edit)
        counts_all = not null and subject.features.empty_selector_counts
        yield Cause(
            path,
            "should not count every Pod of the namespace"
            if counts_all
            else "must select Pods: without labels to select, the constraint spreads nothing",
            found="null" if null else "{}",
            wanted="labels that the Pods carry",
            fix=fix,
            edit=edit,
            at_most=Severity.INFO if counts_all else Severity.ERROR,
            said_by_api_server=null and subject.features.null_selector_warning,
        )


def _selects_labels(subject: Subject, constraint: Constraint) -> bool:
    """Return whether the selector is not empty, or may get labels from matchLabelKeys."""
    if not constraint.selector.empty:
        return True
    keys = constraint.match_label_keys
    return not subject.carries.isdisjoint(keys) if subject.workload.labels_known else bool(keys)
