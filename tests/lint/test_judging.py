"""Each finding is located at its line; what is no manifest is passed over, and what cannot be judged is a problem."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.support.build import constraint, namespace, owned_by, pod, policy, workload
from tests.support.lint import KEYS, WEB, judged, shown, terms
from webhook.lint.results import SYSTEM
from webhook.manifests.configurations import SYSTEM_NAMESPACES


class Case(NamedTuple):
    name: str
    text: str
    finds: list[str]


IN_LIST = "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  apiVersion: v1\n-\n"


PLACED = [
    Case("the field, with its value", f"{WEB}{KEYS}        labelSelector: {{}}  # none\n", ["15:9-26 empty-selector"]),
    Case("the parent, where the field is absent", f"{WEB}{KEYS}", ["12:9-19 empty-selector"]),
    Case(
        "the key only, where the value goes on",
        f"{WEB}{KEYS}        labelSelector:\n          matchLabels:\n            app: x\n",
        ["15:9-22 selector-misses-own-pod"],
    ),
    Case(
        "an item of a list",
        f"{WEB}{KEYS}        labelSelector: {{matchLabels: {{app: web}}}}\n        matchLabelKeys: [app, x]\n",
        ["16:26-29 invalid-constraint", "16:31-32 absent-match-label-key"],
    ),
    Case(
        "in a flow",
        f"{WEB}      - {{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}}",
        ["12:9-74 empty-selector"],
    ),
    Case("in a document that is not the first", f"a: 1\n---\n{WEB}{KEYS}", ["14:9-19 empty-selector"]),
    Case("after a byte order mark", f"\ufeff---\n{WEB}{KEYS}", ["13:9-19 empty-selector"]),
    Case("after a directive", f"%YAML 1.1\n---\n{WEB}{KEYS}", ["14:9-19 empty-selector"]),
    Case("in lines that end as on Windows", f"{WEB}{KEYS}".replace("\n", "\r\n"), ["12:9-19 empty-selector"]),
    Case(
        "in an item of a List",
        IN_LIST + "".join(f"  {line}\n" for line in f"{WEB}{KEYS}".splitlines()),
        ["18:11-21 empty-selector"],
    ),
    Case(
        "where an anchor stands, for what is merged in",
        WEB.replace("spec:\n  strategy", "x: &x\n  topologyKey: a b\nspec:\n  strategy")
        + "      - {<<: *x, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}",
        ["5:3-19 malformed-topology-key"],
    ),
    Case(
        "where an alias stands",
        WEB.replace("spec:\n  strategy", "x: &x {}\nspec:\n  strategy") + f"{KEYS}        labelSelector: *x",
        ["16:9-26 empty-selector"],
    ),
    Case("in JSON", json.dumps(pod(constraint(maxSkew=0)), indent=1), ["14:5-17 invalid-constraint"]),
    Case(
        "after letters of more than one byte",
        f"{WEB}      - {{topologyKey: 'é ü', maxSkew: 1, "
        "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}",
        ["12:10-28 malformed-topology-key"],
    ),
]


@pytest.mark.parametrize("case", PLACED, ids=lambda case: case.name)
def test_a_finding_stands_at(case):
    assert case.finds == shown(case.text)


def test_each_finding_tells_its_object_and_its_line():
    (one,) = judged(f"{WEB}{KEYS}").found

    assert "Deployment shop/web" == str(one.object)
    assert "      - maxSkew: 1" == one.quoted


def test_a_mistake_in_one_document_says_nothing_of_the_others():
    found = judged(f"{WEB}{KEYS}---\nkind: [\n---\n{WEB}{KEYS}")

    assert [12, 29] == [one.line for one in found.found]
    assert [(17, 1)] == [(one.line, one.column) for one in found.problems]


DUPLICATE = f"{WEB}{KEYS}        maxSkew: 2\n"


UNREADABLE = [
    Case("YAML that is none", "a: [1\nb: 2", ["2:2 did not find"]),
    Case("a key twice", DUPLICATE, ['15:9 duplicate key "maxSkew"']),
    Case("a tab in a manifest", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x", ["4:1 found character"]),
]


SILENT = [
    Case("nothing", "", []),
    Case("a list", "- a\n- b\n", []),
    Case("a word", "hello", []),
    Case("an object of no kind", "apiVersion: v1\nspec: {topologySpreadConstraints: [{}]}", []),
    Case("a kind that is no string", "apiVersion: 1\nkind: [x]", []),
    Case("a key twice in some tool's file", "a: 1\na: 2", []),
    Case("a tag of some tool's", "x: !!python/name:emoji.y\n", []),
    Case(
        "a manifest in a ConfigMap",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  x.yaml: |\n"
        + "".join(f"    {x}\n" for x in f"{WEB}{KEYS}".splitlines()),
        [],
    ),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.name)
def test_what_should_parse_and_does_not_is_a_problem_at_its_line(case):
    (problem,) = judged(case.text).problems

    assert f"{problem.line}:{problem.column} {problem.message.removeprefix('cannot be read: ')}".startswith(
        case.finds[0]
    )


@pytest.mark.parametrize("case", SILENT, ids=lambda case: case.name)
def test_what_is_no_manifest_is_passed_over_in_silence(case):
    found = judged(case.text)

    assert ([], []) == (found.problems, found.found)


def test_what_a_cluster_made_of_an_object_is_passed_over():
    """In what comes from a cluster; a manifest that names an owner is a person's."""
    owned = workload("ReplicaSet", constraint(labelSelector={}), owner="Deployment/web")

    assert 1 == len(judged(json.dumps(owned)).found)
    owned["metadata"]["uid"] = "u"
    assert [] == judged(json.dumps(owned)).found


@pytest.mark.parametrize("name", SYSTEM_NAMESPACES)
def test_what_is_never_sent_to_the_webhook_is_passed_over_and_counted(name):
    there = json.dumps(workload("Deployment", constraint(labelSelector={}), namespace=name))
    by_default = terms(namespace=name)
    unnamed = json.dumps(workload("Deployment", constraint(labelSelector={}), namespace=None))

    assert ([], 1) == (shown(there), judged(there).passed_over[SYSTEM])
    assert ([], 1) == (shown(unnamed, by_default), judged(unnamed, by_default).passed_over[SYSTEM])
    assert (1, 0) == (len(shown(unnamed)), judged(unnamed).passed_over.total())
    assert 0 == judged(json.dumps(namespace(name))).passed_over.total()


def test_of_what_is_never_sent_that_is_counted_which_rules_would_have_looked_at():
    bare = json.dumps(workload("Deployment", namespace="kube-system"))
    required = policy("rules: {missing-constraints: {severity: warning, minReplicas: 2}}")

    assert [0, 1] == [judged(bare, terms(policy=one)).passed_over[SYSTEM] for one in (terms().policy, required)]


def test_kinds_that_nobody_described_are_counted():
    prometheus = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus"}
    has = prometheus | {"spec": {"topologySpreadConstraints": [{}]}}
    schema = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"} | {
        "spec": {"properties": {"topologySpreadConstraints": {"type": "array"}}}
    }
    found = judged("\n---\n".join(map(json.dumps, (prometheus, has, schema))))

    assert {("monitoring.coreos.com/v1", "Prometheus"): 1} == found.unjudged


def test_what_is_too_large_to_judge_is_a_problem():
    (problem,) = judged(json.dumps(pod(*[constraint()] * 101))).problems

    said = "Pod shop/web-1: spec.topologySpreadConstraints: found 101 constraints, at most 100 can be judged"
    assert said == problem.message


def test_an_owner_in_a_manifest_is_the_writer_s_to_claim():
    assert 1 == len(judged(json.dumps(workload("Deployment", constraint(labelSelector={}), **owned_by("X/y")))).found)
