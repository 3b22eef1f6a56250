"""Pods that a controller makes in place of those that wait, of a template that has changed."""

from __future__ import annotations

import pytest

from evenkeel.placement.remedies import NOW, remedies
from evenkeel.placement.subject import attempt, of_pod
from evenkeel.placement.successors import changed_since, made_again, with_new_claims, with_successors
from evenkeel.scheduler.framework import find_feasible
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import owned_by, pod, workload
from tests.support.claims import claim, storage_class, using, volume
from tests.support.placing import node, requesting, running, spread
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.references import ObjectRef

SSD = {"nodeSelector": {"disk": "ssd"}}


def owner(kind="StatefulSet", update="2", of=None, **spec):
    """A workload whose template asks for no label of nodes any more."""
    made = workload(kind, owner=of, spec=spec)
    if "template" not in spec:
        made["spec"]["template"]["spec"] = {"containers": requesting()}
    return {**made, "status": {"updateRevision": update}}


def with_metadata(raw, **fields):
    return {**raw, "metadata": {**raw["metadata"], **fields}}


def of_template(**spec):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": requesting(), **spec}}


def old(name="web-1", revision="1", kind="StatefulSet", **spec):
    labels = {"app": "web", "controller-revision-hash": revision}
    return pod(
        name=name, uid=name, labels=labels, owner=f"{kind}/web", spec={"containers": requesting(), **SSD, **spec}
    )


def again(made_by, *pods, objects=()):
    others = {ObjectRef.of(obj).key: obj for obj in (made_by, *objects)}
    subjects = [of_pod(raw, others) for raw in pods]
    snapshot = from_objects([node("a1", "a"), node("b1", "b"), *objects], LATEST)
    return made_again(subjects, attempt(subjects[0], snapshot, LATEST).cycle, others)


def test_the_pod_of_an_old_template_is_deleted():
    remedy = again(owner(), old())

    assert "delete Pod web-1: its controller creates it again from the new template" == remedy.change
    assert (NOW, ("a1", "b1"), ("web-1",)) == (remedy.where, remedy.nodes, remedy.remade)
    assert ("delete", "pod", "web-1", "-n", "shop") == remedy.edits[0].arguments


def test_several_pods_of_an_old_template():
    remedy = again(owner(), old(), old("web-2"), old("web-3", revision="2"))

    assert "delete the 2 Pods that wait: their controller creates them again from the new template" == remedy.change
    assert ("web-1", "web-2") == remedy.remade


@pytest.mark.parametrize(
    ("made_by", "waiting"),
    [
        (owner(update="1"), old()),
        (owner(podManagementPolicy="Parallel"), old()),
        (owner(updateStrategy={"rollingUpdate": {"partition": 2}}), old()),
        (owner(replicas=1), old()),
        (owner("Deployment"), old(kind="Deployment")),
        (owner("ReplicaSet", of="Deployment/web"), old(kind="ReplicaSet")),
        (owner(), {**old(), "metadata": {**old()["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    ],
    ids=[
        "same template",
        "its controller does it",
        "below the partition",
        "scaled down",
        "Deployment",
        "of Deployment",
        "deleted",
    ],
)
def test_a_pod_that_is_not_made_again_of_another_template(made_by, waiting):
    assert again(made_by, waiting) is None


START_5 = {"ordinals": {"start": 5}}
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("made_by", "waiting"),
    [
        (owner(**START_5), old("web-4")),
        (owner(**START_5), old("web-8")),
        (owner(**START_5, updateStrategy={"rollingUpdate": {"partition": 2}}), old("web-6")),
        (owner(**START_5, updateStrategy={"type": "OnDelete"}), old("web-4")),
        (owner("DaemonSet", updateStrategy={"type": "OnDelete"}), old(kind="DaemonSet")),
        (owner(), old("web-x")),
        (owner(), old("other-1")),
        (owner(replicas=0), old("web-0")),
        (owner("ReplicaSet", replicas=0), old(kind="ReplicaSet")),
        (with_metadata(owner(), **GOING), old()),
        (with_metadata(owner(), uid="of another"), old()),
        (owner(template=None), old()),
        (owner("ReplicaSet", template="x"), old(kind="ReplicaSet")),
        (owner(template={"spec": {}}), old()),
        (owner(template=of_template(schedulingGates=[{"name": "wait"}])), old()),
        (owner(template=of_template(schedulerName="another")), old()),
        (owner(template=of_template(nodeName="a1")), old()),
    ],
)
def test_a_pod_that_is_not_made_again_or_not_placed_then(made_by, waiting):
    assert again(made_by, waiting) is None


def test_ordinals_are_counted_from_the_first():
    assert again(owner(**START_5, updateStrategy={"rollingUpdate": {"partition": 2}}), old("web-7")) is not None
    assert again(with_metadata(owner(), uid="u1"), old()) is not None


def test_a_pod_that_only_its_deletion_replaces():
    assert again(owner(podManagementPolicy="Parallel", updateStrategy={"type": "OnDelete"}), old()) is not None
    assert again(owner("ReplicaSet"), old(kind="ReplicaSet")) is not None


def test_a_successor_that_no_node_takes():
    made_by = owner()
    made_by["spec"]["template"]["spec"]["containers"] = requesting("9")

    assert again(made_by, old()) is None


def test_a_successor_has_the_claims_of_the_pod():
    templates = [{"metadata": {"name": "data"}, "spec": claim("x")["spec"]}]
    bound = [storage_class(), claim("data-web-1", "pv-1"), volume("pv-1", "b", of="data-web-1")]

    assert ("b1",) == again(owner(volumeClaimTemplates=templates), old(), objects=bound).nodes


def test_nothing_is_to_be_changed_in_the_template_then():
    subject = of_pod(old(), {})
    cycle = attempt(subject, from_objects([node("a1", "a")], LATEST), LATEST).cycle
    fixes, remedy = remedies(cycle, find_feasible(cycle)), again(owner(), old())

    assert fixes == with_successors(fixes, None)
    assert (remedy, *(fix for fix in fixes if fix.where == NOW)) == with_successors(fixes, remedy)
    assert () == with_successors([fix for fix in fixes if fix.where != NOW], None, outdated=True)
    assert (remedy,) == with_successors([*fixes, remedy], None, outdated=True)


SLOW = storage_class("slow", mode="Immediate")
TEMPLATES = [{"metadata": {"name": name}, "spec": claim("x")["spec"]} for name in ("data", "log")]
ZONES = [node("a1", "a"), node("b1", "b"), node("c1", "c")]


def renewed(
    *objects, templates=TEMPLATES[:1], waiting=None, claims=("data-web-1",), on=("a1", "b1"), of=None, nodes=ZONES
):
    """What is tried of a Pod of a StatefulSet that is spread over three zones, of which two have a Pod."""
    made_by = of or owner(volumeClaimTemplates=templates)
    waiting = waiting or old(**using(*claims), nodeSelector={}, topologySpreadConstraints=[spread()])
    others = {ObjectRef.of(made_by).key: made_by}
    subject = of_pod(waiting, others)
    running_pods = [running(name, labels={"app": "web"}) for name in on]
    snapshot = from_objects([*nodes, storage_class(), SLOW, *running_pods, *objects], LATEST)
    return with_new_claims(subject, attempt(subject, snapshot, LATEST).cycle, others)


def in_zone(zone, name="data-web-1", of_class="fast"):
    return [claim(name, f"pv-{name}", of_class=of_class), volume(f"pv-{name}", zone, of=name, of_class=of_class)]


@pytest.mark.parametrize("zone", ["b", "z"], ids=["which the constraint refuses", "without a node"])
def test_a_claim_that_keeps_a_pod_in_a_zone_is_deleted_with_it(zone):
    remedy = renewed(*in_zone(zone))

    assert "delete claim data-web-1 and Pod web-1, if the application rebuilds its data from others" == remedy.change
    assert (NOW, ("c1",), ("web-1",), True) == (remedy.where, remedy.nodes, remedy.remade, remedy.loses_data)
    assert [
        ("delete", "pvc", "data-web-1", "-n", "shop", "--wait=false"),
        ("delete", "pod", "web-1", "-n", "shop"),
    ] == [edit.arguments for edit in remedy.edits]


def test_no_more_claims_are_deleted_than_keep_the_pod_off():
    names = ("data-web-1", "log-web-1")
    both, one = (renewed(*in_zone("b"), *in_zone(zone, names[1]), templates=TEMPLATES, claims=names) for zone in "bc")

    assert "delete claims data-web-1 and log-web-1 and Pod web-1" == both.change.partition(",")[0]
    assert "delete claim data-web-1 and Pod web-1" == one.change.partition(",")[0]


@pytest.mark.parametrize(
    "given",
    [
        {"templates": []},
        {"templates": [{"metadata": {"name": "data"}, "spec": claim("x", of_class="slow")["spec"]}]},
        {"of": owner("ReplicaSet", volumeClaimTemplates=TEMPLATES)},
        {"of": owner(replicas=1, volumeClaimTemplates=TEMPLATES)},
        {"of": with_metadata(owner(volumeClaimTemplates=TEMPLATES), **GOING)},
        {"waiting": old(**using("data-web-1"), nodeSelector={}, containers=requesting("9"))},
    ],
    ids=[
        "a claim that it does not make",
        "a class that makes a volume anywhere",
        "no StatefulSet",
        "scaled down",
        "its StatefulSet goes",
        "no node has room",
    ],
)
def test_a_claim_whose_deletion_does_not_help_or_that_nobody_makes_again(given):
    assert renewed(*in_zone("b"), **given) is None


@pytest.mark.parametrize("replicas", [1, 3])
def test_data_that_no_other_pod_has_is_not_given_up(replicas):
    """The others of three are not created before this one runs."""
    of = owner(replicas=replicas, volumeClaimTemplates=TEMPLATES[:1])
    waiting = old("web-0", **using("data-web-0"), nodeSelector={"disk": "ssd"})
    nodes = [node("a1", "a"), node("b1", "b", labels={"disk": "ssd"})]
    claims = in_zone("a", "data-web-0")

    assert renewed(*claims, of=of, waiting=waiting, nodes=nodes, on=()) is None
    assert (replicas > 1) == (renewed(*claims, of=of, waiting=waiting, nodes=nodes, on=("b1",)) is not None)


def closed(key="", zone="b", cpu="8", **spec):
    taints = [{"key": key, "effect": "NoSchedule"}] if key else []
    return node(f"{zone}1", zone, cpu=cpu, taints=taints, **spec)


NOT_READY, GPU = "node.kubernetes.io/not-ready", "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("nodes", "offered"),
    [
        ([closed(NOT_READY)], False),
        ([closed("node.cilium.io/agent-not-ready")], False),
        ([closed("karpenter.sh/disrupted")], False),
        ([closed(unschedulable=True)], False),
        ([closed(NOT_READY, unschedulable=True)], False),
        ([closed(NOT_READY, cpu="1m")], False),
        ([closed(NOT_READY), node("b2", "b", cpu="1m")], False),
        ([closed(NOT_READY, cpu="1m"), node("b2", "b", cpu="1m")], True),
        ([closed(GPU)], True),
        ([closed(cpu="1m")], True),
        ([closed(GPU), closed(NOT_READY, zone="a")], True),
    ],
    ids=[
        "not ready",
        "an agent starts",
        "it goes",
        "cordoned",
        "both",
        "too small, but its Pods may go",
        "another one of the zone is too small",
        "neither would take it",
        "of a pool",
        "too small",
        "one elsewhere",
    ],
)
def test_data_is_not_given_up_while_its_node_may_come_back(nodes, offered):
    waiting = old(**using("data-web-1"), nodeSelector={})
    remedy = renewed(*in_zone("b"), waiting=waiting, nodes=[*nodes, node("c1", "c")], on=("c1",))

    assert offered == (remedy is not None)


def test_a_pod_that_its_claims_keep_off_no_node():
    assert renewed(claim("data-web-1", "pv"), volume("pv", of="data-web-1")) is None


def of_deployment(**newer):
    """A Deployment, its old ReplicaSet, and one more of these fields."""
    template = of_template(nodeSelector={"disk": "ssd"})
    older = owner("ReplicaSet", of="Deployment/web", template=template)
    return [owner("Deployment", **newer), {**older, "metadata": {**older["metadata"], "name": "web-1"}}]


@pytest.mark.parametrize(
    ("objects", "of_owner", "changed"),
    [
        ([owner(podManagementPolicy="Parallel")], "StatefulSet/web", "StatefulSet/web"),
        ([owner(update="1")], "StatefulSet/web", ""),
        ([owner(update="")], "StatefulSet/web", ""),
        ([], "StatefulSet/web", ""),
        (of_deployment(), "ReplicaSet/web-1", "Deployment/web"),
        (of_deployment(template=of_template(nodeSelector={"disk": "ssd"})), "ReplicaSet/web-1", ""),
        (of_deployment()[1:], "ReplicaSet/web-1", ""),
    ],
)
def test_whose_template_has_changed_since(objects, of_owner, changed):
    others = {ObjectRef.of(obj).key: obj for obj in objects}
    raw = old()
    raw["metadata"].update(owned_by(of_owner))

    assert changed == changed_since(of_pod(raw, others), others)
