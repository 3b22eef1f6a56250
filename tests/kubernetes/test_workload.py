"""Any object with a Pod template: where it is, how many replicas, which labels its Pods have and may be given."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.support.build import SELECTOR, constraint, merged, pod, workload
from webhook.admission.cost import MOST_CONSTRAINTS, MOST_SELECTOR_VALUES, MOST_TEMPLATES, TooLarge, weigh
from webhook.kubernetes.fields import path_text, value_at, with_value
from webhook.kubernetes.kinds import KINDS, Kind, Kinds
from webhook.kubernetes.references import Scaling
from webhook.kubernetes.workload import parse_workloads

HASH, REVISION = "pod-template-hash", "controller-revision-hash"
STATEFUL = f"{REVISION} statefulset.kubernetes.io/pod-name apps.kubernetes.io/pod-index"
BATCH = "batch.kubernetes.io"
JOB = f"{BATCH}/job-name {BATCH}/controller-uid {BATCH}/job-completion-index job-name controller-uid"
KRUISE, JOBS = "apps.kruise.io", "spec.jobTemplate.spec"


def test_labels_that_a_controller_only_may_add_are_not_counted_on():
    """Completion indexes are for indexed Jobs, Pod indexes for Kubernetes 1.28 and newer."""
    certain = {
        kind: parse_workloads(workload(kind))[0].pods_labels().keys() for kind in ("StatefulSet", "Job", "DaemonSet")
    }

    assert {"app", REVISION, "statefulset.kubernetes.io/pod-name"} == certain["StatefulSet"]
    assert {"app", REVISION, "pod-template-generation"} == certain["DaemonSet"]
    assert {"app", *JOB.split()} - {f"{BATCH}/job-completion-index"} == certain["Job"]


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_the_labels_of_a_jobs_pods_follow_its_spec(kind):
    """An index only where it is indexed, and its name and uid unless it has a selector of its own."""

    def addable(**spec):
        return parse_workloads(workload(kind, spec=spec))[0].addable

    index, named = {f"{BATCH}/job-completion-index"}, {*JOB.split()} - {f"{BATCH}/job-completion-index"}
    assert named == addable() == addable(completionMode="NonIndexed", manualSelector=False)
    assert named | index == addable(completionMode="Indexed")
    assert index == addable(completionMode="Indexed", manualSelector=True)
    assert not addable(manualSelector=True)
    assert named | index == addable(completionMode="{{ .Values.mode }}"), "as it may become"


@pytest.mark.parametrize(
    ("kind", "spec", "metadata", "name"),
    [
        ("Job", {}, {}, "web"),
        ("Job", {"manualSelector": True}, {}, ""),
        ("Job", {}, {"name": None, "generateName": "web-"}, "web-RANDOM"),
        ("CronJob", {}, {"name": None, "generateName": "web-"}, "web-RANDOM-TIME"),
        ("Job", {}, {"name": "x" * 64}, ""),
        ("CronJob", {}, {}, "web-TIME"),
        ("CronJob", {}, {"name": None}, ""),
        ("Deployment", {}, {}, ""),
    ],
)
def test_the_name_of_a_job_is_a_label_of_its_pods(kind, spec, metadata, name):
    (found,) = parse_workloads(workload(kind, spec=spec, **metadata))

    assert {name} - {""} == {value for key, value in found.given_labels.items() if key.endswith("job-name")}
    assert name == found.given_labels.get("job-name", "") == found.given_labels.get(f"{BATCH}/job-name", "")
    assert found.given_labels.items() <= found.pods_labels().items()


def test_a_label_that_the_template_has_is_not_overwritten():
    (found,) = parse_workloads(workload("Deployment", labels={HASH: "mine"}))

    assert {HASH: "mine"} == found.pods_labels()


def kind(**paths):
    """A kind of a policy, with each path as the policy has it."""
    return Kind("a/v1", "Fleet", "fleets", **{name: tuple(path.split(".")) for name, path in paths.items()})


FLEET = kind(template="spec.sets.*.template", replicas="spec.sets.*.n")


def fleet(**spec):
    return {"apiVersion": "a/v1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": spec}


def test_a_path_through_a_list_leads_to_several_workloads():
    template = workload("Deployment", constraint())["spec"]["template"]
    found = parse_workloads(
        fleet(sets=[{"template": template, "n": 2}, {"n": 3}, 1, {"template": template}]), Kinds([FLEET])
    )

    at = "spec.sets[{}].template.spec.topologySpreadConstraints"
    assert [at.format(i) for i in range(4)] == [path_text(one.path) for one in found]
    assert [2, 3, 1, 1] == [one.replicas for one in found]
    assert [True, False, False, True] == [one.has_constraints for one in found]
    assert [{"app": "web"}, {}, {}, {"app": "web"}] == [one.labels for one in found]


def test_constraints_outside_a_template_take_labels_and_replicas_from_where_the_kind_says():
    pools = [{"labels": {"p": "0"}, "groups": [{"spread": [1]}, {"spread": [2]}]}, {"groups": [{}]}]
    paths = {"constraints": "spec.pools.*.groups.*.spread", "labels": "spec.pools.*.labels", "replicas": "spec.n"}
    found = parse_workloads(fleet(pools=pools, n=7), Kinds([replace(kind(**paths), template=None)]))

    at = "spec.pools[{}].groups[{}].spread"
    assert [at.format(*indices) for indices in ("00", "01", "10")] == [path_text(one.path) for one in found]
    assert [[1], [2], None] == [one.raw_constraints for one in found]
    assert [{"p": "0"}, {"p": "0"}, {}] == [one.labels for one in found]
    assert {(7, True, False)} == {(one.replicas, one.labels_known, one.in_template) for one in found}


def test_of_constraints_outside_a_template_the_labels_may_be_unknown():
    (found,) = parse_workloads(fleet(spread=[1]), Kinds([replace(kind(constraints="spec.spread"), template=None)]))

    assert (False, {}) == (found.labels_known, found.labels)


def test_a_custom_resource_may_do_without_its_template():
    """An Argo Rollout may refer to that of a Deployment."""
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {"replicas": 3, "workloadRef": {}}}

    assert () == parse_workloads(rollout)


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


BESIDE = ("spec", "topologySpreadConstraints"), ("spec", "template", "topologySpreadConstraints")
IN_METADATA = ("spec", "template", "metadata", "topologySpreadConstraints")


@pytest.mark.parametrize("path", [*BESIDE, IN_METADATA])
def test_constraints_beside_the_spec_of_the_pods_are_misplaced(path):
    obj = with_value(workload("Deployment"), path, [constraint()])

    assert [(path,), ()] == [one.misplaced for each in (obj, workload("Deployment")) for one in parse_workloads(each)]


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("topologySpreadConstraint", [{}], True),
        ("TOPOLOGYSPREADCONSTRAINTS", [{}], True),
        ("topologySpreadConstraint", [], False),
        ("topologySpread", [{}], False),
        ("terminationGracePeriodSecs", 5, False),
    ],
)
@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_constraints_under_a_name_that_is_nearly_the_fields_are_misplaced(name, value, is_one, kind):
    (one,) = parse_workloads(workload(kind, spec={"template": {"spec": {"containers": [], name: value}}}))

    assert ((*one.path[:-1], name),) * is_one == one.misplaced


def test_in_a_spec_with_very_many_fields_no_name_is_looked_at():
    many = {f"topologySpreadConstraint{i}": [] for i in range(200)}
    (one,) = parse_workloads(pod(spec={**many, "topologySpreadConstraint": [{}]}))

    assert () == one.misplaced


def test_the_switches_of_an_object_and_of_its_template_with_their_paths():
    skip, ignore, defaulted = "evenkeel.dev/skip", "evenkeel.dev/ignore", "evenkeel.dev/defaulted-by"
    obj = workload("Deployment", annotations={ignore: "a", "b": "c"}, labels={skip: True, "app": "web"})
    (one,), (other,) = parse_workloads(obj), parse_workloads(pod(annotations={ignore: "a", defaulted: "policy"}))

    assert (("metadata", "annotations", ignore), "a") == one.switches[0]
    assert (("spec", "template", "metadata", "labels", skip), True) == one.switches[1]
    assert ((("metadata", "annotations", ignore), "a"),) == other.switches


@pytest.mark.parametrize(
    ("strategy", "surges"),
    [
        (None, True),
        ({"rollingUpdate": {}}, True),
        ({"rollingUpdate": {"maxSurge": 0}}, False),
        ({"rollingUpdate": {"maxSurge": "0%"}}, False),
        ({"rollingUpdate": {"maxSurge": "25%"}}, True),
        ({"rollingUpdate": {"maxSurge": False}}, True),
    ],
    ids=str,
)
def test_a_rolling_update_has_more_pods_meanwhile_unless_that_is_forbidden(strategy, surges):
    (found,) = parse_workloads(workload("Deployment", spec={"strategy": strategy}))

    assert surges is found.surges


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
    Load("values in a list", [letters(MOST_SELECTOR_VALUES - 1)], [letters(MOST_SELECTOR_VALUES)]),
    Load("values in an object", [members(MOST_SELECTOR_VALUES - 1)], [members(MOST_SELECTOR_VALUES)]),
    Load("values in what is no list", {"a": letters(MOST_SELECTOR_VALUES - 1)}, {"a": letters(MOST_SELECTOR_VALUES)}),
    Load("levels", deep(MOST_SELECTOR_VALUES), deep(MOST_SELECTOR_VALUES + 1)),
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
    fits, too_large = (
        parse_workloads(fleet(sets=[{"template": {}}] * n), Kinds([FLEET])) for n in (MOST_TEMPLATES, 100_000)
    )

    weigh(fits)
    assert MOST_TEMPLATES == len(fits)
    with pytest.raises(TooLarge, match=f"found .*{MOST_TEMPLATES}"):
        weigh(too_large)


def test_items_without_a_template_do_not_hide_one_behind_them():
    sets = [{"size": 1}] * (MOST_TEMPLATES + 1) + [{"template": {}}]
    (found,) = parse_workloads(fleet(sets=sets), Kinds([replace(FLEET, built_in=False)]))

    assert ("spec", "sets", MOST_TEMPLATES + 1, "template") == found.path[:4]


def test_the_constraints_of_all_templates_count_together():
    half = workload("Deployment", *[constraint()] * (MOST_CONSTRAINTS // 2))["spec"]["template"]
    rest = workload("Deployment", *[constraint()] * (MOST_CONSTRAINTS // 2 + 1))["spec"]["template"]

    weigh(parse_workloads(fleet(sets=[{"template": half}, {"template": half}]), Kinds([FLEET])))
    with pytest.raises(TooLarge):
        weigh(parse_workloads(fleet(sets=[{"template": half}, {"template": rest}]), Kinds([FLEET])))


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [
        ({}, 1),
        ({"parallelism": 5}, 5),
        ({"parallelism": 5, "completions": 1}, 1),
        ({"parallelism": 2, "completions": 9.0}, 2),
        ({"parallelism": 5, "completions": None}, 5),
        ({"completions": 3}, 1),
    ],
)
def test_a_job_has_no_more_pods_at_a_time_than_completions(spec, replicas):
    made = workload("Job", spec=spec)

    assert [replicas] == [one.replicas for one in parse_workloads(made)]


@pytest.mark.parametrize(
    ("kind", "spec", "most"),
    [
        ("StatefulSet", {}, 3),
        ("ReplicaSet", {}, 3),
        ("ReplicationController", {}, 3),
        ("Deployment", {}, 4),
        ("Deployment", {"replicas": 9}, 12),
        ("Deployment", {"replicas": 9.0, "strategy": {"rollingUpdate": {"maxSurge": 1.0}}}, 10),
        ("Deployment", {"strategy": {"type": "Recreate"}}, 3),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": 2}}}, 5),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": "0%"}}}, 3),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": "34%"}}}, 5),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": "many"}}}, 4),
        ("Deployment", {"strategy": {"rollingUpdate": []}}, 4),
        ("Deployment", {"replicas": None}, None),
        ("Deployment", {"replicas": 0}, None),
        ("Deployment", {"replicas": True}, None),
        ("Job", {"parallelism": 3}, None),
        ("DaemonSet", {}, None),
        ("Rollout", {}, None),
    ],
)
def test_the_most_pods_at_a_time(kind, spec, most):
    made = workload(kind, spec=spec)
    made |= {"apiVersion": "argoproj.io/v1alpha1"} if kind == "Rollout" else {}
    (found,) = parse_workloads(made)

    assert most == found.most_pods


@pytest.mark.parametrize(
    ("spec", "scaling", "expected"),
    [
        ({}, (2, 5), (2, 5, 7)),
        ({"replicas": None}, (2, 5), (2, 5, 7)),
        ({"replicas": 8}, (2, 5), (2, 8, 10)),
        ({"replicas": 0}, (2, 5), (0, 5, 7)),
        ({}, (0, None), (0, None, None)),
        ({}, (0, 0), (0, 3, 4)),
    ],
    ids=str,
)
def test_an_autoscaler_gives_a_workload_its_replicas(spec, scaling, expected):
    """The fewest of them, the most, and the most Pods with those of a rollout."""
    (found,) = parse_workloads(workload("Deployment", spec=spec))
    scaled = found.scaled(Scaling(*scaling))

    assert expected == (scaled.replicas, scaled.most_replicas, scaled.most_pods)


def test_the_most_replicas_are_those_that_are_written_where_no_autoscaler_is_known():
    written = (3, None, 0, "3", True)
    found = [parse_workloads(workload("Deployment", spec={"replicas": one}))[0].most_replicas for one in written]

    assert [3, None, 0, None, None] == found


def test_a_number_that_yaml_writes_with_a_fraction_of_0_is_an_integer():
    """kubectl sends it as one."""
    (found,) = parse_workloads(workload("Deployment", spec={"replicas": 3.0}))

    assert (3, 3) == (found.replicas, found.most_replicas)


def test_an_autoscaler_names_a_workload_by_group_kind_and_name():
    assert [("shop", "apps", "StatefulSet", "web"), ("shop", "", "Pod", "web-1")] == [
        one.target for obj in (workload("StatefulSet"), pod()) for one in parse_workloads(obj)
    ]


def test_the_spec_of_its_pods_is_known_only_where_there_is_a_template():
    custom = Kind("a/v1", "Fleet", "fleets", template=None, constraints=("spec", "spread"), labels=("spec", "labels"))
    (bare,) = parse_workloads(fleet(spread=[constraint()], labels={}), Kinds((custom,)))

    assert ({}, {}, None) == (
        parse_workloads(workload("Job"))[0].pod_spec,
        parse_workloads(pod())[0].pod_spec,
        bare.pod_spec,
    )


@pytest.mark.parametrize(
    ("written", "scaling", "replicas"),
    [
        (3, (2, 5), 3),
        (1, (2, 5), 2),
        (9, (2, 5), 5),
        (9, (2, None), 9),
        (0, (2, 5), 0),
        (None, (2, 5), 2),
    ],
)
def test_in_a_cluster_the_replicas_that_an_autoscaler_has_written_hold_within_its_bounds(written, scaling, replicas):
    (found,) = parse_workloads(workload("Deployment", spec={"replicas": written}))

    assert (replicas, scaling) == (found.within(Scaling(*scaling)).replicas, found.within(Scaling(*scaling)).scaling)


@pytest.mark.parametrize(("manual", "added"), [(False, True), (True, False)])
def test_a_job_with_a_selector_of_its_own_gives_its_pods_no_labels(manual, added):
    (one,) = parse_workloads(workload("Job", spec={"manualSelector": manual}))

    assert added == ("controller-uid" in one.pods_labels())
    assert "web" == one.pods_labels()["app"]


@pytest.mark.parametrize(
    ("name", "found"),
    [("topologySpreadConstraint", True), ("topologySpreadConstrain", True), ("topologySpreadConstrai", False)],
)
def test_a_name_that_is_nearly_the_fields_lacks_two_letters_at_most(name, found):
    obj = workload("Deployment")
    obj["spec"]["template"]["spec"] = {name: [{}]}
    (one,) = parse_workloads(obj)

    assert found == bool(one.misplaced)
