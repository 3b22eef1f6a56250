"""The recorded decisions of Kubernetes are ours, and the runner that says so can also say no."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from typing import NamedTuple

import pytest

from tests.conformance import MODES, main, preemption, recordings
from tests.conformance.cases import read
from tests.support import DATA, ROOT
from webhook.kubernetes.features import LATEST, NEWEST, parse_version
from webhook.kubernetes.fields import path_text
from webhook.spread.validation import validate

ALONE = """
import runpy, sys
sys.modules |= dict.fromkeys(["pytest", "hypothesis"])  # so that importing either fails
sys.argv[1:] = ["defaults"]
runpy.run_module("tests.conformance", run_name="__main__")
"""


def recorded(path):
    return list(read(path))


def recorded_by(*modes):
    """The recordings of these modes; `make test` has the oldest and the newest of each kind."""
    for mode in modes:
        for path in recordings(MODES[mode]):
            versions = sorted(DATA.glob(f"1.*/{path.name}"))
            marks = [] if path in (versions[0], versions[-1]) else [pytest.mark.slow]
            yield pytest.param(mode, path, id=f"{mode}-{path.parent.name}/{path.name}", marks=marks)


# Where Pods of the same priority and start time are recorded as victims that come before others by name.
EQUAL_PODS = """
p63 p88 p110 p131 p141 p152 p165 p172 p201 p203 p223 p245 p294 p296 p333 p355 p364 p366 p427 p442 p461 p466 p484 p507
p543 p550 p553 p569 p618 p725 p753 p813 p825 p872 p879 p893 p895 p940 p984
"""
NEWEST_DEFAULTS = DATA / f"1.{NEWEST}" / MODES["defaults"].RECORDED


@pytest.fixture
def run(tmp_path, capsys):
    """The exit status, and the lines printed to stdout and stderr, for a file of these cases."""

    def run(mode, *cases, content=None):
        path = tmp_path / "cases"
        path.write_bytes(content or "\n".join(map(json.dumps, cases)).encode())
        status = main([mode, str(path)])
        printed = capsys.readouterr()
        return status, printed.out.splitlines(), printed.err.replace(str(path), "FILE").splitlines()

    return run


@pytest.mark.parametrize(("mode", "path"), [*recorded_by(*MODES)])
def test_every_recorded_case_agrees(mode, path, capsys):
    assert 0 == main([mode, str(path)])
    assert f"{len(recorded(path))} agree, 0 differ\n" == capsys.readouterr().out


def test_other_victims_than_by_name_are_recorded_where_pods_are_equal():
    cases = recorded(DATA / f"1.{NEWEST}" / preemption.RECORDED)

    assert EQUAL_PODS.split() == [case["id"] for case in cases if preemption.names_decide(case, LATEST)]
    cases, features = recorded(DATA / "1.38" / preemption.RECORDED), parse_version("1.38")
    assert [] == [case["id"] for case in cases if preemption.names_decide(case, features)]


def test_a_mode_with_two_files_of_a_version_compares_both():
    files = [f"{path.parent.name}/{path.name}" for path in recordings(MODES["profile"])]

    of_33 = [f"1.33/{name}.jsonl.gz" for name in ("profile", "volume_profile", "whole_profile")]
    assert ["1.32/profile.jsonl.gz", *of_33] == files[:4]


def test_all_recordings_are_compared_where_none_is_given(capsys):
    assert 0 == main(["validation"])
    counted = [f"1.{minor}: 2000 agree, 0 differ" for minor in range(32, 39)]
    assert counted == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("mode", "path"), [*recorded_by("validation")])
def test_errors_are_told_in_the_words_of_that_version(mode, path):
    """The runner compares type and field; the details are the same, too."""
    version = parse_version(path.parent.name)
    for case in recorded(path):
        raw, labels = case["pod"]["spec"]["topologySpreadConstraints"], case["pod"]["metadata"]["labels"]
        ours = validate(raw, labels, ("spec", "topologySpreadConstraints"), merged=False, features=version)

        found = case["expected"]["podCreate"] or []
        assert Counter((one["field"], one["detail"]) for one in found) == Counter(
            (path_text(one.path), one.detail) for one in ours
        )


def test_the_version_is_the_option_or_the_folder_or_the_newest(tmp_path, capsys):
    """What 1.33 said is not what 1.37 says."""
    recorded_33 = DATA / "1.33" / "validation.jsonl.gz"
    for folder in ("1.33", "cases"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_bytes(recorded_33.read_bytes())
    said = {
        (folder, *options): main(["validation", str(tmp_path / folder / "x"), *options])
        for folder, options in (
            ("1.33", ()),
            ("1.33", ("--kubernetes-version", "1.37")),
            ("cases", ()),
            ("cases", ("--kubernetes-version", "v1.33.3")),
        )
    }

    assert [0, 1, 1, 0] == list(said.values())


def pod(*constraints, **labels):
    return {"metadata": {"namespace": "n", "labels": labels}, "spec": {"topologySpreadConstraints": [*constraints]}}


ZONE = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
BROKEN, NO_SELECTOR = {**ZONE, "maxSkew": 0}, {**ZONE, "labelSelector": None}
INVALID = {"type": "FieldValueInvalid", "field": "spec.topologySpreadConstraints[0].maxSkew"}
IN_TEMPLATE = {**INVALID, "field": f"template.{INVALID['field']}"}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "n"}, "spec": {"selector": {"app": "web"}}}
TEXT = "zone/1/app=web/minDomains=1/affinity=Honor/taints=Ignore"
SOFT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


def validated(*constraints, **expected):
    none = {"podCreate": None, "podTemplate": None, "afterPrepareForCreate": list(constraints)}
    return {"id": "v", "pod": pod(*constraints), "expected": none | expected}


def invalid(**expected):
    return validated(BROKEN, **({"podCreate": [INVALID], "podTemplate": [IN_TEMPLATE]} | expected))


def defaults(**expected):
    config = {"defaultingType": "List", "defaultConstraints": [SOFT]}
    found = {"defaultSelector": "app=web", "hardConstraints": None, "softConstraints": [TEXT]} | expected
    return {"id": "d", "config": config, "pod": pod(app="web"), "services": [SERVICE], "expected": found}


def short(*resources):
    """A Pod that asks for three resources of a node that has none; what the scheduler says of them."""
    asked = {"resources": {"requests": dict.fromkeys(["cpu", "a.b/c", "a.b/d"], "1")}}
    found = {"plugin": "NodeResourcesFit", "reasons": [f"Insufficient {name}" for name in resources]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"pods": 9}}}
    message = "0/1 nodes are available: 1 Insufficient a.b/c, 1 Insufficient a.b/d, 1 Insufficient cpu."
    none = {"feasible": None, "scores": None, "total": None, "preFilter": ""}
    expected = {"reasons": {"n": found}, "message": message, **none}
    of = {"metadata": {"namespace": "n"}, "spec": {"containers": [asked]}}
    return {"id": "f", "config": {"defaultingType": "List"}, "pod": of, "nodes": [node], "expected": expected}


def without_nodes():
    """What the plugin says of a Pod with a soft constraint."""
    empty = {what: {} for what in ("filter", "filterReason", "rawScore", "score")}
    expected = {"preFilter": "Skip", "domainCounts": [], "preScore": "Skip", **empty}
    return {"id": "p", "config": {"defaultingType": "List"}, "pod": pod(SOFT), "nodes": [], "expected": expected}


class Case(NamedTuple):
    name: str
    case: dict
    differs: tuple = ()
    mode: str = "validation"


CASES = [
    Case("null is an empty list of errors", validated(ZONE)),
    Case("null is an empty list of constraints", validated(afterPrepareForCreate=None)),
    Case("recorded errors are found", invalid()),
    Case("an error we do not find", validated(ZONE, podCreate=[INVALID]), ("podCreate",)),
    Case("an error only we find", invalid(podTemplate=[]), ("podTemplate",)),
    Case("an error recorded twice", invalid(podCreate=[INVALID, INVALID]), ("podCreate",)),
    Case("another type", invalid(podCreate=[{**INVALID, "type": "FieldValueRequired"}]), ("podCreate",)),
    Case("another field", invalid(podTemplate=[INVALID]), ("podTemplate",)),
    Case("another constraint", invalid(afterPrepareForCreate=[ZONE]), ("afterPrepareForCreate",)),
    Case("null for {}", validated(ZONE, afterPrepareForCreate=[NO_SELECTOR]), ("afterPrepareForCreate",)),
    Case("no recorded validation", {**invalid(), "expected": {}}, tuple(invalid()["expected"])),
    Case("recorded defaults are found", defaults(), mode="defaults"),
    Case("another selector", defaults(defaultSelector="app=api"), ("defaultSelector",), "defaults"),
    Case("a duplicate", defaults(defaultSelector="app=web,app=web"), ("defaultSelector",), "defaults"),
    Case("a hard constraint more", defaults(hardConstraints=[TEXT]), ("hardConstraints",), "defaults"),
    Case("a soft constraint less", defaults(softConstraints=None), ("softConstraints",), "defaults"),
    Case("no recorded defaults", {**defaults(), "expected": {}}, tuple(defaults()["expected"]), "defaults"),
    Case("no nodes", without_nodes(), mode="placement"),
    Case("shortages", short("cpu", "a.b/c", "a.b/d"), mode="profile"),
    Case("extended resources in any order", short("cpu", "a.b/d", "a.b/c"), mode="profile"),
    Case("CPU after an extended resource", short("a.b/c", "cpu", "a.b/d"), ("reasons",), "profile"),
    Case("a shortage less", short("cpu", "a.b/c"), ("reasons",), "profile"),
    Case("a shortage twice", short("cpu", "a.b/c", "a.b/c", "a.b/d"), ("reasons",), "profile"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_differs_is_named(run, case):
    status, lines, _ = run(case.mode, case.case)

    assert bool(case.differs) == status
    assert list(case.differs) == [line.split(": ")[1] for line in lines[:-1]]
    assert ("0 agree, 1 differ" if case.differs else "1 agree, 0 differ") == lines[-1]


def test_a_falsified_case_stands_out_among_recorded_ones(run):
    cases = recorded(NEWEST_DEFAULTS)[:20]
    cases[7]["expected"]["defaultSelector"] += "x"
    status, lines, _ = run("defaults", *cases)

    assert 1 == status
    assert lines[0].startswith(f"{cases[7]['id']}: defaultSelector: ours ")
    assert ["19 agree, 1 differ"] == lines[1:]


def test_five_differences_are_shown_and_all_are_counted(run):
    _, lines, _ = run("validation", *[validated(BROKEN)] * 7, validated(ZONE))

    assert 6 == len(lines)
    assert "1 agree, 7 differ" == lines[-1]


def test_a_file_may_be_gzipped_whatever_its_name(run):
    content = gzip.compress(json.dumps(validated(ZONE)).encode())

    assert (0, ["1 agree, 0 differ"], []) == run("validation", content=content)


class Failure(NamedTuple):
    name: str
    content: bytes
    message: str
    mode: str = "validation"


def written(case, **fields):
    return json.dumps({**case, **fields}).encode()


GZIPPED = gzip.compress(written(validated()))
FAILURES = [
    Failure("an empty file", b"\n", "holds no case"),
    Failure("no JSON", b"\n{", "line 2: not JSON"),
    Failure("no UTF-8", b'"\xff"', "line 1: not JSON"),
    Failure("JSON too deep", b"[" * 100_000, "line 1: not JSON"),
    Failure("no object", b"[]", "line 1: must be an object"),
    Failure("a case without a Pod", written(validated(), pod=None), "line 1: must be an object"),
    Failure("a case without what is expected", written(validated(), expected=[]), "line 1: must be an object"),
    Failure("errors that are no list", written(validated(podCreate="x")), "v: podCreate: must be an array"),
    Failure("errors that are no objects", written(validated(podTemplate=["x"])), "v: podTemplate: must be an array"),
    Failure("reasons that are no object", written(short(), expected={"reasons": []}), "f: expected.reasons", "profile"),
    Failure("a gzip that breaks off", GZIPPED[:-9], "Compressed file ended"),
    Failure("a gzip that is none", GZIPPED[:10] + b"\xff" * 9, "Error -3"),
    Failure("a case without a config", written(defaults(), config=None), "d: config.defaultingType", "defaults"),
    Failure("services that are no list", written(defaults(), services={}), "d: services: must be", "defaults"),
    Failure(
        "a Service that is none",
        written(defaults(), services=[{**SERVICE, "spec": "\n"}]),
        "d: Service n/: spec: found",
        "defaults",
    ),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_a_file_that_cannot_be_compared_fails_in_one_line(run, failure):
    status, lines, errors = run(failure.mode, content=failure.content)

    assert (2, []) == (status, lines)
    assert 1 == len(errors)
    assert errors[0].startswith(f"FILE: {failure.message}")


WRONG_VERSIONS = [
    "validation --kubernetes-version",
    "validation --kubernetes-version 1.99",
    "defaults x --kubernetes-version 2",
]


@pytest.mark.parametrize(
    "call", ["", "nonsense", "validation a b", "validation /nowhere/x", "defaults /", *WRONG_VERSIONS]
)
def test_a_wrong_call_fails_in_one_line(call, capsys):
    assert 2 == main(call.split())

    printed = capsys.readouterr()
    assert ("", 1) == (printed.out, len(printed.err.splitlines()))


def test_it_needs_no_test_tools():
    """An installed evenkeel is enough."""
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=ROOT, capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.endswith(" agree, 0 differ\n")
