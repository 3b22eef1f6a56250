"""wrong-revision-key: pod-template-hash for a kind whose Pods do not have it."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import MATCH_LABEL_KEYS, Need, Subject, rule
from webhook.kubernetes.names import TEMPLATE_HASH


@rule(
    title="matchLabelKeys names pod-template-hash where no Pod carries it",
    severity=Severity.WARNING,
    fix="remove the key",
    where=(MATCH_LABEL_KEYS, Need.LABELS),
    cel="""
    request.kind.kind in ['Pod', 'PodTemplate']
      || 'pod-template-hash' in variables.labels || 'pod-template-hash' in variables.carried
      || variables.constraints.all(c, !('pod-template-hash' in c.?matchLabelKeys.orValue([])))
    """,
    bad="matchLabelKeys: [pod-template-hash]",
    good="matchLabelKeys: [controller-revision-hash]",
)
def wrong_revision_key(subject: Subject) -> Iterator[Cause]:
    """
    Only Pods of a Deployment have the label pod-template-hash. For other kinds, the scheduler ignores the key and
    counts the Pods of all revisions together. Pods of a StatefulSet or a DaemonSet have controller-revision-hash
    instead, and Pods of an Argo Rollout have rollouts-pod-template-hash. Other kinds have no such label.
    """
    kind = subject.workload.kind
    is_revision_known = kind.built_in or kind.revision_key is not None
    if not is_revision_known or kind.kind in ("Pod", "PodTemplate") or TEMPLATE_HASH in subject.carries:
        return
    message, repairs = f"a {kind.kind}'s Pods never carry {TEMPLATE_HASH}", Repairs(subject)
    for constraint in subject.constraints:
        if TEMPLATE_HASH not in constraint.match_label_keys:
            continue
        for i, (key, right) in enumerate(zip(constraint.match_label_keys, repairs.label_keys(constraint), strict=True)):
            if key != TEMPLATE_HASH:
                continue
            path = subject.at(constraint, "matchLabelKeys", i)
            if not right:
                yield Cause(path, message, TEMPLATE_HASH, "no revision key")
            else:
                yield Cause(path, message, TEMPLATE_HASH, right, fix=f"use {right}", edit=Edit(path, right))
