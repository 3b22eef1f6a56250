"""What commands list of a live cluster, and what they do without."""

from __future__ import annotations

import re

import pytest

from evenkeel.clusters.dump_files import contents, load
from evenkeel.clusters.dump_format import write
from evenkeel.clusters.listing import read_contents
from tests.support.apiserver import ApiServer
from tests.support.build import key_of, namespace, pod, service, workload
from tests.support.watching import configured
from webhook.cluster.client import Client, ClusterError
from webhook.cluster.listed_resources import LISTED_RESOURCES
from webhook.cluster.live import listed
from webhook.kubernetes.kinds import KINDS, NO_KINDS
from webhook.spread.cluster_view import view_of

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"podCIDR": "10.0.0.0/24"}}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"minAvailable": 1},
}
OBJECTS = [
    *(pod(name=f"web-{i}", namespace=of) for of in ("bank", "shop") for i in range(3)),
    *(workload(kind) for kind in ("Deployment", "DaemonSet", "Job", "CronJob")),
    *(NODE, BUDGET, namespace(), service()),
]


@pytest.fixture
def api():
    api = ApiServer(page=2)
    api.put(*OBJECTS)
    yield api
    api.stop()


def read(api, namespace="", kinds=NO_KINDS):
    return read_contents(Client(lambda: configured(api.url)), namespace, kinds)


def names(contents):
    return [(obj["apiVersion"], obj["kind"], *key_of(obj)) for obj in contents.objects]


def test_every_kind_is_listed_whole_kind_by_kind(api):
    found = read(api)
    wanted = [(obj["apiVersion"], obj["kind"], *key_of(obj)) for obj in OBJECTS]

    assert sorted(wanted, key=lambda one: one[1:]) == names(found)
    assert ({}, "", "v1.37.1") == (found.missing, found.namespace, found.kubernetes_version)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", found.time)


def test_of_one_namespace_the_nodes_and_namespaces_are_whole(api):
    found = names(read(api, "bank"))

    assert {("Pod", "bank"), ("Node", ""), ("Namespace", "")} == {(kind, namespace) for _, kind, namespace, _ in found}
    assert 5 == len(found)


def test_only_what_is_read_is_in_an_object(api):
    (node,) = (obj for obj in read(api).objects if obj["kind"] == "Node")

    assert {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {}} == node


def test_what_may_not_be_listed_is_missing(api):
    api.forbidden = {"nodes", "poddisruptionbudgets"}
    found = read(api)
    kinds = {kind for _, kind, *_ in names(found)}

    assert not {"Node", "PodDisruptionBudget"} & kinds
    assert "Pod" in kinds
    assert {
        "nodes": "/api/v1/nodes: 403 refused with 403",
        "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets: 403 refused with 403",
    } == found.missing


def test_a_version_that_may_not_be_asked_for_is_not_known(api, monkeypatch):
    def version(client):
        raise ClusterError("403", 403)

    monkeypatch.setattr(Client, "version", version)

    assert "" == read(api).kubernetes_version


def test_a_kind_that_is_not_served_is_absent(api):
    """Such as DeviceClass, before 1.34; the core group has every API server."""
    api.refusals = [404] * len(LISTED_RESOURCES)
    found = read(api)

    assert [] == names(found)
    assert {kind.resource for kind in LISTED_RESOURCES if kind.api_version == "v1"} == {*found.missing}


@pytest.mark.parametrize("status", [401, 410, 500])
def test_another_failure_ends_it(api, status):
    found = read(api)
    api.refusals = [status]

    with pytest.raises(ClusterError, match=f"refused with {status}"):
        names(found)


def test_an_object_of_another_form_ends_it(api):
    api.put({**NODE, "metadata": {"name": "n2"}, "spec": 3})

    with pytest.raises(ClusterError, match=r"^/api/v1/nodes: .*Expected `object \| null`, got `int`"):
        names(read(api))


def test_no_more_than_a_page_is_asked_for_ahead(api):
    found = read(api)
    next(found.objects)

    storage = [f"/apis/storage.k8s.io/v1/{name}" for name in ("csidrivers", "csinodes", "csistoragecapacities")]
    assert [f"{path}?limit=500" for path in (*storage, "/apis/batch/v1/cronjobs")] == api.asked  # There are none.


ROLLOUTS, KRUISE = "/apis/argoproj.io/v1alpha1", "/apis/apps.kruise.io/{}"
ROLLOUT = workload("Rollout", spec={"secret": "s"}) | {"apiVersion": "argoproj.io/v1alpha1"}


def test_custom_resources_are_listed_where_the_api_server_has_them(api):
    api.further[ROLLOUTS] = {"resources": [{"name": "rollouts"}, {"name": "rollouts/status"}]}
    api.further[f"{ROLLOUTS}/rollouts"] = {"metadata": {}, "items": [ROLLOUT]}
    (found,) = (one for one in read(api, kinds=KINDS).objects if one["kind"] == "Rollout")

    assert {name: value for name, value in ROLLOUT["spec"].items() if name != "secret"} == found["spec"]
    assert ("argoproj.io/v1alpha1", "shop", "web") == (found["apiVersion"], *key_of(found))


def test_of_several_versions_the_newest_is_read(api):
    for version in ("v1alpha1", "v1beta1"):
        path, made = KRUISE.format(version), workload("StatefulSet") | {"apiVersion": f"apps.kruise.io/{version}"}
        api.further[path] = {"resources": [{"name": "statefulsets"}]}
        api.further[f"{path}/statefulsets"] = {"metadata": {}, "items": [made]}

    assert ["apps.kruise.io/v1beta1"] == [
        one["apiVersion"] for one in read(api, kinds=KINDS).objects if one["kind"] == "StatefulSet"
    ]


def test_custom_resources_that_may_not_be_listed_are_missing(api):
    """Others, which the API server does not have, are not."""
    api.further[ROLLOUTS] = {"resources": [{"name": "rollouts"}]}
    api.further[f"{ROLLOUTS}/rollouts"] = 403
    found = read(api, kinds=KINDS)
    list(found.objects)

    assert ["rollouts.argoproj.io"] == [*found.missing]


@pytest.mark.parametrize("served", [False, True])
def test_contents_say_whether_node_pools_are_served_and_a_dump_keeps_it(api, tmp_path, served):
    if served:
        api.serve("karpenter.sh/v1", nodepools="NodePool")
    found, file = read(api), tmp_path / "dump"
    with file.open("wb") as out:
        write(out, found, ())
    dumped = contents(file)

    assert [] == list(dumped.objects)
    assert [served] * 3 == [found.serves_node_pools, dumped.serves_node_pools, load(file, view_of).serves_node_pools]
    assert served == listed(Client(lambda: configured(api.url))).serves_node_pools
