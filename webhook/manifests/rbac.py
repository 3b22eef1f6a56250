"""The RBAC that `--cluster live` needs, and nothing else: to watch for the webhook, to get and list for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from webhook.cluster import listed
from webhook.cluster.watched import VERBS, Watched, watched
from webhook.manifests.configurations import LABELS, NAME, Object
from webhook.policy.policy import Policy

RBAC = "rbac.authorization.k8s.io"
VIEWER = f"{NAME}-viewer"


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


def viewer(policy: Policy) -> Object:
    """The ClusterRole for people who run commands on a live cluster; whoever installs evenkeel binds it."""
    metadata = {"name": VIEWER, "labels": LABELS}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": viewer_rules(policy)}


def rules(policy: Policy) -> list[Object]:
    """The rules of the webhook's ClusterRole, one for each API group."""
    return _rules(watched(policy.watch_pods), VERBS)


def viewer_rules(policy: Policy) -> list[Object]:
    """The rules of the ClusterRole for people: also for the custom resources that the policy has."""
    custom = chain.from_iterable(listed.custom(policy.kinds).values())
    return _rules((*listed.LISTED, *custom), listed.VERBS)


def _rules(kinds: Iterable[Watched], verbs: Sequence[str]) -> list[Object]:
    groups: dict[str, dict[str, None]] = {}
    for kind in kinds:
        groups.setdefault(kind.api_group, {})[kind.resource] = None
    return [{"apiGroups": [group], "resources": [*names], "verbs": list(verbs)} for group, names in groups.items()]
