"""Whether an object belongs to a controller, so that its denial would reach nobody."""

from __future__ import annotations

from typing import NamedTuple

from webhook.objects.kinds import APPS, BATCH, CORE
from webhook.objects.references import Owner
from webhook.objects.workload import Workload
from webhook.policy.policy import DENY

# Which built-in controllers create which kind: for each kind of owner, the account of its controller.
CHAIN = {
    "Pod": {
        (CORE, "ReplicationController"): "replication-controller",
        (APPS, "ReplicaSet"): "replicaset-controller",
        (APPS, "StatefulSet"): "statefulset-controller",
        (APPS, "DaemonSet"): "daemon-set-controller",
        (BATCH, "Job"): "job-controller",
    },
    "ReplicaSet": {(APPS, "Deployment"): "deployment-controller"},
    "Job": {(BATCH, "CronJob"): "cronjob-controller"},
}
MANAGER = "system:kube-controller-manager"  # Without --use-service-account-credentials, all controllers have this one.
ACCOUNTS = "system:serviceaccount:kube-system:"
CONTROLLERS = frozenset(  # The users that they may be.
    {MANAGER, *(ACCOUNTS + account for owners in CHAIN.values() for account in owners.values())}
)


class Audited(NamedTuple):
    """Whether findings go only to the audit log, for enforced rules and for `others`."""

    others: bool
    enforced: bool


NEVER = Audited(False, False)


def audited(workload: Workload, user: str, owned_objects: str) -> Audited:
    """
    Return whether findings on a workload with an owner are only audited, if `user` sends it.

    They are unless `ownedObjects` is Deny, because nobody sees the denial; those of enforced rules only if the owner's
    controller sends it.
    """
    if owned_objects == DENY:
        return NEVER
    return Audited(True, sent_by_controller(workload, user))


def sent_by_controller(workload: Workload, user: str) -> bool:
    """
    Return whether the built-in controller of the workload's owner sends it, and no one else with an owner reference.

    Any user can write an owner reference, also to an object of their own that never gets any Pods: its controller then
    adopts those that are written by hand.
    """
    if workload.owner is None:
        return False
    account = account_of(workload.kind.kind, workload.owner)
    return account is not None and user in (MANAGER, account)


def made_by_controller(workload: Workload) -> bool:
    """Return whether a built-in controller makes such objects for the workload's owner, as far as that is named."""
    return workload.owner is not None and account_of(workload.kind.kind, workload.owner) is not None


def account_of(kind: str, owner: Owner) -> str | None:
    """Return the user as whom a built-in controller creates such objects for this owner; None if none does."""
    account = CHAIN.get(kind, {}).get((owner.api_version, owner.kind))
    return None if account is None else ACCOUNTS + account
