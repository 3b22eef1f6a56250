"""What commands that explain placement read of a cluster."""

from __future__ import annotations

import re

import pytest

from evenkeel.clusters import known_cluster
from evenkeel.clusters.contents import Contents
from evenkeel.clusters.sources import Source
from evenkeel.scheduler.storage_objects import STORAGE_RESOURCES
from tests.support.build import namespace, pod, priority_class, service, workload
from tests.support.claims import attachment, capacity, claim, csi_driver, csi_node, storage_class, volume
from tests.support.placing import node, running
from webhook.cli.usage import UsageError
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.references import ObjectRef


@pytest.fixture
def cluster(monkeypatch):
    """Make `inputs.contents` give these objects, by the namespace that is asked for."""

    def give(*objects, missing=None, version="", time=""):
        def contents(source, namespace="", kinds=()):
            here = [one for one in objects if one["metadata"].get("namespace", namespace) == namespace or not namespace]
            lacking = {} if namespace else missing or {}
            return Contents(iter([one for one in here if not _hidden(one, lacking)]), lacking, namespace, version, time)

        monkeypatch.setattr("evenkeel.clusters.reading.contents", contents)

    return give


def _hidden(obj, missing):
    return f"{obj['kind']}s".lower() in missing


def read(wanted=lambda _: True, **options):
    return known_cluster.read(Source("live"), None, wanted, **options)


def test_pods_that_are_asked_for_and_all_else_but_nodes(cluster):
    cluster(node("n1"), pod(name="a"), pod(name="b"), service())
    found = read(lambda one: one["metadata"]["name"] == "b")

    assert ["b"] == [one["metadata"]["name"] for one in found.pods]
    assert [("", "Service", "shop", "web")] == list(found.others)
    assert (["n1"], ()) == ([one.name for one in found.snapshot.nodes], found.notes)


def test_where_no_pod_may_be_listed_none_is_said_to_wait(cluster):
    """Which would be a lie, and let a pipeline pass that asks for --fail-on pending."""
    cluster(node("n1"), service(), missing={"pods": "is forbidden"})

    assert ("pods cannot be listed: is forbidden",) == read().notes
    with pytest.raises(
        UsageError,
        match=r"^pods: is forbidden; without Pods, those that wait cannot be listed; name "
        r"with -n a namespace",
    ):
        read(needs_pods=True)


def test_where_nothing_may_be_listed_there_is_nothing_to_report(cluster):
    cluster(missing={"pods": "is forbidden", "nodes": "is forbidden", "deployments": "is forbidden"})

    with pytest.raises(
        UsageError, match=r"^you are not allowed to list anything in the cluster; name with -n a namespace"
    ):
        read(needs_nodes=False)


def test_the_version_is_that_of_the_cluster(cluster):
    cluster(node("n1"), version="v1.33.13")

    assert 33 == read().features.minor
    assert 36 == known_cluster.read(Source("live"), "1.36", lambda _: False).features.minor, "the one that is given"
    cluster(node("n1"))
    assert LATEST == read().features
    assert 36 == known_cluster.read(Source("live"), "1.36", lambda _: False).features.minor


def test_objects_besides_replace_those_of_the_same_name(cluster):
    cluster(node("n1"), workload("Deployment", name="web"))
    mine = workload("Deployment", name="web", labels={"mine": "yes"})

    key, found = ("apps", "Deployment", "shop", "web"), read(more=[mine, workload("Deployment", name="new")])
    assert mine == found.others[key]
    assert {key: workload("Deployment", name="web")} == found.replaced


def test_a_pod_besides_takes_the_place_of_that_of_the_same_name(cluster):
    there = running("n1")
    cluster(node("n1"), node("n2"), there)
    found = read(more=[{**there, "spec": {**there["spec"], "nodeName": "n2"}}])

    assert ["n2"] == [one["spec"]["nodeName"] for one in found.pods]
    assert ["n2"] == [name for name, usage in found.snapshot.usage.items() if usage.pods]


def test_without_the_right_to_list_all_pods_those_of_the_namespace_are_read(cluster):
    cluster(node("n1"), running("n1"), running("n1", namespace="other"), missing={"pods": "is forbidden"})
    found = read(namespace="shop")

    assert (1, 1) == (found.snapshot.usage["n1"].pods, len(found.pods))
    assert "they may use room and ports" in found.notes[0]


def test_without_the_right_to_list_nodes_nothing_can_be_judged(cluster):
    cluster(node("n1"), running("n1"), missing={"nodes": "is forbidden"})

    with pytest.raises(UsageError, match="nodes: is forbidden; without nodes, no placement can be judged"):
        read()


def test_what_else_may_not_be_listed_is_named(cluster):
    cluster(node("n1"), service(), missing={"services": "is forbidden"})

    assert ("services cannot be listed: is forbidden",) == read().notes


@pytest.mark.parametrize("resource", ["deviceclasses", "limitranges", "priorityclasses", "runtimeclasses"])
def test_what_matters_for_some_pods_only_is_in_no_note(cluster, resource):
    cluster(node("n1"), missing={resource: "is forbidden"})
    found = read()

    assert ((), {resource: "is forbidden"}) == (found.notes, found.missing)


@pytest.mark.parametrize(
    ("time", "source", "known"), [("", "c.yaml", False), ("2026-01-01", "c.gz", True), ("", "live", True)]
)
def test_budgets_that_a_file_of_kubectl_lacks_are_not_known(cluster, time, source, known):
    cluster(node("n1"), time=time)

    assert known == (known_cluster.read(Source(source), None, lambda _: True).snapshot.budgets is not None)


def test_a_class_of_which_a_file_has_none_is_named(cluster):
    cluster(node("n1"))
    high = pod(spec={"priorityClassName": "high", "containers": []})

    assert ["The file has no PriorityClass: assuming the value 0 for high; if it is another, dump again."] == list(
        known_cluster.unlisted_classes(high, read())
    )
    assert [] == list(known_cluster.unlisted_classes(high, read(more=[priority_class("high", 5)])))
    assert [] == list(known_cluster.unlisted_classes(pod(spec={"containers": []}), read()))


def test_an_object_that_cannot_be_read_is_named(cluster):
    cluster({**node("n1"), "spec": 5})

    with pytest.raises(UsageError, match=r"^--cluster live: Node n1: spec: found 5"):
        read()


def test_an_object_that_cannot_be_read_is_told_apart_from_those_of_the_cluster(cluster):
    cluster(node("n1"))

    with pytest.raises(UsageError, match=r"^Service shop/web: spec: found 5"):
        read(more=[service() | {"spec": 5}])


@pytest.mark.parametrize("kind", [[], {"a": 1}, 5, None])
def test_an_object_whose_kind_is_no_text_is_passed_over(cluster, kind):
    cluster(node("n1"), {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})

    assert ["n1"] == [each.name for each in read().snapshot.nodes]


READABLE = [
    pod(),
    service(),
    workload("Deployment"),
    workload("CronJob"),
    workload("PodTemplate"),
    workload("StatefulSet", spec={"replicas": None}),
    {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {"workloadRef": {"name": "web"}}},
]


@pytest.mark.parametrize("obj", READABLE, ids=lambda obj: obj["kind"])
def test_what_can_be_read_is_not_refused(obj):
    assert () == known_cluster.unreadable(obj, KINDS)


TEMPLATE, OBJECT = "spec.template: found {}, wanted a Pod template", "must be an object"
UNREADABLE = [
    (pod() | {"spec": None}, "Pod shop/web-1: spec: found none, wanted that of a Pod"),
    (workload("Deployment") | {"spec": None}, f"Deployment shop/web: {TEMPLATE.format('none')}"),
    (workload("ReplicaSet", spec={"template": {}}), f"ReplicaSet shop/web: {TEMPLATE.format('{}')}"),
    (workload("StatefulSet", spec={"template": False}), f"StatefulSet shop/web: {TEMPLATE.format('false')}"),
    (
        workload("CronJob") | {"spec": 1},
        "CronJob shop/web: spec.jobTemplate.spec.template: found none, wanted a Pod template",
    ),
    (workload("Job", spec={"template": ["a"]}), f'Job shop/web: spec.template: found ["a"], {OBJECT}'),
    (workload("Job", spec={"template": {"spec": 1}}), f"Job shop/web: spec.template.spec: found 1, {OBJECT}"),
    (workload("Job", spec={"parallelism": -1}), "Job shop/web: spec.parallelism: found -1, must be 0 or more"),
    (workload("Job", labels="a"), f'Job shop/web: spec.template.metadata.labels: found "a", {OBJECT}'),
    (
        workload("DaemonSet", labels={"a": 1}),
        "DaemonSet shop/web: spec.template.metadata.labels.a: found 1, must be a string",
    ),
    (
        workload("Deployment", spec={"replicas": "3"}),
        'Deployment shop/web: spec.replicas: found "3", must be a 32-bit integer',
    ),
]


@pytest.mark.parametrize(("obj", "why"), UNREADABLE, ids=[why for _, why in UNREADABLE])
def test_what_cannot_be_read_is_named_with_its_path_in_the_object(obj, why):
    assert (why,) == known_cluster.unreadable(obj, KINDS)


def test_metadata_of_another_form_stay_as_they_are():
    assert {"metadata": "x"} == known_cluster.in_namespace({"metadata": "x"}, "shop")
    assert {"metadata": {"namespace": 7}} == known_cluster.in_namespace({"metadata": {"namespace": 7}}, "shop")
    assert {"metadata": {"namespace": "shop"}} == known_cluster.in_namespace({"metadata": None}, "shop")


def test_a_version_that_is_not_known_is_said_to_be_assumed(cluster):
    cluster(node("n1"))
    assert (known_cluster.ASSUMED.format("1.37"),) == read().assumed
    assert () == known_cluster.read(Source("live"), "1.33", lambda _: True).assumed
    cluster(node("n1"), version="v1.33.13")
    assert () == read().assumed


@pytest.mark.parametrize("others", [[], ["v1.9.1"], ["a", None, 5]])
def test_without_a_version_that_of_the_newest_kubelet_is_assumed(cluster, others):
    nodes = [
        node(f"n{i}") | {"status": {"nodeInfo": {"kubeletVersion": version}}}
        for i, version in enumerate(["v1.32.4", "v1.33.1-eks-7", *others])
    ]
    cluster(*nodes)

    assert (33, len(nodes)) == (read().features.minor, len(read().snapshot.nodes))
    assert (known_cluster.ASSUMED.format("1.33, the version of the newest kubelet"),) == read().assumed


def test_what_is_read_page_by_page_is_never_held_as_a_whole(monkeypatch):
    seen = []

    def pages():
        yield node("n1")
        assert ["n1"] == [one["metadata"]["name"] for one in seen]
        yield node("n2")

    def through(objects):
        for one in objects:
            seen.append(one)
            yield one

    monkeypatch.setattr("evenkeel.clusters.reading.contents", lambda *_, **__: Contents(pages(), {}, time="now"))

    assert 2 == len(known_cluster.read(Source("live"), None, lambda _: False, through=through).snapshot.nodes)


def test_a_file_without_nodes_is_said_to_have_none(cluster):
    cluster(pod())
    (note,) = known_cluster.read(Source("dump.yaml"), None, lambda _: True, needs_nodes=False).notes

    assert note.startswith("The file has no Node")
    assert () == read().notes
    cluster(node("n1"))
    assert () == known_cluster.read(Source("dump.yaml"), None, lambda _: True).notes


def test_a_file_of_kubectl_without_nodes_is_no_whole_cluster(cluster):
    """A dump of evenkeel has all nodes that there are, so that it may well be of a cluster without any."""
    said = "dump.yaml: holds no Node; kubectl get nodes,pods,… -A -o yaml, or evenkeel dump, writes a whole cluster"
    cluster(pod())
    with pytest.raises(UsageError, match=f"^{re.escape(said)}$"):
        known_cluster.read(Source("dump.yaml"), None, lambda _: True)
    cluster(pod(), time="2026-01-31T10:00:00Z")
    assert 1 == len(known_cluster.read(Source("dump.yaml"), None, lambda _: True).pods)


@pytest.mark.parametrize(
    ("source", "fields", "unread"),
    [
        ("live", {}, set()),
        ("live", {"missing": {"persistentvolumes": "is forbidden"}}, {"persistentvolumes"}),
        ("live", {"missing": {"pods": "is forbidden"}}, {"csistoragecapacities"}),  # One namespace is read.
        ("dump.gz", {"time": "2026-01-31T10:00:00Z"}, set()),
        ("nodes.yaml", {}, STORAGE_RESOURCES),  # kubectl was not asked for them.
    ],
)
def test_what_may_not_be_read_of_volumes_is_known(cluster, source, fields, unread):
    cluster(node("n1"), **fields)

    assert unread == known_cluster.read(Source(source), None, lambda _: False, "shop").snapshot.storage.unread


def test_a_file_of_kubectl_that_has_objects_of_volumes_has_them_all(cluster):
    of_nodes = csi_node("n1"), csi_driver(), capacity("c", "5Gi", "a"), attachment("at", "n1", "pv-1")
    cluster(node("n1"), claim("data"), volume("pv-1"), storage_class(), *of_nodes)

    assert set() == known_cluster.read(Source("all.yaml"), None, lambda _: False).snapshot.storage.unread


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (Source("dump.gz"), "dump.gz"),
        (Source("live", context="prod"), "the cluster prod"),
        (Source("live"), "the cluster"),
        (Source(), "no cluster"),
    ],
)
def test_where_a_cluster_is_from(cluster, source, named):
    cluster(node("n1"), version="v1.33.13")
    found = known_cluster.origin(source, read()._replace(time="2026-01-31T10:00:00Z"))

    assert (named, 33, "2026-01-31T10:00:00Z") == found
    assert known_cluster.origin(source, read()).read is not None, "now"


def test_only_a_pod_of_the_core_group_is_a_pod(cluster):
    cluster(node("n1"), {**pod(name="odd"), "apiVersion": "foo/v1", "spec": []})

    assert () == read().pods


def said(ref):
    """What is said of an object, `Kind namespace/name`, that is not in the cluster."""
    kind, _, rest = ref.partition(" ")
    api_version = "v1" if kind == "Pod" else "apps/v1"
    return known_cluster.not_found(ObjectRef(api_version, kind, *rest.split("/")), read())


HERE = (
    namespace(name="shop"),
    namespace(name="bank"),
    workload("Deployment", name="far", namespace="bank"),
    workload("Deployment", name="far", namespace="store"),
    workload("Deployment", name="web"),
    workload("Deployment", name="wide\nopen"),
    pod(name="web-0"),
    pod(name="x", namespace="bank"),
)


@pytest.mark.parametrize(
    ("ref", "hint"),
    [
        ("Pod shop/x", "Pod shop/x: not found in the cluster; Pod/x is in namespace bank: add -n bank"),
        (
            "Deployment shop/far",
            "Deployment shop/far: not found in the cluster; "
            "Deployment/far is in the namespaces bank, store: name one of them with -n",
        ),
        ("Pod shop/web-1", "Pod shop/web-1: not found in the cluster; did you mean pod/web-0?"),
        ("Deployment shop/api", "Deployment shop/api: not found in the cluster; the names there are web"),
        ("StatefulSet shop/db", "StatefulSet shop/db: not found in the cluster; to look in another namespace: -n NAME"),
        ("Pod /wbe-0", "Pod wbe-0: not found in the cluster; did you mean pod/web-0?"),
        ("Job /x", "Job x: not found in the cluster; to see what there is: evenkeel report -A"),
        (
            "Deployment /far",
            "Deployment far: is in the namespaces bank, store; name one of them with -n",
        ),
        ("Pod store/y", "Pod store/y: not found in the cluster; to look in another namespace: -n NAME"),
    ],
)
def test_what_is_not_found_is_looked_for_elsewhere(cluster, ref, hint):
    """What cannot be typed is never named."""
    cluster(node("n1"), *HERE)
    assert hint == said(ref)


@pytest.mark.parametrize(("missing", "is_error"), [((), True), (["pods"], True), (["namespaces"], False)])
def test_a_namespace_that_is_not_there_is_an_error_where_all_are_shown(cluster, missing, is_error):
    """Without the right to list namespaces, one without any object may be there all the same."""
    cluster(node("n1"), namespace(name="shop"), service(), missing=dict.fromkeys(missing, "is forbidden"))

    if is_error:
        with pytest.raises(UsageError, match=r"^namespace shpo: not in the cluster; did you mean shop\?$"):
            read(namespace="shpo")
    else:
        assert read(namespace="shpo").notes
    assert "shop" in read(namespace="shop").namespaces


def test_objects_of_files_may_be_applied_in_a_namespace_that_is_yet_to_be_made(cluster):
    cluster(node("n1"), service())
    applied = [pod(namespace=name) for name in ("trial", "shop", "default", "made", "a\nb")]
    found = read(namespace="trial", applied=[*applied, namespace(name="made")])

    assert ("namespace trial: not in the cluster; the namespaces there are shop",) == found.notes


@pytest.mark.parametrize(
    ("namespace", "name", "found"),
    [("", "web", "shop"), ("", "far", ""), ("", "gone", ""), ("bank", "web", "bank")],
)
def test_an_object_that_names_no_namespace_is_in_the_only_one_that_has_it(cluster, namespace, name, found):
    cluster(*HERE)
    ref = ObjectRef("apps/v1", "Deployment", namespace, name)

    assert found == known_cluster.in_its_namespace(ref, read(needs_nodes=False).others).namespace


@pytest.mark.parametrize("count", [5, 6])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_few_names_are_said_and_that_there_are_more(cluster, count, elsewhere):
    places = [(f"space-{i}", "x") if elsewhere else ("shop", f"name-{i}") for i in range(count)]
    cluster(node("n1"), namespace(), *(pod(name=name, namespace=space) for space, name in places))
    hint = said("Pod shop/x")

    assert (5, count > 5) == (len(re.findall(r"-\d", hint)), " and 1 more" in hint)


def test_where_only_one_namespace_may_be_read_others_are_known_to_be_unread(cluster):
    """A disruption budget, say, is then not known to be met."""
    cluster(node("n1"), pod(), missing={"pods": "is forbidden"})
    found = read(namespace="shop")

    assert ("Pods of other namespaces",) == tuple(found.snapshot.unread)
    assert any(note.startswith("Pods of other namespaces cannot be listed") for note in found.notes)
