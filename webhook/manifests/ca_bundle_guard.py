"""
The ValidatingAdmissionPolicy that holds an account, which may update webhook configurations, to changing caBundle.

RBAC grants an update of the whole object or none: with new rules, a mutating webhook could change every object of the
cluster.  CEL cannot compare "everything except": each field is named, and one that a later Kubernetes adds is not held.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from webhook.manifests.configurations import NAME, Manifest
from webhook.manifests.policy_objects import matching, policy_and_binding

CA_BUNDLE_NAME = f"{NAME}-ca-bundle"
# All that clients may set in the metadata, in an entry and in its clientConfig, except caBundle.
METADATA = ("annotations", "finalizers", "labels", "ownerReferences")
ENTRY = (
    *("admissionReviewVersions", "failurePolicy", "matchConditions", "matchPolicy", "name", "namespaceSelector"),
    *("objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds"),
)
CLIENT = ("service", "url")
CONDITION, BY = "by-evenkeel", "request.?userInfo.?username.orValue('') == "  # Then the name of the user, as JSON.

_UNCHANGED_WANTED = "found a change, wanted none: this account may only change caBundle"


def _validations() -> Iterator[Manifest]:
    """Yield a validation for each field; a step with `.?` does not fail where it is absent."""
    for field in METADATA:
        yield _same(f"metadata.{field}", f"metadata.?{field}")
    for field in ENTRY:
        # dyn(…), because a validating webhook has no reinvocationPolicy: the type checker would warn.
        yield _same(f"webhooks[*].{field}", f"?webhooks.orValue([]).map(w, dyn(w).?{field})")
    for field in CLIENT:
        yield _same(f"webhooks[*].clientConfig.{field}", f"?webhooks.orValue([]).map(w, w.?clientConfig.?{field})")


def _same(field: str, steps: str) -> Manifest:
    message = f"{field}: {_UNCHANGED_WANTED}"
    return {"expression": f"object.{steps} == oldObject.{steps}", "reason": "Forbidden", "message": message}


def ca_bundle_policy(user: str) -> tuple[Manifest, ...]:
    """The policy and its binding: this user may change nothing in a webhook configuration but caBundle."""
    return policy_and_binding(CA_BUNDLE_NAME, _CA_BUNDLE_SPEC | _condition(user))


_CA_BUNDLE_SPEC: Manifest = {
    "failurePolicy": "Fail",
    "matchConstraints": matching(
        resourceRules=[
            {
                "apiGroups": ["admissionregistration.k8s.io"],
                "apiVersions": ["*"],
                "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
                "operations": ["UPDATE"],
                "scope": "*",
            }
        ],
    ),
    "validations": [*_validations()],
}


def _condition(user: str) -> Manifest:
    return {"matchConditions": [{"name": CONDITION, "expression": BY + json.dumps(user, ensure_ascii=False)}]}
