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


ABSENT = "`selector` does not match template `labels`"
LACKING = [
    *(
        (
            kind,
            None,
            [
                "spec.selector: Required value",
                f'spec.template.metadata.labels: Invalid value: {{"app":"web"}}: {ABSENT}',
            ],
        )
        for kind in ("Deployment", "ReplicaSet", "StatefulSet")
    ),
    ("DaemonSet", None, [f'spec.template.metadata.labels: Invalid value: {{"app":"web"}}: {ABSENT}']),
    *(
        (kind, selector, [f"spec.selector: Invalid value: {{}}: empty selector is invalid for {name}"])
        for kind, name in (
            ("Deployment", "deployment"),
            ("ReplicaSet", "deployment"),
            ("StatefulSet", "statefulset"),
            ("DaemonSet", "daemonset"),
        )
        for selector in ({}, {"matchLabels": {}, "matchExpressions": []})
    ),
]


@pytest.mark.parametrize(("kind", "selector", "errors"), LACKING)
def test_a_selector_must_be_there(kind, selector, errors):
    found = refusal(workload(kind, constraint(), spec={"selector": selector}), LATEST)

    assert ("Invalid", tuple(errors)) == (found.reason, found.errors)
    assert ("spec.selector", "write selector: {matchLabels: {app: web}}") == found.selector


def test_what_lacks_a_selector_may_lack_labels_and_have_other_errors():
    obj = workload("Deployment", constraint(maxSkew=0))
    del obj["spec"]["selector"], obj["spec"]["template"]["metadata"]
    found = refusal(obj, LATEST)

    assert (
        "spec.selector: Required value",
        f"spec.template.metadata.labels: Invalid value: null: {ABSENT}",
        f"{AT}[0].maxSkew: Invalid value: 0: must be greater than zero",
    ) == found.errors
    assert ("spec.selector", "give the template labels, and select them here") == found.selector


@pytest.mark.parametrize("kind", ["ReplicationController", "Job"])
@pytest.mark.parametrize("selector", [None, {}])
def test_a_selector_that_is_written_by_the_api_server_may_be_absent(kind, selector):
    assert None is refusal(workload(kind, constraint(), spec={"selector": selector}), LATEST)


STRAY = constraint(matchLabels={"app": "web"})
STRICT = [
    (workload("Deployment", STRAY), [f"{AT}[0].matchLabels"]),
    (pod(STRAY), ["spec.topologySpreadConstraints[0].matchLabels"]),
    (workload("CronJob", STRAY), [f"spec.jobTemplate.{AT}[0].matchLabels"]),
    (
        workload(
            "Deployment",
            constraint(zeta=1, maxSkew=0),
            *(constraint(topologyKey=f"rack{i}") for i in range(9)),
            constraint(
                topologyKey="rack",
                labelSelector={"matchlabels": {}, "matchExpressions": [{"key": "a", "operator": "Exists", "x": 1}]},
                beta={"c": 1},
            ),
        ),
        [
            f"{AT}[0].zeta",
            f"{AT}[10].beta",
            f"{AT}[10].labelSelector.matchExpressions[0].x",
            f"{AT}[10].labelSelector.matchlabels",
        ],
    ),
    (
        workload("Deployment", constraint(nope=1), spec={"selector": {}, "topologySpreadConstraints": [constraint()]}),
        [f"{AT}[0].nope", "spec.topologySpreadConstraints"],
    ),
    (workload("Deployment", constraint(**{'a"b': 1, "é": 1, "*": 1})), [f"{AT}[0].*", f'{AT}[0].a\\"b', f"{AT}[0].é"]),
]


@pytest.mark.parametrize(("obj", "fields"), STRICT)
def test_an_unknown_field_is_refused_before_anything_is_validated(obj, fields):
    kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
    said = f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: '

    assert f"Error from server (BadRequest): {ATTEMPT}: {said}" + ", ".join(
        f'unknown field "{field}"' for field in fields
    ) == printed(obj)


def test_a_wrong_type_comes_before_an_unknown_field():
    assert "maxSkew of type int32" in printed(workload("Deployment", constraint(nope=1), constraint(maxSkew="x")))
    assert "metadata.labels of type string" in printed(workload("Deployment", constraint(nope=1), labels={"a": 1}))


def test_what_is_null_is_not_sent():
    assert None is refusal(workload("Deployment", constraint() | {"nope": None}), LATEST)


def test_the_schema_of_a_custom_resource_decides_on_its_fields():
    assert None is refusal(workload("Rollout", STRAY), LATEST)


ADVICE = [
    ({"matchLabels": {"app": "web", "tier": "a"}}, "write tier=a"),
    ({"matchLabels": {"app": "db"}}, "write app=db, or select app=web in spec.selector"),
    ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, "write labels that spec.selector matches"),
]


@pytest.mark.parametrize(("selector", "advice"), ADVICE)
def test_what_to_write_where_they_differ(selector, advice):
    found = refusal(workload("Deployment", constraint(), spec={"selector": selector}), LATEST)

    assert ("spec.template.metadata.labels", advice) == found.selector


@pytest.mark.parametrize("selector", [[], "x", {"matchLabels": 1}, {"matchExpressions": [{"operator": "Foo"}]}])
def test_what_is_wrong_with_a_selector_itself_is_not_judged(selector):
    assert None is refusal(workload("Deployment", constraint(), spec={"selector": selector}), LATEST)


def test_a_job_and_a_custom_resource_have_no_selector_to_match():
    for kind in ("Job", "CronJob"):
        assert None is refusal(workload(kind, constraint(), labels={"a": "b"}), LATEST)
    assert None is refusal(workload("Rollout", constraint(), labels={"a": "b"}), LATEST)
