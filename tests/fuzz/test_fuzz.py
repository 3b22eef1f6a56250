"""The fuzzer finds what is planted, makes it small, keeps it, and gives it first the next time."""

from __future__ import annotations

import json
from functools import partial
from random import Random

import pytest
from hypothesis import strategies as st

from certs.rotation import NO_CERTIFICATES, TRUSTED, Rotation
from tests.fuzz import certificates
from tests.fuzz.certificates import TIMES, Certificates, whole
from tests.fuzz.changing import changed
from tests.fuzz.connections import Connections, responses
from tests.fuzz.corpus import FOUND
from tests.fuzz.files import Dumps, Manifests, Policies
from tests.fuzz.oracle import refused
from tests.fuzz.reviews import Patched, Reviews, in_a_review
from tests.fuzz.running import report, run
from tests.support.kubernetes_source import MissingError
from tests.support.strategies import RECORDED
from webhook.admission import review as admission
from webhook.kubernetes import json_values
from webhook.server import reviewer, wire


class Picky:
    """Fails where an input has the byte 0xff; answers by length."""

    name, share, bases = "picky", 1, st.just(b"0\nabc")

    def check(self, given):
        assert b"\xff" not in given
        return len(given) // 10


def test_what_fails_is_found_made_small_and_kept(tmp_path):
    (found,) = run([Picky()], tmp_path, seconds=60, seed=1)

    assert "assert b" in found.failure
    assert b"\xff" == found.file.read_bytes()
    assert tmp_path / "picky" / FOUND == found.file.parent
    found.failure += "\ud800"
    assert report([found]).endswith(f"{found.inputs - 1} passed, 1 failed")
    assert report([found]).isascii()


def test_what_was_found_is_given_first_the_next_time(tmp_path):
    run([Picky()], tmp_path, seconds=60, seed=1)
    (again,) = run([Picky()], tmp_path, seconds=0, seed=1)

    assert (1, True) == (again.inputs, bool(again.failure))


def test_an_input_is_kept_for_each_kind_of_answer(tmp_path):
    class Patient(Picky):
        def check(self, given):
            return len(given) // 10

    (found,) = run([Patient()], tmp_path, seconds=0.5, seed=1)

    assert not found.failure
    assert 1 < len(found.corpus.seen) == len([*(tmp_path / "picky").iterdir()])


def test_the_same_seed_changes_alike_and_the_number_stays_one():
    given, other = b'7\n{"a": [1, {"b": null}]}\n{"c": 1}', b"8\nxyz"
    found = [[changed(given, other, Random(seed)) for seed in range(300)] for _ in range(2)]

    assert found[0] == found[1]
    assert len({*found[0]}) > 200
    assert all(int(one.partition(b"\n")[0]) >= 0 for one in found[0])


DEFAULTED = b"112\n" + in_a_review(RECORDED[6])  # A Pod that gets constraints.


def planted(change):
    """The reviewer's decision with what `change` makes of it."""

    def review(request, terms):
        decision = admission.review(request, terms)
        return decision._replace(**change(decision)) if decision.patch else decision

    return review


def first(decision, **fields):
    return {"patch": ({**decision.patch[0], **fields}, *decision.patch[1:])}


def fails(*_):
    raise KeyError("planted")


FAULTS = {
    "an exception": fails,
    "a warning of two lines": planted(lambda decision: {"warnings": ("a\nb",)}),
    "a patch of what the user wrote": planted(lambda decision: first(decision, path="/spec/containers")),
    "a patch that removes": planted(lambda decision: first(decision, op="remove")),
    "constraints that are invalid": planted(lambda decision: first(decision, value=[{"maxSkew": 0}])),
    "a denial beside a patch": planted(lambda decision: {"status": {"code": 403, "message": "no"}}),
}


def test_a_review_that_is_answered_well_passes():
    assert ("mutate", 200, True) == Reviews().check(DEFAULTED)[:3]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_review_is_found(fault, monkeypatch):
    monkeypatch.setattr(reviewer, "review", FAULTS[fault])

    with pytest.raises(AssertionError):
        Reviews().check(DEFAULTED)


def test_a_lost_uid_is_found(monkeypatch):
    answered = wire.answer
    monkeypatch.setattr(wire, "answer", lambda uid, decision: answered("", decision))

    with pytest.raises(AssertionError, match="uid"):
        Reviews().check(DEFAULTED)


def test_a_pod_that_kube_apiserver_refuses_for_its_patch_is_found():
    """What it refuses anyway, or cannot read, is not the patch's fault."""
    decisions = {
        "fine": {"podCreate": None},
        "bad": {"podCreate": [{"field": "spec", "type": "Invalid", "detail": "no"}]},
    }

    def ask(cases):
        if any(case["pod"] == "unreadable" for case in cases):
            raise MissingError("cannot be read")
        return [decisions[case["pod"]] for case in cases]

    pods = [("fine", "fine"), ("fine", "bad"), ("bad", "bad"), ("unreadable", "bad"), ("fine", "unreadable")]
    assert (4, ["['spec: Invalid: no']: bad", "['cannot be read']: unreadable"]) == refused(
        [Patched(*pair) for pair in pods], ask
    )


def test_a_fault_in_what_a_secret_holds_is_found(monkeypatch):
    """An exception, and a certificate that is not served; none where nothing is planted."""
    content = {name: value.decode() for name, value in whole().items()} | {TRUSTED: TIMES[1]}
    given = b"0\n" + json.dumps(content).encode()
    assert () == Certificates().check(given)[0]

    monkeypatch.setattr(certificates, "parse", fails)
    with pytest.raises(KeyError):
        Certificates().check(given)
    monkeypatch.undo()
    monkeypatch.setattr(certificates, "renewed", lambda *_: Rotation(NO_CERTIFICATES))
    with pytest.raises(AssertionError):
        Certificates().check(given)


@pytest.mark.parametrize("levels", [10, 900, 1_100])
def test_what_is_nested_deep_is_checked_as_anything_else(levels):
    deep = b"[" * levels + b"]" * levels
    given = DEFAULTED.replace(b'"metadata": {', b'"metadata": {"deep": %b, ' % deep, 1)

    assert given != DEFAULTED
    assert ("mutate", 200) == Reviews().check(given)[:2]


@pytest.mark.parametrize("target", [Policies, Dumps, Manifests])
def test_an_exception_in_a_file_is_found(target, tmp_path, monkeypatch):
    """And none is where nothing is planted."""
    file = target() if target is Policies else target(tmp_path)
    given = [b"%d\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" % number for number in range(80)]
    for one in given:
        file.check(one)

    monkeypatch.setattr(json_values, "scalar_value", fails)
    for one in given:
        with pytest.raises((KeyError, AssertionError)):
            file.check(one)


@pytest.mark.parametrize(
    ("received", "found"),
    [
        (b"", []),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 400 Bad\r\n\r\n", [(200, b"ab"), (400, b"")]),
        (b"HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", [(404, b""), (200, b"")]),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", []),
        (b"HTTP/1.1 20", []),
    ],
)
def test_responses_are_told_apart(received, found):
    assert found == responses(received)


@pytest.mark.parametrize(
    "received", [b"nonsense", b"x\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nmore\r\n\r\n"]
)
def test_what_is_no_response_is_an_error(received):
    with pytest.raises(AssertionError):
        responses(received)


@pytest.mark.parametrize(("status", "fine"), [(500, False), (503, False), (501, True), (400, True)])
def test_an_error_of_the_server_is_found(status, fine):
    response = partial(Connections.response, (status, b""), health=False)
    if fine:
        assert status == response()[0]
    else:
        with pytest.raises(AssertionError):
            response()
