"""What a rule is, what a policy may set of it, and what it sees of the workloads that a selector counts."""

from __future__ import annotations

import pytest

from tests.support.build import FEATURES, constraint, node, pod, snapshot, workload
from webhook.findings.finding import Severity
from webhook.findings.neighbours import Neighbours
from webhook.findings.rule import CountedPods, Subject, rule
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import RULES
from webhook.spread.constraint import read_constraints


def test_a_rule_without_a_fix_is_refused_at_import():
    with pytest.raises(TypeError):
        rule(title="t", severity=Severity.INFO, bad="", good="")


def test_a_second_rule_of_one_id_is_refused_at_import():
    def empty_selector(subject):
        """Twice."""

    with pytest.raises(TypeError):
        rule(title="t", severity=Severity.INFO, fix="f", bad="", good="")(empty_selector)


def test_a_rule_that_looks_for_what_nothing_provides_is_refused_at_import():
    def looks_for_a_typo(subject):
        """Never runs."""

    with pytest.raises(TypeError, match="hrad"):
        rule(title="t", severity=Severity.INFO, fix="f", bad="", good="", where=("hrad",))(looks_for_a_typo)


def test_a_setting_takes_defaults_for_what_is_not_given():
    rule = RULES["missing-constraints"]

    assert {"minReplicas": 2, "topologyKeys": []} == rule.setting().parameters
    assert {"minReplicas": 5, "topologyKeys": []} == rule.setting(parameters={"minReplicas": 5}).parameters
    assert (rule.severity, True) == (rule.setting().severity, rule.setting(enforced=True).enforced)


def test_a_setting_may_lack_the_parameters_that_its_rule_requires():
    rule = RULES["forbidden-topology-key"]

    assert rule.lacks_parameters(rule.setting())
    assert not rule.lacks_parameters(rule.setting(parameters={"allowedTopologyKeys": ["rack"]}))
    assert not RULES["pinned-pod"].lacks_parameters(RULES["pinned-pod"].setting())


NAME, INSTANCE = {"app.kubernetes.io/name": "web"}, {"app.kubernetes.io/instance": "shop"}
HELM = NAME | INSTANCE | {"app.kubernetes.io/component": "server"}
ALONE = ()


def made(kind="StatefulSet", selector=NAME, fields=None, own=HELM, **given):
    """A workload with the labels of a Helm chart, and a constraint with this selector."""
    spec = {"selector": {"matchLabels": own}, **given.pop("spec", {})}
    labelled = constraint(labelSelector={"matchLabels": selector}, **(fields or {}))
    return workload(kind, labelled, labels=HELM, spec=spec, **given)


def counted(obj, beside=ALONE, *there):
    """What the constraint counts; `beside` are the other objects of the input, None where it is not known."""
    (parsed,) = parse_workloads(obj)
    others = beside if beside is None else Neighbours.of(each for other in beside for each in parse_workloads(other))
    reading = read_constraints(parsed.raw_constraints, FEATURES)
    constraints, known = reading.parsed(parsed.labels), snapshot(*there) if there else None
    nothing = frozenset()
    subject = Subject(parsed, reading, constraints, (), nothing, nothing, FEATURES, known, others, {}, {})
    return subject.counted(*constraints)


ROOMY = {"maxSkew": 9}


@pytest.mark.parametrize("selector", [NAME, NAME | INSTANCE, HELM, {**HELM, "x": "y"}], ids=len)
def test_the_name_of_the_application_is_enough_where_the_input_is_known(selector):
    obj = made(selector=selector, fields=ROOMY)
    obj["spec"]["template"]["metadata"]["labels"] = HELM | {"x": "y"}

    known = CountedPods(3, 3)
    assert (known, known if HELM.items() <= selector.items() else CountedPods()) == (counted(obj), counted(obj, None))


@pytest.mark.parametrize("selector", [INSTANCE, {"app.kubernetes.io/component": "server"}])
def test_another_label_may_be_that_of_what_nobody_has_shown(selector):
    assert CountedPods() == counted(made(selector=selector, fields=ROOMY))


def test_others_of_the_input_count_and_then_no_number_is_known():
    other = made("Deployment", name="other", own={"a": "b"})
    for beside in ([other], [made(name="third", namespace="else"), other]):
        found = counted(made(fields=ROOMY), beside)
        assert (None, None, "the Pods of Deployment other") == (found.pods, found.replicas, found.others.whose)


def test_pods_of_the_cluster_count():
    there = pod(name="x", labels=NAME, spec={"nodeName": "n1"}, uid="u1")

    assert (
        "other Pods, such as those with app.kubernetes.io/name=web"
        == counted(made(fields=ROOMY), None, node(), there).others.whose
    )


@pytest.mark.parametrize(
    ("kind", "spec", "fields", "expected"),
    [
        ("Deployment", {}, ROOMY, (4, 3)),
        ("Deployment", {}, {**ROOMY, "matchLabelKeys": ["pod-template-hash"]}, (3, 3)),
        ("StatefulSet", {"replicas": 1}, {}, (1, 1)),
        ("Deployment", {"replicas": 1}, {}, (2, 1)),
        ("StatefulSet", {"replicas": None}, {}, (None, None)),
        ("Job", {"parallelism": 1}, {}, (None, None)),
    ],
)
def test_the_number_is_that_of_a_rollout_and_one_that_is_written_counts(kind, spec, fields, expected):
    found = counted(made(kind, HELM, fields, spec=spec))

    assert expected == (found.pods, found.replicas)


@pytest.mark.parametrize(("uid", "beside"), [("u1", ALONE), ("", None)], ids=["printed by a cluster", "in a review"])
def test_one_replica_that_the_api_server_may_have_written_tells_nothing(uid, beside):
    assert CountedPods() == counted(made(selector=HELM, spec={"replicas": 1}, uid=uid), beside)
