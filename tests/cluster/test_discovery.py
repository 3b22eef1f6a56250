"""What an API server says that it serves."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.apiserver import ApiServer, kubeconfig
from webhook.cluster.client import Client, ClusterError, access
from webhook.cluster.discovery import read_served, serves_node_pools


@pytest.fixture
def api(tmp_path):
    running = ApiServer()
    yield running
    running.stop()


def served(api, tmp_path, *groups):
    return read_served(Client(partial(access, str(kubeconfig(api.url, tmp_path)))), groups)


def test_kinds_are_asked_for_in_each_version_of_the_groups_that_matter(api, tmp_path):
    api.serve("karpenter.sh/v1", nodepools="NodePool")
    api.serve("argoproj.io/v1beta1", rollouts="Rollout")
    api.serve("argoproj.io/v1alpha1", rollouts="Rollout", **{"rollouts/status": "Rollout"})
    found = served(api, tmp_path, "argoproj.io", "example.com")

    assert {"karpenter.sh": ("v1",), "argoproj.io": ("v1beta1", "v1alpha1")} == found.versions
    assert {f"argoproj.io/{version}": {"rollouts": "Rollout"} for version in ("v1beta1", "v1alpha1")} == found.resources
    assert ["/apis/argoproj.io/v1beta1", "/apis/argoproj.io/v1alpha1"] == api.asked


@pytest.mark.parametrize("path", ["/apis", "/apis/argoproj.io/v1alpha1"])
@pytest.mark.parametrize(
    "answer", [403, 404, 503, {"message": "as a proxy has it"}, {"groups": None, "resources": {}}], ids=str
)
def test_what_does_not_say_it_is_no_answer(api, tmp_path, path, answer):
    api.serve("argoproj.io/v1alpha1", rollouts="Rollout")
    api.further[path] = answer

    with pytest.raises(ClusterError, match=f"^{path}: "):
        served(api, tmp_path, "argoproj.io")


@pytest.mark.parametrize(
    ("api_version", "kind", "found"),
    [("karpenter.sh/v1", "NodePool", True), ("karpenter.sh/v1", "NodeClaim", False), ("a.io/v1", "NodePool", False)],
)
def test_karpenter_is_there_if_its_node_pools_are_served(api, tmp_path, api_version, kind, found):
    client = Client(partial(access, str(kubeconfig(api.url, tmp_path))))
    api.serve(api_version, pools=kind)
    assert found == serves_node_pools(client)

    api.further["/apis"] = 503
    assert not serves_node_pools(client)
