"""The RBAC that `--cluster live` needs, and nothing else: for the webhook, and for people who run commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from webhook.cluster.listed_resources import LIST_VERBS, LISTED_RESOURCES, custom
from webhook.cluster.watched_resources import WATCH_VERBS, WATCHED, Watched
from webhook.kubernetes.fields import as_list
from webhook.manifests.configurations import MUTATING_NAME, NAME, OWN_LABELS, Manifest
from webhook.policy.policy import Policy

RBAC = "rbac.authorization.k8s.io"
VIEWER = f"{NAME}-viewer"
REGISTRATION = "admissionregistration.k8s.io"
READ, UPDATE_VERBS = ("get",), ("get", "update")


def rbac(namespace: str, name: str, secret: tuple[str, str] | None = None) -> tuple[Manifest, ...]:
    """
    A ServiceAccount of that namespace and name, its ClusterRole, and their binding.

    It may read the webhook configurations, to say what they do not send.  With `secret`, the namespace and name in
    `--tls-secret`, there is also that Secret, empty, with the rights to renew the certificates in it and to write their
    CA into the webhook configurations.
    """
    account: Manifest = {"namespace": namespace, "name": name}
    metadata: Manifest = {"name": NAME, "labels": OWN_LABELS}
    granted = [*rules(), *_configuration_rules(READ if secret is None else UPDATE_VERBS)]
    service_account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**account, "labels": OWN_LABELS}}
    return (
        service_account,
        *_bound("ClusterRole", metadata, granted, account),
        *(_renewing(account, *secret) if secret else ()),
    )


def _renewing(account: Manifest, namespace: str, name: str) -> Iterator[Manifest]:
    """Yield a Secret without data, so that applying it again changes none, and a Role for it."""
    metadata: Manifest = {"namespace": namespace, "name": name, "labels": OWN_LABELS}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
    # To make it again if somebody deletes it; RBAC cannot limit creation to a name.
    create: Manifest = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
    update = _named_rule("", "secrets", name, UPDATE_VERBS)
    yield from _bound("Role", {**metadata, "name": NAME}, [update, create], account)


def _configuration_rules(verbs: Sequence[str]) -> Iterator[Manifest]:
    """Yield the rules that let evenkeel compare what is sent with the policy, and write caBundle."""
    yield _named_rule(REGISTRATION, "mutatingwebhookconfigurations", MUTATING_NAME, verbs)
    yield _named_rule(REGISTRATION, "validatingwebhookconfigurations", NAME, verbs)


def _named_rule(group: str, resource: str, name: str, verbs: Sequence[str]) -> Manifest:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": list(verbs)}


def _bound(kind: str, metadata: Manifest, rules: list[Manifest], account: Manifest) -> tuple[Manifest, Manifest]:
    """A role, and its binding to a ServiceAccount."""
    role: Manifest = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}
    ref = {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]}
    binding = {"roleRef": ref, "subjects": [{"kind": "ServiceAccount", **account}]}
    return {**role, "rules": rules}, {**role, "kind": f"{kind}Binding", **binding}


def viewer(policy: Policy) -> Manifest:
    """The ClusterRole for people who run commands on a live cluster; whoever installs evenkeel binds it."""
    metadata = {"name": VIEWER, "labels": OWN_LABELS}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": viewer_rules(policy)}


def rules() -> list[Manifest]:
    """The rules of the webhook's ClusterRole, one for each API group."""
    return _rules(WATCHED, WATCH_VERBS)


def viewer_rules(policy: Policy) -> list[Manifest]:
    """The rules of the ClusterRole for people; they include the custom resources that the policy has."""
    return _rules((*LISTED_RESOURCES, *chain.from_iterable(custom(policy.kinds).values())), LIST_VERBS)


def new_resources(rules: Iterable[Manifest], before: Iterable[Manifest]) -> tuple[str, ...]:
    """The resources, such as rollouts.argoproj.io, that have rights in these RBAC rules, and none in those before."""
    granted = {resource for rule in before for resource in _resources(rule)}
    return tuple(dict.fromkeys(new for rule in rules for new in _resources(rule) if new not in granted))


def _resources(rule: Manifest) -> Iterator[str]:
    """Yield the resources of a rule, each with its API group."""
    for group in as_list(rule["apiGroups"]):
        yield from (f"{resource}.{group}".rstrip(".") for resource in as_list(rule["resources"]))


def _rules(kinds: Iterable[Watched], verbs: Sequence[str]) -> list[Manifest]:
    groups: dict[str, dict[str, None]] = {}
    for kind in kinds:
        groups.setdefault(kind.api_group, {})[kind.resource] = None
    return [{"apiGroups": [group], "resources": [*names], "verbs": list(verbs)} for group, names in groups.items()]
