"""absent-match-label-key: a matchLabelKeys entry that the Pod does not carry."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from webhook.findings.finding import Cause, Severity
from webhook.findings.rule import ALL_CHECKS, MATCH_LABEL_KEYS, InCel, Need, Subject, rule
from webhook.objects.reading import brief


@rule(
    title="matchLabelKeys names a label that the Pod will not have",
    severity=Severity.WARNING,
    fix="use a label that the Pod carries, or remove the key",
    where=(MATCH_LABEL_KEYS, Need.LABELS),
    yields_to=("wrong-revision-key",),
    cel=InCel(ALL_CHECKS),
    bad="""
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: DoNotSchedule
      labelSelector: {matchLabels: {app: web}}
      matchLabelKeys: [version]
    """,
    good="""
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web, version: v2}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [version]
    """,
)
def absent_match_label_key(subject: Subject) -> Iterator[Cause]:
    """
    The scheduler ignores a key of matchLabelKeys that is not a label of the Pod. So it counts Pods together that
    the key was meant to separate.
    """
    wanted = ""
    for constraint in subject.constraints:
        for i, key in enumerate(constraint.match_label_keys):
            if key not in subject.carries:
                wanted, value = wanted or f"one of {_carried(subject)}", brief(key)
                path = subject.at(constraint, "matchLabelKeys", i)
                fix = f"use {wanted} instead, or remove the key"
                yield Cause(path, f"is ignored: the Pod has no label {value}", value, wanted, fix=fix)


def _carried(subject: Subject) -> str:
    return brief(sorted({*islice(subject.workload.labels, 10), *subject.workload.addable}), 100)
