"""The recorded decisions of Kubernetes are ours, and the runner that says so can also say no."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from typing import NamedTuple

import pytest

from tests.conformance import MODES, main
from tests.support import DATA, ROOT
from webhook.scheduler.features import features
from webhook.scheduler.validation import validate

ALONE = """
import runpy, sys
sys.modules |= dict.fromkeys(["pytest", "hypothesis"])  # so that importing either fails
sys.argv[1:] = ["defaults"]
runpy.run_module("tests.conformance", run_name="__main__")
"""


def recorded(mode):
    return [json.loads(line) for line in gzip.open(DATA / MODES[mode].RECORDED)]


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


@pytest.mark.parametrize("mode", MODES)
def test_every_recorded_case_agrees(mode, capsys):
    assert 0 == main([mode])
    assert f"{len(recorded(mode))} agree, 0 differ\n" == capsys.readouterr().out


def test_errors_are_told_in_the_words_of_kubernetes():
    """The runner compares type and field; the details are the same, too."""
    for case in recorded("validation"):
        raw, labels = case["pod"]["spec"]["topologySpreadConstraints"], case["pod"]["metadata"]["labels"]
        ours = validate(raw, labels, ("spec", "topologySpreadConstraints"), merged=False, features=features(36))

        assert Counter(error["detail"] for error in case["expected"]["podCreate"]) == Counter(e.detail for e in ours)


def pod(*constraints, **labels):
    return {"metadata": {"namespace": "n", "labels": labels}, "spec": {"topologySpreadConstraints": [*constraints]}}


ZONE = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
BROKEN, NO_SELECTOR = {**ZONE, "maxSkew": 0}, {**ZONE, "labelSelector": None}
INVALID = {"type": "FieldValueInvalid", "field": "spec.topologySpreadConstraints[0].maxSkew"}
IN_TEMPLATE = {**INVALID, "field": f"template.{INVALID['field']}"}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "n"}, "spec": {"selector": {"app": "web"}}}
TEXT = "zone/1/app=web/minDomains=1/affinity=Honor/taints=Ignore"
SOFT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


def validation(*constraints, **expected):
    none = {"podCreate": None, "podTemplate": None, "afterPrepareForCreate": list(constraints)}
    return {"id": "v", "pod": pod(*constraints), "expected": none | expected}


def invalid(**expected):
    return validation(BROKEN, **({"podCreate": [INVALID], "podTemplate": [IN_TEMPLATE]} | expected))


def defaults(**expected):
    config = {"defaultingType": "List", "defaultConstraints": [SOFT]}
    found = {"defaultSelector": "app=web", "hardConstraints": None, "softConstraints": [TEXT]} | expected
    return {"id": "d", "config": config, "pod": pod(app="web"), "services": [SERVICE], "expected": found}


class Case(NamedTuple):
    name: str
    case: dict
    differs: tuple = ()
    mode: str = "validation"


CASES = [
    Case("null is an empty list of errors", validation(ZONE)),
    Case("null is an empty list of constraints", validation(afterPrepareForCreate=None)),
    Case("recorded errors are found", invalid()),
    Case("an error we do not find", validation(ZONE, podCreate=[INVALID]), ("podCreate",)),
    Case("an error only we find", invalid(podTemplate=[]), ("podTemplate",)),
    Case("an error recorded twice", invalid(podCreate=[INVALID, INVALID]), ("podCreate",)),
    Case("another type", invalid(podCreate=[{**INVALID, "type": "FieldValueRequired"}]), ("podCreate",)),
    Case("another field", invalid(podTemplate=[INVALID]), ("podTemplate",)),
    Case("another constraint", invalid(afterPrepareForCreate=[ZONE]), ("afterPrepareForCreate",)),
    Case("null for {}", validation(ZONE, afterPrepareForCreate=[NO_SELECTOR]), ("afterPrepareForCreate",)),
    Case("no recorded validation", {**invalid(), "expected": {}}, tuple(invalid()["expected"])),
    Case("recorded defaults are found", defaults(), mode="defaults"),
    Case("another selector", defaults(defaultSelector="app=api"), ("defaultSelector",), "defaults"),
    Case("a duplicate", defaults(defaultSelector="app=web,app=web"), ("defaultSelector",), "defaults"),
    Case("a hard constraint more", defaults(hardConstraints=[TEXT]), ("hardConstraints",), "defaults"),
    Case("a soft constraint less", defaults(softConstraints=None), ("softConstraints",), "defaults"),
    Case("no recorded defaults", {**defaults(), "expected": {}}, tuple(defaults()["expected"]), "defaults"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_differs_is_named(run, case):
    status, lines, _ = run(case.mode, case.case)

    assert bool(case.differs) == status
    assert list(case.differs) == [line.split(": ")[1] for line in lines[:-1]]
    assert ("0 agree, 1 differ" if case.differs else "1 agree, 0 differ") == lines[-1]


def test_a_falsified_case_stands_out_among_recorded_ones(run):
    cases = recorded("defaults")[:20]
    cases[7]["expected"]["defaultSelector"] += "x"
    status, lines, _ = run("defaults", *cases)

    assert 1 == status
    assert lines[0].startswith(f"{cases[7]['id']}: defaultSelector: ours ")
    assert ["19 agree, 1 differ"] == lines[1:]


def test_five_differences_are_shown_and_all_are_counted(run):
    _, lines, _ = run("validation", *[validation(BROKEN)] * 7, validation(ZONE))

    assert 6 == len(lines)
    assert "1 agree, 7 differ" == lines[-1]


def test_a_file_may_be_gzipped_whatever_its_name(run):
    content = gzip.compress(json.dumps(validation(ZONE)).encode())

    assert (0, ["1 agree, 0 differ"], []) == run("validation", content=content)


class Failure(NamedTuple):
    name: str
    content: bytes
    message: str
    mode: str = "validation"


def written(case, **fields):
    return json.dumps({**case, **fields}).encode()


GZIPPED = gzip.compress(written(validation()))
FAILURES = [
    Failure("an empty file", b"\n", "holds no case"),
    Failure("no JSON", b"\n{", "line 2: not JSON"),
    Failure("no UTF-8", b'"\xff"', "line 1: not JSON"),
    Failure("JSON too deep", b"[" * 100_000, "line 1: not JSON"),
    Failure("no object", b"[]", "line 1: must be an object"),
    Failure("a case without a Pod", written(validation(), pod=None), "line 1: must be an object"),
    Failure("a case without what is expected", written(validation(), expected=[]), "line 1: must be an object"),
    Failure("errors that are no list", written(validation(podCreate="x")), "v: podCreate: must be an array"),
    Failure("errors that are no objects", written(validation(podTemplate=["x"])), "v: podTemplate: must be an array"),
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


@pytest.mark.parametrize("call", ["", "nonsense", "validation a b", "validation /nowhere/x", "defaults /"])
def test_a_wrong_call_fails_in_one_line(call, capsys):
    assert 2 == main(call.split())

    printed = capsys.readouterr()
    assert ("", 1) == (printed.out, len(printed.err.splitlines()))


def test_it_needs_no_test_tools():
    """An installed evenkeel is enough."""
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=ROOT, capture_output=True, text=True)

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.endswith(" agree, 0 differ\n")
