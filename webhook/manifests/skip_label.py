"""
The ValidatingAdmissionPolicy by which only chosen users and groups may exempt a namespace from evenkeel.

The API server evaluates it by itself, so it holds in every outage.  Whoever changes a namespace that has the label
already, or takes the label away, is not asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from webhook.manifests.configurations import NAME, OWN_LABELS, Manifest
from webhook.objects.names import SKIP_LABEL

SKIP_LABEL_NAME = f"{NAME}-skip-label"

_API_VERSION = "admissionregistration.k8s.io/v1"
_CEL_POLICY, _BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_ADVICE = "leave the label out, or ask one of them to set it"
_LABELLED = f'metadata.labels[{SKIP_LABEL}]: found "true"'
# In both, %s stands for the list of users, and then for that of groups.  They are no variables of the policy: before
# Kubernetes 1.36, kube-apiserver can crash when a policy with variables changes (kubernetes#135757).
EXPRESSION = "request.?userInfo.?username.orValue('') in %s || request.?userInfo.?groups.orValue([]).exists(g, g in %s)"
MESSAGE_EXPRESSION = (
    f"'{_LABELLED} from user \"' + request.?userInfo.?username.orValue('') + '\", wanted it only from '"
    f""" + (%s.map(u, 'user "' + u + '"') + %s.map(g, 'group "' + g + '"')).join(' or ') + '; {_ADVICE}'"""
)
# Labels can be changed through status and finalize as well.  A CEL step with `.?` does not fail on an absent field.
_SKIP_LABEL_SPEC: Manifest = {
    "failurePolicy": "Fail",
    "matchConstraints": {
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["namespaces", "namespaces/*"],
                "operations": ["CREATE", "UPDATE"],
            }
        ],
        "objectSelector": {"matchLabels": {SKIP_LABEL: "true"}},  # The new object has it, or the old one.
    },
    "matchConditions": [
        {
            "name": "newly-set",
            "expression": f"oldObject == null || oldObject.?metadata.?labels[?'{SKIP_LABEL}'].orValue('') != 'true'",
        }
    ],
}
VALIDATION: Manifest = {
    "reason": "Forbidden",
    # Where the names are longer than the 5 KiB that the API server allows.
    "message": f"{_LABELLED}, wanted it only from those whom {_CEL_POLICY} {SKIP_LABEL_NAME} names; {_ADVICE}",
}


def skip_label_policy(users: Iterable[str], groups: Iterable[str]) -> tuple[Manifest, ...]:
    """Return the policy and its binding: only these users, and members of these groups, may set the skip label."""
    lists = _strings(users), _strings(groups)
    chosen = {"expression": EXPRESSION % lists, "messageExpression": MESSAGE_EXPRESSION % lists}
    metadata = {"name": SKIP_LABEL_NAME, "labels": OWN_LABELS}
    bound = {"policyName": SKIP_LABEL_NAME, "validationActions": ["Deny"]}
    return (
        {
            "apiVersion": _API_VERSION,
            "kind": _CEL_POLICY,
            "metadata": metadata,
            "spec": _SKIP_LABEL_SPEC | {"validations": [VALIDATION | chosen]},
        },
        {"apiVersion": _API_VERSION, "kind": _BINDING, "metadata": metadata, "spec": bound},
    )


def _strings(names: Iterable[str]) -> str:
    """Return a list in CEL, for which printable text in JSON will do."""
    return json.dumps([*names], ensure_ascii=False, separators=(",", ":"))
