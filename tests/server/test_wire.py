"""Bytes to a request and a decision to bytes; the uid goes back wherever one can be read."""

from __future__ import annotations

import base64
import json
import time
from typing import NamedTuple

import pytest

from tests.support import admission_reviews
from webhook.admission.decision import Decision, Outcome
from webhook.admission.request import VALIDATE, AdmissionRequest
from webhook.kubernetes.kinds import KINDS
from webhook.server import wire
from webhook.server.transport.limits import Limits

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def review(**fields):
    return json.dumps(admission_reviews.review(**{"request": {"uid": UID, "operation": "CREATE"}, **fields}))


def read(body):
    return wire.read(body, VALIDATE, KINDS)


class Case(NamedTuple):
    name: str
    body: str
    message: str
    uid: str = ""


UNANSWERABLE = [
    Case("nothing", "", "not JSON: Expecting value"),
    Case("no JSON", "hello", "not JSON: Expecting value"),
    Case("an empty object", "{}", "found null null, wanted apiVersion admission.k8s.io/v1"),
    Case("a list", "[]", "found null null, wanted"),
    Case("another version", review(apiVersion="admission.k8s.io/v1beta1"), 'found "admission.k8s.io/v1beta1"', UID),
    Case("another kind", review(kind="Pod"), 'found "admission.k8s.io/v1" "Pod"', UID),
    Case("no request", review(request=None), "request: found null, wanted an object"),
    Case("a request that is a list", review(request=[1]), "request: found an array, wanted an object"),
    Case("no uid", review(request={"operation": "CREATE"}), "request.uid: found null, wanted a string"),
    Case("a uid that is a number", review(request={"uid": 7}), "request.uid: found 7, wanted a string"),
    Case("an endless uid", review(request={"uid": "u" * 129}), "wanted a string of 1 to 128 characters"),
    Case(
        "an endless uid of another version",
        review(apiVersion="v1", request={"uid": "é" * 1_000_000}),
        'found "v1" "AdmissionReview"',
    ),
    Case("a uid in what is cut off", review()[:-3], "not JSON: Unterminated", UID),
]


@pytest.mark.parametrize("case", UNANSWERABLE, ids=lambda case: case.name)
def test_what_is_no_review_is_unanswerable(case):
    found = read(case.body.encode())

    assert isinstance(found, wire.Unanswerable)
    assert case.uid == found.uid
    assert case.message in found.message


def test_what_is_not_utf_8_is_unanswerable():
    assert isinstance(read(b'{"a": "\xff\xfe"}'), wire.Unanswerable)


def test_a_review_nested_too_deep_is_answered_under_its_uid():
    deep = review(x="@").replace('"@"', '{"x":' * 10_000 + "1" + "}" * 10_000)
    found = read(deep.encode())

    assert AdmissionRequest(UID, VALIDATE, unread="nested too deep to be read") == found


def test_a_review_of_too_many_values_is_answered_under_its_uid():
    """Whatever they are."""
    for values in ("[]," * 600_000 + "0", "{}," * 600_000 + "0", "0," * 1_100_000 + "0"):
        found = read(review(x=[]).replace("[]", f"[{values}]").encode())

        assert AdmissionRequest(UID, VALIDATE, unread="more than 1048576 values") == found


LONG_PARSED = {
    "320000 keys": b"{" + b",".join(b'"%d" : 0' % i for i in range(320_100)) + b"}",
    "250000 objects and lists": b"[" + b"[{}]," * 125_100 + b"0]",
    "1048576 digits in numbers of 64 or more": b"[" + (b"9" * 4_200 + b",") * 300 + b"0]",
    "100000 numbers with a fraction or an exponent": b"[" + b"1.5,2e1," * 50_050 + b"0]",
}


@pytest.mark.parametrize("what", LONG_PARSED)
def test_a_review_whose_parsing_would_stop_all_threads_for_long_is_answered_under_its_uid(what):
    found = read(review(x="@").encode().replace(b'"@"', LONG_PARSED[what]))

    assert AdmissionRequest(UID, VALIDATE, unread=f"more than {what}") == found


@pytest.mark.alone
def test_numbers_close_to_zero_are_parsed_as_fast_as_others():
    """1e-310 would take as long as sixty of them."""
    usual, small = (cpu_seconds(b"[" + number * 50_000 + b"0]") for number in (b"1.2345678901234567e-10,", b"1e-310,"))

    assert small < 5 * usual


def cpu_seconds(body):
    taken = []
    for _ in range(3):
        began = time.thread_time()
        wire.parse(body)
        taken.append(time.thread_time() - began)
    return min(taken)


def test_an_object_as_large_as_etcd_stores_is_read_old_and_new():
    """The keys of env in spec and in managedFields: few objects have more in a byte."""
    env = [{"name": f"VAR_{i}", "value": f"value-{i}"} for i in range(10_000)]
    fields = {f'k:{{"name":"VAR_{i}"}}': {".": {}, "f:name": {}, "f:value": {}} for i in range(10_000)}
    text = json.dumps({"env": env, "fields": fields}, separators=(",", ":"))
    times = (3 << 20) // len(text)
    found = read(review(x="@").replace('"@"', f"[{','.join([text] * times)}]").encode())

    assert "" == found.unread


@pytest.mark.alone
def test_a_review_that_would_take_too_much_memory_is_answered_under_its_uid():
    """Two bytes of an escape, and four of an emoji, are read; forty million that become 160 are not."""
    unread = AdmissionRequest(UID, VALIDATE, unread="more than 128 MiB in memory")
    for text, known in (("x" * 20_000_000, False), ("\\\\u003c" * 3_000_000, False), ("\\u003c" * 5_000_000, True)):
        found = read(review(x="@").replace('"@"', f'"{text}😀"').encode())

        assert (unread == found) is not known


def test_numbers_of_any_length_are_read():
    found = read(review(x="@").replace('"@"', "9" * 10_000).encode())

    assert AdmissionRequest(UID, VALIDATE, operation="CREATE", malformed=found.malformed) == found


def test_of_a_key_that_stands_twice_the_last_counts():
    """As Go reads it."""
    twice = review().replace('"operation": "CREATE"', '"operation": "DELETE", "operation": "CREATE"')

    assert "CREATE" == read(twice.encode()).operation


def test_an_answer_repeats_the_uid_and_carries_what_was_decided():
    patch = ({"op": "add", "path": "/a", "value": "\ud800é"},)
    decision = Decision(Outcome.DENIED, {"code": 403}, patch, ("careful",), {"findings": "x"})
    answer = json.loads(wire.answer(UID, decision))
    response = answer["response"]

    assert ("admission.k8s.io/v1", "AdmissionReview") == (answer["apiVersion"], answer["kind"])
    assert (UID, False, {"code": 403}) == (response["uid"], response["allowed"], response["status"])
    assert list(patch) == json.loads(base64.b64decode(response["patch"]))
    assert "JSONPatch" == response["patchType"]
    assert (["careful"], {"findings": "x"}) == (response["warnings"], response["auditAnnotations"])


def test_an_answer_is_text_that_json_reads(monkeypatch):
    """Every kind of character and number that a decision may repeat."""
    patch = ({"op": "add", "path": "/a", "value": ['\x00\x1f\x7f\u2028é世😀\\"</', 10**29, -1, True, None]},)
    decision = Decision(Outcome.WARNED, None, patch, ("é\x01",), {"findings": "世"})
    response = json.loads(wire.answer(UID, decision))["response"]

    assert list(patch) == json.loads(base64.b64decode(response["patch"]))
    assert (["é\x01"], {"findings": "世"}) == (response["warnings"], response["auditAnnotations"])


def test_an_answer_that_has_nothing_to_say_says_nothing():
    assert {"uid": UID, "allowed": True} == json.loads(wire.answer(UID, Decision()))["response"]


def test_a_defect_costs_neither_the_uid_nor_the_name_of_the_object(monkeypatch):
    monkeypatch.setattr("webhook.admission.request.parse_workloads", lambda *given: {}["gone"])
    asked = {"uid": UID, "operation": "CREATE", "name": "web", "namespace": "shop", "object": {"kind": "Pod"}}
    found = read(review(request=asked).encode())

    assert (UID, "CREATE", "web", "shop") == (found.uid, found.operation, found.name, found.namespace)
    assert isinstance(found.defect, KeyError)


COUNTED = {"MOST_JSON_VALUES": "values", "MOST_KEYS": "keys", "MOST_CONTAINERS": "objects and lists"}


@pytest.mark.parametrize(
    ("bound", "most", "piece", "body"),
    [
        ("MOST_JSON_VALUES", 5, 1 << 20, b'{"a": [1, 2], "b": {}}'),
        ("MOST_JSON_VALUES", 5, 4, b'{"a": [1, 2], "b": {}}'),
        ("MOST_KEYS", 3, 1 << 20, b'{"a": 1, "b": {"c": 2}}'),
        ("MOST_CONTAINERS", 4, 1 << 20, b'{"a": [[], {}]}'),
        ("MOST_CONTAINERS", 4, 4, b'{"a": [[], {}]}'),
    ],
)
def test_as_much_as_may_be_is_read_and_no_more(monkeypatch, bound, most, piece, body):
    """However many pieces the body is counted in."""
    body += b" " * Limits.small_bytes
    monkeypatch.setattr(wire, "_COUNTED_AT_A_TIME", piece)
    monkeypatch.setattr(wire, bound, most)
    assert "" == wire._too_much(body)

    monkeypatch.setattr(wire, bound, most - 1)
    assert f"more than {most - 1} {COUNTED[bound]}" == wire._too_much(body)


def test_small_bodies_are_not_counted(monkeypatch):
    monkeypatch.setattr(wire, "MOST_JSON_VALUES", 1)
    body = b"{}" + b" " * (Limits.small_bytes - 2)

    assert ("", "more than 1 values") == (wire._too_much(body), wire._too_much(b"[1,2]" + body))


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_floats_as_may_be_are_read(monkeypatch, more):
    monkeypatch.setattr(wire, "MOST_FLOATS", 3)
    body = b"[" + b"1.5," * (3 + more) + b"0" + b" " * Limits.small_bytes + b"]"
    if not more:
        assert [1.5] * 3 + [0] == wire.parse(body)
        return
    with pytest.raises(wire.TooManyFloats):
        wire.parse(body)


@pytest.mark.parametrize(("length", "known"), [(1, True), (128, True), (129, False)])
def test_a_uid_is_as_long_as_it_may_be(length, known):
    found = read(review(request={"uid": "u" * length, "operation": "DELETE"}).encode())

    assert known == isinstance(found, AdmissionRequest)
    assert ("u" * length if known else "") == found.uid


def test_strict_json_is_asked_of_large_bodies_only():
    """json reads NaN, too, but takes nine bytes for one."""
    body = b"[NaN]"

    assert 1 == len(wire.parse(body + b" " * (wire.RETRIED - len(body))))
    with pytest.raises(ValueError, match="JSON"):
        wire.parse(body + b" " * (wire.RETRIED - len(body) + 1))
