"""
Reads an AdmissionReview that kube-apiserver sent, from a file: who applies what over what.

    admission.k8s.io/v1 AdmissionReview ──read_recorded──> Recorded ──dry_run──> Applied
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.admission.request import ADMISSION_GROUP, CREATE, REVIEW_API_VERSION, REVIEW_KIND, UPDATE
from webhook.kubernetes.fields import texts_at
from webhook.kubernetes.reader import brief

OPERATIONS = (CREATE, UPDATE, "DELETE", "CONNECT")


class Recorded(NamedTuple):
    """What a review asks."""

    obj: Mapping[str, object]
    old: Mapping[str, object] | None
    namespace: str
    user: str
    unjudged: str = ""  # why nothing of it is judged, "" if it is


def is_review(obj: Mapping[str, object]) -> bool:
    """Return whether an object is an AdmissionReview, of any version."""
    return obj.get("kind") == REVIEW_KIND and str(obj.get("apiVersion")).partition("/")[0] == ADMISSION_GROUP


def read_recorded(review: Mapping[str, object]) -> Recorded:
    """Return the request in an AdmissionReview; ValueError says what is wrong with it."""
    if review.get("apiVersion") != REVIEW_API_VERSION:
        version = brief(review.get("apiVersion"))
        raise ValueError(f"apiVersion: found {version}, which is not supported, wanted {REVIEW_API_VERSION}")
    request = _mapping(review, "", "request")
    operation, namespace, user, subresource = texts_at(
        request, "operation", "namespace", "userInfo.username", "subResource"
    )
    if operation not in OPERATIONS:
        operation = brief(request.get("operation"))
        raise ValueError(f"request.operation: found {operation}, wanted one of {', '.join(OPERATIONS)}")
    if subresource or operation not in (CREATE, UPDATE):
        request_kind = f"{operation} of the subresource {subresource}" if subresource else operation
        return Recorded(
            _subject(request),
            old=None,
            namespace=namespace,
            user=user,
            unjudged=f"{request_kind}: only CREATE and UPDATE of whole objects are judged",
        )
    obj = _mapping(request, "request.", "object")
    if not all(texts_at(obj, "apiVersion", "kind")):
        raise ValueError("request.object: must have apiVersion and kind")
    old = _mapping(request, "request.", "oldObject") if operation == UPDATE else None
    return Recorded(obj, old, namespace, user)


def _subject(request: Mapping[str, object]) -> Mapping[str, object]:
    """Return the object that a request is about, which it need not hold."""
    group, version, kind, name, namespace = texts_at(
        request, "kind.group", "kind.version", "kind.kind", "name", "namespace"
    )
    type_fields = {"apiVersion": f"{group}/{version}".lstrip("/"), "kind": kind}
    return type_fields | {"metadata": {"name": name, "namespace": namespace}}


def _mapping(parent: Mapping[str, object], above: str, name: str) -> Mapping[str, object]:
    value = parent.get(name)
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{above}{name}: found {brief(value)}, wanted an object")
    return value
