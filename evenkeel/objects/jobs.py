"""
How many Pods a Job wants, and what it does when one is deleted: make another one, now or once it is gone, or fail.

    JSON of a Job ──parallelism, completions, suspend, status──> JobProgress
    JSON of a Job ──podReplacementPolicy, podFailurePolicy, backoffLimit, failures so far──> JobReplacement
"""

from __future__ import annotations

from typing import NamedTuple

from webhook.kubernetes.fields import Raw, as_list, as_mapping, integer, texts_at

USUAL_BACKOFF_LIMIT = 6
FINISHING = frozenset({"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"})  # Conditions of a Job.
DISRUPTION = "DisruptionTarget"  # The condition of a Pod that is evicted, preempted, or lost with its node.


class JobReplacement(NamedTuple):
    """What a Job does when Pods of it are deleted."""

    waits: bool  # It makes another Pod only once the one before is gone.
    retries: int | None  # How many more Pods may be deleted before it fails; None: any number.


class JobProgress(NamedTuple):
    """How far a Job is."""

    parallelism: int
    completions: int | None  # None: it makes no more Pods once one has succeeded.
    succeeded: int
    suspended: bool
    finished: bool

    def wanted(self, active: int) -> int:
        """
        Return how many Pods should be active, if `active` are now.

        upstream: job_controller.go:Controller.manageJob (v1.37)
        """
        if self.suspended or self.finished:
            return 0
        if self.completions is None:
            return active if self.succeeded else self.parallelism
        return max(0, min(self.parallelism, self.completions - self.succeeded))


def read_job_progress(job: Raw) -> JobProgress:
    """
    Read how far a Job is; without parallelism and completions, it has one Pod.

    upstream: apis/batch/v1/defaults.go:SetDefaults_Job (v1.37)
    """
    spec, status = as_mapping(job.get("spec")), as_mapping(job.get("status"))
    parallelism, completions = integer(spec.get("parallelism")), integer(spec.get("completions"))
    conditions = map(as_mapping, as_list(status.get("conditions")))
    return JobProgress(
        1 if parallelism is None else max(0, parallelism),
        1 if parallelism is None and completions is None else completions,
        integer(status.get("succeeded")) or 0,
        spec.get("suspend") is True,
        any(condition.get("type") in FINISHING and condition.get("status") == "True" for condition in conditions),
    )


def read_job_replacement(job: Raw) -> JobReplacement:
    """
    Read what a Job does when Pods of it are deleted.

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
    Return what a podFailurePolicy does with a Pod that is disrupted; "" if no rule matches.

    upstream: pod_failure_policy.go:matchPodFailurePolicy (v1.37)
    """
    for rule in map(as_mapping, as_list(policy.get("rules"))):
        for condition in map(as_mapping, as_list(rule.get("onPodConditions"))):
            if (condition.get("type"), condition.get("status", "True")) == (DISRUPTION, "True"):
                return texts_at(rule, "action")[0]
    return ""
