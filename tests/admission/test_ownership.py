"""What is owned is only audited, for a denial reaches nobody; an enforced rule asks whether the owner is genuine."""

from __future__ import annotations

import pytest

from tests.support.build import (
    constraint,
    pod,
    workload,
)
from tests.support.review import Case, at_validate, deployment

EMPTY = constraint(labelSelector={})
ENFORCED = "{rules: {empty-selector: {severity: error, enforced: true}}}"
RS = workload("ReplicaSet", EMPTY, uid="u1")
OF_RS, OF_FAKE = pod(EMPTY, owner="ReplicaSet/web"), pod(EMPTY, owner="ReplicaSet/made-up")
MANAGER, ACCOUNTS = "system:kube-controller-manager", "system:serviceaccount:kube-system:"


def by(user):
    """The field of a request that this user made."""
    return {"userInfo": {"username": user}}


CASES = [
    Case("what is owned is only audited", at_validate(OF_RS)),
    Case("even under an owner of any kind", at_validate(deployment(EMPTY, owner="ConfigMap/x"))),
    Case("unless the policy says so", at_validate(OF_RS, rules="{ownedObjects: Deny}"), denied=("empty-selector",)),
    Case("for an enforced rule the owner must exist", at_validate(OF_RS, rules=ENFORCED, objects=[RS])),
    Case(
        "an owner that exists must select the labels",
        at_validate(pod(EMPTY, owner="ReplicaSet/web", labels={"app": "db"}), rules=ENFORCED, objects=[RS]),
        denied=("empty-selector",),
    ),
    Case(
        "a made-up owner does not help", at_validate(OF_FAKE, rules=ENFORCED, objects=[RS]), denied=("empty-selector",)
    ),
    Case(
        "nor does the name of a real one with another uid",
        at_validate(pod(EMPTY, owner="ReplicaSet/web"), rules=ENFORCED, objects=[workload("ReplicaSet", uid="u2")]),
        denied=("empty-selector",),
    ),
    Case(
        "nor an owner that no built-in chain has",
        at_validate(deployment(EMPTY, owner="ConfigMap/x"), rules=ENFORCED),
        denied=("empty-selector",),
    ),
    Case(
        "an owner that the snapshot cannot hold is believed to its controller",
        at_validate(
            workload("ReplicaSet", EMPTY, owner="Deployment/web"),
            rules=ENFORCED,
            **by(f"{ACCOUNTS}deployment-controller"),
        ),
    ),
    Case(
        "or to kube-controller-manager itself",
        at_validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED, **by(MANAGER)),
    ),
    Case(
        "not to any account beside it",
        at_validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED, **by(f"{ACCOUNTS}admin")),
        denied=("empty-selector",),
    ),
    Case(
        "nor to one that is only called like it",
        at_validate(
            workload("ReplicaSet", EMPTY, owner="Deployment/web"),
            rules=ENFORCED,
            **by("system:serviceaccount:shop:my-controller"),
        ),
        denied=("empty-selector",),
    ),
    Case(
        "and to nobody else",
        at_validate(workload("ReplicaSet", EMPTY, owner="Deployment/web"), rules=ENFORCED),
        denied=("empty-selector",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_owned(case):
    case.check()
