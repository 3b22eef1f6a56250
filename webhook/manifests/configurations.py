"""
The webhook configurations that a policy needs: what the API server sends here, and nothing else.

    MutatingWebhookConfiguration zz-evenkeel   Pods to be given defaults; with earlyAnswer, what validation will deny
    ValidatingWebhookConfiguration evenkeel    one entry for the built-in kinds of each shape, one for each other kind
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from webhook.admission.request import CREATE, MUTATE, UPDATE, VALIDATE
from webhook.manifests.conditions import NOT_OWNED, TO_DEFAULT, Condition, changed, has_constraints
from webhook.objects.fields import as_list, as_mapping
from webhook.objects.kinds import TEMPLATE, Kind, find_kinds
from webhook.objects.names import SKIP_LABEL
from webhook.policy.policy import NAMESPACE_NAME, Policy

SYSTEM_NAMESPACES = ("kube-system", "kube-node-lease")  # nothing in them is ever sent to the webhook

NAME = "evenkeel"
MUTATING_NAME = f"zz-{NAME}"  # Configurations run in the order of their names, and defaults are for what others leave.
TIMEOUT_SECONDS = {MUTATE: 3, VALIDATE: 5}
IGNORE, FAIL = "Ignore", "Fail"
CONDITIONS_SINCE = 29  # The minor version that takes `.?` in them.
Object = dict[str, object]


@dataclass(frozen=True, slots=True)
class Target:
    """
    Where the API server finds the webhook: `service` is (namespace, name), or else there is a `url`.

    `failure_policy` says what becomes of built-in kinds while nobody answers; for other kinds it is always Ignore.
    Without `conditions` more is sent, and answered alike: for an API server before 1.29, which refuses them.
    """

    ca_bundle: bytes
    service: tuple[str, str] | None = None
    url: str = ""
    failure_policy: str = IGNORE
    conditions: bool = True

    def client_config(self, phase: str) -> Object:
        """How to reach the path of a phase."""
        bundle = {"caBundle": b64encode(self.ca_bundle).decode()} if self.ca_bundle else {}
        if self.service is None:
            return {"url": f"{self.url.rstrip('/')}/{phase}", **bundle}
        namespace, name = self.service
        return {"service": {"namespace": namespace, "name": name, "path": f"/{phase}", "port": 443}, **bundle}


def configurations(policy: Policy, target: Target) -> tuple[Object, ...]:
    """The configurations in force with `policy`; where there is nothing to mutate, only the validating one."""
    mutating = list(_mutating(policy, target))
    kinds = {"MutatingWebhookConfiguration": (MUTATING_NAME, mutating)} if mutating else {}
    kinds["ValidatingWebhookConfiguration"] = NAME, list(_judging(policy, target, VALIDATE))
    return tuple(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, "labels": {"app.kubernetes.io/name": NAME}},
            "webhooks": webhooks,
        }
        for kind, (name, webhooks) in kinds.items()
    )


def unsent(policy: Policy, entries: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """
    The entries that `policy` needs and `entries`, those in force, lack, or have with other rules or conditions.

    One without conditions sends all that one with them would, and is stored without the field.
    """
    found = {_sent(one) for one in entries}
    needed = (as_mapping(one) for made in configurations(policy, Target(b"")) for one in as_list(made["webhooks"]))
    return tuple(
        str(one["name"]) for one in needed if not {_sent(one), _sent({**one, "matchConditions": None})} & found
    )


def _sent(entry: Mapping[str, object]) -> str:
    """What decides which calls are made."""
    rules = [{key: one.get(key) for key in _RULE} for one in map(as_mapping, as_list(entry.get("rules")))]
    return json.dumps([entry.get("name"), rules, entry.get("matchConditions") or None], sort_keys=True)


def entry_name(kind: Kind) -> str:
    """The entry that sends objects of a kind, which kubectl names where one is denied; built-in kinds share theirs."""
    group = "" if kind.built_in else kind.api_version.rpartition("/")[0]
    shared = kind.built_in and kind.template == TEMPLATE
    return ".".join(filter(None, ("workloads" if shared else kind.resource, group, "evenkeel.dev")))


def _mutating(policy: Policy, target: Target) -> Iterator[Object]:
    if policy.defaults:
        pods = [kind for kind in policy.kinds if kind.template == ()]
        yield _webhook("defaults.evenkeel.dev", pods, target, MUTATE, [CREATE], TO_DEFAULT) | {
            "reinvocationPolicy": "IfNeeded"
        }
    if policy.early_answer:
        yield from _judging(policy, target, MUTATE)


def _judging(policy: Policy, target: Target, phase: str) -> Iterator[Object]:
    """One entry for each group of kinds, with conditions that are the same for all of it."""
    for name, kinds in _groups(policy).items():
        is_pod = kinds[0].template == ()
        conditions: list[Condition] = []
        if phase == MUTATE or not policy.judges_without_constraints:
            conditions.append(has_constraints(kinds))
        if not is_pod:
            conditions.append(changed(kinds))
        if phase == MUTATE:
            conditions.append(NOT_OWNED)
        yield _webhook(name, kinds, target, phase, [CREATE] if is_pod else [CREATE, UPDATE], conditions)


def _groups(policy: Policy) -> dict[str, list[Kind]]:
    """Kinds by the name of their entry: built-in ones of one shape share it, as do all places in another kind."""
    groups: dict[str, list[Kind]] = {}
    for kind in policy.kinds:
        if kind not in find_kinds({"apiVersion": kind.api_version, "kind": kind.kind}, policy.kinds):
            continue  # the policy describes it anew
        groups.setdefault(entry_name(kind), []).append(kind)
    return groups


def _webhook(
    name: str,
    kinds: Sequence[Kind],
    target: Target,
    phase: str,
    operations: Sequence[str],
    conditions: Iterable[Condition],
) -> Object:
    own = () if target.service is None else (target.service[0],)
    return {
        "name": name,
        "clientConfig": target.client_config(phase),
        "rules": [_rule(group, version, of, operations) for (group, version), of in _by_version(kinds).items()],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {"key": NAMESPACE_NAME, "operator": "NotIn", "values": [*SYSTEM_NAMESPACES, *own]},
                {"key": SKIP_LABEL, "operator": "NotIn", "values": ["true"]},
            ]
        },
        **({"matchConditions": list(conditions)} if target.conditions else {}),
        "failurePolicy": target.failure_policy if kinds[0].built_in else IGNORE,
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS[phase],
        "admissionReviewVersions": ["v1"],
    }


_RULE = ("apiGroups", "apiVersions", "resources", "operations", "scope")


def _rule(group: str, version: str, kinds: Sequence[Kind], operations: Sequence[str]) -> Mapping[str, object]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": sorted({kind.resource for kind in kinds}),
        "operations": list(operations),
        "scope": "Namespaced" if kinds[0].built_in else "*",
    }


def _by_version(kinds: Iterable[Kind]) -> dict[tuple[str, str], list[Kind]]:
    found: dict[tuple[str, str], list[Kind]] = {}
    for kind in kinds:
        found.setdefault(_group_version(kind), []).append(kind)
    return found


def _group_version(kind: Kind) -> tuple[str, str]:
    group, _, version = kind.api_version.rpartition("/")
    return group, version
