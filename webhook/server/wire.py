"""
Bytes to an admission request, and a Decision to bytes: admission.k8s.io/v1 as kube-apiserver speaks it.

The response has the request's uid if it can be read and is not longer than any that kube-apiserver sends.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isinf

import msgspec

from webhook.admission.decision import Decision
from webhook.admission.request import REVIEW_API_VERSION, REVIEW_KIND, AdmissionRequest, read_request
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.kubernetes.kinds import Kinds
from webhook.kubernetes.reader import brief
from webhook.server.transport.limits import Limits

LONGEST_NUMBER = 4_000  # Digits of an int; a longer one is read as a float, for int() refuses more than 4,300.
LONGEST_UID = 128  # It is echoed, and kube-apiserver's has 36.
MOST_JSON_VALUES = 1 << 20
MOST_KEYS = 320_000  # Old and new of an object of 1.5 MiB, etcd's limit, have up to 310,000 with managedFields,
MOST_CONTAINERS = 250_000  # and up to 190,000 objects and lists.
MOST_DIGITS = 1 << 20  # In numbers with MANY_DIGITS or more: an int of 4,000 digits takes 60 µs.
MANY_DIGITS = 64  # Digits; kube-apiserver writes at most 21.
MOST_FLOATS = 100_000  # One takes up to 2 µs, and no Pod has any.
MOST_BYTES = 128 << 20  # What one review may take in memory, beside its body: 6 MiB of a usual object take up to 102.
RETRIED = 1 << 20  # Bytes, up to which json reads what msgspec refuses; json takes nine bytes of memory for each.
_COUNTED_AT_A_TIME = 1 << 20  # Bytes: no other thread runs while they are counted.
_UNMARKED = bytes(set(range(256)) - set(b'{[,":'))  # All bytes but the marks that are counted.
# Makes "0" of each digit, and NUL of any other byte.
_DIGITS = bytes(ord("0") if byte in b"0123456789" else 0 for byte in range(256))
_compact = json.JSONEncoder(separators=(",", ":")).encode
_UID = re.compile(rb'"request"\s*:\s*\{\s*"uid"\s*:\s*"([0-9A-Za-z-]{1,128})"')


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """A body that is not a review: answered with HTTP 400, and with the uid if there is one."""

    uid: str
    message: str


def read(body: bytes, phase: str, kinds: Kinds) -> AdmissionRequest | Unanswerable:
    """Read the request in an HTTP body, with the workloads of these kinds."""
    if problem := _too_much(body):
        return _unread(body, phase, problem)
    try:
        review = parse(body)
    except RecursionError:
        return _unread(body, phase, "nested too deep to be read")
    except msgspec.ValidationError:
        return _unread(body, phase, "a number that is too large to be read")
    except TooManyFloats:
        return _unread(body, phase, f"more than {MOST_FLOATS} numbers with a fraction or an exponent")
    except ValueError as error:  # Includes UnicodeDecodeError and both libraries' DecodeError.
        return Unanswerable(_uid_in(body), f"not JSON: {str(error).splitlines()[0]}")
    fields = review if isinstance(review, dict) else {}
    request, version, kind = fields.get("request"), fields.get("apiVersion"), fields.get("kind")
    uid = request.get("uid") if isinstance(request, dict) else None
    usable_uid = uid if isinstance(uid, str) and len(uid) <= LONGEST_UID else ""
    if (version, kind) != (REVIEW_API_VERSION, REVIEW_KIND):
        found = f"found {brief(version)} {brief(kind)}"
        return Unanswerable(usable_uid, f"{found}, wanted apiVersion {REVIEW_API_VERSION} and kind {REVIEW_KIND}")
    if not isinstance(request, dict) or not request:
        return Unanswerable("", f"request: found {brief(request)}, wanted an object")
    if not usable_uid:
        return Unanswerable("", f"request.uid: found {brief(uid)}, wanted a string of 1 to {LONGEST_UID} characters")
    return read_request(usable_uid, request, phase, kinds)


def _unread(body: bytes, phase: str, problem: str) -> AdmissionRequest | Unanswerable:
    uid = _uid_in(body)
    return AdmissionRequest(uid, phase, unread=problem) if uid else Unanswerable("", problem)


def _uid_in(body: bytes) -> str:
    """The uid, if it is where kube-apiserver writes it; else empty."""
    match = _UID.search(body, 0, 4096)
    return match[1].decode() if match else ""


def _too_much(body: bytes) -> str:
    """
    Return why a body must not be parsed; empty if it may be.

    msgspec parses it in one go, and no other thread runs meanwhile: it must be quick, and take at most MOST_BYTES.
    Measured, in bytes: an object takes up to 200 beside its members, a list 96, each member after the first 64 more,
    and a string 64 beside its characters.
    """
    if len(body) <= Limits.small_bytes:
        return ""  # It cannot be too much: each byte takes 48 at most, those of lists in lists.
    objects, lists, members, quotes, keys, long_numbers = map(sum, zip(*map(_counts, _pieces(body)), strict=True))
    if objects + lists + members > MOST_JSON_VALUES:
        return f"more than {MOST_JSON_VALUES} values"
    if keys > MOST_KEYS:
        return f"more than {MOST_KEYS} keys"
    if objects + lists > MOST_CONTAINERS:
        return f"more than {MOST_CONTAINERS} objects and lists"
    if long_numbers * MANY_DIGITS > MOST_DIGITS:
        return f"more than {MOST_DIGITS} digits in numbers of {MANY_DIGITS} or more"
    rest = MOST_BYTES - 200 * objects - 96 * lists - 64 * members - 32 * quotes
    if 8 * len(body) > rest and _characters(body) > rest:  # The first is quick, and true of few bodies.
        return f"more than {MOST_BYTES >> 20} MiB in memory"
    return ""


def _pieces(body: bytes) -> Iterator[bytes]:
    return (body[start : start + _COUNTED_AT_A_TIME] for start in range(0, len(body), _COUNTED_AT_A_TIME))


def _counts(piece: bytes) -> tuple[int, ...]:
    """How many objects, lists, commas, quotes, keys and runs of MANY_DIGITS digits a piece has, at most."""
    marks = piece.translate(None, _UNMARKED)
    return *map(marks.count, (b"{", b"[", b",", b'"', b'":')), piece.translate(_DIGITS).count(b"0" * MANY_DIGITS)


def _characters(body: bytes) -> int:
    """
    The most bytes that the characters of all strings take.

    A character takes one, and one more while the escapes of its string are read.  In a string with an emoji it takes
    four, and up to four more for copies in the widths that the string had before.
    """
    escapes, backslashes = (sum(piece.count(pair) for piece in _pieces(body)) for pair in (b"\\u", b"\\\\"))
    count = len(body) - 5 * max(0, escapes - backslashes)  # \\u0041 is a backslash and the text u0041.
    return (8 if escapes or not body.isascii() else 2) * count


def parse(body: bytes) -> object:
    """
    Parse a body as json.loads would.  RecursionError, or ValueError if it is not JSON.

    A body above RETRIED must be JSON in the strict sense: without lone surrogates, NaN, and numbers beyond a float's.
    In one that is not small, TooManyFloats after MOST_FLOATS.
    """
    try:
        return _decode(body) if len(body) <= Limits.small_bytes else _Floats().decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if len(body) > RETRIED:
            raise
    return _parse_with_json(body.decode())


def _float(digits: str) -> float:
    """Parse a number; msgspec's own takes 6 µs for 1e-310, and a Python function lets other threads run."""
    value = float(digits)
    if isinf(value):
        raise ValueError(f"found {digits[:20]}, wanted a number that a float can hold")
    return value


_decode = msgspec.json.Decoder(float_hook=_float).decode


class TooManyFloats(Exception):
    """More numbers with a fraction or an exponent than may be read in a review."""


class _Floats:
    """A decoder that reads MOST_FLOATS floats, and no more."""

    def __init__(self) -> None:
        self.remaining = MOST_FLOATS
        self.decode = msgspec.json.Decoder(float_hook=self._read).decode

    def _read(self, digits: str) -> float:
        self.remaining -= 1
        if self.remaining < 0:
            raise TooManyFloats
        return _float(digits)


def _parse_with_json(body: str) -> object:
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "digits" not in str(error):  # Any error but that of int() on more than 4,300 digits.
            raise
        return json.loads(body, parse_int=lambda digits: int(digits) if len(digits) < LONGEST_NUMBER else float(digits))


def answer(uid: str, decision: Decision) -> bytes:
    """The AdmissionReview that answers the request with this uid."""
    response: dict[str, object] = {"uid": uid, "allowed": decision.status is None}
    if decision.status is not None:
        response["status"] = decision.status
    if decision.patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(_encode(decision.patch)).decode()}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if decision.audit_annotations:
        response["auditAnnotations"] = dict(decision.audit_annotations)
    return _review(response)


def refusal(uid: str, code: int, message: str) -> bytes:
    """The AdmissionReview that goes with an HTTP error: not allowed, and why."""
    status = {"status": "Failure", "code": code, "message": one_line(message, LINE_LIMIT)}
    return _review({"uid": uid, "allowed": False, "status": status})


def _review(response: Mapping[str, object]) -> bytes:
    return _encode({"apiVersion": REVIEW_API_VERSION, "kind": REVIEW_KIND, "response": response})


def _encode(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # A lone surrogate.
        return _compact(value).encode()
