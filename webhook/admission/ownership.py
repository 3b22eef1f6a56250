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
    """Whether findings go only to the audit log, for enforced rules and for `others`."""

    others: bool
    enforced: bool


NEVER = Audited(False, False)


def audited(workload: Workload, request: AdmissionRequest, terms: Terms) -> Audited:
    """
    Whether findings on a workload with an owner are only audited.

    They are, because nobody sees the denial.  Findings of enforced rules are only if the owner is genuine.
    """
    if terms.policy.owned_objects == "Deny":
        return NEVER
    return Audited(True, _owner_is_genuine(workload, request, terms))


def _owner_is_genuine(workload: Workload, request: AdmissionRequest, terms: Terms) -> bool:
    """
    Whether the owner is genuine.  Any user can write an owner reference.

    It must be the built-in controller of that chain, exist, and select these labels; a controller releases Pods that
    it does not select.  If the snapshot does not hold its kind, the request must come from kube-controller-manager.
    """
    owner = workload.owner
    if owner is None or (owner.api_version, owner.kind) not in CHAIN.get(workload.kind.kind, ()):
        return False
    controller = terms.snapshot.controller(workload.namespace, owner) if terms.snapshot is not None else None
    if controller is not None and owner.uid in ("", controller.uid):
        return controller.selector is None or controller.selector.matches(workload.labels)
    account = request.user.removeprefix(MANAGERS_ACCOUNTS)
    return request.user == MANAGER or (account != request.user and account.endswith("-controller"))
