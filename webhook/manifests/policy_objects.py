"""A ValidatingAdmissionPolicy and its binding, as objects."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.manifests.configurations import OWN_LABELS, Manifest
from webhook.policy.policy import DENY

CEL_POLICY, CEL_BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
_API_VERSION = "admissionregistration.k8s.io/v1"


def matching(**fields: object) -> Manifest:
    """What a policy or a binding matches, with all that the API server would fill in, as in an entry of a webhook."""
    return {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, **fields}


def deletion(names: Iterable[str]) -> str:
    """The command that deletes policies and their bindings."""
    return f"kubectl delete {CEL_BINDING.lower()},{CEL_POLICY.lower()} {' '.join(names)} --ignore-not-found"


def policy_and_binding(name: str, spec: Manifest, action: str = DENY, **further: object) -> tuple[Manifest, Manifest]:
    """The policy, and a binding of the same name with an action; `further`: more fields of the binding."""
    metadata = {"name": name, "labels": OWN_LABELS}
    bound = {"policyName": name, "validationActions": [action], **further}
    return (
        {"apiVersion": _API_VERSION, "kind": CEL_POLICY, "metadata": metadata, "spec": spec},
        {"apiVersion": _API_VERSION, "kind": CEL_BINDING, "metadata": metadata, "spec": bound},
    )
