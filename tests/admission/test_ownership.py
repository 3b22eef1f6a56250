"""What is owned is only audited, for a denial reaches nobody; an enforced rule asks who sends it."""

from __future__ import annotations

import pytest

from tests.support.build import (
    constraint,
    pod,
    workload,
)
from tests.support.review import Case, at_validate, deployment, validate
from webhook.admission import ownership
from webhook.kubernetes.references import Owner

EMPTY = constraint(labelSelector={})
ENFORCED = "{rules: {empty-selector: {severity: error, enforced: true}}}"
RS = workload("ReplicaSet", EMPTY, uid="u1")
OF_RS, OF_FAKE = pod(EMPTY, owner="ReplicaSet/web"), pod(EMPTY, owner="ReplicaSet/made-up")
BY_HAND = workload(
    "Job", EMPTY, name="x", owner="CronJob/nightly", annotations={"cronjob.kubernetes.io/instantiate": "manual"}
)
ACCOUNTS, MANAGER = ownership.ACCOUNTS, ownership.MANAGER


def by(user):
    """The field of a request that this user made."""
    return {"userInfo": {"username": user}}


CASES = [
    Case("what is owned is only audited", at_validate(OF_RS)),
    Case("even under an owner of any kind", at_validate(deployment(EMPTY, owner="ConfigMap/x"))),
    Case("unless the policy says so", at_validate(OF_RS, rules="{ownedObjects: Deny}"), denied=("empty-selector",)),
    Case(
        "for an enforced rule its controller must send it",
        at_validate(OF_RS, rules=ENFORCED, **by(f"{ACCOUNTS}replicaset-controller")),
    ),
    Case(
        "or kube-controller-manager itself",
        at_validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED, **by(MANAGER)),
    ),
    Case(
        "an owner that exists does not help who sends a Pod by hand",
        at_validate(OF_RS, rules=ENFORCED, objects=[RS], **by("dev")),
        denied=("empty-selector",),
    ),
    Case("nor does a made-up owner", at_validate(OF_FAKE, rules=ENFORCED), denied=("empty-selector",)),
    Case(
        "nor an owner that no built-in chain has",
        at_validate(deployment(EMPTY, owner="ConfigMap/x"), rules=ENFORCED, **by(MANAGER)),
        denied=("empty-selector",),
    ),
    Case(
        "the controller of another kind is not believed",
        at_validate(OF_RS, rules=ENFORCED, **by(f"{ACCOUNTS}statefulset-controller")),
        denied=("empty-selector",),
    ),
    Case(
        "nor one that is only called like it",
        at_validate(OF_RS, rules=ENFORCED, **by("system:serviceaccount:shop:replicaset-controller")),
        denied=("empty-selector",),
    ),
    Case("a Job that a person makes of a CronJob is as those of the CronJob", at_validate(BY_HAND, **by("dev"))),
    Case("which an enforced rule denies", at_validate(BY_HAND, rules=ENFORCED, **by("dev")), ("empty-selector",)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_owned(case):
    case.check()


@pytest.mark.parametrize("rules", [ENFORCED, "{ownedObjects: Deny}"], ids=["enforced", "of all that is owned"])
def test_a_denial_names_the_owner_since_there_the_error_is(rules):
    """`kubectl create job x --from=cronjob/nightly`: nobody could mend the Job."""
    status = validate(BY_HAND, rules=rules, **by("dev")).status

    assert status["message"].endswith(
        "; change its owner, CronJob nightly: write labelSelector: {matchLabels: {app: web}} (evenkeel empty-selector)"
    )


def test_without_an_owner_it_names_none():
    assert "its owner" not in validate(pod(EMPTY)).status["message"]


def test_the_accounts_of_controllers():
    """As kube-controller-manager names them: `kubectl get serviceaccounts -n kube-system`."""
    assert ownership.CONTROLLERS == {
        "system:kube-controller-manager",
        "system:serviceaccount:kube-system:replication-controller",
        "system:serviceaccount:kube-system:replicaset-controller",
        "system:serviceaccount:kube-system:statefulset-controller",
        "system:serviceaccount:kube-system:daemon-set-controller",
        "system:serviceaccount:kube-system:job-controller",
        "system:serviceaccount:kube-system:deployment-controller",
        "system:serviceaccount:kube-system:cronjob-controller",
    }


@pytest.mark.parametrize(
    ("kind", "owner", "account"),
    [
        ("Pod", Owner("apps/v1", "ReplicaSet", "web"), "replicaset-controller"),
        ("ReplicaSet", Owner("apps/v1", "Deployment", "web"), "deployment-controller"),
        ("Pod", Owner("apps/v1", "Deployment", "web"), None),
        ("Pod", Owner("apps.kruise.io/v1alpha1", "CloneSet", "web"), None),
    ],
)
def test_the_account_of_a_controller(kind, owner, account):
    assert (ACCOUNTS + account if account else None) == ownership.account_of(kind, owner)
