"""Raw objects become one view of a cluster, or an error that names the object and the field."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from evenkeel.scheduler.scheduler_nodes import Allocatable, SchedulerNode
from evenkeel.scheduler.snapshot import from_objects
from tests.support.build import pod, service, snapshot
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.references import Owner
from webhook.spread.cluster_view import ClusterView, Controller, Namespace, SnapshotError, view_of
from webhook.spread.nodes import Node
from webhook.spread.selectors import EVERYTHING


def raw(kind, api_version="apps/v1", name="web", spec=None, **metadata):
    """An object of the namespace shop."""
    metadata = {"name": name, "namespace": "shop", "uid": "u1", **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def node(name="n1", **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def test_nodes_are_in_the_order_of_their_names_and_keep_their_labels():
    found = snapshot(node("b", zone="z1"), {**node("a"), "metadata": {"name": "a", "labels": None}})

    assert (SchedulerNode("a", {}), SchedulerNode("b", {"zone": "z1"})) == tuple(found.nodes)


def test_namespaces_are_known_by_name():
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}

    bare = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bare"}}

    assert {"shop": {"team": "a", **_named("shop")}, "bare": _named("bare")} == snapshot(shop, bare).namespaces


def _named(name):
    """The label that kube-apiserver writes, and a manifest seldom has."""
    return {"kubernetes.io/metadata.name": name}


class Selected(NamedTuple):
    name: str
    services: list
    found: str = "web"
    labels: str = "app=web tier=back"


SERVICES = [
    Selected("one that selects the Pod", [service()]),
    Selected("all that select the Pod", [service(), service("back", {"tier": "back"})], "web back"),
    Selected("one that selects another", [service(selector={"app": "api"})], ""),
    Selected("one that asks for more", [service(selector={"app": "web", "version": "2"})], ""),
    Selected("one of another namespace", [service(namespace="elsewhere")], ""),
    Selected("{} selects nothing", [service(selector={})], ""),
    Selected("null selects nothing", [raw("Service", "v1", spec={"selector": None})], ""),
    Selected("an absent selector selects nothing", [raw("Service", "v1", spec={})], ""),
    Selected("an absent spec selects nothing", [raw("Service", "v1")], ""),
    Selected("a null value is empty", [service(selector={"app": None})], labels="app="),
    Selected("a Service of another group", [raw("Service", "serving.knative.dev/v1", spec={"selector": []})], ""),
]


@pytest.mark.parametrize("case", SERVICES, ids=lambda case: case.name)
def test_services_that_select_a_pod(case):
    labels = dict(pair.split("=") for pair in case.labels.split())
    found = snapshot(*case.services).services_of("shop", labels)

    assert case.found.split() == [service.name for service in found]


WEB = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
CONTROLLERS = [
    ("ReplicationController", "v1", {"app": "web"}, "app=web"),
    ("ReplicationController", "v1", None, ""),
    ("Deployment", "apps/v1", WEB, "app=web,tier"),
    ("ReplicaSet", "apps/v1", WEB, "app=web,tier"),
    ("StatefulSet", "apps/v1", WEB, "app=web,tier"),
    ("DaemonSet", "apps/v1", WEB, "app=web,tier"),
    ("Job", "batch/v1", WEB, "app=web,tier"),
    ("ReplicaSet", "apps/v1", {}, ""),
]


@pytest.mark.parametrize(("kind", "api_version", "selector", "text"), CONTROLLERS)
def test_controllers_are_found_by_name(kind, api_version, selector, text):
    """The uid of the owner reference is not compared."""
    found = snapshot(raw(kind, api_version, spec={"selector": selector}))
    controller = found.controller("shop", Owner(api_version, kind, "web", uid="another"))

    assert (api_version, kind, "web", "u1") == (
        controller.api_version,
        controller.kind,
        controller.name,
        controller.uid,
    )
    assert text == str(controller.selector)


@pytest.mark.parametrize(
    "selector", [None, {"matchLabels": {"a b": "x"}}, {"matchExpressions": [{"key": "app", "operator": "In"}]}]
)
def test_a_selector_that_is_absent_or_invalid_is_none(selector):
    found = snapshot(raw("ReplicaSet", spec={"selector": selector}), raw("CronJob", "batch/v1", spec={}))

    assert found.controller("shop", Owner("apps/v1", "ReplicaSet", "web")).selector is None
    assert Controller("batch/v1", "CronJob", "web", "u1", None) == found.controller(
        "shop", Owner("batch/v1", "CronJob", "web")
    )


@pytest.mark.parametrize(
    "owner",
    [("apps/v1", "ReplicaSet", "api"), ("apps/v1beta2", "ReplicaSet", "web"), ("apps/v1", "StatefulSet", "web")],
)
def test_another_name_version_or_kind_is_another_controller(owner):
    assert snapshot(raw("ReplicaSet", spec={"selector": WEB})).controller("shop", Owner(*owner)) is None


def test_a_controller_of_another_namespace_is_another():
    assert snapshot(raw("ReplicaSet")).controller("elsewhere", Owner("apps/v1", "ReplicaSet", "web")) is None


def test_other_kinds_and_versions_are_passed_over():
    found = view_of([raw("ConfigMap", "v1", spec=5), raw("ReplicaSet", "extensions/v1beta1", spec=5), {}])

    assert ClusterView() == found


def test_the_empty_selector_of_a_controller_selects_everything():
    """As a selector; the scheduler's default adds nothing from it."""
    found = snapshot(raw("StatefulSet", spec={"selector": {}}))

    assert EVERYTHING == found.controller("shop", Owner("apps/v1", "StatefulSet", "web")).selector


def bound(name, node, labels="app=web", namespace="shop", phase="Running", **metadata):
    """A Pod on a node."""
    given = dict(pair.split("=") for pair in labels.split())
    made = pod(labels=given, name=name, namespace=namespace, spec={"nodeName": node}, **metadata)
    return {**made, "status": {"phase": phase}}


def counted(found):
    """What a snapshot holds of Pods, as `namespace labels: node=count`."""
    return [
        f"{namespace} {' '.join(map('='.join, group.labels.items()))}: "
        + " ".join(f"{node}={count}" for node, count in group.nodes.items())
        for namespace, groups in found.pods.items()
        for group in groups.values()
    ]


COUNTED = [
    ("Pods with the same labels", [bound("1", "a"), bound("2", "b"), bound("3", "a")], ["shop app=web: a=2 b=1"]),
    (
        "labels in another order",
        [bound("1", "a", "app=web tier=x"), bound("2", "a", "tier=x app=web")],
        ["shop app=web tier=x: a=2"],
    ),
    ("other labels", [bound("1", "a"), bound("2", "a", "app=api")], ["shop app=web: a=1", "shop app=api: a=1"]),
    ("another namespace", [bound("1", "a"), bound("1", "a", namespace="x")], ["shop app=web: a=1", "x app=web: a=1"]),
    ("one that waits for a node", [bound("1", "a"), bound("2", None)], ["shop app=web: a=1"]),
    ("one that is being deleted", [bound("1", "a"), bound("2", "a", deletionTimestamp="now")], ["shop app=web: a=1"]),
    ("one that has succeeded", [bound("1", "a"), bound("2", "a", phase="Succeeded")], ["shop app=web: a=1"]),
    ("one that has failed", [bound("1", "a"), bound("2", "a", phase="Failed")], ["shop app=web: a=1"]),
]


@pytest.mark.parametrize(("pods", "found"), [case[1:] for case in COUNTED], ids=[case[0] for case in COUNTED])
def test_pods_are_counted_by_labels_and_node(pods, found):
    assert found == counted(snapshot(*pods))


def test_a_view_with_one_more_is_another_view():
    """The view that it was made from stays as it was."""
    before = snapshot(node("n1"))
    controller = Controller("apps/v1", "ReplicaSet", "web", "u1", None)
    after = before.with_namespace(Namespace("shop", {"team": "a"})).with_controller("shop", controller)

    assert ({}, None) == (before.namespaces, before.controller("shop", Owner("apps/v1", "ReplicaSet", "web")))
    assert ({"shop": {"team": "a"}}, controller, before.nodes) == (
        after.namespaces,
        after.controller("shop", Owner("apps/v1", "ReplicaSet", "web")),
        after.nodes,
    )


class Wrong(NamedTuple):
    name: str
    obj: dict
    message: str


WRONG = [
    Wrong("a node's label", node(zone=5), "metadata.labels.zone: found 5, must be a string"),
    Wrong("a Service's selector", service(selector=["app"]), 'spec.selector: found ["app"], must be an object'),
    Wrong("a value in it", service(selector={"app": True}), "spec.selector.app: found true, must be a string"),
    Wrong("a spec", raw("ReplicaSet", spec="x"), 'spec: found "x", must be an object'),
    Wrong(
        "a controller's selector",
        raw("ReplicaSet", spec={"selector": {"matchExpressions": {}}}),
        "spec.selector.matchExpressions: found {}, must be an array",
    ),
    Wrong("a value far too large", node(zone=2**200), "metadata.labels.zone: found a very large number, must be a"),
    Wrong("a value far too long", raw("ReplicaSet", spec="x" * 10**6), f'spec: found "{"x" * 58}…, must be'),
    Wrong("half a character", raw("ReplicaSet", spec="\ud800"), 'spec: found "\ud800", must be an object'),
    Wrong("a namespace", raw("ReplicaSet", namespace=[None]), "metadata.namespace: found an array, must be a string"),
    Wrong("a Pod's node", bound("1", 5), "spec.nodeName: found 5, must be a string"),
    Wrong("a Pod's status", {**bound("1", "a"), "status": []}, "status: found [], must be an object"),
    Wrong("metadata", {**raw("ReplicaSet"), "metadata": "x"}, 'metadata: found "x", must be an object'),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_a_wrong_type_is_named_with_its_field(case):
    with pytest.raises(SnapshotError) as error:
        snapshot(service("before"), case.obj)

    assert f": {case.message}" in str(error.value)


@pytest.mark.parametrize("priority", ["50", 2**40])
def test_a_priority_that_is_no_number_of_32_bits_is_named(priority):
    odd = {**bound("1", "a"), "spec": {"nodeName": "a", "priority": priority}}
    with pytest.raises(SnapshotError, match=r"spec\.priority: found .*, must be a 32-bit integer"):
        from_objects([odd], LATEST)


TITLED = [
    (service(selector=[]), "Service shop/web: "),
    (raw("Job", "batch/v1", spec=[]), "Job shop/web: "),
    (node(zone=5), "Node n1: "),
]


@pytest.mark.parametrize(("obj", "title"), TITLED, ids=[title for _, title in TITLED])
def test_a_wrong_type_is_named_with_its_object(obj, title):
    with pytest.raises(SnapshotError) as error:
        snapshot(obj)

    assert title == str(error.value)[: len(title)]


SMALL = {"labels": {f"k{i}": "" for i in range(80)}}
LARGE = {
    "long values": {"labels": {f"k{i}": "v" * 63 for i in range(100)}},
    "many short keys": {"labels": {f"k{i}": "" for i in range(150)}},
    "many empty values": {"expressions": [{"key": "a", "operator": "In", "values": [""] * 300}]},
    "many expressions": {"expressions": [{"key": "a", "operator": "Exists"}] * 300},
}


def selecting_raw(given):
    return {"matchLabels": given.get("labels"), "matchExpressions": given.get("expressions")}


@pytest.mark.parametrize(
    ("given", "kept"), [(SMALL, True), *((given, False) for given in LARGE.values())], ids=["a usual one", *LARGE]
)
def test_a_selector_that_fills_memory_is_not_kept(given, kept):
    """Anyone with rights in a namespace may create objects of a megabyte."""
    labels = given.get("labels", {})
    found = snapshot(
        service(selector=labels),
        raw("ReplicaSet", spec={"selector": selecting_raw(given)}),
        raw("ReplicationController", "v1", spec={"selector": labels}),
        pod(labels=labels, spec={"nodeName": "n1"}, uid="u1"),
    )

    of_kind = {kind: named["web"].selector is not None for (_, _, kind), named in found.controllers.items()}
    assert kept == of_kind["ReplicaSet"]
    if labels:
        counted = [group.labels for group in found.pods.get("shop", {}).values()]
        assert [kept] * 3 == [of_kind["ReplicationController"], bool(found.services.get("shop")), labels in counted]


def requesting(name, cpu="500m", node="n1", phase="Running", **fields):
    """A Pod on a node that requests this CPU."""
    spec = {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
    return {**pod(name=name, uid=name, spec=spec, **fields), "status": {"phase": phase}}


HAS = {"cpu": "4", "memory": "1Gi", "pods": "110"}
NODE = {**node("n1"), "status": {"allocatable": HAS, "capacity": {"cpu": "99"}}}


def test_what_all_pods_of_a_node_request():
    """Those that are being deleted, too, but not those that have finished; on a node that is not known, too."""
    found = snapshot(
        requesting("a"),
        requesting("b", namespace="elsewhere"),
        requesting("c", deletionTimestamp="now"),
        requesting("d", phase="Succeeded"),
        requesting("e", phase="Failed"),
        requesting("f", node=None),
        requesting("g", "2", node="unknown"),
        requesting("h", labels={f"k{i}": "v" * 63 for i in range(100)}),
        NODE,
        features=LATEST,
    )

    assert {"n1": (4, 2000), "unknown": (1, 2000)} == {name: one[:2] for name, one in found.usage.items()}
    assert {"shop": {"n1": 1, "unknown": 1}, "elsewhere": {"n1": 1}} == {
        namespace: group.nodes for namespace, groups in found.pods.items() for group in groups.values()
    }


def test_what_a_node_has_is_its_allocatable():
    (found,) = snapshot(NODE, features=LATEST).nodes

    assert Allocatable(4000, 1 << 30, pods=110) == found.allocatable


def test_resources_are_not_read_where_they_are_not_asked_for():
    found = view_of([NODE, requesting("a", "nonsense"), requesting("b", deletionTimestamp="now")])

    assert [Node] == [type(node) for node in found.nodes]


def test_the_version_decides_what_counts():
    pod_level = requesting("a")
    pod_level["spec"]["resources"] = {"requests": {"cpu": "3"}}

    assert [500, 3000] == [snapshot(pod_level, features=features(minor)).usage["n1"].milli_cpu for minor in (33, 34)]


UNREADABLE = [
    Wrong(
        "a request", requesting("a", "lots"), 'containers[0].resources.requests.cpu: found "lots", must be a quantity'
    ),
    Wrong(
        "allocatable", {**NODE, "status": {"allocatable": {"cpu": []}}}, "status.allocatable.cpu: found [], must be a"
    ),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.name)
def test_a_bad_quantity_is_named(case):
    with pytest.raises(SnapshotError) as error:
        snapshot(case.obj, features=LATEST)

    assert case.message in str(error.value)


def test_where_more_is_wrong_than_quantities_that_is_named():
    wrong = requesting("a", "lots", labels={"app": 5})
    with pytest.raises(SnapshotError) as error:
        snapshot(wrong, features=LATEST)

    assert "metadata.labels.app: found 5" in str(error.value)


def test_resources_that_fill_memory_are_not_kept():
    """Anyone with rights in a namespace may name as many extended resources as a megabyte holds."""
    many = requesting("a")
    many["spec"]["containers"][0]["resources"]["requests"] |= {f"example.com/{i}": "1" for i in range(200)}

    assert (500, ()) == snapshot(many, features=LATEST).usage["n1"][1:5:3]


def test_an_error_is_one_line_whatever_the_name_is():
    with pytest.raises(
        SnapshotError, match=r"Service shop/we\\u000ab: spec.selector.app: found \[\], must be"
    ) as caught:
        snapshot(service("we\nb", {"app": []}))

    assert str(caught.value).isprintable()


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APART = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]}}
PORTS = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]


def demanding(name, **spec):
    return pod(name=name, uid=name, spec={"nodeName": "n1", "containers": PORTS, "affinity": APART, **spec})


def test_what_pods_demand_of_others_is_counted_by_node():
    found = snapshot(demanding("a", priority=5), demanding("b", priority=-5), features=LATEST)
    (affinity,), (port,) = found.affine, found.ports["n1"]

    assert ("zone", 80) == (affinity.anti_affinity[0].topology_key, port.port)
    assert ({"n1": 2}, 2, {"n1": -5}) == (found.affine[affinity], found.ports["n1"][port], found.priorities)


def test_a_pod_that_is_being_deleted_is_counted_apart():
    leaving = pod(uid="u", labels={"app": "web"}, spec={"nodeName": "n1"}, deletionTimestamp="2026-01-01T00:00:00Z")
    found = snapshot(leaving, features=LATEST)

    assert ({}, {"n1": 1}) == (found.pods.get("shop", {}), found.terminating["shop"][(("app", "web"),)].nodes)


def test_a_pod_with_a_nominated_node_is_kept_and_is_on_no_node():
    waiting = pod(name="web-9", spec={"priority": 7}) | {"status": {"nominatedNodeName": "n1"}}
    found = snapshot(waiting, features=LATEST)
    (nominated,) = found.nominated

    assert ("shop", "web-9", "n1", 7) == (
        nominated.namespace,
        nominated.name,
        nominated.pod.node,
        nominated.pod.priority,
    )
    assert ({}, {}) == (found.pods, found.usage)


def test_a_device_class_gives_out_its_own_resource_and_that_which_it_names():
    of_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    named = {**of_class, "spec": {"extendedResourceName": "example.com/gpu"}}

    assert {"deviceclass.resource.kubernetes.io/gpu"} == snapshot(of_class, features=LATEST).device_resources
    assert {"deviceclass.resource.kubernetes.io/gpu", "example.com/gpu"} == (
        snapshot(named, features=LATEST).device_resources
    )


def test_the_webhook_reads_none_of_it():
    assert ClusterView() == view_of([demanding("a"), demanding("b", priority=-5)])


def test_classes_of_other_apis_that_are_called_the_same_are_passed_over():
    device = {"apiVersion": "example.com/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    priority = {"apiVersion": "example.com/v1", "kind": "PriorityClass", "value": 7, "globalDefault": True}
    found = snapshot(device, priority, features=LATEST)

    assert (frozenset(), 0) == (found.device_resources, found.default_priority)
