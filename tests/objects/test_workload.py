"""Any object with a Pod template: where it is, how many replicas, which labels its Pods have and may be given."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.support.build import SELECTOR, constraint, pod, workload
from webhook.admission.weighing import MOST_CONSTRAINTS, MOST_TEMPLATES, MOST_VALUES, TooLarge, weigh
from webhook.objects.fields import path_text, value_at, with_value
from webhook.objects.kinds import KINDS, Kind
from webhook.objects.references import Owner
from webhook.objects.workload import parse_workloads

HASH, REVISION = "pod-template-hash", "controller-revision-hash"
STATEFUL = f"{REVISION} statefulset.kubernetes.io/pod-name apps.kubernetes.io/pod-index"
BATCH = "batch.kubernetes.io"
JOB = f"{BATCH}/job-name {BATCH}/controller-uid {BATCH}/job-completion-index job-name controller-uid"
KRUISE, JOBS = "apps.kruise.io", "spec.jobTemplate.spec"
CLONES, ARGO = f"{REVISION} {HASH} {KRUISE}/cloneset-instance-id", f"rollouts-{HASH}"


class Case(NamedTuple):
    """What differs: `path` to the template, `replicas` to the number, `added` by the controller."""

    kind: str
    path: str = "spec.template"
    replicas: str = "spec.replicas"
    added: str = ""
    api_version: str = "apps/v1"
    revision_key: str | None = None


CASES = [
    Case("Pod", "", "", api_version="v1"),
    Case("PodTemplate", "template", "", api_version="v1"),
    Case("ReplicationController", api_version="v1"),
    Case("Deployment", added=HASH, revision_key=HASH),
    Case("ReplicaSet"),
    Case("StatefulSet", added=STATEFUL, revision_key=REVISION),
    Case("DaemonSet", replicas="", added=f"{REVISION} pod-template-generation", revision_key=REVISION),
    Case("Job", replicas="spec.parallelism", added=JOB, api_version="batch/v1"),
    Case("CronJob", f"{JOBS}.template", f"{JOBS}.parallelism", added=JOB, api_version="batch/v1"),
    Case("Rollout", added=ARGO, revision_key=ARGO, api_version="argoproj.io/v1alpha1"),
    Case("CloneSet", added=CLONES, revision_key=REVISION, api_version=f"{KRUISE}/v1alpha1"),
    Case("StatefulSet", added=STATEFUL, revision_key=REVISION, api_version=f"{KRUISE}/v1alpha1"),
    Case("StatefulSet", added=STATEFUL, revision_key=REVISION, api_version=f"{KRUISE}/v1beta1"),
]


def nest(path, value):
    """`{"spec": {"replicas": 5}}` for `spec.replicas`."""
    for name in reversed(path.split(".") if path else []):
        value = {name: value}
    return value


def merged(one, other):
    both = one.keys() & other.keys()
    return {**one, **other, **{name: merged(one[name], other[name]) for name in both}}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.api_version} {case.kind}")
def test_where_a_kind_keeps_what_matters(case):
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"topologySpreadConstraints": [constraint()], "nodeName": "n1", "schedulerName": "gpu"},
    }
    obj = {"apiVersion": case.api_version, "kind": case.kind, "metadata": {"name": "web", "namespace": "shop"}}
    (found,) = parse_workloads(
        merged(merged(obj, nest(case.path, template)), nest(case.replicas, 5) if case.replicas else {})
    )

    prefix = f"{case.path}." if case.path else ""
    assert f"{prefix}spec.topologySpreadConstraints" == path_text(found.path)
    assert [constraint()] == found.raw_constraints
    assert ({"app": "web"}, "n1", "gpu") == (found.labels, found.node_name, found.scheduler_name)
    assert ("shop", "web", 5 if case.replicas else 1) == (found.namespace, found.name, found.replicas)
    assert frozenset(case.added.split()) == found.addable
    assert (case.revision_key, "." not in case.api_version) == (found.kind.revision_key, found.kind.built_in)
    assert (case.kind == "Pod", True) == (found.is_pod, found.in_template)


def test_the_kinds_are_those_of_the_table():
    assert [(case.api_version, case.kind) for case in CASES] == [(kind.api_version, kind.kind) for kind in KINDS]


def test_labels_that_a_controller_only_may_add_are_not_counted_on():
    """Completion indexes are for indexed Jobs, Pod indexes for Kubernetes 1.28 and newer."""
    certain = {
        kind: parse_workloads(workload(kind))[0].pods_labels().keys() for kind in ("StatefulSet", "Job", "DaemonSet")
    }

    assert {"app", REVISION, "statefulset.kubernetes.io/pod-name"} == certain["StatefulSet"]
    assert {"app", REVISION, "pod-template-generation"} == certain["DaemonSet"]
    assert {"app", *JOB.split()} - {f"{BATCH}/job-completion-index"} == certain["Job"]


def test_a_label_that_the_template_has_is_not_overwritten():
    (found,) = parse_workloads(workload("Deployment", labels={HASH: "mine"}))

    assert {HASH: "mine"} == found.pods_labels()


@pytest.mark.parametrize("of", ["v1 Deployment", "apps/v1beta1 Deployment", "v1 Service", "apps/v1 Pod", "apps/v1 "])
def test_another_kind_holds_no_workload(of):
    api_version, _, kind = of.partition(" ")

    assert () == parse_workloads(workload("Deployment") | {"apiVersion": api_version, "kind": kind})
    assert () == parse_workloads({}) == parse_workloads({"apiVersion": ["apps/v1"], "kind": {}})


def kind(**paths):
    """A kind of a policy, with each path as the policy has it."""
    return Kind("a/v1", "Fleet", "fleets", **{name: tuple(path.split(".")) for name, path in paths.items()})


FLEET = kind(template="spec.sets.*.template", replicas="spec.sets.*.n")


def fleet(**spec):
    return {"apiVersion": "a/v1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": spec}


def test_a_path_through_a_list_leads_to_several_workloads():
    template = workload("Deployment", constraint())["spec"]["template"]
    found = parse_workloads(fleet(sets=[{"template": template, "n": 2}, {"n": 3}, 1, {"template": template}]), [FLEET])

    at = "spec.sets[{}].template.spec.topologySpreadConstraints"
    assert [at.format(i) for i in range(4)] == [path_text(one.path) for one in found]
    assert [2, 3, 1, 1] == [one.replicas for one in found]
    assert [True, False, False, True] == [one.has_constraints for one in found]
    assert [{"app": "web"}, {}, {}, {"app": "web"}] == [one.labels for one in found]


def test_constraints_outside_a_template_take_labels_and_replicas_from_where_the_kind_says():
    pools = [{"labels": {"p": "0"}, "groups": [{"spread": [1]}, {"spread": [2]}]}, {"groups": [{}]}]
    paths = {"constraints": "spec.pools.*.groups.*.spread", "labels": "spec.pools.*.labels", "replicas": "spec.n"}
    found = parse_workloads(fleet(pools=pools, n=7), [replace(kind(**paths), template=None)])

    at = "spec.pools[{}].groups[{}].spread"
    assert [at.format(*indices) for indices in ("00", "01", "10")] == [path_text(one.path) for one in found]
    assert [[1], [2], None] == [one.raw_constraints for one in found]
    assert [{"p": "0"}, {"p": "0"}, {}] == [one.labels for one in found]
    assert {(7, True, False)} == {(one.replicas, one.labels_known, one.in_template) for one in found}


def test_of_constraints_outside_a_template_the_labels_may_be_unknown():
    (found,) = parse_workloads(fleet(spread=[1]), [replace(kind(constraints="spec.spread"), template=None)])

    assert (False, {}) == (found.labels_known, found.labels)


def test_a_kind_of_the_policy_comes_before_the_built_in_of_that_name():
    own = replace(kind(template="spec.pods"), api_version="argoproj.io/v1alpha1", kind="Rollout", from_policy=True)
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {"pods": {}, "template": {}}}

    assert ["spec.pods.spec.topologySpreadConstraints"] == [
        path_text(one.path) for one in parse_workloads(rollout, [*KINDS, own])
    ]


def test_a_kind_may_have_templates_in_several_places():
    """As RayCluster has one for its head and a list for its workers."""
    kinds = [replace(kind(template=path), from_policy=True) for path in ("spec.head.template", "spec.groups.template")]
    obj = {"apiVersion": kinds[0].api_version, "kind": kinds[0].kind}
    obj["spec"] = {"head": {"template": {}}, "groups": {"template": {}}}

    assert 2 == len(parse_workloads(obj, kinds))


def test_a_custom_resource_may_do_without_its_template():
    """An Argo Rollout may refer to that of a Deployment."""
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {"replicas": 3, "workloadRef": {}}}

    assert () == parse_workloads(rollout)


def reference(kind, controller=True):
    return {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "u1", "controller": controller}


class Owned(NamedTuple):
    name: str
    references: object
    owner: str | None = None


OWNED = [
    Owned("no reference", None),
    Owned("an empty list", []),
    Owned("an owner that does not control", [reference("ReplicaSet", False)]),
    Owned("a word for true", [reference("ReplicaSet", "true")]),
    Owned("references that are no list", reference("ReplicaSet")),
    Owned("the only one that controls", [reference("A", None), reference("B"), reference("C", False)], "B"),
    Owned("the first of two that control", [1, reference("B"), reference("C")], "B"),
]


@pytest.mark.parametrize("case", OWNED, ids=lambda case: case.name)
def test_the_owner_is_the_first_reference_that_controls(case):
    (found,) = parse_workloads(pod(ownerReferences=case.references))

    assert found.owner == (Owner("apps/v1", case.owner, "web", "u1") if case.owner else None)


def ignoring(text):
    return {"annotations": {"evenkeel.dev/ignore": text}} if text else {}


@pytest.mark.parametrize(
    ("on_object", "on_template", "ignored"),
    [
        ("", "", ""),
        ("pinned-pod", "", "pinned-pod"),
        ("", "pinned-pod", "pinned-pod"),
        ("pinned-pod", "rollout-skew", "pinned-pod rollout-skew"),
        (" pinned-pod ,, rollout-skew,", "", "pinned-pod rollout-skew"),
    ],
)
def test_rules_are_ignored_by_annotations_on_the_object_and_on_its_template(on_object, on_template, ignored):
    given = workload("Deployment", template=ignoring(on_template), **ignoring(on_object))
    (found,) = parse_workloads(given)

    assert set(ignored.split()) == found.ignored_rules
    (of_a_pod,) = parse_workloads(pod(**ignoring(on_object)))
    assert parse_workloads(workload("Deployment", **ignoring(on_object)))[0].ignored_rules == of_a_pod.ignored_rules


OBJECTS = "metadata metadata.labels metadata.annotations spec spec.strategy spec.selector status"
TEMPLATES = "template template.metadata template.metadata.labels template.metadata.annotations template.spec"
STRINGS = "metadata.name metadata.namespace metadata.uid spec.strategy.type"
WRONG = [
    *((path, wrong) for path in OBJECTS.split() for wrong in (None, 1, True, "text", ["a"])),
    *((f"spec.{path}", wrong) for path in TEMPLATES.split() for wrong in (None, 1, True, "text", ["a"])),
    *((path, wrong) for path in STRINGS.split() for wrong in (None, 1, True, ["a"], {"a": "b"})),
    *((f"spec.template.spec.{name}", 1) for name in ("nodeName", "schedulerName")),
    *(("metadata.ownerReferences", wrong) for wrong in (None, 1, "text", {"controller": True}, [None, "a", []])),
    *(("status.conditions", wrong) for wrong in (None, 1, "text", {"type": "PodScheduled"}, [None, "PodScheduled"])),
    *(("spec.replicas", wrong) for wrong in (None, "5", 1.5, False, [5], {"a": 5})),
]


def without(obj, path):
    """A copy of `obj` in which nothing stands at `path`."""
    *above, name = path.split(".")
    holder = value_at(obj, tuple(above))
    left = {key: value for key, value in (holder or {}).items() if key != name}
    return with_value(obj, tuple(above), left) if above else left


@pytest.mark.parametrize(("path", "wrong"), WRONG, ids=str)
def test_what_has_the_wrong_type_reads_as_if_it_were_absent(path, wrong):
    given = merged(workload("Deployment", constraint()), {"spec": {"strategy": {}}, "status": {}})

    assert parse_workloads(without(given, path)) == parse_workloads(with_value(given, tuple(path.split(".")), wrong))


def test_labels_that_are_no_strings_are_left_out_and_null_is_empty():
    (found,) = parse_workloads(pod(labels={"a": "b", "c": None, "d": 1, "e": ["f"]}))

    assert {"a": "b", "c": ""} == found.labels


def test_constraints_are_kept_as_they_are_whatever_they_are():
    for raw in ("text", 1, {"a": 1}, [None], True):
        assert raw == parse_workloads(pod(spec={"topologySpreadConstraints": raw}))[0].raw_constraints
    assert [False, False, True] == [
        parse_workloads(pod(spec={"topologySpreadConstraints": raw}))[0].has_constraints for raw in (None, [], [{}])
    ]


def test_a_pod_tells_whether_it_is_stored_and_scheduled():
    ready, scheduled = (
        {"status": {"conditions": [{"type": "A"}, {"type": type}]}} for type in ("Ready", "PodScheduled")
    )
    given = (pod(), pod(uid="u1") | ready, pod(uid="u1") | scheduled, workload("Deployment", uid="u1"))

    assert [(False, False), (True, False), (True, True), (False, False)] == [
        (one.stored, one.scheduled) for (one,) in map(parse_workloads, given)
    ]


def test_a_workload_tells_its_strategy_its_selector_and_its_scheduler():
    (recreated,), (own,) = map(
        parse_workloads,
        (workload("Deployment", spec={"strategy": {"type": "Recreate"}}), pod(spec={"selector": SELECTOR})),
    )

    assert ("Recreate", SELECTOR, "default-scheduler") == (
        recreated.strategy,
        recreated.selector,
        recreated.scheduler_name,
    )
    assert ("", {}, "default-scheduler") == (own.strategy, own.selector, own.scheduler_name)


def test_a_workload_names_its_object_with_the_namespace_where_it_is_known_and_a_name_that_is_to_be_generated():
    found = [
        parse_workloads(pod(**names))[0].ref for names in ({}, {"namespace": ""}, {"name": "", "generateName": "web-"})
    ]

    assert ["Pod shop/web-1", "Pod web-1", "Pod shop/web-"] == [str(ref) for ref in found]
    assert {"v1"} == {ref.api_version for ref in found}


def test_the_namespace_of_the_request_is_used_instead_of_the_objects_own():
    found = [parse_workloads(pod(namespace=own), KINDS, given)[0].namespace for own, given in NAMESPACES]

    assert ["shop", "bank", "bank"] == found


NAMESPACES = [("shop", ""), ("shop", "bank"), (None, "bank")]


def test_a_copy_with_other_constraints_says_whether_it_has_any():
    (found,) = parse_workloads(pod(uid="u1"))

    assert (False, True) == (found.has_constraints, replace(found, raw_constraints=[{}]).has_constraints)
    assert (True, False) == (found.stored, replace(found, uid="").stored)


def deep(levels):
    lists = []
    for _ in range(levels):
        lists = [lists]
    return lists


class Load(NamedTuple):
    name: str
    fits: object
    too_large: object


def letters(count):
    return ["x"] * count


def members(count):
    return dict.fromkeys(map(str, range(count)))


LOADS = [
    Load("constraints", [{}] * MOST_CONSTRAINTS, [{}] * (MOST_CONSTRAINTS + 1)),
    Load("values in a list", [letters(MOST_VALUES - 1)], [letters(MOST_VALUES)]),
    Load("values in an object", [members(MOST_VALUES - 1)], [members(MOST_VALUES)]),
    Load("values in what is no list", {"a": letters(MOST_VALUES - 1)}, {"a": letters(MOST_VALUES)}),
    Load("levels", deep(MOST_VALUES), deep(MOST_VALUES + 1)),
]


@pytest.mark.parametrize("case", LOADS, ids=lambda case: case.name)
def test_what_no_person_writes_is_too_large(case):
    fits, too_large = (
        parse_workloads(pod(spec={"topologySpreadConstraints": raw})) for raw in (case.fits, case.too_large)
    )

    weigh(fits)
    with pytest.raises(TooLarge, match=r"found .*\d"):
        weigh(too_large)


def test_more_templates_than_any_person_writes_are_too_many():
    fits, too_large = (parse_workloads(fleet(sets=[{"template": {}}] * n), [FLEET]) for n in (MOST_TEMPLATES, 100_000))

    weigh(fits)
    assert MOST_TEMPLATES == len(fits)
    with pytest.raises(TooLarge, match=f"found .*{MOST_TEMPLATES}"):
        weigh(too_large)


def test_items_without_a_template_do_not_hide_one_behind_them():
    sets = [{"size": 1}] * (MOST_TEMPLATES + 1) + [{"template": {}}]
    (found,) = parse_workloads(fleet(sets=sets), [replace(FLEET, built_in=False)])

    assert ("spec", "sets", MOST_TEMPLATES + 1, "template") == found.path[:4]


def test_the_constraints_of_all_templates_count_together():
    half = workload("Deployment", *[constraint()] * (MOST_CONSTRAINTS // 2))["spec"]["template"]
    rest = workload("Deployment", *[constraint()] * (MOST_CONSTRAINTS // 2 + 1))["spec"]["template"]

    weigh(parse_workloads(fleet(sets=[{"template": half}, {"template": half}]), [FLEET]))
    with pytest.raises(TooLarge):
        weigh(parse_workloads(fleet(sets=[{"template": half}, {"template": rest}]), [FLEET]))
