"""Workloads in one file are held against each other, with its autoscalers; only what that concerns is read twice."""

from __future__ import annotations

import json

import pytest

from evenkeel.lint import judgement
from evenkeel.lint.declarations import NOTHING_STATED, packed, unpacked
from evenkeel.lint.judgement import judge
from tests.support.build import HOSTNAME, constraint, honoring, hpa, pod, policy, workload
from tests.support.lint import terms

SPREAD = workload("StatefulSet", honoring(), name="db")
OTHER = workload("Deployment")
REQUIRED = "rules: {missing-constraints: {severity: warning}}"


def text(*objects):
    return "".join(f"---\n{json.dumps(obj)}\n" for obj in objects)


def found(content, **fields):
    return [one.finding.rule for one in judge("a.yaml", content, terms(**fields)).found]


@pytest.mark.parametrize(
    "content",
    [
        text(OTHER, SPREAD),
        text(SPREAD, OTHER),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [SPREAD, OTHER]}),
        text(SPREAD, "no object", OTHER),
        f"{text(SPREAD)}---\nkind: [\n{text(OTHER)}",
    ],
    ids=["before it", "after it", "in a list", "beyond a text", "beyond what cannot be read"],
)
def test_another_workload_of_the_file_is_seen(content):
    assert ["selector-matches-others"] == found(content)


@pytest.mark.parametrize(("beside", "rules"), [([], []), ([pod(name="b")], ["counts-tainted-nodes"])])
def test_a_pod_is_alone_or_beside_others_of_its_file(beside, rules):
    assert rules == found(text(pod(constraint(topologyKey=HOSTNAME), name="a"), *beside))


def test_the_namespace_that_is_given_is_that_of_objects_without_one():
    nowhere = workload("StatefulSet", honoring(), name="db", namespace=None)

    assert ["selector-matches-others"] == found(text(nowhere, OTHER), namespace="shop")
    assert [] == found(text(nowhere, OTHER), namespace="default")


def test_a_kind_that_a_policy_describes_is_seen():
    fleet = {**OTHER, "apiVersion": "a.io/v1", "kind": "Fleet"}
    described = "{apiVersion: a.io/v1, kind: Fleet, resource: fleets, podTemplate: spec.template}"

    assert [] == found(text(SPREAD, fleet))
    assert ["selector-matches-others"] == found(text(SPREAD, fleet), policy=policy(f"workloads: [{described}]"))


UNSCALED = workload("Deployment", honoring(), spec={"replicas": None})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (text(UNSCALED), []),
        (text(UNSCALED, hpa()), ["rollout-skew"]),
        (text(hpa(), UNSCALED), ["rollout-skew"]),
        (text(UNSCALED, hpa(1, 1)), []),
        (text(UNSCALED, hpa(namespace="other")), []),
        (text(UNSCALED, hpa(kind="VerticalPodAutoscaler")), []),
    ],
    ids=["none", "after it", "before it", "of one Pod", "in another namespace", "of another kind"],
)
def test_an_autoscaler_of_the_file_gives_a_workload_its_replicas(content, expected):
    assert expected == found(content)


def test_an_autoscaler_matters_to_what_has_no_constraints_where_a_policy_asks_for_them():
    bare = workload("Deployment", spec={"replicas": None})
    by = policy(REQUIRED)

    assert [[], ["missing-constraints"]] == [found(text(bare, *each), policy=by) for each in ([], [hpa()])]


@pytest.mark.parametrize(
    ("content", "times"),
    [(text(SPREAD), 1), (text(OTHER, OTHER), 1), (text(SPREAD, workload("Deployment", labels={})), 1)],
    ids=["one workload", "no constraints", "none that it counts"],
)
def test_a_file_is_judged_once_where_nothing_stands_beside_another(content, times, monkeypatch):
    read, real = [], judgement.read_documents
    monkeypatch.setattr(judgement, "read_documents", lambda *args: read.append(1) or real(*args))
    found(content)

    assert times * content.count("---") == len(read)


def stated(*objects, by=None):
    return judge("a.yaml", text(*objects), by or terms()).states


def test_what_a_file_states_is_packed_and_unpacked():
    expected = stated(SPREAD, OTHER, hpa(), workload("ReplicaSet", owner="Deployment/web"))

    assert [("a.yaml", expected)] == [*unpacked(packed([("b.yaml", NOTHING_STATED), ("a.yaml", expected)]))]
    assert b"" == packed([("b.yaml", NOTHING_STATED)])


def test_a_workload_asks_where_a_rule_is_run_on_it():
    asking = [one.asks for one in stated(SPREAD, OTHER).workloads]
    required = [one.asks for one in stated(OTHER, by=terms(policy=policy(REQUIRED))).workloads]
    too_large = [one.asks for one in stated(workload("StatefulSet", *[constraint()] * 101)).workloads]

    assert [((("app", "=", ("web",)),),), None] == asking
    assert ([()], [None]) == (required, too_large)


def test_a_patch_states_nothing():
    assert ([], []) == stated(workload("StatefulSet", honoring(), labels={}, spec={"selector": None}))


NAME = {"app.kubernetes.io/name": "shop"}
HELM = [{**NAME, "app.kubernetes.io/instance": "a", "app.kubernetes.io/component": part} for part in ("db", "web")]
BY_NAME = honoring(labelSelector={"matchLabels": NAME})


@pytest.mark.parametrize(
    ("kind", "spec", "beside", "expected"),
    [
        ("StatefulSet", {"replicas": 1}, [], ["skew-never-binds"]),
        ("StatefulSet", {"replicas": 1}, [{"annotations": {"helm.sh/hook": "test"}}], ["skew-never-binds"]),
        ("StatefulSet", {"replicas": 1}, [{}], []),
        ("StatefulSet", {"replicas": 3}, [{}], ["selector-matches-others"]),
        ("StatefulSet", {"replicas": 3}, [{"annotations": {"helm.sh/hook": "test"}}], []),
        ("Deployment", {"replicas": 1, "strategy": {"type": "Recreate"}}, [], ["skew-never-binds"]),
        ("Deployment", {"replicas": 1, "strategy": {"type": "Recreate"}}, [{}], []),
        ("Deployment", {"replicas": 1}, [], []),
    ],
)
def test_of_a_chart_never_two_rules_say_the_opposite(kind, spec, beside, expected):
    db, web = HELM
    released = workload(kind, BY_NAME, name="db", labels=db, spec={**spec, "selector": {"matchLabels": db}})
    others = [workload("Deployment", labels=web, spec={"selector": {"matchLabels": web}}, **more) for more in beside]

    assert expected == found(text(released, *others))
