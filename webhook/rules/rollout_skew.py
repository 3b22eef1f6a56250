"""rollout-skew: old and new Pods of a rolling update are counted together."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.finding import Cause, Edit, Severity
from webhook.findings.repairs import Repairs
from webhook.findings.rule import Need, Subject, rule
from webhook.kubernetes.names import REVISION_HASH, TEMPLATE_HASH
from webhook.rules.selector_misses_own_pod import COUNTS_OWN_PODS
from webhook.spread.constraint import Constraint
from webhook.spread.selectors import Match

REVISION_KEYS = frozenset({TEMPLATE_HASH, REVISION_HASH, f"rollouts-{TEMPLATE_HASH}"})


@rule(
    title="a rolling update counts old and new Pods together",
    severity=Severity.INFO,
    fix="add matchLabelKeys: [pod-template-hash]",
    where=(Need.LABELS,),
    yields_to=("absent-match-label-key",),
    parameters={
        "properties": {
            "soft": {
                "type": "boolean",
                "default": False,
                "description": "whether the rule applies to ScheduleAnyway, too",
            },
        },
    },
    cel=f"""
    request.kind.kind != 'Deployment' || variables.replicas <= 1
      || variables.workload.?strategy.?type.orValue('') == 'Recreate'
      || variables.constraints.all(c, !c.?labelSelector.hasValue()
        || c.?labelSelector.?matchLabels.orValue({{}}).size() == 0
          && c.?labelSelector.?matchExpressions.orValue([]).size() == 0
          && !c.?matchLabelKeys.orValue([]).exists(k, k in variables.labels)
        || {sorted(REVISION_KEYS)}.exists(r, r in c.?matchLabelKeys.orValue([])
          || r in c.?labelSelector.?matchLabels.orValue({{}})
          || c.?labelSelector.?matchExpressions.orValue([]).exists(e, e.key == r))
        || !({COUNTS_OWN_PODS})
        || (c.whenUnsatisfiable == 'DoNotSchedule'
          ? string(variables.workload.?strategy.?rollingUpdate.?maxSurge.orValue('')) in ['0', '0%']
          : !parameters.soft))
    """,
    bad="kind: Deployment",
    good="""
    kind: Deployment
    matchLabelKeys: [pod-template-hash]
    """,
)
def rollout_skew(subject: Subject) -> Iterator[Cause]:
    """
    During a rolling update, the scheduler also counts the old Pods when it places new ones. Then the old Pods are
    deleted, and the rest may be skewed: six Pods over three zones may end as 3/2/1. With the revision label in
    matchLabelKeys, each revision is spread on its own.

    The rule does not report a workload with maxSurge 0: an old Pod is deleted before a new one is created, and a hard
    constraint then puts the new Pod in its place.
    """
    workload = subject.workload
    several = workload.replicas > 1 or (workload.most_replicas or 0) > 1
    rolling = workload.kind.kind == "Deployment" and workload.strategy != "Recreate" and several
    if not rolling or not subject.features.match_label_keys:
        return
    counting = [constraint for constraint in subject.constraints if _counts_old_pods(subject, constraint)]
    if not counting:
        return
    first = counting[0]
    path, keys = subject.at(first, "matchLabelKeys"), _with_revision(subject, first)
    fix = f"add pod-template-hash to the matchLabelKeys of {len(counting)} constraints" if len(counting) > 1 else None
    message = "a rollout counts old Pods, too"
    value = ", ".join(first.match_label_keys) or "none"
    extents = tuple([int(constraint.hard) for constraint in counting])
    yield Cause(path, message, value, TEMPLATE_HASH, fix=fix, edit=Edit(path, keys), extents=extents)


def _with_revision(subject: Subject, constraint: Constraint) -> list[str]:
    """Return the matchLabelKeys with pod-template-hash, which the repair of another key may already have added."""
    written = constraint.match_label_keys
    keys = [right or key for key, right in zip(written, Repairs(subject).label_keys(constraint), strict=True)]
    return keys if TEMPLATE_HASH in keys else [*keys, TEMPLATE_HASH]


def _counts_old_pods(subject: Subject, constraint: Constraint) -> bool:
    """Return whether the rule applies to the constraint, and its selector matches the Pods of any revision."""
    selector = constraint.selector
    if selector.empty or not (subject.workload.surges if constraint.hard else subject.flag("soft")):
        return False
    if not REVISION_KEYS.isdisjoint((*constraint.match_label_keys, *selector.keys)):
        return False
    return selector.match(subject.workload.labels, subject.addable) is not Match.NO
