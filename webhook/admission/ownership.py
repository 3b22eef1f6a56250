"""Whether a finding denies an object.  What a controller creates is mostly only audited: nobody would see a denial."""

from __future__ import annotations

from typing import NamedTuple

from webhook.admission.terms import Terms
from webhook.findings import wording
from webhook.findings.evaluation import find_all
from webhook.findings.finding import TOLD, Finding, Severity
from webhook.kubernetes.kinds import APPS, BATCH, CORE
from webhook.kubernetes.references import Owner
from webhook.kubernetes.workload import Workload
from webhook.policy.policy import AUDIT, DENY, InForce

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
CONTROLLERS = frozenset(  # the users that a built-in controller may be
    {MANAGER, *(ACCOUNTS + account for owners in CHAIN.values() for account in owners.values())}
)

LONGEST_NAME = 253  # of an object, a group or a kind; anything longer is cut before it goes back


class Audited(NamedTuple):
    """Whether findings go only to the audit log.  The order lets `Finding.enforced` be the index."""

    others: bool  # findings of rules that are not enforced
    enforced: bool  # findings of enforced rules


NEVER = Audited(False, False)


class JudgedFinding(NamedTuple):
    """A finding, and its effect."""

    finding: Finding
    would_deny: bool  # it denies if the enforcement is Deny
    denies: bool
    warns: bool  # unless it denies
    announces: bool  # its notice, if it has one, is sent; also if the API server itself warns of the same


def judge_finding(
    finding: Finding, workload: Workload, rules: InForce, user: str, *, old: bool = False, excepted: Audited = NEVER
) -> JudgedFinding:
    """
    Return a finding on a workload that `user` sends, with its effect.

    It neither denies nor warns if it is only audited, because of the owner or by `excepted`.  If it denies, its fix
    names the owner: if a person makes a Job of a CronJob, the error is in the CronJob.
    """
    owner = workload.owner
    owned = audited(workload, user, rules.owned_objects) if owner is not None else NEVER
    only_audited = owned[finding.enforced] or excepted[finding.enforced]
    certain = finding.enforced or finding.rule not in rules.doubted
    enforcement = rules.of_enforced if finding.enforced else rules.enforcement
    would_deny = finding.severity is Severity.ERROR and certain and not old and not only_audited
    if would_deny and owner is not None:
        owner_name = wording.one_line(f"{owner.kind} {owner.name}", LONGEST_NAME)
        finding = finding._replace(fix=f"change its owner, {owner_name}: {finding.fix}")
    is_told = finding.severity in TOLD and not only_audited and enforcement != AUDIT
    warns = is_told and not finding.said_by_api_server
    denies = would_deny and enforcement == DENY
    # An error that the object had before will not deny an update of it either.
    will_deny = would_deny or finding.severity is not Severity.ERROR
    return JudgedFinding(finding, would_deny, denies, warns, announces=is_told and will_deny and not denies)


def denying_findings(workload: Workload, rules: InForce, user: str, terms: Terms) -> list[Finding]:
    """Return the findings that deny a new object that `user` sends."""
    if DENY not in (rules.enforcement, rules.of_enforced):
        return []
    settings = {rule: rules.settings[rule] for rule in rules.errors}
    findings = find_all(workload, settings, terms.snapshot, terms.features).findings
    judged_findings = [judge_finding(finding, workload, rules, user) for finding in findings]
    return [judged.finding for judged in judged_findings if judged.denies]


def audited(workload: Workload, user: str, owned_objects: str) -> Audited:
    """
    Return whether findings on a workload with an owner are only audited, if `user` sends it.

    They are, unless `ownedObjects` is Deny, because nobody sees a denial.  Those of enforced rules are only audited if
    the owner's controller sends the object.
    """
    if owned_objects == DENY:
        return NEVER
    return Audited(True, sent_by_controller(workload, user))


def sent_by_controller(workload: Workload, user: str) -> bool:
    """
    Return whether the built-in controller of the workload's owner sends it.

    Anyone can write an owner reference to evade a rule, also to an object made only for that: its controller adopts
    Pods that are written by hand.
    """
    if workload.owner is None:
        return False
    account = account_of(workload.kind.kind, workload.owner)
    return account is not None and user in (MANAGER, account)


def made_by_controller(workload: Workload) -> bool:
    """Return whether a built-in controller makes such objects for owners of the kind that the workload names."""
    return workload.owner is not None and account_of(workload.kind.kind, workload.owner) is not None


def account_of(kind: str, owner: Owner) -> str | None:
    """Return the user as whom a built-in controller creates such objects for this owner; None if none does."""
    account = CHAIN.get(kind, {}).get((owner.api_version, owner.kind))
    return None if account is None else ACCOUNTS + account
