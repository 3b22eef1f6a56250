"""evenkeel policy test --init: a test of what a policy does today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.build import constraint, node, pod, service, workload
from tests.support.commands import POLICY, Run

EMPTY = workload("Deployment", constraint(labelSelector={}))
ENFORCED = {"severity": "error", "enforced": True}
STRICT = POLICY | {"rules": {"missing-constraints": ENFORCED, "empty-selector": ENFORCED}}
OWNED = pod(owner="ReplicaSet/web")
CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"


MANIFESTS = [EMPTY, service(), OWNED, workload("StatefulSet", name="db")]


def test_what_is_written_passes_at_once_and_has_all_that_is_judged(run):
    written = run("policy test --init a.evenkeel-test.yaml --policy p m", m=MANIFESTS, p=STRICT, v="a: 1")

    assert Run(0, "a.evenkeel-test.yaml: 3 cases\n", "") == written
    assert 0 == run("policy test .").code
    assert 1 == Path("a.evenkeel-test.yaml").read_text().count(f"  object: m#Pod/web-1\n  user: {CONTROLLER}\n")
    again = run("policy test --init a.evenkeel-test.yaml m")
    assert Run(2, "", "evenkeel: --init: a.evenkeel-test.yaml already exists; remove it, or write another\n") == again


def test_what_is_written_holds_the_policy_to_what_it_did(run):
    run("policy test --init a.evenkeel-test.yaml --policy p --cluster c m", m=MANIFESTS, p=POLICY, c=service())

    code, out, _ = run("policy test a.evenkeel-test.yaml", p=POLICY | {"enforcement": "Warn", "defaulting": {}})
    assert (1, "3 cases in 1 file, 2 failed") == (code, out.splitlines()[-1])


def test_what_is_written_is_of_today_where_an_override_ends(run):
    ended = {"name": "a", "podSelector": {}, "until": "2000-01-01", "rules": {"empty-selector": "ignore"}}
    lasting = {"name": "b", "schedulerName": "gpu"}
    written = run(
        "policy test --init a.evenkeel-test.yaml --policy p m", m=EMPTY, p=POLICY | {"overrides": [ended, lasting]}
    )
    text = Path("a.evenkeel-test.yaml").read_text()

    assert 0 == written.code
    assert "outcome: denied" in text and "\ntoday: " in text


def test_paths_are_relative_to_what_is_written(run, tmp_path):
    (tmp_path / "tests").mkdir()
    run(
        "policy test --init tests/a.evenkeel-test.yaml --policy p m one --cluster c",
        m=MANIFESTS,
        p=STRICT,
        c=node(),
        one=EMPTY,
    )
    text = (tmp_path / "tests" / "a.evenkeel-test.yaml").read_text()

    assert "policy: ../p\ncluster: ../c\n" in text
    assert "object: ../m#Deployment/web\n" in text and "object: ../one\n" in text
    assert 0 == run("policy test tests").code


def test_what_has_no_name_of_its_own_stands_in_the_test(run, tmp_path):
    twice = [EMPTY, EMPTY, workload("Deployment", namespace="other"), workload("Deployment")]
    run("policy test --init a.evenkeel-test.yaml m", m=twice)
    text = (tmp_path / "a.evenkeel-test.yaml").read_text()

    assert ["  object: m#Deployment/other/web"] == [line for line in text.splitlines() if line.startswith("  object: ")]
    assert 3 == text.count("- name: Deployment shop/web (")
    assert 0 == run("policy test .").code


def test_in_a_folder_what_is_no_manifest_is_passed_over(run, tmp_path):
    (tmp_path / "chart").mkdir()
    for name, content in {"values.yaml": "a: 1", "t.yaml": "{{ x", "web.json": json.dumps(EMPTY)}.items():
        (tmp_path / "chart" / name).write_text(content)

    code, out, err = run("policy test --init - chart")
    assert (0, 1) == (code, out.count("- name: "))
    assert [f"note: passed over chart/{name}" for name in ("t.yaml", "values.yaml")] == [
        line.split(": ")[0] + ": " + line.split(": ")[1] for line in err.splitlines()
    ]
    assert 2 == run("policy test --init - chart/values.yaml").code


def test_what_yaml_cannot_hold_is_passed_over(run):
    """JSON may have half a character."""
    half = workload("Deployment", name="\ud800")
    code, out, err = run("policy test --init - m", m={"kind": "List", "apiVersion": "v1", "items": [half, EMPTY]})

    assert (0, 1) == (code, out.count("- name: "))
    assert "note: left out Deployment shop/\\ud800: it has an invalid character\n" == err


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ("--init a.yaml m", '--init: found "a.yaml", wanted a name that ends in .evenkeel-test.yaml, or -'),
        ("--init - --cluster live m", "--cluster: found live, wanted a file, which evenkeel dump writes: "),
        ("--init - m", "m: found no object that the policy judges"),
        ("--init no/a.evenkeel-test.yaml one", "--init: no/a.evenkeel-test.yaml: No such file or directory"),
        ("--init - none", "none: no such file or folder"),
    ],
)
def test_what_cannot_be_written_is_said(run, args, error):
    code, out, err = run(f"policy test {args}", m=service(), one=EMPTY)

    assert (2, "") == (code, out)
    assert err.startswith(f"evenkeel: {error}")
