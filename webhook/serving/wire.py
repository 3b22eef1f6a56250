"""
Bytes to an admission request, and a Decision to bytes: admission.k8s.io/v1 as kube-apiserver speaks it.

The response has the request's uid if it can be read and is not longer than any that kube-apiserver sends.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from webhook.admission.decision import Decision
from webhook.admission.request import AdmissionRequest, read_request
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.objects.kinds import Kinds
from webhook.objects.reading import brief

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
LONGEST_NUMBER = 4_000
LONGEST_UID = 128  # It is echoed, and kube-apiserver's has 36.
MOST_VALUES = 1 << 20  # a value takes up to 160 bytes in memory and two in JSON: 40 MiB of [] would become a gigabyte
_compact = json.JSONEncoder(separators=(",", ":")).encode
_UID = re.compile(rb'"request"\s*:\s*\{\s*"uid"\s*:\s*"([0-9A-Za-z-]{1,128})"')


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """A body that is not a review: answered with HTTP 400, and with the uid if there is one."""

    uid: str
    message: str


def read(body: bytes, phase: str, kinds: Kinds) -> AdmissionRequest | Unanswerable:
    """The request in an HTTP body, with the workloads of these kinds."""
    if len(body) > MOST_VALUES and sum(map(body.count, (b"[", b"{", b","))) > MOST_VALUES:
        return _unread(body, phase, f"more than {MOST_VALUES} values")
    try:
        review = _parse(body.decode("utf-8"))
    except RecursionError:
        return _unread(body, phase, "nested too deep to be read")
    except ValueError as error:  # includes UnicodeDecodeError and JSONDecodeError
        return Unanswerable(_uid_in(body), f"not JSON: {str(error).splitlines()[0]}")
    fields = review if isinstance(review, dict) else {}
    request, version, kind = fields.get("request"), fields.get("apiVersion"), fields.get("kind")
    uid = request.get("uid") if isinstance(request, dict) else None
    known = uid if isinstance(uid, str) and len(uid) <= LONGEST_UID else ""
    if (version, kind) != (API_VERSION, KIND):
        found = f"found {brief(version)} {brief(kind)}"
        return Unanswerable(known, f"{found}, wanted apiVersion {API_VERSION} and kind {KIND}")
    if not isinstance(request, dict) or not request:
        return Unanswerable("", f"request: found {brief(request)}, wanted an object")
    if not known:
        return Unanswerable("", f"request.uid: found {brief(uid)}, wanted a string of 1 to {LONGEST_UID} characters")
    return read_request(known, request, phase, kinds)


def _unread(body: bytes, phase: str, problem: str) -> AdmissionRequest | Unanswerable:
    uid = _uid_in(body)
    return AdmissionRequest(uid, phase, unread=problem) if uid else Unanswerable("", problem)


def _uid_in(body: bytes) -> str:
    """The uid, where kube-apiserver writes it; empty if it is not there."""
    found = _UID.search(body, 0, 4096)
    return found[1].decode() if found else ""


def _parse(body: str) -> object:
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "digits" not in str(error):
            raise
        return json.loads(body, parse_int=lambda digits: int(digits) if len(digits) < LONGEST_NUMBER else float(digits))


def answer(uid: str, decision: Decision) -> bytes:
    """The AdmissionReview that answers the request with this uid."""
    response: dict[str, object] = {"uid": uid, "allowed": decision.status is None}
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
