"""What makes the Pods of a workload, and of others."""

from __future__ import annotations

from evenkeel.placement.inferred_defaults import given_defaults
from tests.support.build import constraint, priority_class, runtime_class, service
from tests.support.simulated import (
    SOFT,
    deployment,
    nodes,
    owned,
    plan,
    pod,
    template,
    updating,
)
from webhook.kubernetes.references import ObjectRef


def test_a_deployment_has_its_replica_sets_the_current_one_last():
    current, latest, *pods = deployment(replicas=4, on=["a1"])
    old = owned(
        "ReplicaSet",
        "web-0",
        {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template()},
        "Deployment/web",
    )
    empty = {**old, "metadata": {**old["metadata"], "name": "web-9"}, "spec": {**old["spec"], "replicas": 0}}
    made = plan([*nodes(), current, latest, empty, old, *pods, pod("ReplicaSet/web-0", 0, "b1")], "scale=9")

    assert ([2, 4], 4) == ([one.desired for one in made.named[0].sets], made.named[0].replicas)
    revisions = {name: [one.revision for one in pods] for name, pods in made.start.by_node.items()}
    assert {"a1": [1], "b1": [0]} == revisions


def test_without_one_that_has_its_template_there_is_a_new_one():
    made = plan([*nodes(), deployment()[0]], "scale=9")
    (one,) = made.named[0].sets

    assert (0, {"app": "web", "pod-template-hash": "new"}) == (one.desired, one.maker.of_class.pod.labels)


def test_a_rollout_has_a_revision_of_its_own_also_for_the_default_selector():
    raw = deployment()[0]
    raw["spec"]["template"]["spec"]["topologySpreadConstraints"] = []
    made = plan([*nodes(), service(), raw], "rollout rollout")
    first, second = (made.named[0].makers[i].of_class for i in (0, 1))

    assert ["rollout-1", "rollout-2"] == [one.pod.labels["pod-template-hash"] for one in (first, second)]
    assert first.system_defaults
    assert "app=web,app=web,pod-template-hash=rollout-1" == str(first.constraints[0].selector)


def test_a_pod_whose_owner_is_not_known_is_made_as_it_was():
    raw = pod("CloneSet/x", 0, "a1", spec={"priority": 7})
    ((found,),) = plan([*nodes(), *deployment(), raw], "drain=a1").start.by_node.values()

    assert 7 == found.maker.of_class.pod.priority


def test_each_workload_has_what_its_own_newest_pod_was_given():
    given = {"annotations": {"evenkeel.dev/defaulted-by": "policy"}}
    soft = {"topologySpreadConstraints": [constraint(**SOFT, maxSkew=2)]}
    web, replica_set, first = deployment(on=["a1"], topologySpreadConstraints=[])
    first["metadata"] |= given
    first["spec"] |= soft
    other = owned("StatefulSet", "db", {"selector": {"matchLabels": {"app": "web"}}, "template": template()})
    pods = [first, pod("StatefulSet/db", 0, "a1")]
    others = {ObjectRef.of(one).key: one for one in (web, replica_set, other)}
    made = plan(
        [*nodes(), service(), web, replica_set, other, *pods], "drain=a1", defaults=given_defaults(pods, others)
    )

    assert {0: [2], -1: [3, 5]} == {
        one.revision: [constraint.max_skew for constraint in one.maker.of_class.constraints]
        for one in made.start.by_node["a1"]
    }


PARTITION = {"updateStrategy": {"rollingUpdate": {"partition": 1}}}


def test_a_stateful_set_amid_a_rollout_has_two_revisions():
    """The Pods of the first say what their template was."""
    made, old, *rest = updating(on=[("a1", "old"), ("b1", "older"), ("c1", "new")], **PARTITION)
    old["spec"]["priority"] = 7
    found = plan([*nodes(), made, old, *rest], "scale=9")
    before, now = (one.maker for one in found.named[0].sets)

    assert [0, 0, 1] == [found.start.by_node[name][0].revision for name in ("a1", "b1", "c1")]
    assert (7, 0) == (before.of_class.pod.priority, now.of_class.pod.priority)
    assert ["old", "new"] == [one.of_class.pod.labels["controller-revision-hash"] for one in (before, now)]
    assert before.replaces and now.replaces


def test_one_that_is_rolled_back_is_made_of_its_template():
    found = plan([*nodes(), *updating(on=[("a1", "bad"), ("b1", "old")], current="old", updated="old")], "scale=9")
    before, now = (one.maker for one in found.named[0].sets)

    assert before is now
    assert [0, 1] == [found.start.by_node[name][0].revision for name in ("a1", "b1")]


def test_pods_that_are_made_have_what_kube_apiserver_adds():
    made, *rest = deployment(replicas=1, on=["a1"])
    for one in (made, rest[0]):
        one["spec"]["template"]["spec"] |= {"priorityClassName": "high", "runtimeClassName": "sandboxed"}
    classes = (priority_class("high", 1000), runtime_class("sandboxed", None, {"sandbox": "yes"}))
    of_class = plan([*nodes(), made, *rest, *classes], "scale=9").named[0].sets[0].maker.of_class

    assert (1000, {"yes"}) == (of_class.pod.priority, of_class.pod.affinity.values("sandbox"))
