"""Whether an object belongs to a controller, so that its denial would reach nobody."""

from __future__ import annotations

from typing import NamedTuple

from webhook.admission.request import AdmissionRequest
from webhook.admission.terms import Terms
from webhook.objects.kinds import APPS, BATCH, CORE
from webhook.objects.workload import Workload

# Which built-in controllers create which kind.
CHAIN = {
    "Pod": {
        (CORE, "ReplicationController"),
        (APPS, "ReplicaSet"),
        (APPS, "StatefulSet"),
        (APPS, "DaemonSet"),
        (BATCH, "Job"),
    },
    "ReplicaSet": {(APPS, "Deployment")},
    "Job": {(BATCH, "CronJob")},
}
MANAGER = "system:kube-controller-manager"
MANAGERS_ACCOUNTS = "system:serviceaccount:kube-system:"


class Audited(NamedTuple):
    """Whether findings go to the audit log only: those of rules that are not enforced, and those of enforced rules."""

    others: bool
    enforced: bool


NEVER = Audited(False, False)


def audited(workload: Workload, request: AdmissionRequest, terms: Terms) -> Audited:
    """
    What becomes of findings on a workload that has an owner.

    They go to the audit log only, for a denial reaches nobody; those of an enforced rule, only if the owner is genuine.
    """
    if terms.policy.owned_objects == "Deny":
        return NEVER
    return Audited(True, _owner_is_genuine(workload, request, terms))


def _owner_is_genuine(workload: Workload, request: AdmissionRequest, terms: Terms) -> bool:
    """
    Whether the owner is what it seems: owner references are the user's to write.

    It must be the built-in controller of that chain, exist, and select these labels: it would let go of others.  Where
    the snapshot does not hold its kind, the request must come from kube-controller-manager.
    """
    owner = workload.owner
    if owner is None or (owner.api_version, owner.kind) not in CHAIN.get(workload.kind.kind, ()):
        return False
    controller = terms.snapshot.controller(workload.namespace, owner) if terms.snapshot is not None else None
    if controller is not None and owner.uid in ("", controller.uid):
        return controller.selector is None or controller.selector.matches(workload.labels)
    account = request.user.removeprefix(MANAGERS_ACCOUNTS)
    return request.user == MANAGER or (account != request.user and account.endswith("-controller"))
