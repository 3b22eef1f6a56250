"""
The ValidatingAdmissionPolicy by which only chosen users and groups may exempt a namespace from evenkeel.

The API server evaluates it by itself, so it holds in every outage.  It does not judge changes of a namespace that has
the label already, nor who takes the label away.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.kubernetes.names import SKIP_LABEL
from webhook.manifests.cel import literal
from webhook.manifests.configurations import NAME, Manifest
from webhook.manifests.policy_objects import CEL_POLICY, matching, policy_and_binding

SKIP_LABEL_NAME = f"{NAME}-skip-label"

_ADVICE = "leave the label out, or ask one of them to set it"
_LABELLED = f'metadata.labels[{SKIP_LABEL}]: found "true"'
# In both, the first %s stands for the list of users, the second for that of groups.  They are not variables of the
# policy: before Kubernetes 1.36, kube-apiserver can crash when a policy with variables changes (kubernetes#135757).
EXPRESSION = "request.?userInfo.?username.orValue('') in %s || request.?userInfo.?groups.orValue([]).exists(g, g in %s)"
MESSAGE_EXPRESSION = (
    f"'{_LABELLED} from user \"' + request.?userInfo.?username.orValue('') + '\", wanted it only from '"
    f""" + (%s.map(u, 'user "' + u + '"') + %s.map(g, 'group "' + g + '"')).join(' or ') + '; {_ADVICE}'"""
)
# Labels can be changed through status and finalize as well.  A CEL step with `.?` does not fail on an absent field.
_SKIP_LABEL_SPEC: Manifest = {
    "failurePolicy": "Fail",
    "matchConstraints": matching(
        resourceRules=[
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["namespaces", "namespaces/*"],
                "operations": ["CREATE", "UPDATE"],
                "scope": "*",
            }
        ],
        objectSelector={"matchLabels": {SKIP_LABEL: "true"}},  # The new object has it, or the old one.
    ),
    "matchConditions": [
        {
            "name": "newly-set",
            "expression": f"oldObject == null || oldObject.?metadata.?labels[?'{SKIP_LABEL}'].orValue('') != 'true'",
        }
    ],
}
VALIDATION: Manifest = {
    "reason": "Forbidden",
    # For a messageExpression of more than the 5 KiB that the API server allows.
    "message": f"{_LABELLED}, wanted it only from those that {CEL_POLICY} {SKIP_LABEL_NAME} names; {_ADVICE}",
}


def skip_label_policy(users: Iterable[str], groups: Iterable[str]) -> tuple[Manifest, ...]:
    """The policy and its binding: only these users, and members of these groups, may set the skip label."""
    lists = literal([*users]), literal([*groups])
    expressions = {"expression": EXPRESSION % lists, "messageExpression": MESSAGE_EXPRESSION % lists}
    return policy_and_binding(SKIP_LABEL_NAME, _SKIP_LABEL_SPEC | {"validations": [VALIDATION | expressions]})
