"""absent-match-label-key: a matchLabelKeys entry that the Pod does not carry."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import MATCH_LABEL_KEYS, Need, Subject, rule
from webhook.kubernetes.likeness import nearest
from webhook.kubernetes.reader import brief


@rule(
    title="matchLabelKeys names a label that the Pod will not have",
    severity=Severity.WARNING,
    fix="remove the key, or correct its name",
    where=(MATCH_LABEL_KEYS, Need.LABELS),
    yields_to=("wrong-revision-key",),
    cel="""
    variables.constraints.all(c, c.?matchLabelKeys.orValue([]).all(k, k in variables.labels || k in variables.carried))
    """,
    bad="matchLabelKeys: [version]",
    good="matchLabelKeys: [controller-revision-hash]",
)
def absent_match_label_key(subject: Subject) -> Iterator[Cause]:
    """
    The scheduler ignores a key of matchLabelKeys that is not a label of the Pod. So it counts Pods together that
    the key was meant to separate.
    """
    repairs = Repairs(subject)
    for constraint in subject.constraints:
        if subject.carries >= set(constraint.match_label_keys):
            continue
        for i, (key, right) in enumerate(zip(constraint.match_label_keys, repairs.label_keys(constraint), strict=True)):
            if key not in subject.carries:
                path, value = subject.at(constraint, "matchLabelKeys", i), brief(key)
                fix, edit = "remove the key", None
                if right and right == nearest(key, (right,)):  # a likely misspelling of it
                    fix, edit = f"write {right}", Edit(path, right)
                elif right:
                    fix = f"use {right} instead, or remove the key"
                message = f"is ignored: the Pod has no label {value}"
                yield Cause(path, message, value, right or "no such key", fix=fix, edit=edit)
