"""What is not computed is named, and what plainly does not matter is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.placement.gaps import gaps, gaps_of_runs, in_words, used_by
from evenkeel.scheduler.framework import Framework
from evenkeel.scheduler.preemption import preempt
from evenkeel.scheduler.profile import USUAL_PROFILE
from tests.support.build import pod
from tests.support.placing import INFRA, attempted, node, requesting, running

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"extendedResourceName": "example.com/gpu"},
}


def of(*objects, uses=(), minor=37, **spec):
    return of_cycle(attempted(*objects, minor=minor, **spec), uses)


def of_cycle(cycle, uses=()):
    framework = Framework(cycle)
    feasibility = framework.feasibility()
    return gaps(
        cycle, feasibility, preempt(framework, feasibility, cycle.snapshot.pods_of, cycle.snapshot.budgets), uses
    )


def nominated(name, to, priority=0, cpu="1", **spec):
    raw = pod(name=name, spec={"priority": priority, "containers": requesting(cpu), **spec})
    return {**raw, "status": {"phase": "Pending", "nominatedNodeName": to}}


def budget(app, **status):
    allowed = {"disruptionsAllowed": status["allowed"]} if status else {}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": allowed,
    }


def prioritized(on, priority, **fields):
    raw = running(on, **fields)
    return {**raw, "spec": {**raw["spec"], "priority": priority}}


@pytest.mark.parametrize(
    ("spec", "used"),
    [
        ({"resourceClaims": [{}]}, ["dynamic resources"]),
        ({"schedulingGroup": {"podGroupName": "g"}}, ["its scheduling group"]),
        ({"volumes": [{"emptyDir": {}}, CLAIM], "affinity": {"podAffinity": {}}, "hostNetwork": True}, []),
    ],
)
def test_what_a_pod_uses(spec, used):
    assert used == list(used_by(spec))


def test_what_a_pod_and_its_profile_use_is_always_named():
    cycle = attempted(node("n1"))
    configured = replace(cycle, profile=replace(USUAL_PROFILE, unmodelled=("extenders",)))

    assert ("volumes", "extenders") == of_cycle(configured, ["volumes"])


def apart(**term):
    chosen = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}, **term}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [chosen]}}}


OF_TEAM = {"namespaceSelector": {"matchLabels": {"team": "y"}}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "x"}}}
PAY = {**NAMESPACE, "metadata": {"name": "pay"}}


@pytest.mark.parametrize(
    ("objects", "theirs", "own", "named"),
    [
        ([], OF_TEAM, None, True),
        ([NAMESPACE], OF_TEAM, None, False),
        ([], {"namespaceSelector": {}}, None, False),
        ([], {"namespaces": ["shop"], **OF_TEAM}, None, False),
        ([], {"labelSelector": {"matchLabels": {"app": "db"}}, **OF_TEAM}, None, False),
        ([NAMESPACE], None, OF_TEAM, True),
        ([NAMESPACE, PAY], None, OF_TEAM, False),
        ([NAMESPACE], None, {"labelSelector": {"matchLabels": {"app": "db"}}, **OF_TEAM}, False),
    ],
)
def test_labels_of_a_namespace_that_a_term_asks_for_and_nobody_knows(objects, theirs, own, named):
    there = running("n1", namespace="pay")
    there["spec"] |= apart(**theirs) if theirs else {}

    assert ("labels of namespaces",) * named == of(node("n1"), there, *objects, **(apart(**own) if own else {}))


def test_pods_that_are_being_deleted_are_in_namespaces_that_nobody_knows_too():
    there = running("n1", namespace="pay", deletionTimestamp="2026-01-01T00:00:00Z")

    assert ("labels of namespaces",) == of(node("n1"), there, NAMESPACE, **apart(**OF_TEAM))


def test_one_nominated_pod_that_may_have_its_node_is_not_simulated():
    claims = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    pods = [nominated("other", "n1", **claims), nominated("another", "n1")]

    assert ("nominated Pods",) == gaps_of_runs(attempted(node("n1"), *pods), ())
    assert () == gaps_of_runs(attempted(node("n1"), pods[1]), ())


def test_a_nominated_pod_whose_volumes_are_being_bound_has_perhaps_its_node_already():
    """It counts for Pods of higher priority, too, if it has."""
    small = node("n1", cpu="1")
    claims = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}

    assert ("nominated Pods",) == of(small, nominated("other", "n1", **claims), priority=10)
    assert () == of(small, nominated("other", "n1", **claims), priority=10, minor=34)
    assert () == of(small, nominated("other", "n1"), priority=10)
    assert () == of(small, nominated(attempted().pod.name, "n1", **claims), priority=10)
    assert () == of(small, nominated("other", "n1", cpu="500m", **claims), priority=10)
    assert () == of(node("n1", cpu="1", taints=[INFRA]), nominated("other", "n1", **claims), priority=10)


def test_a_nominated_pod_that_counts_anyway_leaves_no_gap():
    assert () == of(node("n1", cpu="1"), nominated("other", "n1"))


def test_budgets_that_may_not_be_read_matter_where_pods_are_preempted():
    full, placeholder = node("n1", cpu="1"), prioritized("n1", -10, cpu="1")
    for objects, named in (([full, placeholder], ("PodDisruptionBudgets",)), ([node("n1"), placeholder], ())):
        cycle = attempted(*objects)
        unread = replace(cycle, snapshot=replace(cycle.snapshot, budgets=None))

        assert named == of_cycle(unread)
        assert () == of_cycle(cycle)


def test_the_choice_of_pods_to_preempt_depends_on_the_start_of_a_search_that_ends_early():
    objects = [part for name in ("n1", "n2") for part in (node(name, cpu="1"), prioritized(name, -10, cpu="1"))]
    cycle = attempted(*objects)
    content_with_one = replace(cycle.profile, preemption_candidates=1, preemption_percentage=0)

    assert () == of_cycle(cycle)
    assert ("the choice of Pods to preempt",) == of_cycle(replace(cycle, profile=content_with_one))


def test_a_budget_of_which_nobody_knows_what_it_allows_matters_where_it_is_about_a_victim():
    full, placeholder = node("n1", cpu="1"), prioritized("n1", -10, cpu="1")

    assert ("PodDisruptionBudgets",) == of(full, placeholder, budget("web"))
    assert () == of(full, placeholder, budget("db"))
    assert () == of(full, placeholder, budget("web", allowed=0))


@pytest.mark.parametrize("resource", ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"])
@pytest.mark.parametrize(("minor", "named"), [(35, ()), (37, ("devices of DeviceClasses",))])
def test_a_resource_that_a_device_class_gives_out_is_left_to_dynamic_resources(minor, named, resource):
    containers = [{"name": "c", "image": "i", "resources": {"requests": {resource: "1"}}}]
    cycle = attempted(node("n1"), DEVICE_CLASS, minor=minor, containers=containers)

    assert named == of_cycle(cycle)
    having = node("n2")
    having["status"]["allocatable"] |= {resource: "1"}
    assert named == of_cycle(attempted(node("n1"), having, DEVICE_CLASS, minor=minor, containers=containers))
    assert () == of_cycle(attempted(having, DEVICE_CLASS, minor=minor, containers=containers))
    having["status"]["allocatable"] |= {resource: "0"}
    assert named == of_cycle(attempted(having, DEVICE_CLASS, minor=minor, containers=containers))
    assert bool(named) == bool(Framework(cycle).feasible())


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (("volumes",), "volumes are not judged"),
        (("the choice of Pods to preempt",), "the choice of Pods to preempt is not judged"),
        (("the plugin X",), "the plugin X is not judged"),
        (
            ("volumes", "extenders", "the choice of Pods to preempt"),
            "volumes, extenders and the choice of Pods to preempt are not judged",
        ),
    ],
)
def test_gaps_are_one_sentence(named, words):
    assert words == in_words(named)


def test_device_classes_that_may_not_be_read_may_give_out_any_extended_resource():
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"example.com/gpu": "1"}}}]
    cycle = attempted(node("n1"), containers=containers)
    unread = replace(cycle, snapshot=replace(cycle.snapshot, device_resources=None, unread=("images",)))

    assert ("images", "devices of DeviceClasses") == of_cycle(unread)
