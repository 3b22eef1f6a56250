"""
Applies an object as kube-apiserver would, without a cluster: the same calls in the same order.

    object ──PodTopologyLabels──/mutate──> patched ──PrepareForCreate──> stored ──/validate──> allowed or denied
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evenkeel.admit.api_server import BAD_REQUEST, Refusal, refusal, warnings
from webhook.admission.decision import ALLOWED, Decision, Outcome
from webhook.admission.request import MUTATE, VALIDATE, AdmissionRequest
from webhook.admission.review import review
from webhook.admission.terms import Terms
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_list, as_mapping, children, pointer_parts, value_at, with_value
from webhook.kubernetes.kinds import CONSTRAINTS_PATH, FIELD, Kind, find_kinds
from webhook.kubernetes.labels import labels_of
from webhook.kubernetes.names import TOPOLOGY_LABELS
from webhook.spread.constraint import FIELDS, IN_SELECTOR, as_stored

NEW_UID = "new"
# The field, also with an anchor of Kyverno, which says how a policy takes it.
_FIELD_NAMES = (FIELD, *(f"{anchor}({FIELD})" for anchor in ("", "+", "=", "^", "<", "X")))


class Applied(NamedTuple):
    """The answers of both phases to an object."""

    obj: Mapping[str, object]
    updated: bool
    mutate: Decision
    validate: Decision
    stored: Mapping[str, object]  # the object as it would be stored if it is allowed
    refusal: Refusal | None  # by kube-apiserver itself, before it asks /validate
    kind: Kind | None  # None for a kind that is not judged
    passed_over: bool = False  # the kind is not judged, but the object has constraints somewhere
    unsent: bool = False  # the API server sends nothing from this namespace
    unjudged: str = ""  # why nothing of the request is judged
    api_server_warnings: tuple[str, ...] = ()  # if it does not refuse the object

    @property
    def refused(self) -> bool:
        """Whether kube-apiserver itself refuses it: it decodes before /mutate, and validates after it."""
        return self.refusal is not None and (self.mutate.allowed or self.refusal.reason == BAD_REQUEST)

    @property
    def denied_by(self) -> str | None:
        """The phase of the webhook that denies it, None if neither does."""
        if not self.mutate.allowed:
            return MUTATE
        return None if self.validate.allowed else VALIDATE

    @property
    def warnings(self) -> tuple[str, ...]:
        """
        What kube-apiserver warns of, between both answers.

        It is silent, and /validate is not asked, after /mutate or kube-apiserver itself has denied.
        """
        if self.refused:
            return ()
        if self.denied_by == MUTATE:
            return self.mutate.warnings
        return (*self.mutate.warnings, *self.api_server_warnings, *self.validate.warnings)

    @property
    def outcome(self) -> Outcome:
        """What became of the object: given defaults, or what the answer that counts says."""
        is_defaulted = self.mutate.outcome in (Outcome.DEFAULTED, Outcome.WOULD_BE_DEFAULTED)
        return self.mutate.outcome if is_defaulted and self.validate.outcome is Outcome.ALLOWED else self.answer.outcome

    @property
    def answer(self) -> Decision:
        """The answer that counts: the first that denies, or else that of /validate."""
        return self.mutate if self.denied_by == MUTATE else self.validate


def dry_run(
    obj: Mapping[str, object],
    old: Mapping[str, object] | None,
    terms: Terms,
    *,
    namespace: str = "default",
    never_sent: Collection[str] = (),
    user: str = "",
) -> Applied:
    """
    Apply `obj`, over `old` if that is given; `namespace` is where it goes if it names none.

    `user` is the account of a controller, or "" for a person.  Nothing in the namespaces that are `never_sent` reaches
    the webhook.
    """
    terms = as_webhook_sees(terms)
    obj = obj if old is not None else _labelled(obj, terms)
    request = _request(obj, old, MUTATE, terms, namespace, user)
    kinds = find_kinds(obj, terms.policy.kinds)
    kind, updated = kinds[0] if kinds else None, old is not None
    if kind is not None and request.namespace in never_sent:
        stored, refused = _stored(obj, terms.features), refusal(obj, terms.features)
        said = warnings(stored, terms.features)
        return Applied(obj, updated, ALLOWED, ALLOWED, stored, refused, kind, unsent=True, api_server_warnings=said)
    mutate = review(request, terms)
    mutated = patched(obj, mutate.patch)
    stored, refused = _stored(mutated, terms.features), refusal(mutated, terms.features)
    request = _request(mutated if refused else stored, old, VALIDATE, terms, namespace, user)
    validate = review(request if refused or updated else _created(request), terms)
    refused = None if validate.outcome is Outcome.NOT_JUDGED else refused
    passed_over = kind is None and mentions_constraints(obj)
    said = warnings(stored, terms.features)
    return Applied(obj, updated, mutate, validate, stored, refused, kind, passed_over, api_server_warnings=said)


def _labelled(obj: Mapping[str, object], terms: Terms) -> Mapping[str, object]:
    """
    Return a new Pod with the zone and the region of the node that it names, whatever it says of them itself.

    upstream: podtopologylabels/admission.go:Plugin.Admit (v1.37)
    """
    name = value_at(obj, ("spec", "nodeName"))
    if not _is_pod(obj) or not name or not terms.features.topology_labels or terms.snapshot is None:
        return obj
    node_labels = next((node.labels for node in terms.snapshot.nodes if node.name == name), {})
    copied = {key: value for key, value in node_labels.items() if key in TOPOLOGY_LABELS}
    labels_path = ("metadata", "labels")
    if not copied:
        return obj
    return as_mapping(with_value(obj, labels_path, {**as_mapping(value_at(obj, labels_path)), **copied}))


def _is_pod(obj: Mapping[str, object]) -> bool:
    return (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Pod")


def as_webhook_sees(terms: Terms) -> Terms:
    """Return the terms with what the webhook knows of the cluster, which watches no Pods."""
    return terms if terms.snapshot is None else replace(terms, snapshot=terms.snapshot.without_pods())


def _request(
    obj: Mapping[str, object], old: Mapping[str, object] | None, phase: str, terms: Terms, namespace: str, user: str
) -> AdmissionRequest:
    return AdmissionRequest.of(obj, old, phase=phase, kinds=terms.policy.kinds, namespace=namespace, user=user)


def _created(request: AdmissionRequest) -> AdmissionRequest:
    """Return the request with the uid that kube-apiserver gives a new object, and without the status."""
    created = [
        workload if workload.uid else replace(workload, uid=NEW_UID, scheduled=False) for workload in request.workloads
    ]
    return request._replace(workloads=tuple(created))


def mentions_constraints(obj: object) -> bool:
    """Return whether there are constraints anywhere in an object; the schema in a CRD does not count."""
    return any(places_of_constraints(obj))


def places_of_constraints(obj: object) -> Iterator[object]:
    """Yield each value of the field anywhere in an object that is a list, a constraint, or an object of either."""
    level = [obj]
    while level:
        for value in level:
            if isinstance(value, dict):
                yield from filter(_holds_constraints, map(value.get, _FIELD_NAMES))
        level = [child for value in level for child in children(value)]


def _holds_constraints(value: object) -> bool:
    if isinstance(value, list):
        return bool(value)
    return is_constraint(value) or any(
        is_constraint(item) for child in children(value) for item in (child, *as_list(child))
    )


def is_constraint(value: object) -> bool:
    """Return whether a value has a field of a constraint; the schema of constraints has objects in place of values."""
    if not isinstance(value, dict):
        return False
    has_selector = not IN_SELECTOR.isdisjoint(as_mapping(value.get("labelSelector")))
    return has_selector or any(isinstance(value.get(name), str | int | list) for name in FIELDS)


def patched(obj: Mapping[str, object], operations: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    """Return `obj` with what `add` operations on members of objects put there."""
    for operation in operations:
        path = tuple(pointer_parts(str(operation["path"])))
        obj = as_mapping(with_value(obj, path, operation["value"]))
    return obj


def _stored(obj: Mapping[str, object], features: Features) -> Mapping[str, object]:
    """Return what PrepareForCreate makes of a Pod that is not stored yet; anything else stays as it is."""
    metadata, constraints = as_mapping(obj.get("metadata")), value_at(obj, CONSTRAINTS_PATH)
    if not _is_pod(obj) or metadata.get("uid") or constraints is None:
        return obj
    stored = as_stored(constraints, labels_of(metadata.get("labels")), features)
    return as_mapping(with_value(obj, CONSTRAINTS_PATH, stored))
