"""
What becomes of an object that is applied: the calls that kube-apiserver makes, in its order, without a cluster.

    object ──/mutate──> patched ──PrepareForCreate──> stored
                           └─────/validate──────> allowed or denied
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.admission.review import CREATE, MUTATE, UPDATE, VALIDATE, Decision, review
from webhook.manifests.configurations import SYSTEM_NAMESPACES
from webhook.objects.fields import FieldPath, as_mapping, children, value_at, with_value
from webhook.objects.kinds import FIELD, KINDS, find_kinds
from webhook.objects.labels import labels_of
from webhook.objects.workload import parse_workloads
from webhook.policy.policy import Policy
from webhook.scheduler.constraint import merge
from webhook.scheduler.features import Features
from webhook.scheduler.snapshot import Snapshot
from webhook.scheduler.validation import validate

CONSTRAINTS: FieldPath = ("spec", FIELD)


@dataclass(frozen=True, slots=True)
class Applied:
    """
    Both answers, and the object as it would be stored if it is allowed; `denied_by` is a phase or None.

    `webhook` is the entry of the webhook configuration that sends such an object, "" if none does; it is `unsent` where
    its namespace keeps even that one from sending it.
    """

    obj: Mapping[str, object]
    updated: bool
    mutate: Decision
    validate: Decision
    stored: Mapping[str, object]
    refused_by_api_server: bool
    passed_over: bool
    webhook: str
    unsent: bool = False

    @property
    def denied_by(self) -> str | None:
        if not self.mutate.allowed:
            return MUTATE
        return None if self.validate.allowed else VALIDATE

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of both answers; /validate is not asked after /mutate has denied."""
        return self.mutate.warnings if self.denied_by == MUTATE else (*self.mutate.warnings, *self.validate.warnings)

    @property
    def answer(self) -> Decision:
        """The answer that counts: the first that denies, or else that of /validate."""
        return self.mutate if self.denied_by == MUTATE else self.validate


def dry_run(
    obj: Mapping[str, object],
    old: Mapping[str, object] | None,
    policy: Policy,
    snapshot: Snapshot | None,
    features: Features,
    namespace: str = "default",
) -> Applied:
    """Apply `obj`, over `old` if that is given; `namespace` is where it goes if it does not say."""
    kinds = find_kinds(obj, policy.kinds)
    webhook = kinds[0].webhook if kinds else ""
    request = request_of(obj, old, namespace)
    if kinds and in_system_namespace(request):
        refused = _refused_by_api_server(obj, features)
        stored = _stored(obj, features)
        return Applied(obj, old is not None, Decision(), Decision(), stored, refused, False, webhook, unsent=True)
    mutate = review(request, MUTATE, policy, snapshot, features)
    after = patched(obj, mutate.patch)
    validate = review(request_of(after, old, namespace), VALIDATE, policy, snapshot, features)
    refused = validate.error is None and _refused_by_api_server(after, features)
    passed_over = not kinds and mentions_constraints(obj)
    return Applied(obj, old is not None, mutate, validate, _stored(after, features), refused, passed_over, webhook)


def mentions_constraints(obj: object) -> bool:
    """Whether there are constraints anywhere in an object; a schema that describes them has none."""
    level = [obj]
    while level:
        if any(isinstance(one, dict) and one.get(FIELD) and isinstance(one[FIELD], list) for one in level):
            return True
        level = [child for one in level for child in children(one)]
    return False


def _refused_by_api_server(obj: Mapping[str, object], features: Features) -> bool:
    """Whether kube-apiserver's own validation stops a built-in kind before /validate is asked."""
    kinds = (kind for kind in KINDS if kind.built_in)
    return any(
        validate(one.raw_constraints, one.labels, one.path, merged=one.stored or not one.is_pod, features=features)
        for one in parse_workloads(obj, kinds)
    )


def request_of(obj: Mapping[str, object], old: Mapping[str, object] | None, namespace: str) -> dict[str, object]:
    """The request that kube-apiserver makes of `obj`; `namespace` is where it goes if it does not say."""
    metadata = as_mapping(obj.get("metadata"))
    api_version = obj.get("apiVersion")
    group, _, version = (api_version if isinstance(api_version, str) else "").rpartition("/")
    return {
        "kind": {"group": group, "version": version, "kind": obj.get("kind")},
        "name": metadata.get("name"),
        "namespace": metadata.get("namespace") or namespace,
        "operation": CREATE if old is None else UPDATE,
        "object": obj,
        "oldObject": old,
    }


def in_system_namespace(request: Mapping[str, object]) -> bool:
    """Whether kube-apiserver never makes this request: the webhook configurations leave its namespace out."""
    return request["namespace"] in SYSTEM_NAMESPACES


def patched(obj: Mapping[str, object], operations: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    """`obj` with what `add` operations on members of objects put there."""
    for operation in operations:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in str(operation["path"]).split("/")[1:]]
        obj = as_mapping(with_value(obj, tuple(parts), operation["value"]))
    return obj


def _stored(obj: Mapping[str, object], features: Features) -> Mapping[str, object]:
    """What PrepareForCreate makes of a Pod that is not stored yet; anything else stays as it is."""
    metadata, constraints = as_mapping(obj.get("metadata")), value_at(obj, CONSTRAINTS)
    if (obj.get("apiVersion"), obj.get("kind")) != ("v1", "Pod") or metadata.get("uid") or constraints is None:
        return obj
    merged = merge(constraints, labels_of(metadata.get("labels")), features)
    return as_mapping(with_value(obj, CONSTRAINTS, merged))
