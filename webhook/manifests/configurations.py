"""
The webhook configurations that a policy needs; the API server makes no other calls.

    MutatingWebhookConfiguration zz-evenkeel   Pods to be given defaults; with earlyAnswer, what validation will deny
    ValidatingWebhookConfiguration evenkeel    one entry for the built-in kinds of each shape, one for each other kind
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from webhook.admission.request import CREATE, MUTATE, UPDATE, VALIDATE
from webhook.kubernetes.fields import as_list, as_mapping
from webhook.kubernetes.kinds import TEMPLATE_PATH, Kind, find_kinds
from webhook.kubernetes.names import NAMESPACE_NAME, SKIP_LABEL, SYSTEM_NAMESPACES
from webhook.kubernetes.reader import Reader
from webhook.manifests.conditions import (
    NOT_BY_CONTROLLER,
    NOT_OWNED,
    TO_DEFAULT,
    Condition,
    changed,
    has_constraints,
    not_all,
)
from webhook.policy.policy import Policy
from webhook.rules import RULES
from webhook.spread.constraint import read_selector
from webhook.spread.selectors import EVERYTHING, Requirement, Selector, as_expression, as_selector

# Excluded as well if failurePolicy is Fail: the webhook may need what runs in them before it can start.
NEEDED_NAMESPACES = (
    "argocd",
    "calico-system",
    "cert-manager",
    "cilium",
    "flux-system",
    "gatekeeper-system",
    "karpenter",
    "kube-flannel",
    "kyverno",
    "tigera-operator",
)

NAME = "evenkeel"
DEFAULTS = f"defaults.{NAME}.dev"
ENFORCED = "enforced"  # The first part of the names of the entries for what an enforced rule may deny.
OWN_LABELS = {"app.kubernetes.io/name": NAME}
INJECT_CA_FROM = "cert-manager.io/inject-ca-from"
MUTATING_NAME = f"zz-{NAME}"  # Configurations run in the order of their names; defaults must come last.
TIMEOUT_SECONDS = {MUTATE: 3, VALIDATE: 5}
IGNORE, FAIL = "Ignore", "Fail"
CONDITIONS_SINCE = 29  # The first minor version that accepts `.?` in them.
POLICIES_SINCE = 30  # The first minor version that serves ValidatingAdmissionPolicies as v1.
Manifest = dict[str, object]


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """How the API server reaches the webhook, and what it does without an answer."""

    ca_bundle: bytes  # Empty if somebody else writes it.
    service: tuple[str, str] | None = None  # Namespace and name; None if there is a `url`.
    url: str = ""
    failure_policy: str = IGNORE  # Of built-in kinds; for other kinds it is always Ignore.
    # Entries of their own, with Fail, for what an enforced rule may deny, unless a built-in controller sends it.  They
    # need `conditions`.
    enforced_fail: bool = False
    # False for an API server before 1.29, which refuses matchConditions: it makes more calls, with the same answers.
    conditions: bool = True
    inject_ca_from: tuple[str, str] | None = None  # Namespace and name of a Certificate: cert-manager writes the CA.
    excluded: tuple[str, ...] = ()  # Namespaces from which nothing is sent, besides those always excluded.

    def client_config(self, phase: str) -> Manifest:
        """The clientConfig for a phase, "mutate" or "validate"."""
        bundle = {"caBundle": b64encode(self.ca_bundle).decode()} if self.ca_bundle else {}
        if self.service is None:
            return {"url": f"{self.url.rstrip('/')}/{phase}", **bundle}
        namespace, name = self.service
        return {"service": {"namespace": namespace, "name": name, "path": f"/{phase}", "port": 443}, **bundle}


def configurations(policy: Policy, target: WebhookTarget) -> tuple[Manifest, ...]:
    """The configurations for `policy`; if there is nothing to mutate, only the validating one."""
    mutating = list(_mutating(policy, target))
    kinds = {"MutatingWebhookConfiguration": (MUTATING_NAME, mutating)} if mutating else {}
    kinds["ValidatingWebhookConfiguration"] = NAME, list(_judging(policy, target, VALIDATE))
    extra = {} if target.inject_ca_from is None else {"annotations": {INJECT_CA_FROM: "/".join(target.inject_ca_from)}}
    return tuple(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, "labels": OWN_LABELS, **extra},
            "webhooks": webhooks,
        }
        for kind, (name, webhooks) in kinds.items()
    )


def unsent(policy: Policy, entries: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """
    The names of the entries that `policy` needs and `entries` do not have, or have with other rules or conditions, or
    for fewer of the namespaces with defaults.

    An entry with fewer conditions is accepted: the API server then makes all the calls that are needed, and more.  What
    all entries require of namespaces is ignored: a target, a user or a cloud excludes these on purpose.
    """
    enforced_fail = any(str(entry.get("name")).startswith(f"{ENFORCED}.") for entry in entries)
    return _lacking(_entries(policy, enforced_fail), entries)


def new_entries(policy: Policy, before: Policy, enforced_fail: bool) -> tuple[str, ...]:
    """The names of the entries that `policy` needs and that those for the policy `before` lack."""
    return _lacking(_entries(policy, enforced_fail), _entries(before, enforced_fail))


def _entries(policy: Policy, enforced_fail: bool) -> list[Mapping[str, object]]:
    needed = configurations(policy, WebhookTarget(b"", enforced_fail=enforced_fail))
    return [as_mapping(entry) for configuration in needed for entry in as_list(configuration["webhooks"])]


def _lacking(needed: Iterable[Mapping[str, object]], entries: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    sent = [_calls(entry) for entry in entries]
    in_all = frozenset.intersection(*(calls.namespaces for calls in sent)) if sent else frozenset()
    specific = [calls._replace(namespaces=calls.namespaces - in_all) for calls in sent]
    return tuple(str(entry["name"]) for entry in needed if not any(_covers(calls, _calls(entry)) for calls in specific))


def ignoring(policy: Policy, entries: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """The names of the entries for built-in kinds that let all objects pass while no webhook answers."""
    failing = {str(entry.get("name")).removeprefix(f"{ENFORCED}.") for entry in entries if _fails(entry)}
    return tuple(name for name, kinds in _groups(policy).items() if kinds[0].built_in and name not in failing)


def _fails(entry: Mapping[str, object]) -> bool:
    return entry.get("failurePolicy", FAIL) == FAIL


class _Calls(NamedTuple):
    """What decides which calls the API server makes for an entry."""

    name: object
    rules: str  # As JSON.
    conditions: frozenset[str]  # Each as JSON.
    namespaces: frozenset[Requirement]


def _calls(entry: Mapping[str, object]) -> _Calls:
    rules = [{key: rule.get(key) for key in _RULE} for rule in map(as_mapping, as_list(entry.get("rules")))]
    conditions = [json.dumps(condition, sort_keys=True) for condition in as_list(entry.get("matchConditions"))]
    namespaces = as_selector(read_selector(Reader(), entry.get("namespaceSelector"), ()))
    return _Calls(
        entry.get("name"), json.dumps(rules, sort_keys=True), frozenset(conditions), frozenset(namespaces.requirements)
    )


def _covers(sent: _Calls, needed: _Calls) -> bool:
    """Whether what is sent has all calls that are needed; namespaces count for defaults only."""
    alike = sent[:2] == needed[:2] and sent.conditions <= needed.conditions
    needed_namespaces, sent_namespaces = Selector(tuple(needed.namespaces)), Selector(tuple(sent.namespaces))
    return alike and (sent.name != DEFAULTS or needed_namespaces.implies(sent_namespaces))


def _mutating(policy: Policy, target: WebhookTarget) -> Iterator[Manifest]:
    if policy.defaults:
        pods = [kind for kind in policy.kinds if kind.template == ()]
        # objectSelector stays empty: if a later webhook adds labels to a Pod, the API server would not call again.
        defaulting = _webhook(DEFAULTS, pods, target, MUTATE, [CREATE], TO_DEFAULT, policy.defaulted_namespaces)
        yield defaulting | {"reinvocationPolicy": "IfNeeded"}
    if policy.early_answer:
        yield from (entry | {"reinvocationPolicy": "Never"} for entry in _judging(policy, target, MUTATE))


def _judging(policy: Policy, target: WebhookTarget, phase: str) -> Iterator[Manifest]:
    """Yield an entry for each group of kinds, with the same conditions for all of them."""
    for name, kinds in _groups(policy).items():
        is_pod = kinds[0].template == ()
        of_operator = any(kind.operator is not None for kind in kinds)  # Send all: the chart does not know the paths.
        conditions: list[Condition] = []
        if not of_operator and (phase == MUTATE or not policy.judges_without_constraints):
            conditions.append(has_constraints(kinds))
        if not (is_pod or of_operator):
            conditions.append(changed(kinds))
        if phase == MUTATE:
            conditions.append(NOT_OWNED)
        operations = [CREATE] if is_pod else [CREATE, UPDATE]
        if target.enforced_fail and policy.enforced and phase == VALIDATE and kinds[0].built_in:
            enforced = _enforced_conditions(policy, kinds)
            failing = replace(target, failure_policy=FAIL)
            yield _webhook(f"{ENFORCED}.{name}", kinds, failing, phase, operations, [*conditions, *enforced])
            conditions.append(not_all(enforced))
        yield _webhook(name, kinds, target, phase, operations, conditions)


def _enforced_conditions(policy: Policy, kinds: Sequence[Kind]) -> list[Condition]:
    """The conditions that tell requests that enforced rules may deny from others that are judged."""
    return [*([has_constraints(kinds)] if _is_narrower(policy) else []), NOT_BY_CONTROLLER]


def _is_narrower(policy: Policy) -> bool:
    """Whether enforced rules deny only what has constraints, while other rules judge what has none."""
    return policy.judges_without_constraints and all(RULES[rule].needs_constraints for rule in policy.enforced)


def enforced_entry_name(policy: Policy, kind: Kind, constrained: bool) -> str | None:
    """
    The name of the entry that sends to /validate what a person applies, if the manifests have `enforced_fail`.

    `constrained`: the object has constraints.  None if that entry is the usual one, `entry_name`.
    """
    has_own_entry = bool(policy.enforced) and kind.built_in and (constrained or not _is_narrower(policy))
    return f"{ENFORCED}.{entry_name(kind)}" if has_own_entry else None


def _groups(policy: Policy) -> dict[str, list[Kind]]:
    """Group kinds by the name of their entry; all places in one kind share it."""
    groups: dict[str, list[Kind]] = {}
    for kind in policy.kinds:
        if kind not in find_kinds({"apiVersion": kind.api_version, "kind": kind.kind}, policy.kinds):
            continue  # The policy has another kind in its place.
        groups.setdefault(entry_name(kind), []).append(kind)
    return groups


def entry_name(kind: Kind) -> str:
    """
    The name of the webhook entry that sends objects of a kind; kubectl prints it when one is denied.

    Built-in kinds whose Pod template is at spec.template share `workloads.evenkeel.dev`, others have an entry of their
    own: `pods.evenkeel.dev`, `rollouts.argoproj.io.evenkeel.dev`.
    """
    group = "" if kind.built_in else kind.api_version.rpartition("/")[0]
    shared = kind.built_in and kind.template == TEMPLATE_PATH
    return ".".join(filter(None, ("workloads" if shared else kind.resource, group, "evenkeel.dev")))


def _webhook(
    name: str,
    kinds: Sequence[Kind],
    target: WebhookTarget,
    phase: str,
    operations: Sequence[str],
    conditions: Iterable[Condition],
    namespaces: Selector = EVERYTHING,
) -> Manifest:
    """The entry, with all that the API server would fill in: a GitOps tool then finds no difference."""
    own_namespace = () if target.service is None else (target.service[0],)
    written = [dict(condition) for condition in conditions]
    never_sent = dict.fromkeys((*SYSTEM_NAMESPACES, *own_namespace, *target.excluded))
    return {
        "name": name,
        "clientConfig": target.client_config(phase),
        "rules": resource_rules(kinds, operations),
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {"key": NAMESPACE_NAME, "operator": "NotIn", "values": [*never_sent]},
                {"key": SKIP_LABEL, "operator": "NotIn", "values": ["true"]},
                *map(as_expression, namespaces.requirements),
            ]
        },
        "objectSelector": {},
        **({"matchConditions": written} if target.conditions and written else {}),
        "failurePolicy": target.failure_policy if kinds[0].built_in else IGNORE,
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS[phase],
        "admissionReviewVersions": ["v1"],
    }


def resource_rules(kinds: Iterable[Kind], operations: Sequence[str]) -> list[Mapping[str, object]]:
    """The rules for operations on kinds, one for each version of an API group."""
    return [_rule(group, version, members, operations) for (group, version), members in _by_version(kinds).items()]


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
    by_version: dict[tuple[str, str], list[Kind]] = {}
    for kind in kinds:
        by_version.setdefault(_group_version(kind), []).append(kind)
    return by_version


def _group_version(kind: Kind) -> tuple[str, str]:
    group, _, version = kind.api_version.rpartition("/")
    return group, version
