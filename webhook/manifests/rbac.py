"""The rights that a live view of a cluster needs: to look at the kinds that are watched, and nothing else."""

from __future__ import annotations

from webhook.cluster.watched import VERBS, watched
from webhook.manifests.configurations import NAME, Object
from webhook.policy.policy import Policy

RBAC = "rbac.authorization.k8s.io"
LABELS = {"app.kubernetes.io/name": NAME}


def rbac(policy: Policy, namespace: str, name: str) -> tuple[Object, ...]:
    """A ServiceAccount, and the ClusterRole that it needs under `policy`."""
    api_version = f"{RBAC}/v1"
    return (
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"namespace": namespace, "name": name, "labels": LABELS},
        },
        {
            "apiVersion": api_version,
            "kind": "ClusterRole",
            "metadata": {"name": NAME, "labels": LABELS},
            "rules": rules(policy),
        },
        {
            "apiVersion": api_version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": NAME, "labels": LABELS},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
        },
    )


def rules(policy: Policy) -> list[Object]:
    """One rule for each API group."""
    groups: dict[str, list[str]] = {}
    for one in watched(policy.watch_pods):
        groups.setdefault(one.api_group, []).append(one.resource)
    return [{"apiGroups": [group], "resources": names, "verbs": list(VERBS)} for group, names in groups.items()]
