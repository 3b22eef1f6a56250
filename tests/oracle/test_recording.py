"""Recordings change where Kubernetes does, and nowhere else."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.conformance.cases import read
from tests.oracle import recording
from tests.oracle.recording import KINDS, ask, file_of, inputs, main, record, write
from tests.support import DATA

ERRORS = [{"type": "FieldValueInvalid", "field": name, "detail": "é"} for name in "ab"]


def case(name, expected=None):
    return {"id": name, "pod": {"spec": {}}, "expected": expected or {}}


def test_what_is_written_is_read_and_the_same_bytes_each_time(tmp_path):
    cases = [case("v0", {"podCreate": ERRORS}), case("v1")]
    first, second = tmp_path / "1.1" / "a", tmp_path / "1.2" / "b"
    write(first, cases)
    write(second, cases)

    assert cases == list(read(first))
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()).decode().startswith('{"id":"v0","pod":{"spec":{}},"expected":{')


def test_of_a_case_that_is_as_in_the_version_before_only_that_is_written(tmp_path):
    first, second, third = (tmp_path / version / "a.jsonl.gz" for version in ("1.9", "1.10", "1.11"))
    for path in (first, second, third):
        write(path, [case("v0"), case("v1", {"of": path.parent.name})])

    lines = gzip.decompress(third.read_bytes()).decode().splitlines()
    assert [{"id": "v0", "as": "1.10"}, case("v1", {"of": "1.11"})] == [json.loads(line) for line in lines]
    assert [[case("v0"), case("v1", {"of": version})] for version in ("1.9", "1.10", "1.11")] == [
        list(read(path)) for path in (first, second, third)
    ]


def test_files_that_refer_to_another_keep_what_they_say(tmp_path):
    first, second, third, linked = (file_of(tmp_path, version, "a") for version in ("1.1", "1.2", "1.3", "1.4"))
    for path in (first, second, third):
        write(path, [case("v0", {"a": 1})])
    linked.parent.mkdir()
    linked.symlink_to("../1.1/a.jsonl.gz")
    record(tmp_path, "1.1", "a", [case("v0")], [{"b": 2}])

    assert [{"b": 2}, {"a": 1}, {"a": 1}, {"a": 1}] == [
        next(read(path))["expected"] for path in (first, second, third, linked)
    ]


def test_no_recording_is_there_twice():
    files = [file for file in sorted(DATA.rglob("*.jsonl.gz")) if not file.is_symlink()]
    contents = [gzip.decompress(file.read_bytes()) for file in files]

    assert len(files) == len(set(contents))


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_those_of_the_newest_recording_of_a_kind(kind, tmp_path):
    write(file_of(tmp_path, "1.9", kind), [case("old")])
    write(file_of(tmp_path, "1.10", kind), [case("new", {})])
    write(file_of(tmp_path, "1.11", "another"), [])

    assert [{"id": "new", "pod": {"spec": {}}}] == inputs(tmp_path, kind)
    assert 1000 <= len(inputs(DATA, kind))


@pytest.mark.parametrize("kind, first", [("whole_profile", "w0"), ("volume_profile", "v0")])
def test_inputs_are_generated_where_nothing_is_recorded_yet(kind, first, tmp_path):
    assert first == inputs(tmp_path, kind)[0]["id"]


def test_a_file_is_left_alone_where_all_is_as_recorded(tmp_path):
    """Errors come in any order, and none may be null."""
    path = file_of(tmp_path, "1.37", "validation")
    write(path, [case("v0", {"podCreate": ERRORS, "podTemplate": None})])
    before = path.read_bytes()

    decision = {"podCreate": ERRORS[::-1], "podTemplate": []}
    assert "1.37 validation: 1 cases, 1 as recorded before" == record(
        tmp_path, "1.37", "validation", [case("v0")], [decision]
    )
    assert before == path.read_bytes()


def test_only_what_is_decided_otherwise_is_written_anew(tmp_path):
    path = file_of(tmp_path, "1.37", "validation")
    write(path, [case("v0", {"podCreate": ERRORS}), case("v1", {"podCreate": []}), case("gone")])
    line = record(
        tmp_path, "1.37", "validation", [case("v0"), case("v1")], [{"podCreate": ERRORS[::-1]}, {"podCreate": ERRORS}]
    )

    assert "1.37 validation: 2 cases, 1 as recorded before" == line
    assert [case("v0", {"podCreate": ERRORS}), case("v1", {"podCreate": ERRORS})] == list(read(path))


def test_another_input_is_recorded_with_its_decision(tmp_path):
    path, now = file_of(tmp_path, "1.37", "validation"), {**case("v0"), "pod": {}}
    write(path, [case("v0", {})])
    record(tmp_path, "1.37", "validation", [now], [{}])

    assert [{**now, "expected": {}}] == list(read(path))


def test_a_new_version_has_a_folder_of_its_own(tmp_path):
    assert "1.99 profile: 1 cases, 0 as recorded before" == record(tmp_path, "1.99", "profile", [case("f0")], [{}])
    assert [case("f0", {})] == list(read(file_of(tmp_path, "1.99", "profile")))


@pytest.fixture
def oracle(tmp_path):
    """A program of this script, as `oracle(script)`."""

    def oracle(script):
        path = tmp_path / "oracle"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return oracle


ECHO = """while read -r line; do printf '{"mode": "%s", "case": %s}\\n' "$1" "$line"; done"""


def test_it_is_asked_by_kind_a_case_a_line(oracle):
    assert [{"mode": "profile", "case": one} for one in ("a", {"b": "\n"})] == ask(
        oracle(ECHO), "profile", ["a", {"b": "\n"}]
    )


def test_all_kinds_are_recorded(oracle, tmp_path, monkeypatch, capsys):
    for kind in KINDS:
        write(file_of(tmp_path, "1.36", kind), [case(f"{kind}0", {})])
    monkeypatch.setattr(recording, "program", lambda version: oracle(ECHO))

    assert 0 == main(["v1.37.1"], tmp_path)
    assert [f"1.37 {kind}: 1 cases, 0 as recorded before" for kind in KINDS] == capsys.readouterr().out.splitlines()
    asked = [next(read(file_of(tmp_path, "1.37", kind)))["expected"]["mode"] for kind in KINDS]
    assert list(KINDS.values()) == asked


def test_an_oracle_that_fails_is_told_in_a_line_and_changes_nothing(oracle, tmp_path, monkeypatch, capsys):
    write(file_of(tmp_path, "1.36", "validation"), [case("v0", {})])
    monkeypatch.setattr(recording, "program", lambda version: oracle("cat > /dev/null; echo 'line 1: odd' >&2; exit 1"))

    assert 1 == main(["v1.36.2"], tmp_path)
    assert f"{tmp_path}/oracle validation: line 1: odd\n" == capsys.readouterr().err
    assert [case("v0", {})] == list(read(file_of(tmp_path, "1.36", "validation")))


@pytest.mark.parametrize("arguments", [[], ["1.37"]])
def test_a_wrong_version_is_told_in_a_line(arguments, capsys):
    assert 1 == main(arguments)
    assert capsys.readouterr().err.startswith("KUBERNETES is ")
