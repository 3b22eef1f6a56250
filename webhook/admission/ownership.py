"""Whether an object belongs to a controller, so that its denial would reach nobody."""

from __future__ import annotations

from collections.abc import Callable

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


def audited(workload: Workload, request: AdmissionRequest, terms: Terms) -> Callable[[bool], bool]:
    """
    Whether a finding goes to the audit log only, as a function of whether its rule is enforced.

    A finding on what a controller owns does, for its denial reaches nobody.  A finding of an enforced rule does only
    where the owner is genuine.
    """
    if workload.owner is None or terms.policy.owned_objects == "Deny":
        return lambda enforced: False
    genuine = _owner_is_genuine(workload, request, terms)
    return lambda enforced: genuine or not enforced


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
