"""The RBAC that `--cluster live` needs: get, list and watch on the watched kinds, and nothing else."""

from __future__ import annotations

from webhook.cluster.watched import VERBS, watched
from webhook.manifests.configurations import LABELS, NAME, Object
from webhook.policy.policy import Policy

RBAC = "rbac.authorization.k8s.io"


def rbac(policy: Policy, namespace: str, name: str) -> tuple[Object, ...]:
    """A ServiceAccount of that namespace and name, the ClusterRole that `policy` needs, and their binding."""
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
    """The rules of the ClusterRole, one for each API group."""
    groups: dict[str, list[str]] = {}
    for kind in watched(policy.watch_pods):
        groups.setdefault(kind.api_group, []).append(kind.resource)
    return [{"apiGroups": [group], "resources": names, "verbs": list(VERBS)} for group, names in groups.items()]
