"""
What a Job does when one of its Pods is deleted: make another one, now or once it is gone, or fail.

    JSON of a Job ──podReplacementPolicy, podFailurePolicy, backoffLimit, failures so far──> JobReplacement
"""

from __future__ import annotations

from typing import NamedTuple

from webhook.objects.fields import Raw, as_list, as_mapping, integer, texts_at

USUAL_BACKOFF_LIMIT = 6
DISRUPTION = "DisruptionTarget"  # The condition of Pods that are evicted, preempted, or lost with their node.


class JobReplacement(NamedTuple):
    """
    Whether a Job makes another Pod only once the one before is gone, and for how many Pods that are deleted before it
    fails: None if it never does.
    """

    waits: bool
    retries: int | None


def read_job_replacement(job: Raw) -> JobReplacement:
    """
    Return what a Job does with Pods that are deleted.

    upstream: job_controller.go:isPodFailed, onlyReplaceFailedPods, Controller.syncJob (v1.37)
    """
    spec = as_mapping(job.get("spec"))
    (policy,) = texts_at(job, "spec.podReplacementPolicy")
    action = _action(as_mapping(spec.get("podFailurePolicy")))
    waits = policy == "Failed" if policy else "podFailurePolicy" in spec
    per_index, limit = integer(spec.get("backoffLimitPerIndex")), integer(spec.get("backoffLimit"))
    if action == "Ignore":
        return JobReplacement(waits, None)
    if action in ("FailJob", "FailIndex") or per_index == 0:
        return JobReplacement(waits, 0)
    if limit is None and per_index is not None:
        return JobReplacement(waits, None)
    failed = integer(as_mapping(job.get("status")).get("failed")) or 0
    return JobReplacement(waits, max(0, (USUAL_BACKOFF_LIMIT if limit is None else limit) - failed))


def _action(policy: Raw) -> str:
    """
    Return what the policy does with a Pod that is disrupted, "" if no rule matches.

    upstream: pod_failure_policy.go:matchPodFailurePolicy (v1.37)
    """
    for rule in map(as_mapping, as_list(policy.get("rules"))):
        for condition in map(as_mapping, as_list(rule.get("onPodConditions"))):
            if (condition.get("type"), condition.get("status", "True")) == (DISRUPTION, "True"):
                return texts_at(rule, "action")[0]
    return ""
