"""What kube-apiserver says itself, word for word as kubectl prints it; tests/e2e/test_admission.py asks a real one."""

from __future__ import annotations

import pytest

from evenkeel.admit.api_server import refusal
from tests.support.build import constraint, pod, workload
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.references import ObjectRef

ATTEMPT = 'error when creating "a.yaml"'
AT = "spec.template.spec.topologySpreadConstraints"
UNDECODED = (
    f'Error from server (BadRequest): {ATTEMPT}: Deployment in version "v1" cannot be handled as a Deployment: '
    "json: cannot unmarshal "
)


def printed(obj):
    found = refusal(obj, LATEST)
    return None if found is None else found.printed(ObjectRef.of(obj), ATTEMPT)


def selecting(**fields):
    return constraint(labelSelector=fields)


ONE, ITEM = "TopologySpreadConstraint", "LabelSelectorRequirement"
MISTYPED = [
    (constraint(maxSkew="x"), f"string into Go struct field {ONE}.{AT}.maxSkew of type int32"),
    (constraint(maxSkew=1.5), f"number 1.5 into Go struct field {ONE}.{AT}.maxSkew of type int32"),
    (constraint(maxSkew=99999999999), f"number 99999999999 into Go struct field {ONE}.{AT}.maxSkew of type int32"),
    (constraint(topologyKey=1), f"number into Go struct field {ONE}.{AT}.topologyKey of type string"),
    (
        constraint(whenUnsatisfiable=True),
        f"bool into Go struct field {ONE}.{AT}.whenUnsatisfiable of type v1.UnsatisfiableConstraintAction",
    ),
    (constraint(minDomains={}), f"object into Go struct field {ONE}.{AT}.minDomains of type int32"),
    (constraint(labelSelector=[]), f"array into Go struct field {ONE}.{AT}.labelSelector of type v1.LabelSelector"),
    (
        selecting(matchLabels={"a": 1}),
        f"number into Go struct field LabelSelector.{AT}.labelSelector.matchLabels of type string",
    ),
    (
        selecting(matchLabels=[]),
        f"array into Go struct field LabelSelector.{AT}.labelSelector.matchLabels of type map[string]string",
    ),
    (
        selecting(matchExpressions={}),
        f"object into Go struct field LabelSelector.{AT}.labelSelector.matchExpressions of type "
        "[]v1.LabelSelectorRequirement",
    ),
    (
        selecting(matchExpressions=["x"]),
        f"string into Go struct field LabelSelector.{AT}.labelSelector.matchExpressions of type "
        "v1.LabelSelectorRequirement",
    ),
    (
        selecting(matchExpressions=[{"key": 1, "values": "x"}]),
        f"number into Go struct field {ITEM}.{AT}.labelSelector.matchExpressions.key of type string",
    ),
    (
        selecting(matchExpressions=[{"key": "1", "values": [1]}]),
        f"number into Go struct field {ITEM}.{AT}.labelSelector.matchExpressions.values of type string",
    ),
    (constraint(matchLabelKeys="a"), f"string into Go struct field {ONE}.{AT}.matchLabelKeys of type []string"),
    (constraint(matchLabelKeys=[1]), f"number into Go struct field {ONE}.{AT}.matchLabelKeys of type string"),
    (
        constraint(nodeTaintsPolicy=1),
        f"number into Go struct field {ONE}.{AT}.nodeTaintsPolicy of type v1.NodeInclusionPolicy",
    ),
    ("x", f"string into Go struct field PodSpec.{AT} of type v1.TopologySpreadConstraint"),
]


@pytest.mark.parametrize(("written", "said"), MISTYPED)
def test_a_wrong_type_cannot_be_decoded(written, said):
    assert UNDECODED + said == printed(workload("Deployment", written))


@pytest.mark.parametrize(("value", "got"), [(constraint(), "object"), ("x", "string")])
def test_what_is_no_list_cannot_be_decoded(value, got):
    obj = workload("Deployment")
    obj["spec"]["template"]["spec"]["topologySpreadConstraints"] = value

    assert f"{UNDECODED}{got} into Go struct field PodSpec.{AT} of type []v1.TopologySpreadConstraint" == printed(obj)


def test_one_error_is_one_line_and_several_are_a_list_in_the_order_of_the_api_server():
    several = [
        constraint(maxSkew=0, whenUnsatisfiable="Never"),
        constraint(minDomains=0),
        constraint(topologyKey="rack"),
        selecting(matchExpressions=[{"key": "a", "operator": "In"}, {"key": "b", "operator": "Foo"}]),
    ]

    assert 'The Pod "web-1" is invalid: spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater '
    assert [
        'The Deployment "web" is invalid: ',
        f"* {AT}[0].maxSkew: Invalid value: 0: must be greater than zero",
        f'* {AT}[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"',
        f"* {AT}[1].{{topologyKey, whenUnsatisfiable}}: "
        'Duplicate value: "{topology.kubernetes.io/zone, DoNotSchedule}"',
        f"* {AT}[1].minDomains: Invalid value: 0: must be greater than zero",
        f"* {AT}[3].labelSelector.matchExpressions[0].values: "
        "Required value: must be specified when `operator` is 'In' or 'NotIn'",
        f'* {AT}[3].labelSelector.matchExpressions[1].operator: Invalid value: "Foo": not a valid selector operator',
    ] == printed(workload("Deployment", *several)).split("\n")
    assert "\n" not in printed(pod(constraint(maxSkew=0)))


SELECTORS = [
    ("Deployment", {"app": "x", "b": "c"}, '{"app":"x","b":"c"}'),
    ("ReplicaSet", {}, "{}"),
    ("StatefulSet", {"a": "b"}, '{"a":"b"}'),
    ("DaemonSet", {"a": "b"}, '{"a":"b"}'),
    ("ReplicationController", {"a": "b"}, '{"a":"b"}'),
]


@pytest.mark.parametrize(("kind", "labels", "shown"), SELECTORS)
def test_a_selector_must_match_the_template(kind, labels, shown):
    selector = {"selector": {"app": "web"}} if kind == "ReplicationController" else {}
    obj = workload(kind, constraint(), labels=labels, spec=selector)
    said = f"spec.template.metadata.labels: Invalid value: {shown}: `selector` does not match template `labels`"

    assert f'The {kind} "web" is invalid: {said}' == printed(obj)
    assert None is printed(workload(kind, constraint(), spec=selector))


ADVICE = [
    ({"matchLabels": {"app": "web", "tier": "a"}}, "write tier=a"),
    ({"matchLabels": {"app": "db"}}, "write app=db, or select app=web in spec.selector"),
    ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, "write labels that spec.selector matches"),
]


@pytest.mark.parametrize(("selector", "advice"), ADVICE)
def test_what_to_write_where_they_differ(selector, advice):
    found = refusal(workload("Deployment", constraint(), spec={"selector": selector}), LATEST)

    assert ("spec.template.metadata.labels", advice) == found.selector


@pytest.mark.parametrize(
    "selector", [None, {}, [], "x", {"matchLabels": 1}, {"matchExpressions": [{"operator": "Foo"}]}]
)
def test_what_is_wrong_with_a_selector_itself_is_not_judged(selector):
    assert None is refusal(workload("Deployment", constraint(), spec={"selector": selector}), LATEST)


def test_a_job_and_a_custom_resource_have_no_selector_to_match():
    for kind in ("Job", "CronJob"):
        assert None is refusal(workload(kind, constraint(), labels={"a": "b"}), LATEST)
    assert None is refusal(workload("Rollout", constraint(), labels={"a": "b"}), LATEST)
