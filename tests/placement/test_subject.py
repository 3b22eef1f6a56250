"""The Pod that is asked about."""

from __future__ import annotations

import pytest

from evenkeel.objects.pod_object import ScheduledCondition
from evenkeel.objects.pod_templates import MADE_UP_LABEL
from evenkeel.placement.created_pods import read_creation
from evenkeel.placement.subject import (
    DAEMON,
    FROM_POD,
    FROM_SCHEDULER,
    POLICY,
    alone,
    attempt,
    next_replica,
    of_new_pod,
    of_pod,
    with_expected,
)
from evenkeel.scheduler.framework import feasible_nodes
from evenkeel.scheduler.snapshot import Snapshot, from_objects
from tests.support.build import constraint, limit_range, pod, priority_class, runtime_class, service, workload
from tests.support.claims import claim, storage_class
from tests.support.placing import node, requesting, running, spread
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.fields import value_at
from webhook.kubernetes.kinds import Kind, Kinds
from webhook.kubernetes.references import ObjectRef


def others(*objects):
    return {ObjectRef.of(one).key: one for one in objects}


def named(kind, name, *, owner=None, labels=None):
    return workload(kind, spread(), name=name, owner=owner, labels=labels)


DEPLOYMENT = named("Deployment", "web")
MADE = named("ReplicaSet", "web-1", owner="Deployment/web", labels={"app": "web", "pod-template-hash": "1"})


def test_a_pod_that_waits():
    said = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1",
        "lastTransitionTime": "t",
    }
    found = of_pod(pod(owner="ReplicaSet/web-1") | {"status": {"conditions": [said]}}, others(DEPLOYMENT, MADE))

    assert ("Pending", "", "Deployment/web") == (found.phase, found.node, found.workload)
    assert ScheduledCondition("Unschedulable", "0/1", "t") == found.verdict
    assert (True, ()) == (found.exists, found.remarks)


def test_a_pod_that_was_scheduled_has_no_verdict():
    done = {"type": "PodScheduled", "status": "True"}

    assert ScheduledCondition() == of_pod(pod() | {"status": {"conditions": [done, None, 5]}}, {}).verdict


@pytest.mark.parametrize(
    ("spec", "status", "metadata", "remark"),
    [
        ({"schedulingGates": [{"name": "a.b/c"}]}, {}, {}, "scheduling gates are removed: a.b/c"),
        ({}, {}, {"deletionTimestamp": "t"}, "is being deleted"),
        ({}, {"phase": "Failed"}, {}, "has finished (Failed)"),
        ({"schedulingGroup": {"podGroupName": "g"}}, {}, {}, "It waits until there is room for all Pods of its"),
        ({}, {}, {"annotations": {"kubernetes.io/config.mirror": "x"}}, "It is a static Pod"),
        ({"priority": 5, "preemptionPolicy": "Never"}, {}, {}, "priority 5, and preempts no other Pods"),
    ],
)
def test_what_else_is_to_be_said(spec, status, metadata, remark):
    (said,) = of_pod(pod(spec=spec, **metadata) | {"status": status}, {}).remarks

    assert remark in said


def test_a_stateful_set_gives_its_next_pod_the_claims_of_the_next_ordinal():
    template = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    made = workload("StatefulSet", spec={"replicas": 2, "ordinals": {"start": 5}, "volumeClaimTemplates": [template]})
    (found,) = next_replica(made, {})
    name = f"data-{made['metadata']['name']}-7"

    assert [{"name": "data", "persistentVolumeClaim": {"claimName": name}}] == found.pod.spec["volumes"]
    assert [name] == [each["metadata"]["name"] for each in found.claims]


def test_a_claim_that_is_to_be_made_has_the_default_class_and_is_not_made_twice():
    storage = from_objects([storage_class(default=True), claim("there", of_class="slow")], LATEST).storage

    made = with_expected(storage, [claim("there"), claim("new", of_class=None), claim("none", of_class="")])

    classes = {name: (found.class_name, found.expected) for (_, name), found in made.claims.items()}
    assert {"there": ("slow", False), "new": ("fast", True), "none": ("", True)} == classes


def test_the_next_replica_of_a_deployment_has_the_labels_of_its_replica_set():
    (found,) = next_replica(DEPLOYMENT, others(DEPLOYMENT, MADE))

    assert {"app": "web", "pod-template-hash": "1"} == found.raw["metadata"]["labels"]
    assert "web-1" == value_at(found.raw, ("metadata", "ownerReferences", 0, "name"))
    assert (False, "Deployment/web") == (found.exists, found.workload)


@pytest.mark.parametrize("current", [1, 2, 10])
def test_the_next_replica_is_of_the_current_revision_where_others_differ_only_in_what_is_not_read(current):
    """An image say.  A Deployment from a file has no revision, and then the newest counts."""

    def revision(obj, number, **more):
        annotations = {"deployment.kubernetes.io/revision": str(number)}
        return {**obj, "metadata": {**obj["metadata"], **more, "annotations": annotations}}

    sets = [
        revision(MADE, number, name=f"web-{number}", labels={"pod-template-hash": str(number)}) for number in (1, 2, 10)
    ]
    for one, number in zip(sets, (1, 2, 10), strict=True):
        template = {**one["spec"]["template"], "metadata": {"labels": {"app": "web", "pod-template-hash": str(number)}}}
        one["spec"] = {**one["spec"], "template": template}
    (found,) = next_replica(revision(DEPLOYMENT, current), others(*sets))
    (of_file,) = next_replica(DEPLOYMENT, others(*sets))

    assert str(current) == found.raw["metadata"]["labels"]["pod-template-hash"]
    assert "10" == of_file.raw["metadata"]["labels"]["pod-template-hash"]


def test_a_template_that_has_no_replica_set_yet_gets_a_hash_that_no_pod_has():
    old = {**MADE, "spec": {**MADE["spec"], "template": {"metadata": {"labels": {"app": "old"}}, "spec": {}}}}
    (found,) = next_replica(DEPLOYMENT, others(DEPLOYMENT, old))

    assert MADE_UP_LABEL == found.raw["metadata"]["labels"]["pod-template-hash"]
    assert "ownerReferences" not in found.raw["metadata"]


def test_the_next_replica_of_each_template_in_a_list():
    kind = Kind("example.com/v1", "Pool", "pools", template=("spec", "sets", "*", "template"), built_in=False)
    templates = [{"template": {"metadata": {"labels": {"set": name}}, "spec": {}}} for name in "ab"]
    pool = {"apiVersion": "example.com/v1", "kind": "Pool", "metadata": {"name": "p"}, "spec": {"sets": templates}}

    assert ["a", "b"] == [one.raw["metadata"]["labels"]["set"] for one in next_replica(pool, {}, Kinds([kind]))]


def test_the_next_replica_of_what_owns_its_pods_itself():
    (found,) = next_replica(named("StatefulSet", "db"), {})

    assert "StatefulSet" == value_at(found.raw, ("metadata", "ownerReferences", 0, "kind"))
    assert () == next_replica(service(), {}) == next_replica(pod(), {})


def test_the_next_replica_of_a_stateful_set_is_of_the_revision_that_it_is_updated_to():
    known = {**named("StatefulSet", "db"), "status": {"updateRevision": "db-5c9d"}}
    revisions = [
        next_replica(one, {})[0].raw["metadata"]["labels"]["controller-revision-hash"]
        for one in (known, named("StatefulSet", "db"))
    ]

    assert ["db-5c9d", MADE_UP_LABEL] == revisions


def test_the_pods_of_a_daemon_set_tolerate_what_its_controller_adds():
    mine = {"key": "dedicated", "operator": "Exists"}
    (found,) = next_replica(workload("DaemonSet", spec={"template": {"spec": {"tolerations": [mine]}}}), {})
    (on_host,) = next_replica(workload("DaemonSet", spec={"template": {"spec": {"hostNetwork": True}}}), {})
    nodes = [
        node("cordoned", unschedulable=True),
        node("full", taints=[{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]),
        node("offline", taints=[{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]),
    ]
    known = cluster(*nodes)

    def passing(subject):
        return [*known.nodes.names(feasible_nodes(attempt(subject, known, LATEST).cycle))]

    assert mine == value_at(found.raw, ("spec", "tolerations", 0))
    assert (["cordoned", "full"], ["cordoned", "full", "offline"]) == (passing(found), passing(on_host))
    assert (DAEMON,) == found.remarks


def cluster(*objects):
    return from_objects(objects, LATEST)


def test_its_own_constraints_come_first():
    found = attempt(of_pod(pod(constraint(), uid="u"), {}), Snapshot(), LATEST)

    assert (FROM_POD, 1, False) == (found.source, len(found.cycle.constraints), found.cycle.system_defaults)


def test_a_pod_without_any_is_placed_by_the_schedulers_defaults_where_a_service_selects_it():
    found = attempt(of_pod(pod(), {}), cluster(service()), LATEST)

    assert (FROM_SCHEDULER, 2, True) == (found.source, len(found.cycle.constraints), found.cycle.system_defaults)
    assert () == attempt(of_pod(pod(), {}), Snapshot(), LATEST).cycle.constraints


def test_a_new_pod_gets_the_policys_defaults():
    zone = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    found = attempt(of_new_pod(pod(), {}), cluster(service()), LATEST, [zone])

    assert (POLICY, ["zone"]) == (found.source, [one.topology_key for one in found.cycle.constraints])
    assert (
        FROM_SCHEDULER == attempt(of_pod(pod(), {}), cluster(service()), LATEST, [zone]).source
    )  # it was made without


@pytest.mark.parametrize("minor", [33, 37])
def test_match_label_keys_of_a_new_pod_count(minor):
    keyed = constraint(matchLabelKeys=["tier"])
    labels = {"app": "web", "tier": "front"}
    found = attempt(of_new_pod(pod(keyed, labels=labels), {}), Snapshot(), features(minor))

    assert "app=web,tier=front" == str(found.cycle.constraints[0].selector)


def test_what_cannot_be_read_is_named():
    bad = pod(spec={"containers": requesting("much"), "tolerations": 5})
    found = attempt(of_pod(bad, {}), Snapshot(), LATEST)

    assert ["spec.tolerations", "spec.containers[0].resources.requests.cpu"] == [
        error.partition(":")[0] for error in sorted(found.errors, reverse=True)
    ]


NO_SKEW = {"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 0}
AT = "spec.topologySpreadConstraints"


@pytest.mark.parametrize(
    ("written", "of_new", "of_stored"),
    [
        ("soft", f'{AT}: found "soft", must be an array', f'{AT}: found "soft", must be an array'),
        (
            [{**NO_SKEW, "maxSkew": "1"}],
            f'{AT}[0].maxSkew: found "1", must be a 32',
            f'{AT}[0].maxSkew: found "1", must',
        ),
        ([NO_SKEW], f"{AT}[0].maxSkew: found 0, must be greater than zero", ""),
        ([{**NO_SKEW, "maxSkew": 1}] * 2, f'{AT}[0]: found "{{zone, ScheduleAnyway}}", must not repeat', ""),
        ([{**NO_SKEW, "maxSkew": 1, "minDomains": 2}], f"{AT}[0].minDomains: ", ""),
    ],
    ids=["no list", "no integer", "no skew", "twice", "minDomains of a soft one"],
)
def test_constraints_that_the_api_server_would_not_take_are_named(written, of_new, of_stored):
    """A Pod that is there was accepted, by whatever version."""
    raw = pod(spec={"topologySpreadConstraints": written})
    for subject, expected in ((of_new_pod(raw, {}), of_new), (of_pod(raw, {}), of_stored)):
        errors = attempt(subject, Snapshot(), LATEST).errors
        assert ([expected] if expected else []) == [error[: len(expected)] for error in errors]


def test_a_pod_that_was_stored_is_not_merged_again():
    merged = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a"]}]}
    raw = pod(constraint(labelSelector=merged, matchLabelKeys=["tier"]), labels={"app": "web", "tier": "a"})
    of_stored, of_new = ({**raw, "metadata": raw["metadata"] | uid} for uid in ({"uid": "u"}, {"uid": ""}))

    assert () == attempt(of_new_pod(of_stored, {}), Snapshot(), LATEST).errors
    assert 1 == len(attempt(of_new_pod(of_new, {}), Snapshot(), LATEST).errors)


def test_a_pod_that_is_bound_is_placed_anew_without_itself():
    bound = running("n1")
    subject, snapshot = of_pod(bound, {}), cluster(node("n1"), bound)
    found = attempt(subject, alone(subject, snapshot, LATEST), LATEST)

    assert ("", {}) == (found.cycle.pod.node_name, dict(found.cycle.snapshot.pods))
    assert snapshot is alone(of_pod(pod(), {}), snapshot, LATEST)


LIMITED = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}


def test_a_new_pod_requests_its_limits_where_it_states_no_requests():
    """As the API server makes it; a template stays as it was written."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": LIMITED}
    (next_one,) = next_replica(workload("Deployment", spec={"template": template}), {})
    new = of_new_pod(pod(spec=LIMITED), {})

    assert [2000, 2000] == [attempt(one, Snapshot(), LATEST).cycle.pod.requests.milli_cpu for one in (next_one, new)]
    assert 0 == attempt(of_pod(pod(spec=LIMITED), {}), Snapshot(), LATEST).cycle.pod.requests.milli_cpu


CLASSES = (
    priority_class("high", 1000),
    runtime_class("sandboxed", {"cpu": "250m"}, {"sandbox": "yes"}),
    limit_range("limits", "shop", {"defaultRequest": {"cpu": "100m"}}),
)
CLASSED = {"containers": [{"name": "c"}], "priorityClassName": "high", "runtimeClassName": "sandboxed"}
ADDED = (
    "Added as kube-apiserver would: a request of 100m cpu (LimitRange shop/limits), priority 1000 (PriorityClass high),"
    " overhead and nodeSelector of RuntimeClass sandboxed."
)


def test_a_pod_that_is_not_there_yet_has_what_kube_apiserver_adds():
    """One that is there has it, or was created before."""
    made, creation = (
        workload("StatefulSet", spec={"template": {"spec": CLASSED}}),
        read_creation(others(*CLASSES), LATEST),
    )
    (next_one,) = next_replica(made, {}, creation=creation)
    new = of_new_pod(pod(spec=CLASSED), {}, creation)

    for subject in (next_one, new):
        assert (350, ADDED) == (attempt(subject, Snapshot(), LATEST).cycle.pod.requests.milli_cpu, subject.remarks[-1])
    assert () == of_pod(pod(spec=CLASSED), others(*CLASSES)).remarks


def test_what_kube_apiserver_would_refuse_is_an_error_at_its_place():
    made, creation = (
        workload("Deployment", spec={"template": {"spec": CLASSED}}),
        read_creation(others(*CLASSES[1:]), LATEST),
    )
    other = read_creation(others(priority_class("low", 1)), LATEST)
    (subject,) = next_replica(made, {}, creation=other)
    said = 'spec.priorityClassName: found "high", no PriorityClass has this name; kube-apiserver would refuse the Pod'

    assert (f"spec.template.{said}",) == attempt(subject, Snapshot(), LATEST).errors
    assert (said,) == attempt(of_new_pod(pod(spec=CLASSED), {}, other), Snapshot(), LATEST).errors
    assert () == attempt(next_replica(made, {}, creation=creation)[0], Snapshot(), LATEST).errors


def test_label_keys_are_those_of_the_revision_that_a_pod_is_made_of():
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["controller-revision-hash"]}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made = workload("StatefulSet", spec={"template": {"spec": {"affinity": affinity}}})
    (subject,) = next_replica(made, {}, revision="new-1")
    path = ("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0)
    merged = [{"key": "controller-revision-hash", "operator": "In", "values": ["new-1"]}]

    assert "new-1" == subject.pod.revision_hash
    assert merged == value_at(subject.raw, (*path, "labelSelector", "matchExpressions"))


def test_a_new_pod_with_a_spec_of_another_form_is_named():
    subject = of_new_pod(pod() | {"spec": 5}, {})

    assert ("spec: found 5, must be an object",) == attempt(subject, Snapshot(), LATEST).errors
    assert Snapshot() == alone(subject, Snapshot(), LATEST)


@pytest.mark.parametrize(
    ("kind", "at"),
    [("Deployment", "spec.template"), ("CronJob", "spec.jobTemplate.spec.template")],
)
def test_an_error_in_a_template_is_named_with_its_path_in_the_object(kind, at):
    (subject,) = next_replica(workload(kind, constraint(maxSkew=0)), {})

    assert (f"{at}.{AT}[0].maxSkew: found 0, must be greater than zero",) == attempt(subject, Snapshot(), LATEST).errors


def test_no_boolean_is_a_priority():
    assert () == of_pod(pod(spec={"priority": True}), {}).remarks
