"""What is not computed is named, and what plainly does not matter is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.build import pod
from tests.support.placing import INFRA, attempted, node, requesting, running, spread
from webhook.placement.gaps import gaps, gaps_of_runs, in_words, left_out, used_by
from webhook.scheduler.framework import find_feasible
from webhook.scheduler.profile import USUAL_PROFILE

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"extendedResourceName": "example.com/gpu"},
}


def of(*objects, name="", uses=(), minor=37, **spec):
    cycle = attempted(*objects, minor=minor, **spec)
    return gaps(cycle, find_feasible(cycle), uses, name)


def nominated(name, to, priority=0, cpu="1"):
    raw = pod(name=name, spec={"priority": priority, "containers": requesting(cpu)})
    return {**raw, "status": {"phase": "Pending", "nominatedNodeName": to}}


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

    assert ("volumes", "extenders") == gaps(configured, find_feasible(configured), ["volumes"], "")


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


def test_a_nominated_pod_matters_where_it_takes_the_room_of_a_node_that_the_pod_could_use():
    small, closed = node("n1", cpu="1"), node("n2", cpu="1", taints=[INFRA])

    assert ("nominated Pods",) == of(small, closed, nominated("other", "n1"))
    assert () == of(small, closed, nominated("other", "n1", cpu="500m"))
    assert () == of(small, closed, nominated("other", "n2"))
    assert () == of(small, closed, nominated("other", "n1", priority=-1))


def test_a_nominated_pod_matters_where_it_changes_the_reason():
    full = node("n1", cpu="1", pods="1")

    assert ("nominated Pods",) == of(full, running("n1"), nominated("other", "n1"))
    assert () == of(full, running("n1"), nominated("other", "n1", cpu="0"))


def test_a_pod_tries_the_node_first_to_which_it_is_nominated_itself():
    nodes = [node("n1"), node("n2")]

    assert ("nominated Pods",) == of(*nodes, nominated("itself", "n2"), name="itself")
    assert () == of(nodes[0], node("n2", taints=[INFRA]), nominated("itself", "n1"), name="itself")


def test_preemption_matters_where_no_node_passes_and_pods_of_lower_priority_are_in_the_way():
    """A placeholder has a negative priority, so that a Pod without any preempts it."""
    full, placeholder = node("n1", cpu="1"), prioritized("n1", -10, cpu="1")

    assert ("preemption",) == of(full, placeholder)
    assert () == of(full, node("n2"), placeholder)
    assert () == of(full, placeholder, preemptionPolicy="Never")
    assert () == of(full, prioritized("n1", 0, cpu="1"))
    assert () == of(node("n1", cpu="1", taints=[INFRA]), placeholder)
    assert () == of(full, placeholder, cpu="2")  # which it would lack on the empty node, too


def test_in_a_large_cluster_what_would_take_too_long_to_try_is_named(monkeypatch):
    """No node matters here: the nominated Pods leave room, and the Pod lacks it on empty nodes, too."""
    nodes = [node("n1", cpu="1"), node("n2", cpu="1")]
    waits = [nominated(f"w{i}", one["metadata"]["name"], cpu="500m") for i, one in enumerate(nodes)]
    placeholders = [prioritized(one["metadata"]["name"], -10, cpu="1") for one in nodes]

    assert ((), ()) == (of(*nodes, *waits), of(*nodes, *placeholders, cpu="2"))
    monkeypatch.setattr("webhook.placement.gaps.NODES_LOOKED_AT", 3)
    assert ("nominated Pods",) == of(*nodes, *waits)
    assert ("preemption",) == of(*nodes, *placeholders, cpu="2")
    assert ((), ()) == (of(*nodes, waits[0]), of(*nodes, placeholders[0], running("n2", cpu="1"), cpu="2"))


@pytest.mark.parametrize("resource", ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"])
@pytest.mark.parametrize(("minor", "named"), [(35, ()), (37, ("devices of DeviceClasses",))])
def test_a_resource_that_a_device_class_gives_out_is_left_to_dynamic_resources(minor, named, resource):
    containers = [{"name": "c", "image": "i", "resources": {"requests": {resource: "1"}}}]
    cycle = attempted(node("n1"), DEVICE_CLASS, minor=minor, containers=containers)

    assert named == gaps(cycle, find_feasible(cycle), (), "")
    assert bool(named) == bool(find_feasible(cycle).feasible)


def test_runs_are_said_not_to_preempt_where_any_pod_has_a_lower_priority():
    assert ("preemption",) == gaps_of_runs(attempted(node("n1"), prioritized("n1", -10)), ())
    assert () == gaps_of_runs(attempted(node("n1"), prioritized("n1", 0)), ())


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (("volumes",), "volumes are not judged"),
        (("preemption",), "preemption, which may make room, is not judged"),
        (("the plugin X",), "the plugin X is not judged"),
        (
            ("volumes", "extenders", "preemption"),
            "volumes, extenders and preemption, which may make room, are not judged",
        ),
    ],
)
def test_gaps_are_one_sentence(named, words):
    assert words == in_words(named)


@pytest.mark.parametrize(
    ("spec", "missing"),
    [
        ({"containers": [{"name": "c"}]}, ["images"]),
        ({"containers": [{"image": "i", "ports": [{"hostPort": 80}]}]}, ["host ports"]),
        (
            {"containers": [{"image": "i"}], "affinity": {"podAffinity": {"required": [{}]}}},
            ["affinity to other Pods"],
        ),
        (
            {
                "containers": [{"image": "i", "ports": [{"hostPort": 80, "containerPort": 80}]}],
                "affinity": {"podAntiAffinity": {"required": [{"topologyKey": "zone"}]}},
            },
            [],
        ),
        ({"containers": [], "volumes": [{"persistentVolumeClaim": {}}]}, ["volumes"]),
        ({"containers": [], "volumes": [CLAIM, {"name": "x"}]}, []),
    ],
)
def test_what_an_older_dump_does_not_have_is_known_by_the_fields_that_every_pod_has(spec, missing):
    assert missing == list(left_out({"spec": spec}))


def test_device_classes_that_may_not_be_read_may_give_out_any_extended_resource():
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"example.com/gpu": "1"}}}]
    cycle = attempted(node("n1"), containers=containers)
    unread = replace(cycle, snapshot=replace(cycle.snapshot, device_resources=None, unread=("images",)))

    assert ("images", "devices of DeviceClasses") == gaps(unread, find_feasible(unread), (), "")


def test_each_nominated_pod_is_on_its_own_node_and_no_other_then():
    """Both together would even each other out."""
    nodes = [node("a1", "a"), node("b1", "b")]
    cycle = attempted(*nodes, nominated("x", "a1"), nominated("y", "b1"), constraints=[spread()])

    assert ("nominated Pods",) == gaps(cycle, find_feasible(cycle), (), "")
