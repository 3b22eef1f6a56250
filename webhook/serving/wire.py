"""
Bytes to an admission request, and a Decision to bytes: admission.k8s.io/v1 as kube-apiserver speaks it.

Whatever comes in, the uid goes back wherever one can be read.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from webhook.admission.review import Decision
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.objects.fields import as_mapping
from webhook.objects.reading import brief

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
LONGEST_NUMBER = 4_000
MOST_VALUES = 1 << 20  # a value takes up to 160 bytes in memory and two in JSON: 40 MiB of [] would become a gigabyte
_compact = json.JSONEncoder(separators=(",", ":")).encode
_UID = re.compile(rb'"request"\s*:\s*\{\s*"uid"\s*:\s*"([0-9A-Za-z-]{1,128})"')


@dataclass(frozen=True, slots=True)
class Request:
    """A request that can be answered: `body` is None where only the uid could be read, and `problem` says why."""

    uid: str
    body: Mapping[str, object] | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """Bytes that are no review at all: answered with HTTP 400, and with the uid if there is one."""

    uid: str
    message: str


def read(body: bytes) -> Request | Unanswerable:
    """The admission request in an HTTP body."""
    if len(body) > MOST_VALUES and sum(map(body.count, (b"[", b"{", b","))) > MOST_VALUES:
        return _unreadable(body, f"more than {MOST_VALUES} values")
    try:
        review = _parse(body.decode("utf-8"))
    except RecursionError:
        return _unreadable(body, "nested too deep to be read")
    except ValueError as error:  # includes UnicodeDecodeError and JSONDecodeError
        return _unreadable(body, f"not JSON: {str(error).splitlines()[0]}", answerable=False)
    request = as_mapping(as_mapping(review).get("request"))
    uid = request.get("uid")
    known = uid if isinstance(uid, str) else ""
    version, kind = as_mapping(review).get("apiVersion"), as_mapping(review).get("kind")
    if (version, kind) != (API_VERSION, KIND):
        found = f"found {brief(version)} {brief(kind)}"
        return Unanswerable(known, f"{found}, wanted apiVersion {API_VERSION} and kind {KIND}")
    if not request:
        return Unanswerable("", f"request: found {brief(as_mapping(review).get('request'))}, wanted an object")
    if not known:
        return Unanswerable("", f"request.uid: found {brief(uid)}, wanted a string that is not empty")
    return Request(known, request)


def _parse(body: str) -> object:
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "digits" not in str(error):
            raise
        return json.loads(body, parse_int=lambda digits: int(digits) if len(digits) < LONGEST_NUMBER else float(digits))


def _unreadable(body: bytes, problem: str, *, answerable: bool = True) -> Request | Unanswerable:
    found = _UID.search(body, 0, 4096)
    uid = found[1].decode() if found else ""
    return Request(uid, None, problem) if uid and answerable else Unanswerable(uid, problem)


def answer(uid: str, decision: Decision) -> bytes:
    """The AdmissionReview that answers the request with this uid."""
    response: dict[str, object] = {"uid": uid, "allowed": decision.allowed}
    if decision.status is not None:
        response["status"] = decision.status
    if decision.patch:
        patch = _compact(decision.patch).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if decision.audit_annotations:
        response["auditAnnotations"] = dict(decision.audit_annotations)
    return _encode(response)


def refusal(uid: str, code: int, message: str) -> bytes:
    """The AdmissionReview that goes with an HTTP error: not allowed, and why."""
    status = {"status": "Failure", "code": code, "message": one_line(message, LINE_LIMIT)}
    return _encode({"uid": uid, "allowed": False, "status": status})


def _encode(response: Mapping[str, object]) -> bytes:
    return _compact({"apiVersion": API_VERSION, "kind": KIND, "response": response}).encode()
