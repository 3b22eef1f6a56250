"""
What kube-scheduler has decided of a Pod, by what it has written into it.

    Pod before, Pod after ──nodeName, nominatedNodeName, the condition PodScheduled──> PodDecision
"""

from __future__ import annotations

from typing import NamedTuple

from webhook.objects.fields import Raw
from webhook.objects.pod_object import PodObject, priority_of, read_pod
from webhook.placement.gaps import used_by
from webhook.placement.subject import UNSCHEDULABLE_REASON
from webhook.scheduler.preemption import NO_NODE_FITS
from webhook.scheduler.profile import Profiles
from webhook.scheduler.volumes import has_volumes

# Why a decision is not compared.
OTHER_SCHEDULER, HAS_GATES, CREATED_BOUND = "another scheduler", "scheduling gates", "created with a nodeName"
EXTENDED, DEVICES_OR_GROUPS = "an extender or a plugin that is not computed", "dynamic resources or groups"
MANY_CANDIDATES, TAKEN_OVER = "preemption with more than 100 candidates", "another replica took over"
GAVE_UP, NOT_LISTED, TOO_MANY_ORDERS = "SchedulerError", "what may not be listed", "too many orders"
NOT_COMPARED = (
    *(OTHER_SCHEDULER, HAS_GATES, CREATED_BOUND, EXTENDED, DEVICES_OR_GROUPS),
    *(MANY_CANDIDATES, TAKEN_OVER, GAVE_UP, NOT_LISTED, TOO_MANY_ORDERS),
)


class PodDecision(NamedTuple):
    """
    What kube-scheduler has decided of a `pod`, which is as it was before.

    It chose `node`, or none: then `node` is "", and it gave a `reason` and a `message`.  The Pod came into the queue at
    the resourceVersion `queued`, 0 if it was there when the log began.  It was `tried` before if kube-scheduler had
    found no node for it once.  With `assumes`, it is not bound yet: its volumes or devices are prepared first.
    `passed_over` is why it is not compared, whatever the cluster is, "" if it is.
    """

    pod: Raw
    node: str
    reason: str = ""
    message: str = ""
    queued: int = 0
    tried: bool = False
    assumes: bool = False
    passed_over: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The namespace and the name of the Pod."""
        pod = read_pod(self.pod)
        return pod.namespace, pod.name

    @property
    def is_of_others(self) -> bool:
        """Whether it is none of this kube-scheduler's."""
        return self.passed_over in (OTHER_SCHEDULER, CREATED_BOUND, HAS_GATES)

    @property
    def priority(self) -> int:
        return priority_of(self.pod)


def read_decision(before: Raw, after: Raw, *, nominates_before_binding: bool = True) -> PodDecision | None:
    """
    Return what kube-scheduler has decided of a Pod without a node from one state of it to the next; None for nothing.

    It writes a message again only if it differs from the last one.  With `nominates_before_binding` it nominates the
    node that it has chosen before it prepares volumes there; where preemption nominates a node, it says so, too.

    upstream: schedule_one.go:Scheduler.handleSchedulingFailure, schedule_one.go:Scheduler.prepareForBindingCycle
    """
    was, now = read_pod(before), read_pod(after)
    if was.node:
        return None
    if now.node:
        return PodDecision(before, now.node)
    said = now.scheduled_condition
    if said.message and (said.reason, said.message) != was.scheduled_condition[:2]:
        return PodDecision(before, "", said.reason, said.message)
    if nominates_before_binding and now.nominated_node not in ("", was.nominated_node) and _prepares(now):
        return PodDecision(before, now.nominated_node, assumes=True)
    return None


def _prepares(pod: PodObject) -> bool:
    """Return whether volumes or devices may have to be prepared before the Pod is bound."""
    return has_volumes(pod.spec) or bool(pod.spec.get("resourceClaims"))


def reason_to_pass_over(decision: PodDecision, profiles: Profiles) -> str:
    """Return why a decision is not compared, whatever the cluster is; "" if it is."""
    pod = read_pod(decision.pod)
    profile = profiles.get(pod.scheduler_name)
    if profile is None:
        return OTHER_SCHEDULER
    if profile.unmodelled:
        return EXTENDED
    if any(used_by(pod.spec)):
        return DEVICES_OR_GROUPS
    return GAVE_UP if not decision.node and decision.reason != UNSCHEDULABLE_REASON else ""


def counted_reasons(message: str) -> tuple[int | None, dict[str, int]]:
    """
    Return the number of nodes of which kube-scheduler speaks, and for how many of them it gives each reason.

    None and nothing of a message that does not begin so.

    upstream: types.go:FitError.Error (v1.37)
    """
    head, _, listed = message.partition(". ")[0].rstrip(".").partition(f" {NO_NODE_FITS}")
    _, _, number = head.partition("0/")
    if not number.isdecimal():
        return None, {}
    counted = [part.partition(" ") for part in listed.split(", ")]
    return int(number), {reason: int(count) for count, _, reason in counted if count.isdecimal()}
